"""The whole stack as one process on this machine."""
