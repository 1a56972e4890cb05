"""What is stored, as text: `listing` for models, `history` for people."""

from preferences.render.history import summary
from preferences.render.listing import EMPTY, block, lines, name

__all__ = ["EMPTY", "block", "lines", "name", "summary"]
