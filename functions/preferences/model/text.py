"""Text that people and models wrote: one normal form, and what is never stored.

Stored text is NFC, without outer white space, on one line. It is refused rather than repaired where a
reader could be shown something else than what is stored: control characters, bidi overrides (Unicode's
"Trojan Source", UTR 36), tag characters outside the flags that are made of them (UTS 51), and runs of
zero-width characters. A single joiner is part of many scripts and emoji, and stays.
"""

import re
import unicodedata

from pydantic_core import PydanticCustomError

_BREAKS = re.compile("[\t\n\x0b\x0c\r\x85\u2028\u2029]+")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
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
    f"|(?P<zero_width>[\u200b-\u200d\u2060\ufeff]{{2,}}|[{_IGNORABLE}]{{3,}})"
    "|(?P<surrogate>[\ud800-\udfff])"
)
_NAMES = {
    "control": "a control character",
    "bidi": "a text direction override",
    "tag": "an invisible tag character",
    "zero_width": "a run of invisible characters",
    "surrogate": "half of a surrogate pair",
}
# A flag of a region (Scotland's, say): a black flag, tags that spell the region, a closing tag.
_TAG_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
_BLANK = re.compile(f"[{_IGNORABLE}\u2800]")  # and the empty Braille pattern, a symbol by its category
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp"})
# Normalisation shortens a text at most to a quarter or so: what is longer than this cannot fit afterwards,
# and is not worth the work.
_SHRINK = 8


def normalise(text: str, limit: int) -> str:
    """The form in which `text` is stored, at most `limit` code points; applying it twice changes nothing.

    Raises PydanticCustomError with a sentence for the sender, that holds none of the text.
    """
    if len(text) <= limit * _SHRINK:
        text = _BREAKS.sub(" ", text)
        if found := _FORBIDDEN.search(_TAG_FLAG.sub("\U0001f3f4", text)):
            raise PydanticCustomError("text_forbidden", "{reason}", {"reason": _refusal(found)})
        text = unicodedata.normalize("NFC", text).strip()
    if len(text) > limit:
        raise PydanticCustomError(
            "text_too_long", "must be at most {limit} characters, shorten it", {"limit": limit}
        )
    return text


def is_visible(text: str) -> bool:
    """Whether a reader would see anything of `text` at all."""
    return any(unicodedata.category(c) not in _INVISIBLE for c in _BLANK.sub("", text))


def one_line(text: str) -> str:
    """`text` without line breaks and control characters, each replaced by a space, whatever was stored."""
    return _CONTROLS.sub(" ", text)


def shorten(text: str, limit: int) -> str:
    """A remark rather than a preference: made storable instead of refused, and cut at `limit` code points."""
    text = text[: limit * _SHRINK]
    text = _FORBIDDEN.sub(" ", _BREAKS.sub(" ", text))
    return unicodedata.normalize("NFC", text).strip()[:limit].strip()


def _refusal(found: re.Match[str]) -> str:
    what = _NAMES[found.lastgroup or "control"]
    return f"must not hold {what} (U+{ord(found[0][0]):04X}): leave it out"
