"""Text that people and models wrote: one normal form, and what is never stored.

Stored text is NFC, without outer white space, on one line. It is refused rather than repaired where a
reader could be shown something else than what is stored: control characters, bidi overrides (Unicode's
"Trojan Source", UTR 36), tag characters outside the flags that are made of them (UTS 51), and runs of
zero-width characters. A single joiner is part of many scripts and emoji, and stays.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import partial

from pydantic_core import PydanticCustomError

one_line: Callable[[str], str] = partial(re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]").sub, " ")
"""A text without line breaks and control characters, each replaced by a space, whatever was stored."""

_BREAKS = re.compile("[\t\n\x0b\x0c\r\x85\u2028\u2029]+")
_DOUBLED_JOINER = re.compile("([\u200c\u200d])\\1+")
"""A half-space typed twice, as in Persian: nobody sees the second one, so nobody can leave it out."""
# Unicode's Default_Ignorable_Code_Point, tags and bidi overrides apart: drawn as nothing, though some of
# them are letters or marks by their category. Emoji put two of them together (a variation selector and a
# joiner), and no script more; a longer run is a message that nobody sees.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e0fff"
)
_FORBIDDEN = re.compile(
    "(?P<control>[\x00-\x1f\x7f-\x9f])"
    "|(?P<bidi>[\u202a-\u202e\u2066-\u206f])"
    "|(?P<tag>[\U000e0000-\U000e007f])"
    "|(?P<format>[\ufff9-\ufffb\U00013430-\U0001343f])"
    # A variation selector says how one emoji or ideograph is drawn; elsewhere it is a byte that nobody sees.
    "|(?P<selector>(?<=[A-Za-z\u00aa-\u00ad\u00af-\u0fff\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef])"
    f"|(?P<zero_width>[\u200b-\u200d\u2060\ufeff]{{2,}}|[{_IGNORABLE}]{{3,}})"
    "|(?P<surrogate>[\ud800-\udfff])"
)
_NAMES = {
    "control": "a control character",
    "bidi": "a text direction override",
    "tag": "an invisible tag character",
    "format": "an invisible format character",
    "selector": "a variation selector that selects nothing",
    "zero_width": "a run of invisible characters",
    "surrogate": "half of a surrogate pair",
}
# The three flags that Unicode recommends: a black flag, tags that spell gbeng, gbsct or gbwls, a closing tag.
_TAG_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_BLANK = re.compile(f"[{_IGNORABLE}\u2800]")  # and the empty Braille pattern, a symbol by its category
_END_MARKS = ".,;:! "
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp"})
# Normalisation shortens a text at most to a quarter or so: what is longer than this cannot fit afterwards,
# and is not worth the work.
_SHRINK = 8
MAX_MARKS = 30
"""Combining marks in a row: Unicode's Stream-Safe Text Format (UAX 15). Sorting more takes quadratic time."""


def normalise(text: str, limit: int) -> str:
    """The form in which `text` is stored, at most `limit` code points; applying it twice changes nothing.

    Raises PydanticCustomError with a sentence for the sender, that holds none of the text.
    """
    if len(text) <= limit * _SHRINK:
        text = _DOUBLED_JOINER.sub(r"\1", _BREAKS.sub(" ", text))
        if _longest_run_of_marks(text) > MAX_MARKS:
            raise PydanticCustomError("text_forbidden", "must not hold so many combining marks in a row")
        text = unicodedata.normalize("NFC", text)
        if found := _FORBIDDEN.search(_TAG_FLAG.sub("\U0001f3f4", text)):
            raise PydanticCustomError("text_forbidden", "{reason}", {"reason": _refusal(found)})
        text = text.strip()
    if len(text) > limit:
        raise PydanticCustomError(
            "text_too_long", "must be at most {limit} characters, shorten it", {"limit": limit}
        )
    return text


def is_visible(text: str) -> bool:
    """Whether a reader would see anything of `text` at all."""
    return any(unicodedata.category(c) not in _INVISIBLE for c in _BLANK.sub("", text))


def folded(title: str) -> str:
    """The form in which two titles are the same: without case, width, invisible characters, end marks."""
    text = title
    for _ in range(2):
        # An invisible character between a letter and its accent keeps them apart: it goes before they are
        # composed. Folding makes some characters come apart again, hence the second time.
        text = _BLANK.sub("", unicodedata.normalize("NFKC", _BLANK.sub("", text))).casefold()
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    return text.rstrip(_END_MARKS) or text


def shorten(text: str, limit: int) -> str:
    """A remark rather than a preference: made storable instead of refused, and cut at `limit` code points."""
    text = text[: limit * _SHRINK]
    if _longest_run_of_marks(text) > MAX_MARKS:
        text = "".join(c for c in text if not _is_mark(c))
    text = _FORBIDDEN.sub(" ", _BREAKS.sub(" ", text))
    return unicodedata.normalize("NFC", text).strip()[:limit].strip()


def _longest_run_of_marks(text: str) -> int:
    longest = run = 0
    for c in "" if text.isascii() else text:
        run = run + 1 if _is_mark(c) else 0
        longest = max(longest, run)
    return longest


def _is_mark(c: str) -> bool:
    """Also the three marks that are none by their class, but come apart into two that are."""
    return unicodedata.combining(c) != 0 or c in "\u0f73\u0f75\u0f81"


def _refusal(found: re.Match[str]) -> str:
    what = _NAMES[found.lastgroup or "control"]
    return f"must not hold {what} (U+{ord(found[0][0]):04X}): leave it out"
