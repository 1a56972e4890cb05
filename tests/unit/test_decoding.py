"""Arguments as agents' runtimes send them: every encoding, and what no decoder can know."""

import json
import re
import time
import warnings
from pprint import pformat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import create_model

from preferences.agent.arguments import MAX_TEXT, decode
from preferences.errors import InvalidInput
from preferences.model import MAX_BATCH, MAX_SUBTITLE, MAX_TITLE
from preferences.tools import TOOLS

ADD, UPDATE, REMOVE = (
    TOOLS[name].args_schema for name in ("add_preferences", "update_preferences", "remove_preferences")
)
TONE = {"title": "Academic tone", "kind": "hard"}
SHORT = {"title": "Short, plain words", "subtitle": "max 2 pages", "kind": "soft"}


def items(value):
    return decode(ADD, {"items": value})["items"]


def updates(value):
    return decode(UPDATE, {"updates": value})["updates"]


def indices(value):
    return decode(REMOVE, {"indices": value})["indices"]


def printed(rows):
    """What Java prints for a list of maps."""
    maps = (", ".join(f"{name}={'null' if v is None else v}" for name, v in row.items()) for row in rows)
    return f"[{', '.join(f'{{{text}}}' for text in maps)}]"


def pairs(row):
    return [{"name": name, "value": value, "type": "string"} for name, value in row.items()]


def refusal(read, value):
    with pytest.raises(InvalidInput) as caught:
        read(value)
    return str(caught.value)


class TestAnArrayOfObjects:
    @pytest.mark.parametrize(
        "value",
        [
            pytest.param([TONE, SHORT], id="native"),
            pytest.param(json.dumps([TONE, SHORT]), id="json"),
            pytest.param(json.dumps([TONE, SHORT], indent=2), id="json on several lines"),
            pytest.param(f" \n{json.dumps([TONE, SHORT])}\n", id="json with space around it"),
            pytest.param(json.dumps(json.dumps([TONE, SHORT])), id="json in json"),
            pytest.param(f"```json\n{json.dumps([TONE, SHORT])}\n```", id="fenced"),
            pytest.param(f"```\n{json.dumps([TONE, SHORT])}```", id="fenced without a language"),
            pytest.param(f"```{json.dumps([TONE, SHORT])}```", id="fenced on one line"),
            pytest.param(json.dumps(f"```json\n{json.dumps([TONE, SHORT])}\n```"), id="fenced in json"),
            pytest.param(printed([TONE, SHORT]), id="printed by java"),
            pytest.param(json.dumps(printed([TONE, SHORT])), id="printed by java, in json"),
            pytest.param(f" {printed([TONE, SHORT])}\n", id="printed by java, with space around it"),
            pytest.param(f" ``` {printed([TONE, SHORT])} ``` ", id="printed by java, fenced"),
            pytest.param(f"[ {printed([TONE, SHORT])[1:-1]} ]", id="printed by java, with space inside it"),
            pytest.param(repr([TONE, SHORT]), id="printed by python"),
            pytest.param(pformat([TONE, SHORT], width=40), id="printed by python on several lines"),
            pytest.param([json.dumps(TONE), json.dumps(SHORT)], id="json elements"),
            pytest.param(json.dumps([json.dumps(TONE), json.dumps(SHORT)]), id="json elements in json"),
            pytest.param([printed([TONE]), printed([SHORT])[1:-1]], id="elements printed by java"),
            pytest.param([repr(TONE), repr(SHORT)], id="elements printed by python"),
            pytest.param([pairs(TONE), pairs(SHORT)], id="pairs"),
            pytest.param(json.dumps([pairs(TONE), pairs(SHORT)]), id="pairs in json"),
            pytest.param(
                f"<item>{json.dumps(TONE)}</item>\n<item>{json.dumps(SHORT)}</item>", id="item tags"
            ),
        ],
    )
    def test_is_read_in_every_encoding(self, value):
        assert items(value) == [TONE, SHORT]

    @pytest.mark.parametrize(
        "value",
        [TONE, json.dumps(TONE), printed([TONE])[1:-1], repr(TONE), pairs(TONE), json.dumps(pairs(TONE))],
        ids=["native", "json", "java", "python", "pairs", "pairs in json"],
    )
    def test_may_be_a_single_object(self, value):
        assert items(value) == [TONE]

    def test_keeps_numbers_that_were_printed_for_the_schema_to_read(self):
        value = printed([{"index": 1, "title": "Formal tone"}, {"index": 3, "kind": "hard"}])
        assert updates(value) == [{"index": "1", "title": "Formal tone"}, {"index": "3", "kind": "hard"}]

    def test_takes_the_bare_word_null_for_null(self):
        expected = [{"index": "4", "title": None, "subtitle": None, "kind": "hard"}]
        assert updates("[{index=4, title=null, subtitle=null, kind=hard}]") == expected

    def test_takes_the_word_null_in_json_for_a_text(self):
        assert items('[{"title": "null"}]') == [{"title": "null"}]

    def test_keeps_an_empty_text_beside_null(self):
        assert updates("[{index=1, subtitle=}, {index=2, subtitle=null}]") == [
            {"index": "1", "subtitle": ""},
            {"index": "2", "subtitle": None},
        ]

    def test_may_come_empty_for_the_schema_to_refuse(self):
        assert items("[]") == []

    def test_takes_the_order_of_the_fields_as_it_comes(self):
        assert items("[{kind=hard, title=Academic tone}]") == [{"kind": "hard", "title": "Academic tone"}]

    @pytest.mark.parametrize(
        "text",
        [
            '"twin"',
            "&amp; &#39;",
            '["no feathers", "quiet"]',
            "{x}",
            "7",
            "true",
            "a=b; c = d",
            "kind=soft",
            "mind the, kind = soft, gap",
            "no separator,kind=soft",
            "}, {colour=red",
            "},{title=x",
            "https://example.test/?title=x&kind=hard",
            "say 'yes', don't \\ guess",
            "<item>1</item>",
            "```json",
            "C:\\new\\table",
            "簡潔に、句読点に注意",
            "two\nlines",
            " space around ",
        ],
    )
    def test_leaves_the_texts_inside_as_they_are(self, text):
        row = {"title": text, "subtitle": text, "kind": "soft"}
        for value in (
            [row],
            json.dumps([row]),
            json.dumps(json.dumps([row])),
            printed([row]),
            repr([row]),
            [pairs(row)],
        ):
            assert items(value) == [row]

    @pytest.mark.parametrize(
        "value",
        [
            "[Academic tone, Short answers]",
            "Academic tone",
            '["{ "title": "Academic tone" }"]',
            "[{title=Academic tone, kind=hard}",
            "{title=Academic tone, kind=hard}]",
            "[{title=Academic tone, kind=hard}}",
            "[{name=Academic tone}]",
            "[{title: Academic tone}]",
            "[{'title': 'Academic tone'",
            "[{'title': 'Academic' 'tone'}]",
            "[{'title': open('x')}]",
            "[{'title': 'a\\d'}]",
            "[{'title': 'two\nlines'}]",
            "[{'title': '\ud800\\n'}]",
            "[{'title': '\\U00110000'}]",
            '[{"title": NaN}]',
            "[{'index': 1e999}]",
            "[" * 100_000,
            "[{'a': " * 10_000,
            "9" * 5_000,
            "'",
            json.dumps(json.dumps(json.dumps([TONE]))),
            "\ud800",
            "\x00",
        ],
        ids=range(24),
    )
    def test_is_refused_where_no_encoding_takes_the_whole_text(self, value):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            message = refusal(items, value)
        assert message.startswith("items: ")
        assert message.endswith(": send items as JSON")
        assert "\n" not in message
        assert not shown

    @pytest.mark.parametrize(
        "value", [["Academic tone"], ['"Academic tone"'], '["Academic tone", "Short answers"]']
    )
    def test_of_plain_texts_is_refused_at_the_first_of_them(self, value):
        assert refusal(items, value).startswith("items: must be an object (element 0): send items as JSON")

    def test_is_no_text_however_often_it_is_quoted(self):
        assert refusal(items, json.dumps(json.dumps("[]"))).startswith("items: must be a list, not a text")

    def test_says_which_element_cannot_be_read(self):
        assert "(element 1)" in refusal(items, [json.dumps(TONE), "Short answers"])

    def test_takes_no_element_out_of_several_in_one_text(self):
        assert items([json.dumps([TONE, SHORT]), "[]"]) == [[TONE, SHORT], []]  # for the schema to refuse

    def test_may_hold_an_object_of_one_field_in_a_text(self):
        assert items(['{"title": "Academic tone"}']) == [{"title": "Academic tone"}]

    @pytest.mark.parametrize(
        "value",
        [
            '[{"title": "One", "title": "Two"}]',
            "[{'title': 'One', 'title': 'Two'}]",
            [[{"name": "title", "value": "One"}, {"name": "title", "value": "Two"}]],
        ],
        ids=["json", "python", "pairs"],
    )
    def test_never_takes_one_of_two_equal_keys(self, value):
        assert "send items as JSON" in refusal(items, value)

    def test_leaves_elements_of_another_type_to_the_schema(self):
        assert items([7, None, {"title": ["x"]}]) == [7, None, {"title": ["x"]}]
        assert items("[{'title': True, 'kind': False}]") == [{"title": True, "kind": False}]

    @pytest.mark.parametrize(
        "element",
        [{"name": "title", "value": "A", "kind": "hard"}, {"name": ["title"], "value": "A"}],
        ids=["more than a pair", "a name that is no text"],
    )
    def test_leaves_what_only_resembles_a_pair_to_the_schema(self, element):
        assert items([element]) == [element]


class TestATextThatLooksLikeAField:
    def test_is_text_where_that_is_the_only_valid_reading(self):
        row = {"title": "write kind, kind=soft words", "kind": "hard"}
        assert items(printed([row])) == [row]

    def test_is_text_where_the_object_starts_with_that_field(self):
        row = {"title": "not, title=this", "kind": "hard"}
        assert items(printed([row])) == [row]

    @pytest.mark.parametrize(
        "value",
        [
            "[{title=One, kind=soft, subtitle=two, kind=hard}]",
            "[{kind=hard, title=One, subtitle=two, subtitle=three}]",
            "[{title=One, kind=must, subtitle=two, kind=should}]",
            '["{title=One, kind=soft, subtitle=two, kind=hard}"]',
        ],
        ids=["two valid", "two valid texts", "none valid", "inside an element"],
    )
    def test_is_refused_where_not_exactly_one_reading_is_valid(self, value):
        assert "a field's name comes twice in one object" in refusal(items, value)

    def test_is_settled_for_each_object_by_itself(self):
        rows = [TONE, {"title": "a, kind=b", "kind": "soft"}, {"title": "x", "kind": "soft"}]
        assert items(printed(rows)) == rows

    def test_is_settled_among_sixteen_readings_and_refused_among_more(self):
        row = {"title": "One", "subtitle": "two" + ", kind=x" * 15, "kind": "hard"}
        assert items(printed([row])) == [row]
        row["subtitle"] += ", kind=x"
        assert "comes twice" in refusal(items, printed([row]))

    def test_is_taken_for_a_field_where_the_object_has_no_other(self):
        # What no decoder can know: the text may have been `One, kind=hard`.
        assert items("[{title=One, kind=hard}]") == [{"title": "One", "kind": "hard"}]

    def test_is_refused_where_it_is_a_field_of_another_tool(self):
        assert "looks like a field that is not known" in refusal(items, "[{title=One, index=2, kind=hard}]")


class TestAnArrayOfNumbers:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ([1, 3], [1, 3]),
            ("[1, 3]", [1, 3]),
            ('"[1, 3]"', [1, 3]),
            ("```\n[1, 3]\n```", [1, 3]),
            ('["1", "3"]', ["1", "3"]),
            ("['1', '3']", ["1", "3"]),
            ("<item>1</item><item>3</item>", ["1", "3"]),
            ("<item>2</item>", ["2"]),
            ("1,3", ["1", "3"]),
            ("1 , 3", ["1 ", " 3"]),
            ("1.0,-3", ["1.0", "-3"]),
            ("[1.0, -3, '4']", [1.0, -3, "4"]),
            ("2", [2]),
            ('"2"', [2]),
            (2, [2]),
            (2.0, [2.0]),
            ("+2", ["+2"]),
            ("[2.5]", [2.5]),
            ("[]", []),
        ],
    )
    def test_is_read_in_every_encoding(self, value, expected):
        assert indices(value) == expected

    @pytest.mark.parametrize(
        "value", ["abc", "1;3", "1,", ",", "one, two", "#1, #3", "[1, 3", "1 and 3", "<item>1</item><item>3"]
    )
    def test_is_refused_where_it_is_none(self, value):
        assert refusal(indices, value).endswith("send indices as JSON")

    @pytest.mark.parametrize("annotation", [list[int], tuple[int, ...]])
    def test_may_be_a_new_tools_without_an_example(self, annotation):
        schema = create_model("Pages", pages=annotation)
        assert decode(schema, {"pages": "1,3"}) == {"pages": ["1", "3"]}
        refused = refusal(lambda value: decode(schema, {"pages": value}), "one, two")
        assert refused.endswith(": send pages as JSON")

    def test_is_never_a_map(self):
        assert "indices" in refusal(indices, "[{index=1}]")

    def test_leaves_its_elements_to_the_schema(self):
        assert indices(["[1]", {"name": "x", "value": 1}]) == ["[1]", {"name": "x", "value": 1}]


class TestWhatIsNotGiven:
    @pytest.mark.parametrize("value", [None, "", "  ", "null", "None"])
    def test_is_left_out(self, value):
        given = {"updates": [{"index": 1}], "list_revision": value}
        assert decode(UPDATE, given) == {"updates": [{"index": 1}]}
        assert decode(REMOVE, {"indices": value}) == {}

    @pytest.mark.parametrize("value", ["8", 8, "abc", [8]])
    def test_is_no_other_value_of_a_plain_argument(self, value):
        assert decode(REMOVE, {"list_revision": value}) == {"list_revision": value}

    @pytest.mark.parametrize("value", ["[1]", "", "null", '"quoted"', {"a": 1}])
    def test_is_none_of_what_the_schema_does_not_know(self, value):
        given = {"action_and_reasoning": value, "thread_id": value}
        assert decode(ADD, given) == given


class TestSize:
    @pytest.mark.parametrize("form", [list, json.dumps, printed], ids=["native", "json", "java"])
    def test_fifty_elements_are_read_and_more_are_not(self, form):
        assert items(form([TONE] * 50)) == [TONE] * 50
        for many in (51, 500):
            assert refusal(items, form([TONE] * many)).startswith("items: must hold at most 50 elements")

    def test_the_largest_batch_fits_in_the_longest_encoding(self):
        row = {"title": "🧭" * MAX_TITLE, "subtitle": "🧭" * MAX_SUBTITLE, "kind": "hard"}
        value = json.dumps(json.dumps([row] * MAX_BATCH))
        assert len(value) < MAX_TEXT
        assert items(value) == [row] * MAX_BATCH

    @pytest.mark.parametrize(("read", "value"), [(items, [TONE]), (indices, [1])], ids=["items", "indices"])
    def test_half_a_million_characters_are_read_and_one_more_is_not(self, read, value):
        text = json.dumps(value).ljust(500_000)
        assert read(text) == value
        assert "is too long" in refusal(read, text + " ")

    def test_elements_that_are_texts_count_together(self):
        texts = [json.dumps(TONE).ljust(10_000)] * 50
        assert items(texts) == [TONE] * 50
        texts[-1] += " "
        assert refusal(items, texts).startswith("items: is too long")

    @pytest.mark.parametrize(
        "unit",
        [
            "[",
            "{",
            "'",
            "\\'",
            '\\"',
            "1,",
            "-",
            " ",
            "`",
            "```",
            "}, {title=",
            ", title=",
            ", kind=soft",
            "{title=",
            "<item>",
            "</item> ",
            "</item>\t<item>",
            "'a',",
            "{'a':",
            "title",
            "9",
            "9.",
            "e",
            "\n",
        ],
    )
    def test_takes_time_in_proportion_to_the_text(self, unit):
        """Quadratic work on half a million characters would take minutes."""
        many = unit * (MAX_TEXT // len(unit) - 20) + "."
        started = time.process_time()
        for value in (
            many,
            f"[{{title={many}}}]",
            f"['{many}",
            f'["{many}',
            f"<item>{many}</item>",
            f"```{many}",
        ):
            for read in (items, indices):
                try:
                    read(value)
                except InvalidInput as error:
                    assert len(str(error)) < 300  # noqa: PT017
        assert time.process_time() - started < 10


FRAGMENTS = [
    *(", ", "=", "{", "}", "[", "]", "}, {", ":", '"', "'", "\\", "\n", "null", "None", "1", "e9", "-"),
    *("title", "subtitle", "kind", "index", "title=", ", kind=", ", title=", "hard", "soft", "}, {title="),
    *("```", "```json\n", "<item>", "</item>", "&amp;", "[{", "}]", '{"title": ', "{'title': ", "NaN"),
]
FRAGMENTED = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=12).map("".join)
COLLISION = re.compile(r"(?:, |\}, \{)(?:title|subtitle|kind|index)=")
TEXTS = st.text(max_size=20) | FRAGMENTED
ORDINARY = TEXTS.map(lambda text: COLLISION.sub("", text)).filter(
    lambda text: text != "null" and not COLLISION.search(text)
)


def rows(texts):
    kinds = st.sampled_from(["hard", "soft"])
    fields = {"title": texts, "subtitle": texts | st.none(), "kind": kinds}
    return st.lists(st.fixed_dictionaries({}, optional=fields).filter(bool), min_size=1, max_size=4)


class TestAnyText:
    @settings(deadline=None)
    @given(rows(ORDINARY))
    def test_comes_out_of_javas_form_exactly_unless_it_looks_like_a_field(self, given_rows):
        assert items(printed(given_rows)) == given_rows

    @settings(deadline=None)
    @given(rows(TEXTS), st.booleans(), st.booleans())
    def test_comes_out_of_json_exactly(self, given_rows, escaped, twice):
        value = json.dumps(given_rows, ensure_ascii=escaped)
        assert items(json.dumps(value) if twice else value) == given_rows

    @settings(deadline=None)
    @given(rows(TEXTS))
    def test_comes_out_of_pythons_form_exactly(self, given_rows):
        assert items(repr(given_rows)) == given_rows

    @settings(deadline=None)
    @given(rows(TEXTS))
    def test_comes_out_of_pairs_exactly(self, given_rows):
        assert items([pairs(row) for row in given_rows]) == given_rows

    @settings(deadline=None)
    @given(TEXTS | st.text(st.characters(), max_size=20), st.sampled_from([items, updates, indices]))
    def test_is_read_or_refused_and_nothing_else(self, text, read):
        try:
            read(text)
        except InvalidInput as error:
            str(error).encode()
        except KeyError:  # not given
            assert text.strip() in ("", "null", "None")

    @settings(deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        ),
        st.sampled_from([("items", ADD), ("updates", UPDATE), ("indices", REMOVE)]),
    )
    def test_of_any_type_is_a_list_or_refused(self, value, target):
        name, schema = target
        try:
            decoded = decode(schema, {name: value})
        except InvalidInput:
            return
        assert all(isinstance(elements, list) for elements in decoded.values())


class TestAStrangeFieldInAPrintedMap:
    """Models add fields of their own. Printed without quotes they would end up in the text before them."""

    @pytest.mark.parametrize(
        "printed",
        [
            "[{title=Quiet room, locked=true}]",
            "[{kind=hard, title=Under 900 euros, id=3}]",
            "[{title=A room, description=with a sea view, kind=hard}]",
            "[{title=A, subtitle=so it is, _x1=, kind=soft}]",
        ],
    )
    def test_is_refused_and_says_what_to_send(self, printed):
        with pytest.raises(
            InvalidInput, match="looks like a field that is not known here: send items as JSON"
        ):
            decode(TOOLS["add_preferences"].args_schema, {"items": printed})

    @pytest.mark.parametrize(
        "title", ["x = y, z == 2", "a,b=c", "a, b =c", "see https://x.example/?a=1&b=2", "A, 2=two", "E=mc²"]
    )
    def test_is_none_where_no_identifier_follows_a_comma_and_stands_before_an_equals_sign(self, title):
        decoded = decode(TOOLS["add_preferences"].args_schema, {"items": f"[{{title={title}, kind=hard}}]"})
        assert decoded == {"items": [{"title": title, "kind": "hard"}]}
