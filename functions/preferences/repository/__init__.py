"""Where threads are stored: `store` the writes, `expressions` their conditions, `items` the attributes."""

from preferences.repository.store import PreferenceRepository, Written, open_repository

__all__ = ["PreferenceRepository", "Written", "open_repository"]
