"""The README of a release: every link leads somewhere without the repository around it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ADDRESS = "https://example.org/owner/name"


def targets(text: str) -> list[str]:
    """Where the links and images of a page lead, as a Markdown parser reads them."""
    inline = (token for token in MarkdownIt("commonmark").enable("table").parse(text) if token.children)
    children = (child for token in inline for child in token.children or ())
    found = (child.attrs.get("href") or child.attrs.get("src") for child in children)
    return [str(target) for target in found if target]


@pytest.fixture
def readme(root: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(root / "README.md", tmp_path / "README.md"))


def run(root: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.absolute_links", *map(str, arguments)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


def test_no_link_of_the_readme_stays_relative(root: Path, readme: Path) -> None:
    before = targets(readme.read_text())
    assert run(root, readme, ADDRESS, "v1.2.3").returncode == 0
    after = targets(readme.read_text())
    assert len(after) == len(before) and "docs/design.md" in before
    assert [target for target in after if not target.startswith(("https://", "#"))] == []
    assert f"{ADDRESS}/blob/v1.2.3/docs/design.md" in after
    assert f"{ADDRESS}/raw/v1.2.3/docs/report.png" in after


def test_every_link_leads_to_a_file_of_the_tag(root: Path, readme: Path) -> None:
    run(root, readme, ADDRESS, "v1")
    files = [re.sub(rf"{ADDRESS}/(blob|raw)/v1/", "", t) for t in targets(readme.read_text()) if ADDRESS in t]
    assert files
    assert [file for file in files if not (root / file.partition("#")[0]).exists()] == []


def test_code_and_links_that_are_absolute_stay_as_they_are(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "[a](https://x.org/y) [b](#part) `f[0](x)`\n\n    call[0](y, z)\n"
    page.write_text(text)
    run(root, page, ADDRESS, "v1")
    assert targets(page.read_text()) == ["https://x.org/y", "#part"]


@pytest.mark.parametrize("arguments", [(), ("README.md",), ("README.md", "owner/name", "v1"), ("no.md", ADDRESS, "v1")])
def test_what_cannot_be_done_is_one_line(root: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shutil.copytree(root / "tools", tmp_path / "tools")
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
