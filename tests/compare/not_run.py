"""What could not be run, why, and what its own documentation says."""

NOT_RUN: dict[str, str] = {}
