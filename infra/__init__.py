"""What builds, describes and runs the system; nothing here is deployed."""
