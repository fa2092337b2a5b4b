"""What stands in reports can be shown: no control characters, no endless lines, columns as a terminal counts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.escaping import LINE_LIMIT, one_line, printable, visible, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢 שלום", "plain é 漢 שלום"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x00\x07\x7f\x9b", "\\x00\\x07\\x7f\\x9b"),
        ("\u202eltr\u2066\ufeff", "\\u202eltr\\u2066\\ufeff"),
        ("\udc80", "\\udc80"),
        ("\U000e0041", "\\U000e0041"),
        ("\r\n", "\\x0d\n"),
    ],
)
def test_control_characters_become_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_one_line_joins_lines() -> None:
    assert one_line("  a\n\n b\t c ") == "a b c"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0)])
def test_width_counts_terminal_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_printable_reaches_every_string_but_snippets(hostile: Diagnosis) -> None:
    shown = printable(hostile)
    finding = shown.findings[0]
    assert "\x1b" not in repr((shown.summary, shown.environment, shown.files, shown.notes, shown.dynamic))
    assert "\x1b" not in finding.message + finding.location.path + (finding.fix.diff if finding.fix else "")
    assert finding.snippet == hostile.findings[0].snippet


def test_printable_cuts_long_lines_and_says_so(hostile: Diagnosis) -> None:
    headline = printable(hostile).summary.headline
    assert headline.endswith("more characters)")
    assert len(headline) < LINE_LIMIT + 50


def test_printable_keeps_what_is_harmless(rich: Diagnosis) -> None:
    assert printable(rich) == rich


def test_line_ends_of_source_are_shown_as_line_ends(rich: Diagnosis) -> None:
    shown = printable(replace(rich, texts={"m.py": "a = 1\r\nb = '\x1b'\rc = 3\n"}))
    assert shown.texts == {"m.py": "a = 1\nb = '\\x1b'\nc = 3\n"}


def test_a_line_is_not_cut_for_what_the_cut_would_take_to_say(rich: Diagnosis) -> None:
    kept, cut = ("x" * (LINE_LIMIT + more) for more in (20, 60))
    shown = printable(replace(rich, notes=(kept, cut))).notes
    assert shown == (kept, f"{'x' * LINE_LIMIT}… (60 more characters)")
