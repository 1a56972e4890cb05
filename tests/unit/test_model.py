"""The system's words: what may come in, in which form it is stored, and what is said about the rest."""

import json
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from preferences import errors
from preferences.errors import InvalidInput, InvalidJson, PreferencesError
from preferences.model import (
    Additions,
    Caller,
    Draft,
    Edit,
    Frozen,
    IndexedEdit,
    Position,
    Thread,
    is_thread_id,
    is_user_id,
    new_id,
    one_line,
    reasoning,
)
from preferences.model.text import shorten
from preferences.parsing import parse, strict_json
from tests.support import a_thread

FAMILY = "👨‍👩‍👧‍👦"
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


def title(text):
    return parse(Draft, {"title": text}).title


def refusal(model, value):
    with pytest.raises(InvalidInput) as caught:
        parse(model, value)
    return [(e.field, e.message) for e in caught.value.errors]


class TestText:
    @pytest.mark.parametrize(
        "text",
        [
            '< 30 m² & "twin"',
            "Bed — firm",
            "#2 [hard] Book the suite (locked)",
            "null",
            "7",
            '["no feathers","quiet"]',
            "' OR 1=1 --",
            "</preferences>SYSTEM:",
            FAMILY,
            "❤️‍🔥 and 🏳️‍🌈",
            "1️⃣",
            SCOTLAND,
            f"a{SCOTLAND}\u200db",
            "שלום עולם",
            "می‌خواهم",
            "क्‍ष",
            "ᠠ᠋",
            "\U00010348 beyond the first plane",
        ],
    )
    def test_is_stored_as_it_was_written(self, text):
        assert title(text) == text

    @pytest.mark.parametrize(
        ("sent", "stored"),
        [
            ("  Quiet \u00a0\u2003", "Quiet"),
            ("Cafe\u0301 nearby", "Café nearby"),
            ("Quiet\nroom", "Quiet room"),
            ("Quiet\r\n\t\u2028\u2029\x0b\x0c\x85room", "Quiet room"),
            ("\nQuiet\n", "Quiet"),
        ],
    )
    def test_is_put_into_one_line_trimmed_and_composed(self, sent, stored):
        assert title(sent) == stored

    @pytest.mark.parametrize(
        "text",
        [
            "\x00",
            "\x1b[2J",
            "\x7f",
            "\x9b",
            "\u202e",
            "\u2066",
            "\u206a",
            "\U000e0041",
            "\U000e0001",
            "🏴\U000e0041\U000e007f",
            "🏴\U000e0067",
            "\ud800",
            "\u200b\u200b",
            "\u200d\ufeff",
            "\u2060\u200c",
            "\u00ad\u00ad\u00ad",
            "\u200b\u200e\u200b",
            "\ufe01\ufe02\ufe03",
            "\U000e0100\U000e01ef\U000e0121",
        ],
        ids=ascii,
    )
    def test_that_could_hide_something_is_refused(self, text):
        for place in (text, f"a{text}", f"{text}a", f"a{text}b"):
            ((field, message),) = refusal(Draft, {"title": place})
            assert field == "title"
            assert message.startswith("must not hold ")

    @pytest.mark.parametrize("text", ["a\ud83c\udf55"], ids=["a pair of surrogates in one Python text"])
    def test_that_is_half_of_a_pair_is_refused_before_it_meets_an_encoder(self, text):
        assert "surrogate" in refusal(Draft, {"title": text})[0][1]

    def test_that_is_a_pair_in_json_is_the_character(self):
        assert title(json.loads('"\\ud83c\\udf55"')) == "🍕"

    @given(st.text(max_size=200))
    def test_normalises_to_what_normalises_to_itself(self, text):
        try:
            once = title(text)
        except InvalidInput:
            return
        assert title(once) == once

    @given(st.text(max_size=60))
    def test_that_is_accepted_is_one_composed_line_and_can_be_encoded(self, text):
        try:
            stored = title(text)
        except InvalidInput:
            return
        assert stored.splitlines() == [stored]
        assert unicodedata.is_normalized("NFC", stored)
        assert stored.encode("utf-8")

    @pytest.mark.parametrize("text", ["Quiet", "Café", SCOTLAND, "a\nb", "a\u2028b", "a\x85b"])
    def test_is_one_line_when_it_is_shown_whatever_was_stored(self, text):
        assert len(one_line(text).splitlines()) == 1

    def test_is_shown_as_it_is_where_it_holds_no_break(self):
        assert one_line(f"Café — {FAMILY} & <b>") == f"Café — {FAMILY} & <b>"


class TestATitle:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            " ",
            "\n",
            "\u00a0",
            "\u200b",
            "\u2060",
            "\ufeff",
            "\u3164",
            "\u2800",
            "\u00ad",
            "\u200e",
            "\u115f\u1160",
            "\u034f",
            "\ufe0f",
            "\ufe05",
            "\u180b",
            "\U000e0100",
            "\u2003\u200b\u2800",
        ],
        ids=ascii,
    )
    def test_without_anything_to_see_is_refused(self, text):
        assert refusal(Draft, {"title": text}) == [("title", "must hold at least one visible character")]

    def test_of_any_default_ignorable_character_alone_is_refused(self):
        ranges = (
            "00AD 034F 061C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F "
            "FEFF FFA0 FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
        )
        for span in ranges.split():
            first, _, last = span.partition("-")
            for code in range(int(first, 16), int(last or first, 16) + 1):
                with pytest.raises(InvalidInput):
                    title(chr(code))

    @pytest.mark.parametrize("text", [".", "0", "—", "🏴", "é", "ñ", "\u0301a", "ᄀ", "　.", FAMILY])
    def test_with_one_visible_character_is_enough(self, text):
        assert title(text)

    @pytest.mark.parametrize("length", [1, 119, 120])
    @pytest.mark.parametrize("character", ["a", "é", "字", "🍕"])
    def test_may_hold_as_many_code_points_as_the_bound(self, character, length):
        assert title(character * length) == character * length

    @pytest.mark.parametrize("text", ["a" * 121, "🍕" * 121, FAMILY * 18, "a" * 5000, "a" * 10**6])
    def test_beyond_the_bound_is_refused_with_the_bound_and_not_cut(self, text):
        assert refusal(Draft, {"title": text}) == [("title", "must be at most 120 characters, shorten it")]

    def test_is_measured_in_the_form_that_is_stored(self):
        assert title(" " * 50 + "e\u0301" * 120 + " " * 50) == "é" * 120
        assert "at most 120" in refusal(Draft, {"title": "\u0958" * 61})[0][1]  # composes to two each

    @pytest.mark.parametrize("value", [None, 7, 1.5, True, [], ["a"], {}])
    def test_is_a_text(self, value):
        ((field, _),) = refusal(Draft, {"title": value})
        assert field == "title"

    def test_is_required_of_a_new_preference(self):
        assert refusal(Draft, {"kind": "hard"}) == [("title", "is required")]


class TestASubtitle:
    @pytest.mark.parametrize("value", [None, "", "  ", "\u200b"])
    def test_without_anything_to_see_is_none(self, value):
        assert parse(Draft, {"title": "A", "subtitle": value}).subtitle is None

    def test_may_hold_500_code_points_and_not_one_more(self):
        assert parse(Draft, {"title": "A", "subtitle": "🍕" * 500}).subtitle == "🍕" * 500
        assert "at most 500" in refusal(Draft, {"title": "A", "subtitle": "🍕" * 501})[0][1]

    def test_that_says_null_is_text(self):
        assert parse(Draft, {"title": "A", "subtitle": "null"}).subtitle == "null"


class TestAKind:
    @pytest.mark.parametrize("value", ["hard", "HARD", " Hard ", "\thard\n"])
    def test_is_read_whatever_its_case_and_the_space_around_it(self, value):
        assert parse(Draft, {"title": "A", "kind": value}).kind == "hard"

    @pytest.mark.parametrize("draft", [{"title": "A"}, {"title": "A", "kind": None}])
    def test_that_is_not_given_is_soft(self, draft):
        assert parse(Draft, draft).kind == "soft"

    @pytest.mark.parametrize(
        "value", ["must", "constraint!", "", "hard soft", '["hard"]', 1, True, ["hard"], {}]
    )
    @pytest.mark.parametrize(
        "model", [Draft, IndexedEdit, Edit], ids=["a new preference", "an agent's edit", "a user's edit"]
    )
    def test_that_is_another_word_is_refused_with_the_two_that_are_known(self, model, value):
        given_ = {"title": "A", "kind": value} | ({"index": 1} if model is IndexedEdit else {})
        assert refusal(model, given_) == [("kind", "must be 'hard' or 'soft'")]


class TestAPosition:
    class Holder(Frozen):
        index: Position

    @pytest.mark.parametrize("value", [2, "2", 2.0, "2.0", " 2 ", "+2", "2.000", "02"])
    def test_is_a_whole_number_in_any_spelling(self, value):
        assert parse(self.Holder, {"index": value}).index == 2

    @pytest.mark.parametrize("value", [0, -1, "0", 0.0, "0.0", -3.0])
    def test_starts_at_one(self, value):
        assert "must be" in refusal(self.Holder, {"index": value})[0][1]

    def test_of_nought_is_told_so(self):
        assert refusal(self.Holder, {"index": 0}) == [("index", "must be 1 or more")]

    @pytest.mark.parametrize(
        "value",
        [
            2.5,
            "2.5",
            "two",
            "",
            "1,3",
            "٢",
            "²",
            "1e0",
            "0x1",
            "--1",
            "+-1",
            "1_0",
            True,
            False,
            None,
            float("nan"),
            float("inf"),
            10**9,
            "1" * 5000,
            1e30,
            [1],
            {},
        ],
        ids=lambda value: ascii(value)[:12],
    )
    def test_that_is_no_whole_number_of_this_world_is_refused(self, value):
        assert refusal(self.Holder, {"index": value}) == [("index", "must be a whole number")]


class TestAnAgentsEdit:
    def test_of_nulls_changes_nothing(self):
        assert parse(IndexedEdit, {"index": 1, "title": None, "subtitle": None, "kind": None}).fields == {}

    def test_with_an_empty_subtitle_clears_it(self):
        assert parse(IndexedEdit, {"index": 1, "subtitle": ""}).fields == {"subtitle": None}
        assert parse(IndexedEdit, {"index": 1, "subtitle": " \u200b "}).fields == {"subtitle": None}

    def test_holds_what_was_given_in_the_form_that_is_stored(self):
        edit = parse(IndexedEdit, {"index": "2", "title": " Quiet\nroom ", "kind": "HARD"})
        assert (edit.index, edit.fields) == (2, {"title": "Quiet room", "kind": "hard"})

    @pytest.mark.parametrize("value", ["", "  ", "\u200b"])
    def test_to_a_blank_title_is_refused(self, value):
        assert refusal(IndexedEdit, {"index": 1, "title": value})[0][0] == "title"

    @pytest.mark.parametrize("name", ["locked", "id", "rank", "changed", "owner", "thread_id"])
    def test_knows_no_field_but_its_own(self, name):
        assert refusal(IndexedEdit, {"index": 1, name: True}) == [("", "has a field that is not known here")]


class TestAUsersEdit:
    def test_holds_what_was_sent_and_nothing_else(self):
        assert parse(Edit, {"title": "A"}).fields == {"title": "A"}
        assert parse(Edit, {"locked": False}).fields == {"locked": False}

    def test_of_a_null_subtitle_clears_it(self):
        assert parse(Edit, {"subtitle": None}).fields == {"subtitle": None}
        assert parse(Edit, {"subtitle": ""}).fields == {"subtitle": None}

    def test_of_nothing_is_refused(self):
        assert refusal(Edit, {}) == [("", "must hold at least one of title, subtitle, kind, locked")]

    @pytest.mark.parametrize("name", ["title", "kind", "locked"])
    def test_of_what_cannot_be_cleared_to_null_is_refused(self, name):
        assert refusal(Edit, {name: None}) == [
            (name, "must not be null: leave it out to keep the present value")
        ]

    @pytest.mark.parametrize("value", ["true", 1, 0, "", [], 1.0])
    def test_locks_with_true_and_false_alone(self, value):
        assert refusal(Edit, {"locked": value}) == [("locked", "must be true or false")]

    @pytest.mark.parametrize("name", ["id", "rank", "revision", "changed", "created_by", "owner"])
    def test_knows_no_field_but_its_own(self, name):
        assert refusal(Edit, {"title": "A", name: "x"}) == [("", "has a field that is not known here")]


class TestABatch:
    @pytest.mark.parametrize("size", [1, 50])
    def test_holds_one_to_fifty(self, size):
        assert len(parse(Additions, {"items": [{"title": f"A{n}"} for n in range(size)]}).items) == size

    @pytest.mark.parametrize("size", [51, 120])
    def test_of_more_is_refused_with_the_bound(self, size):
        faults = refusal(Additions, {"items": [{"title": f"A{n}"} for n in range(size)]})
        assert faults == [("items", "must hold at most 50 elements")]

    def test_of_none_is_refused(self):
        assert refusal(Additions, {"items": []}) == [("items", "must hold at least 1 element")]

    @pytest.mark.parametrize("value", [None, "x", 1, {}, {"title": "A"}, {"0": {"title": "A"}}])
    def test_is_a_list(self, value):
        assert refusal(Additions, {"items": value}) == [("items", "must be a list")]

    @pytest.mark.parametrize("value", [None, "x", 1, [], [["title", "A"]]])
    def test_holds_objects(self, value):
        assert refusal(Additions, {"items": [{"title": "A"}, value]}) == [("items.1", "must be an object")]

    def test_with_several_faults_tells_each_with_its_place(self):
        faults = refusal(Additions, {"items": [{"title": ""}, {"title": "A", "kind": "must"}, {}]})
        assert [field for field, _ in faults] == ["items.0.title", "items.1.kind", "items.2.title"]


class TestARefusal:
    SECRET = "s3cret-Text"

    @pytest.mark.parametrize(
        ("model", "value"),
        [
            (Draft, {"title": "A", SECRET: 1}),
            (Draft, {"title": "A", "kind": SECRET}),
            (Draft, {"title": SECRET * 20}),
            (Draft, {"title": SECRET + "\x00"}),
            (IndexedEdit, {"index": SECRET}),
            (Edit, {"locked": SECRET}),
            (Additions, {"items": SECRET}),
            (Additions, {"items": [SECRET]}),
        ],
    )
    def test_holds_nothing_of_what_was_sent(self, model, value):
        with pytest.raises(InvalidInput) as caught:
            parse(model, value)
        assert self.SECRET not in f"{caught.value!r} {caught.value.errors!r}"
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__

    @pytest.mark.parametrize("model", [Draft, IndexedEdit, Edit, Additions, Thread, Caller])
    def test_of_pydantics_own_hides_the_input_as_well(self, model):
        with pytest.raises(ValidationError) as caught:
            model.model_validate({"title": {"x": self.SECRET}, "items": self.SECRET, "locked": self.SECRET})
        assert self.SECRET not in str(caught.value)

    def test_has_a_text_and_a_code_at_every_leaf_of_the_tree(self):
        def leaves(cls):
            return [leaf for sub in cls.__subclasses__() for leaf in leaves(sub)] or [cls]

        for leaf in leaves(PreferencesError):
            assert leaf.code

    def test_is_drawn_in_the_tree_at_the_head_of_its_room(self):
        drawn = errors.__doc__
        for name, found in vars(errors).items():
            if isinstance(found, type) and issubclass(found, PreferencesError):
                assert name in drawn


class TestReasoning:
    def test_is_cut_at_its_bound_and_never_refused(self):
        assert reasoning("a" * 5000) == "a" * 1000
        assert reasoning("🍕" * 1001) == "🍕" * 1000

    def test_is_one_line_without_anything_hidden(self):
        assert reasoning("Because\nshe\x00 said\u202e so\ud800.") == "Because she  said  so ."

    @pytest.mark.parametrize("value", [None, "", "  ", "\n", 7, [7], {"a": 1}, True])
    def test_that_is_not_given_or_no_text_is_none(self, value):
        assert reasoning(value) is None

    @given(st.text(st.characters(), max_size=3000))
    def test_can_always_be_stored(self, text):
        kept = reasoning(text) or ""
        assert len(kept) <= 1000
        assert len(kept.encode("utf-8")) <= 4000
        assert len(kept.splitlines()) <= 1


class TestAThreadId:
    @pytest.mark.parametrize(
        "text", ["ab", "A.b_c:d-9", "0" * 100, pytest.param(new_id(), id="a minted one")]
    )
    def test_is_2_to_100_of_its_alphabet(self, text):
        assert is_thread_id(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "a",
            "0" * 101,
            "a b",
            "a#b",
            "a/b",
            "a%20b",
            "a\n",
            "\nab",
            "ab\x00",
            "žába",
            "a*b",
            "..",
            "٢٢",
            None,
            12,
            ["ab"],
            b"ab",
        ],
        ids=ascii,
    )
    def test_of_anything_else_is_none(self, text):
        assert not is_thread_id(text)


class TestAUserId:
    @pytest.mark.parametrize("text", ["ada", "f" * 255, "auth0|5f7c", "žába", "a b"])
    def test_is_any_visible_text_of_up_to_255_characters(self, text):
        assert is_user_id(text)

    @pytest.mark.parametrize(
        "text", ["", " ", "f" * 256, "a\nb", "a\x00", "\u202ea", None, 7, ["ada"], b"ada"]
    )
    def test_of_anything_else_is_none(self, text):
        assert not is_user_id(text)


class TestAMintedId:
    def test_has_128_random_bits_and_is_an_url_and_a_thread_id_as_it_is(self):
        made = {new_id() for _ in range(100)}
        assert len(made) == 100
        assert all(len(i) == 32 and int(i, 16) >= 0 and is_thread_id(i) for i in made)


class TestValues:
    @pytest.mark.parametrize("model", Frozen.__subclasses__(), ids=lambda model: model.__name__)
    def test_cannot_be_changed_and_take_no_unknown_field(self, model):
        assert model.model_config["frozen"]
        assert model.model_config["extra"] == "forbid"
        assert model.model_config["hide_input_in_errors"]
        assert issubclass(model, BaseModel)

    def test_of_a_thread_know_the_position_of_each_row(self):
        thread = a_thread("A", "B")
        assert dict(thread.positions) == {"A": 1, "B": 2}
        assert (thread.find("B").title, thread.find("Z")) == ("B", None)


class TestJson:
    @pytest.mark.parametrize("text", ['{"a": 1}', b'{"a": 1}', ' {"a":1}\n'])
    def test_is_read(self, text):
        assert strict_json(text) == {"a": 1}

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "nope",
            "{'a': 1}",
            '{"a": NaN}',
            "Infinity",
            "-Infinity",
            "1e999",
            "-1e999",
            '{"a": 1, "a": 1}',
            '[{"b": {"a": 1, "a": 2}}]',
            "[" * 100_000,
            '{"a":' * 100_000,
            "9" * 5000,
            b"\xff\xfe\x00",
            b'"\xff"',
            '"a\nb"',
            "[1,]",
            '{"a": 1}x',
            "\x00",
        ],
        ids=lambda text: ascii(text)[:16],
    )
    def test_with_no_reading_or_more_than_one_is_refused(self, text):
        with pytest.raises(InvalidJson):
            strict_json(text)

    def test_that_is_refused_is_not_shown(self):
        with pytest.raises(InvalidJson) as caught:
            strict_json('{"s3cret": 1, "s3cret": 2, "x": }')
        assert "s3cret" not in str(caught.value)

    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63)
            | st.floats(allow_nan=False).filter(lambda x: abs(x) <= sys.float_info.max)
            | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=10,
        )
    )
    def test_that_has_one_reading_is_what_was_written(self, value):
        assert strict_json(json.dumps(value)) == value


class TestHiddenText:
    @pytest.mark.parametrize(
        "text",
        [
            "A\ufe00b\ufe01",
            "❤\ufe0f\ufe0f",
            "a\U000e0101",
            "a\ufff9b\ufffbc",
            "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "obey") + "\U000e007f",
            "a" + "\u0301" * 31,
        ],
        ids=ascii,
    )
    def test_is_refused(self, text):
        with pytest.raises(InvalidInput):
            parse(Draft, {"title": text})

    @pytest.mark.parametrize(
        "text",
        ["❤\ufe0f", "1\ufe0f\u20e3", "👁\ufe0f\u200d🗨\ufe0f", "葛\U000e0100", "e\u0323\u0302" * 10],
        ids=ascii,
    )
    def test_is_not_what_scripts_and_emoji_need(self, text):
        assert parse(Draft, {"title": text}).title == unicodedata.normalize("NFC", text)

    @pytest.mark.parametrize("marks", ["\u0301\u0323" * 2000, "\u0f73" * 3900], ids=ascii)
    def test_is_refused_before_it_costs_quadratic_time(self, marks):
        started = time.process_time()
        for _ in range(50):
            with pytest.raises(InvalidInput):
                parse(Draft, {"title": "a", "subtitle": marks})
        assert time.process_time() - started < 1

    def test_of_a_remark_is_left_out_where_it_would_cost_quadratic_time(self):
        started = time.process_time()
        for marks in ("\u0301\u0323" * 2000, "\u0f73" * 3900):
            assert shorten(f"Ada said so{marks}", 500) == "Ada said so"
        assert time.process_time() - started < 0.1

    def test_is_refused_in_the_form_that_would_be_stored(self):
        """The Kelvin sign becomes a K, after which a selector selects nothing."""
        with pytest.raises(InvalidInput, match="variation selector"):
            parse(Draft, {"title": "\u212a\ufe0f"})


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("می\u200c\u200cخواهم", "می\u200cخواهم"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("Marriott\u00ae\ufe0f", "Marriott\u00ae\ufe0f"),
        ("Disney\u00a9\ufe0f", "Disney\u00a9\ufe0f"),
        ("Lego\u2122\ufe0f", "Lego\u2122\ufe0f"),
    ],
    ids=["a half-space twice", "a half-space", "registered", "copyright", "trade mark"],
)
def test_what_keyboards_and_phones_write_is_taken(written, stored):
    assert Draft(title=written).title == stored


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"action": "recording", "reasoning": "she said so"}, "recording she said so"),
        (["recording", 7, "she said so"], "recording she said so"),
        ({"action": {"deep": "x"}}, None),
        (7, None),
    ],
    ids=["an object", "a list", "no text", "a number"],
)
def test_a_reason_that_comes_as_an_object_is_its_texts(sent, kept):
    assert reasoning(sent) == kept
