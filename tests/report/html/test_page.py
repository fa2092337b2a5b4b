"""The HTML report as a document: parsed, not rendered."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from graphdoctor.model.findings import Comparison, Diagnosis, Finding, Region
from graphdoctor.model.runs import Sweep, TriedRemedy
from graphdoctor.report.html import page as html

_VOID = {"wbr", "meta", "link", "br", "input", "path", "circle", "use", "rect"}


class Page(HTMLParser):
    """Collects elements with their attributes, the text of each kind of element, and whether tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def values(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.elements if attribute in attrs]

    def with_class(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.elements if name in (attrs.get("class") or "").split()]


@pytest.fixture(scope="module")
def page(rich: Diagnosis) -> Page:
    return Page(html.render(rich))


def test_verdict_then_numbers_then_the_sections_in_order(page: Page) -> None:
    assert page.texts["h1"] == ["Not ready: 3 graph breaks, 2 of them in your code"]
    assert page.texts["h2"] == [
        "Compiled graphs",
        "What the fixes leave to do",
        "Findings",
        "Recompiles",
        "What was not checked",
        "Appendix",
    ]
    assert page.texts["h3"][-4:] == ["Runs", "Files that could not be read", "Notes", "Details"]
    assert page.texts["title"] == ["Not ready: 3 graph breaks, 2 of them in your code - graphdoctor"]


def test_each_finding_is_a_row_with_its_filters_source_and_fix(page: Page, rich: Diagnosis) -> None:
    rows = page.with_class("finding")
    assert [row["data-rule"] for row in rows] == [finding.rule for finding in rich.findings]
    assert [row["data-status"] for row in rows] == [finding.status for finding in rich.findings]
    assert page.texts["mark"][0] == 'print("input", x.shape)'
    body = next(text for text in page.texts["details"] if "+            print(" in text)
    assert "predicted, and seen in the run (GB0059)" in body
    assert "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html" in page.values("href")


def test_local_anchors_lead_somewhere_and_ids_are_unique(page: Page) -> None:
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    targets = {href[1:] for href in page.values("href") if href.startswith("#")}
    assert targets <= set(ids)
    assert {"f-f0018", "f-f0021", "f-f0040", "recompiles"} <= targets


def test_accessible_structure(page: Page) -> None:
    tags = [tag for tag, _ in page.elements]
    assert {"header", "nav", "main", "footer"} <= set(tags)
    assert ("html", {"lang": "en"}) in page.elements
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.elements if tag == "th")
    # An icon stands beside its word; a picture has a description.
    assert all("aria-hidden" in attrs or attrs.get("aria-label") for tag, attrs in page.elements if tag == "svg")
    first_link = next(attrs for tag, attrs in page.elements if tag == "a")
    assert first_link == {"class": "skip", "href": "#main"}
    assert all(attrs.get("aria-label") for tag, attrs in page.elements if tag in ("input", "select", "nav"))
    # Severity is a word beside its icon, not a colour alone.
    assert {"error", "warning", "note"} <= {text.strip() for text in page.texts["span"]}


def test_nothing_is_fetched(hostile: Diagnosis) -> None:
    text = html.render(hostile)
    page = Page(text)
    assert page.values("src") == []
    assert [attrs["href"] for tag, attrs in page.elements if tag == "link"] == ["data:,"]
    assert [attrs["href"] for tag, attrs in page.elements if tag == "use" and not attrs["href"].startswith("#")] == []
    assert not re.search(r"@import|url\(|src=|fetch\(|import\(", "".join(page.texts["style"] + page.texts["script"]))
    assert all(name == "href" for name, value in re.findall(r'(\w+)="(https?:)', text))


def test_policy_allows_exactly_what_is_inside(page: Page) -> None:
    policy = next(attrs["content"] for _, attrs in page.elements if "http-equiv" in attrs)
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    digests = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in page.texts["script"] + page.texts["style"]
    }
    assert digests == set(re.findall(r"'sha256-[^']+'", policy))
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on") or name == "style"]


def test_hostile_text_is_text(hostile: Diagnosis, page: Page) -> None:
    text = html.render(hostile)
    shown = Page(text)
    # The same elements as with harmless text, so nothing was parsed as markup.
    kinds = {tag for tag, _ in page.elements}
    # (A path may be broken after its slashes, and the hostile text has some.)
    assert {tag for tag, _ in shown.elements} - {"small", "wbr"} <= kinds
    assert len(shown.texts["script"]) == 2
    assert shown.texts["h1"][0].startswith("<script>alert(1)</script> </script> </style> <class 'x'> <img src=x")
    assert "{{ 7*7 }}" in shown.texts["h1"][0]
    assert "&amp;lt;" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)


def test_prose_has_code_and_begins_like_a_sentence(rich: Diagnosis) -> None:
    finding = replace(rich.findings[0], fact="`<b>` in `print(x)`, ` alone", suggestion="remove it", why="torch.x is")
    page = html.render(replace(rich, findings=(replace(finding, fix=None),)))
    assert "<code>&lt;b&gt;</code> in <code>print(x)</code>, ` alone" in page
    assert "<p>Remove it</p>" in page
    assert "<p>torch.x is</p>" in page


def test_a_report_of_500_findings_shows_all_of_them_with_their_code(many: Callable[[int], Diagnosis]) -> None:
    text = html.render(many(500))
    assert len(text.encode()) < 1_000_000
    assert text.count('<details class="finding"') == text.count('<pre class="source"') == 500
    assert "left out" not in text


def test_no_page_is_over_a_megabyte_and_what_is_left_out_is_said(
    hostile: Diagnosis, many: Callable[[int], Diagnosis]
) -> None:
    text = html.render(many(650))
    assert 900_000 < len(text.encode()) <= html.LIMIT
    shown = text.count('<details class="finding"')
    codes = text.count('<pre class="source"')
    assert shown == 650 > codes > 200
    assert f"The code of the {650 - codes} least important findings is left out to keep this file under 1 MB." in text
    # The least important ones come last.
    assert text.rindex('<pre class="source"') < text.index("Its code is left out")

    text = html.render(replace(hostile, findings=hostile.findings * 25, notes=hostile.notes * 500))
    assert 800_000 < len(text.encode()) <= html.LIMIT
    shown = text.count('<details class="finding')
    assert f"{150 - shown} findings more are left out" in text
    assert "400 notes more are left out" in text
    Page(text)


def test_what_is_new_keeps_its_code(many: Callable[[int], Diagnosis]) -> None:
    diagnosis = many(1500)
    marks = tuple(finding.fingerprint for finding in diagnosis.findings)
    comparison = Comparison("main", diagnosis.summary, diagnosis.dynamic, marks[-1:], marks[:-1], ())
    rows = html.render(replace(diagnosis, comparison=comparison)).split('<details class="finding"')
    assert 'data-change="new"' in rows[1]
    assert '<pre class="source"' in rows[1]
    assert '<pre class="source"' not in rows[-1]


def test_a_comparison_shows_the_base_beside_each_number(compared: Diagnosis) -> None:
    assert compared.comparison is not None
    before = replace(compared.comparison, summary=replace(compared.summary, breaks=9, errors=12))
    page = Page(html.render(replace(compared, comparison=before)))
    tiles = [" ".join(text.split()) for text in page.texts["li"]]
    first = next(number for number, text in enumerate(tiles) if text.startswith("graph breaks"))
    above, tiles = tiles[:first], tiles[first:]
    # What is new comes first, also where verified fixes remove it.
    assert above[:2] == [
        "New: Dynamo skips a compiled extension (model.py:40)",
        "The call only writes to stdout. model.py:18",
    ]
    assert above[-1] == "Outputs are compared with the eager outputs of the code as it is."
    assert tiles[0] == "graph breaks base: 9, now: 3 → 0 with the fixes 2 in your code, 1 in libraries"
    assert tiles[5].startswith("findings base: 5, now: 6 3 errors, 2 warnings, 1 note")
    assert (
        "Against main: 9 graph breaks before, 3 now; 1 recompile cause as before; 2 new findings (1 seen in the run, "
        "1 predicted), 1 fixed, 4 unchanged, 2 not compared: one side was not run or not read. Show the new ones What was "
        "fixed"
    ) in page.texts["p"]
    assert [row["data-change"] for row in page.with_class("finding")] == ["new"] * 2 + ["unchanged"] * 4
    assert any("What was fixed" in text for text in page.texts["details"])


def test_the_causes_stand_under_the_verdict_unless_fixes_remove_them(rich: Diagnosis) -> None:
    seen = [finding for finding in rich.findings if finding.events]
    assert len(seen) > 2
    shown = Page(html.render(replace(rich, verification=None))).texts["li"]
    causes = [" ".join(text.split()) for text in shown[:3]]
    places = [f"({seen[n].location.path}:{seen[n].location.line})" for n in (0, 1)]
    assert [text.endswith(place) for text, place in zip(causes, places, strict=False)] == [True, True]
    assert causes[2] == f"{len(seen) - 2} more"
    assert not Page(html.render(rich)).texts["li"][0].endswith(places[0])


def test_a_setting_for_breaks_in_libraries_can_be_copied(rich: Diagnosis) -> None:
    line = "torch._dynamo.config.capture_scalar_outputs = True"
    library = replace(rich.findings[4], suggestion=f"Keep it a tensor, or set `{line}`.")
    summary = replace(rich.summary, breaks_own=0)
    page = Page(html.render(replace(rich, findings=(library,), summary=summary, verification=None)))
    assert f"import torch\n{line}" in page.texts["pre"]
    assert any("all graph breaks lie in libraries" in text and "no run has tried" in text for text in page.texts["p"])


def test_fixes_of_a_run_that_verifies_none_are_said_to_be_there(rich: Diagnosis) -> None:
    branch = rich.findings[1]
    assert branch.fix is not None
    unsafe = replace(branch, fix=replace(branch.fix, safety="unsafe", verified=False))
    alone = replace(rich, findings=(unsafe,), verification=None)
    top = Page(html.render(alone)).texts["p"]
    assert any(text.startswith("1 fix is offered, and no run has tried it.") for text in top)
    without = replace(alone, findings=(replace(branch, fix=None),))
    assert any(text.startswith("No edit is offered.") for text in Page(html.render(without)).texts["p"])


def test_a_change_that_was_dropped_is_folded_and_cannot_be_copied(rich: Diagnosis) -> None:
    finding = rich.findings[0]
    assert finding.fix is not None
    refused = replace(finding, fix=replace(finding.fix, grade="none", detail="Dropped: values differ."))
    text = html.render(replace(rich, findings=(refused,), verification=None))
    fold = text.partition("The change that was tried and dropped</summary>")[2].partition("</details>")[0]
    assert "print(" in fold and "Copy" not in fold


def test_a_fix_that_does_nothing_yet_is_not_green(rich: Diagnosis) -> None:
    finding = rich.findings[0]
    assert finding.fix is not None
    idle = replace(finding, fix=replace(finding.fix, grade="no-effect"))
    assert [tag["class"] for tag in Page(html.render(replace(rich, findings=(idle,)))).with_class("fix")] == [
        "tag fix safe idle"
    ]
    shown = replace(rich, findings=(finding,))
    assert [tag["class"] for tag in Page(html.render(shown)).with_class("fix")] == ["tag fix safe"]


def test_where_no_fix_works_the_page_begins_with_what_to_do_by_hand(rich: Diagnosis) -> None:
    assert rich.verification is not None
    vain = replace(rich.verification, breaks=3, fullgraph_passes=False, grade="none")
    top = Page(html.render(replace(rich, verification=vain))).texts["p"]
    assert any(text.startswith("No automatic fix works yet. First, by hand, at model.py:18: ") for text in top)


def test_a_graph_break_of_two_runs_has_one_stack(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    text = html.render(replace(rich, dynamic=(run, replace(run, mode="train"))))
    assert "3 graph breaks with reasons and stacks" in text
    assert text.count("in Net, eval and train mode, on cpu") == 3


def test_what_varied_and_what_was_tried_against_recompiles(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    tried = (TriedRemedy("dynamic=True", None, "it raises"),)
    changed = replace(
        run,
        recompiles=(replace(run.recompiles[0], tried=tried),),
        sweeps=(Sweep("batch 4, 5, 1", True, 3, 4, "a size of 1 is special", 2),),
    )
    page = Page(html.render(replace(rich, dynamic=(changed,))))
    rows = [" ".join(text.split()) for text in page.texts["tr"]]
    items = [" ".join(text.split()) for text in page.texts["li"]]
    swept = "repeated with: batch 4, 5, 1; 4 compilations in 3 calls, 2 with all suggested fixes together (measured)"
    assert f"Net, eval mode, on cpu: {swept}; a size of 1 is special" in items
    assert any("tried: dynamic=True: it raises" in row for row in rows)


def test_a_static_scan_has_no_section_about_runs(clean: Diagnosis) -> None:
    page = Page(html.render(clean))
    assert page.texts["h2"] == ["What was not checked", "Appendix"]


def test_a_clean_model_is_to_be_measured_next_where_it_lies_in_a_file_of_its_own(clean: Diagnosis) -> None:
    ready = replace(clean, summary=replace(clean.summary, verdict="ready"), command="graphdoctor scan a.py")
    assert 'bench</span> <span class="word">a.py</span></code>' in html.render(ready)
    named = html.render(replace(ready, command="graphdoctor scan hf:BertModel --quick"))
    assert "Nothing is in the way of torch.compile." in named
    assert "graphdoctor bench" not in named


def test_a_run_that_failed_says_what_happened(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    page = Page(html.render(replace(rich, dynamic=rich.dynamic[1:], verification=None)))
    cells = [" ".join(text.split()) for text in page.texts["td"]]
    assert cells[:2] == ["stopped at the time limit", "stopped after 120 s"]
    assert [part["class"] for part in page.with_class("proof")] == ["proof "]


def test_script_is_small(package: Path) -> None:
    lines = [(package / "templates" / name).read_text().splitlines() for name in ("theme.js", "report.js")]
    assert sum(map(len, lines)) <= 145


def _colours(css: str, theme: int) -> dict[str, tuple[float, ...]]:
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    return {name: tuple(int(pair[theme][i : i + 2], 16) / 255 for i in (1, 3, 5)) for name, *pair in found}


def _luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance, WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "papers"),
    [
        ("ink", ["page", "card", "code", "bad-tint", "warn-tint", "info-tint"]),
        ("soft", ["page", "card", "code", "bad-tint", "warn-tint", "info-tint"]),
        ("accent", ["card", "page"]),
        ("bad", ["card", "code", "bad-tint"]),
        ("warn", ["card", "code", "warn-tint"]),
        ("good", ["card", "good-tint"]),
        ("info", ["card", "code", "info-tint"]),
    ],
)
def test_contrast_is_aa(package: Path, theme: int, ink: str, papers: list[str]) -> None:
    colours = _colours((package / "templates" / "style.css").read_text(), theme)
    for paper in papers:
        light, dark = sorted((_luminance(colours[ink]), _luminance(colours[paper])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{ink} on {paper}"


def test_findings_that_are_alike_follow_the_first_of_them(rich: Diagnosis) -> None:
    first = replace(rich.findings[0], fix=None)
    print_y = "        print(y)"

    def at(line: int, mark: str, code: str) -> Finding:
        place = replace(first.location, line=line, end_line=line, end_column=len(code) + 1)
        return replace(first, location=place, snippet=(code,), snippet_start=line, fingerprint=mark)

    between = replace(rich.findings[1], fingerprint="between")
    text = html.render(replace(rich, findings=(at(18, "one", "        print(x)"), between, at(90, "two", print_y))))
    cards = re.findall(r'<details class="(finding[a-z ]*)" id="(f-\w+)"', text)
    assert cards == [("finding", "f-one"), ("finding under", "f-two"), ("finding", "f-between")]
    assert '<span class="message">Also <code>print(y)</code></span>' in text
    assert '(as at <a href="#f-one">model.py:18</a>)' in text


def test_the_models_of_a_scan_stand_above_what_to_do(rich: Diagnosis) -> None:
    found = replace(rich.findings[0], status="static-only")
    regions = (
        Region("Loud", "model.py", 12, True, 3, (found.fingerprint,), "cv2.imread"),
        Region("Calm", "model.py", 40, True, 2),
    )
    text = html.render(replace(rich, findings=(found,), dynamic=None, verification=None, regions=regions))
    section = text[text.index('id="models"') : text.index('id="first"')]
    assert f'<a href="#f-{found.fingerprint}">Loud</a>' in section and "model.py:12" in section
    assert "It calls <code>cv2.imread</code>, so it is code around a model" in section
    assert "No break is predicted in the code of 1 other model: Calm." in section
