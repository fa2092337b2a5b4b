"""The documentation site and the one-file page: complete, escaped, and every link leads somewhere."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from graphdoctor.breaks import registry
from graphdoctor.lint.catalog import rules
from graphdoctor.site import rules_json
from graphdoctor.site.pages import FAMILIES, one_page, site
from graphdoctor.static.rule import Rule

RULES = rules()


class Page(HTMLParser):
    """What a page links to, what it loads, its anchors, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a":
            self.links.append(given["href"])
        elif "src" in given or tag == "link":
            self.loaded.append(given.get("src") or given["href"])

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built by its command."""
    pytest.importorskip("markdown_it")
    out = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "tools.docs_site", str(out)], cwd=root, check=True)
    return out


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    return {file: Page(file.read_text(encoding="utf-8")) for file in built.rglob("*.html")}


def test_each_rule_break_and_guide_has_a_page(root: Path, built: Path, pages: dict[Path, Page]) -> None:
    known = registry.load()
    guides = {file.stem for file in (root / "docs").glob("*.md")} - {"architecture", "design"}
    assert {file.stem for file in pages if file.parent.name == "rules"} == {rule.code for rule in RULES}
    assert {file.stem for file in pages if file.parent.name == "breaks"} == set(known)
    assert {file.stem for file in pages if file.parent.name == "guides"} == guides >= {"ci", "weights", "ranks"}
    linked = set(pages[built / "index.html"].links)
    assert {f"rules/{rule.code}.html" for rule in RULES} <= linked


def test_all_links_lead_somewhere(built: Path, pages: dict[Path, Page]) -> None:
    missing = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (file.parent / parts.path).resolve() if parts.path else file
            if target not in pages or (parts.fragment and parts.fragment not in pages[target].ids):
                missing.append((file.name, link))
    assert missing == []


def test_nothing_is_loaded_from_elsewhere(built: Path, pages: dict[Path, Page]) -> None:
    for file, page in pages.items():
        for address in page.loaded:
            assert address == "data:," or (file.parent / address).resolve().is_file(), (file.name, address)
    assert "://" not in (built / "site.css").read_text() + (built / "filter.js").read_text()


def test_a_page_has_all_that_the_rule_says(built: Path, pages: dict[Path, Page]) -> None:
    for rule in RULES:
        text = " ".join(pages[built / "rules" / f"{rule.code}.html"].text.split())
        for part in (rule.name, rule.what, rule.why, rule.how, *rule.breaks, *rule.clean, *rule.gb_ids):
            assert " ".join(part.replace("`", "").split()) in text.replace("`", ""), rule.code


def test_lines_that_break_are_marked(built: Path) -> None:
    for rule in RULES:
        source = (built / "rules" / f"{rule.code}.html").read_text()
        marked = {html.unescape(text) for text in re.findall(r"<mark>(.*?)</mark>", source)}
        ends = re.compile(r"#(( GB\d{4})+( flagged)?| raises| flagged)$")
        assert marked == {line for text in rule.breaks for line in text.splitlines() if ends.search(line)}


def test_the_folder_must_be_empty(root: Path, built: Path) -> None:
    command = [sys.executable, "-m", "tools.docs_site", str(built)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == f"docs_site: {built} is not an empty folder\n"


def test_the_page_of_all_rules_is_one_file() -> None:
    page = Page(one_page(RULES, registry.load()))
    assert page.loaded == ["data:,"]
    assert {rule.code for rule in RULES} <= page.ids
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    assert all(link.startswith(("#", "https://")) for link in page.links)


def test_what_a_rule_says_is_shown_as_text() -> None:
    hostile = "<script>alert(1)</script> </style> {{ 7*7 }} \"'"
    rule = Rule(
        "GD999", hostile, "error", ("GB0059",), hostile, hostile, hostile, hostile, hostile, (hostile,), (hostile,)
    )
    single = one_page((rule,), registry.load())
    pages = [single, *(text for path, text in site((rule,), {}, ()).items() if path.endswith(".html"))]
    for source in pages:
        assert "<script>alert" not in source and "</style> {{" not in source
    assert hostile in Page(single).text


def test_each_rule_belongs_to_a_family() -> None:
    assert {rule.code[:3] for rule in RULES} <= set(FAMILIES)


def test_the_command_writes_each_format(
    graphdoctor: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = graphdoctor("rules", "--output-format", "json")
    assert done.returncode == 0 and done.stdout == rules_json.render(RULES)
    done = graphdoctor("rules", "--output-format", "html", "--output", tmp_path / "rules.html")
    assert done.returncode == 0 and (tmp_path / "rules.html").read_text().startswith("<!doctype html>")
    done = graphdoctor("rules", "--output-format", "html", "--output", tmp_path / "no" / "rules.html")
    assert done.returncode == 2 and "does not exist" in done.stderr


def test_the_rules_as_json() -> None:
    data = json.loads(rules_json.render(RULES))
    assert data["schema"] == "graphdoctor-rules/1"
    assert [entry["code"] for entry in data["rules"]] == [rule.code for rule in RULES]
    first, rule = data["rules"][0], RULES[0]
    assert first["examples"] == {"breaks": list(rule.breaks), "clean": list(rule.clean)}
    assert (first["what"], first["why"], first["fix"], first["fixable"]) == (rule.what, rule.why, rule.how, True)
