"""Where threads are stored: `store` the writes, `expressions` their conditions, `items` the attributes.

`history` has the entries beside them.
"""

from preferences.repository.history import History, Images, read_images
from preferences.repository.store import PreferenceRepository, Written, open_repository

__all__ = ["History", "Images", "PreferenceRepository", "Written", "open_repository", "read_images"]
