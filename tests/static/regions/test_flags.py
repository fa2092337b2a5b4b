"""Names that conditions ask for and nothing else reads."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest

from graphdoctor.static.regions.flags import items_only_asked, only_asked, option_tables


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("if flag:\n    y = 1", {"flag"}),
        ("y = 1 if not flag and index == 0 else 2", {"flag", "index"}),
        ("if weight > 0.0 and 1 <= steps: y = 1", {"weight"}),
        ("if weight > 0.0: y = weight * 2", set()),
        ("if weight > other: y = 1", set()),
        ("if mode == 'a' or mode == 'b':\n    y = f(x=mode)", set()),
        ("if mode == 'a' or mode == 'b':\n    y = f(mode=x.mode)", {"mode"}),
        ("y = x.masked_fill(mask == 0, 1)", set()),
        ("if x == y or x > 0:\n    pass", set()),
        ("if x:\n    y = x + 1", set()),
        ("if (step + 1) % every == 0:\n    y = x * every", {"step"}),
        ("y = x if step % 2 else -x", {"step"}),
        ("if t.sum() % 2 == 0:\n    y = x", set()),
        ("if t % 2 == 0:\n    y = x * t", set()),
    ],
)
def test_what_is_only_asked_by_conditions_is_a_flag_or_a_mode(body, names):
    assert only_asked(cst.parse_module(body).body[0]) == names


@pytest.mark.parametrize(
    ("body", "items"),
    [
        ("if o['flag']:\n    y = 1", {("o", "flag")}),
        ("if not o['flag'] and o['steps'] > 3:\n    y = o['size']", {("o", "flag"), ("o", "steps")}),
        ("y = 1 if o['mode'] == 'a' else p['mode']", {("o", "mode")}),
        ("if b['x'] > 0:\n    y = b['x'] * 2", set()),
        ("if b['x'].sum() > 0:\n    y = 1", set()),
        ("if b['x'] > b['y']:\n    y = 1", set()),
        ("if b[0] > 1:\n    y = 1", set()),
    ],
)
def test_items_that_only_conditions_ask_for_are_flags(body, items):
    assert items_only_asked(cst.parse_module(body).body[0]) == items


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("every = int(o['every'])\nif o['shift']:\n    y = x", {"o"}),
        ("y = x[:: int(o['every'])] * float(p['scale'])", {"o", "p"}),
        ("every = int(o['every'])\ny = o['x'] * 2", set()),
        ("every = int(o['every'])\ny = f(o)", set()),
        ("if o['x'].sum() > 0:\n    y = 1", set()),
        ("every = int(o[0])", set()),
    ],
)
def test_what_is_read_for_numbers_and_flags_alone_is_a_table_of_options(body, names):
    assert option_tables(cst.parse_module(f"if True:\n{textwrap.indent(body, '    ')}\n").body[0].body) == names
