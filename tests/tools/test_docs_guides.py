"""Markdown of ``docs/`` as pages: links between guides are kept, links to files that are not on the site are not."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("markdown_it")


@pytest.fixture(scope="module")
def docs_site(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_site", root / "tools" / "docs_site.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_guide(docs_site: ModuleType) -> None:
    text = (
        "# A title\n\n[one](other.md#part) [two](https://example.org/x) [three](../README.md) [four](#here)\n\n"
        "![picture](report.png) <b>bold</b>\n\n| a | b |\n|---|---|\n| `x` | y |\n"
    )
    guide = docs_site.guide("name", text, {"other.md", "name.md"})
    assert (guide.path, guide.title) == ("guides/name.html", "A title")
    assert '<a href="other.html#part">one</a>' in guide.body
    assert '<a href="https://example.org/x">two</a> three <a href="#here">four</a>' in guide.body
    assert "<img" not in guide.body and "&lt;b&gt;bold" in guide.body
    assert "<td><code>x</code></td>" in guide.body
