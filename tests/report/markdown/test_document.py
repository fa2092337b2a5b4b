"""The Markdown report: its parts, its escaping, its size."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from graphdoctor.model.findings import Diagnosis, Region, ScannedFile
from graphdoctor.report.gfm import escape, fence, prose
from graphdoctor.report.markdown import document


def _size(text: str) -> int:
    return len(text.encode())


def test_the_parts_in_order(rich: Diagnosis) -> None:
    shown = document.render(rich)
    headings = re.findall(r"^#+ (.*)$", shown, re.MULTILINE)
    assert headings == [
        "graphdoctor: Not ready: 3 graph breaks, 2 of them in your code",
        "Findings",
        "The run",
        "Recompiles",
        "Verification",
        "Files that could not be read",
        "Notes",
    ]
    assert "```diff\n--- a/model.py" in shown
    assert "[GB0059](https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html)" in shown
    assert "model.py:60 in Outer.forward" in shown
    assert "<code>graphdoctor scan model.py</code>" in shown


def test_fixes_that_change_nothing_come_without_a_command(rich: Diagnosis) -> None:
    assert "To apply: <code>" in document.render(rich)
    assert rich.verification is not None
    same = replace(rich.verification, breaks=rich.summary.breaks or 0, grade="none", fullgraph_passes=False)
    shown = document.render(replace(rich, verification=same))
    assert "1 fix applied to a copy leaves no fewer graph breaks" in shown and "To apply" not in shown


def test_tables_have_as_many_cells_as_heads(hostile: Diagnosis) -> None:
    cells = 0
    for line in document.render(hostile).splitlines():
        if re.fullmatch(r"\|(---\|)+", line):
            cells = line.count("|")
        elif cells and line.startswith("|"):
            assert line.count("|") == cells
        elif not line.startswith("|"):
            cells = 0


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<class 'x'> & y", "&lt;class 'x'&gt; &amp; y"),
        ("a|b`c`*d*", "a&#124;b&#96;c&#96;&#42;d&#42;"),
        ("[x](y)", "&#91;x&#93;(y)"),
        ("@torch #12", "&#64;<!-- -->torch &#35;12"),
        ("a\nb", "a b"),
        ("z" * 400, "z" * 300 + "…"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_prose_shows_code_between_backticks() -> None:
    assert prose("use `a|b` for *x*") == "use <code>a&#124;b</code> for &#42;x&#42;"


def test_a_fence_is_longer_than_those_inside() -> None:
    assert fence("a\n````\nb") == "`````\na\n````\nb\n`````"


def test_hostile_text_stays_text(hostile: Diagnosis) -> None:
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", document.render(hostile), flags=re.MULTILINE | re.DOTALL)
    assert "<script" not in outside
    assert "<img" not in outside
    assert "](javascript" not in outside
    assert not re.search(r"@\w", outside)
    assert set(re.findall(r"</?([a-z]+)", outside)) <= {"code", "details", "summary", "sub"}


@pytest.mark.parametrize("count", [50, 2_000])
def test_fits_a_comment_whatever_the_size(many: Callable[[int], Diagnosis], count: int) -> None:
    shown = document.render(many(count))
    assert _size(shown) <= 60_000
    if count >= 500:
        dropped = re.search(r"_Left out to fit a comment: stacks, diffs, (\d+) of (\d+) findings\._", shown)
        assert dropped is not None
        listed = len(re.findall(r"^<details><summary><code>", shown, re.MULTILINE))
        refuted = sum(f.status == "refuted" for f in many(count).findings[: count - int(dropped[1])])
        assert int(dropped[2]) == count
        assert listed + refuted == count - int(dropped[1])


def test_stacks_go_first_then_diffs(many: Callable[[int], Diagnosis]) -> None:
    diagnosis = many(20)
    whole = document.render(diagnosis)
    assert "Left out" not in whole
    without_stacks = document.render(diagnosis, _size(whole) - 1)
    assert "_Left out to fit a comment: stacks._" in without_stacks
    assert "```diff" in without_stacks
    without_diffs = document.render(diagnosis, _size(without_stacks) - 1)
    assert "_Left out to fit a comment: stacks, diffs._" in without_diffs
    assert "```diff" not in without_diffs


def test_hostile_and_long_everything_still_fits(hostile: Diagnosis) -> None:
    failed = tuple(ScannedFile(hostile.files[0].path, 1, "failed", hostile.summary.headline) for _ in range(300))
    diagnosis = replace(hostile, findings=hostile.findings * 100, files=failed, notes=hostile.notes * 300)
    shown = document.render(diagnosis)
    assert _size(shown) <= 60_000
    assert "Left out to fit a comment" in shown or "The rest is left out" in shown


def test_a_clean_scan(clean: Diagnosis) -> None:
    shown = document.render(clean)
    assert shown.startswith("<!-- graphdoctor -->\n\n## graphdoctor: No graph breaks found in the source\n")
    assert "### Findings" not in shown


def test_what_is_new_comes_first_and_what_is_fixed_is_listed(compared: Diagnosis) -> None:
    shown = document.render(compared)
    headings = re.findall(r"^#+ (.*)$", shown, re.MULTILINE)
    assert headings[:4] == [
        "graphdoctor: 3 graph breaks before, 3 now; 1 recompile cause as before; 2 new findings (1 seen in the run, "
        "1 predicted), 1 fixed, 4 unchanged",
        "New findings", "Other findings", "Fixed",
    ]  # fmt: skip
    assert "Compared with main, 2 not compared: one side was not run or not read" in shown
    assert "what was fixed" in shown.partition("### Fixed")[2]
    details = re.findall(r"^<details><summary><code>model\.py:(\d+)", shown, re.MULTILINE)
    assert details == ["40", "52", "18", "21", "31"]


def test_findings_link_to_their_lines_on_the_code_host(rich: Diagnosis) -> None:
    url = f"https://github.com/me/models/blob/{'a' * 40}/my%20src/"
    place = replace(rich.findings[4].location, path="/usr/lib/library.py")
    outside = replace(rich.findings[4], location=place)
    shown = document.render(replace(rich, code_url=url, findings=(rich.findings[0], outside)))
    # In the table and in the summary of the details; what lies outside of the repository has no address.
    assert shown.count(f'<a href="{url}model.py#L18"><code>model.py:18:9</code></a>') == 2
    assert "library.py#L" not in shown and "href" not in document.render(rich)


def test_what_is_new_is_dropped_last(many: Callable[[int], Diagnosis], compared: Diagnosis) -> None:
    diagnosis = many(1_000)
    last = diagnosis.findings[-1]
    assert compared.comparison is not None
    comparison = replace(compared.comparison, new=(last.fingerprint,), fixed=compared.comparison.fixed * 500)
    shown = document.render(replace(diagnosis, comparison=comparison))
    assert _size(shown) <= 60_000
    assert f"model.py:{last.location.line}:" in shown.partition("### Other findings")[0]


def test_nothing_is_cut_in_the_middle(hostile: Diagnosis) -> None:
    """Whatever is dropped, each row, block and fence that is shown is whole."""
    failed = tuple(ScannedFile(hostile.files[0].path, 1, "failed", hostile.summary.headline) for _ in range(60))
    runs = (hostile.dynamic or ()) * 10
    everything = replace(hostile, findings=hostile.findings * 5, files=failed, notes=hostile.notes * 60, dynamic=runs)
    for diagnosis in (everything, replace(everything, findings=())):
        shown = document.render(diagnosis)
        assert _size(shown) <= 60_000
        assert shown.count("<details>") == shown.count("</details>")
        assert len(re.findall(r"^`{3,}", shown, re.MULTILINE)) % 2 == 0
        assert all(line.endswith("|") for line in shown.splitlines() if line.startswith("|"))
        assert shown.rstrip().endswith("</sub>")
        assert "Left out to fit a comment" in shown


def test_the_title_says_what_the_change_does(compared: Diagnosis) -> None:
    assert compared.comparison is not None
    only_fixed = replace(compared, comparison=replace(compared.comparison, new=()))
    assert "; no new findings, 1 fixed, 4 unchanged\n" in document.render(only_fixed)
    assert "## graphdoctor: No new findings, 1 fixed, 4 unchanged\n" in document.render(
        replace(only_fixed, dynamic=None, summary=replace(only_fixed.summary, breaks=None))
    )


def test_ten_findings_fit_a_screen(many: Callable[[int], Diagnosis]) -> None:
    shown = re.sub(r"<details>.*</details>", "", document.render(many(10)), flags=re.DOTALL)
    assert shown.count("| model.py:") + shown.count("<code>model.py:") == 10
    assert len([line for line in shown.splitlines() if line]) < 35
    assert "Do these first" not in shown
    assert "**With 1 fix applied to a copy: 1 graph, 0 graph breaks, fullgraph=True passes, outputs equal.**" in shown


def test_the_models_of_a_scan_are_a_table(rich: Diagnosis) -> None:
    found = replace(rich.findings[0], status="static-only")
    regions = (
        Region("Loud", "model.py", 12, True, 3, (found.fingerprint,)),
        Region("Calm", "model.py", 40, True, 2),
    )
    text = document.render(replace(rich, findings=(found,), dynamic=None, verification=None, regions=regions))
    assert "| 1 break | <code>Loud</code> | <code>model.py:12</code> |  |" in text
    assert "No break is predicted in the code of 1 other model: Calm." in text
