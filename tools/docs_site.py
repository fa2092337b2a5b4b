"""Builds the documentation site: a page for each rule, each graph break and each guide of ``docs/``.

    python -m tools.docs_site OUT

The pages are made from the rule files, Dynamo's registry and ``docs/``, and none of them is committed, so none can be
stale. OUT must be a new or an empty folder. Needs markdown-it-py, which is in the extra ``dev``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

from graphdoctor.breaks import registry
from graphdoctor.lint.catalog import rules
from graphdoctor.site.pages import Guide, site

DOCS = Path(__file__).resolve().parent.parent / "docs"

#: For those who change graphdoctor, not for those who use it.
_NOT_A_GUIDE = ("architecture.md", "design.md")


def guides(folder: Path) -> list[Guide]:
    """The Markdown files of ``folder`` by name; their first line is the title."""
    files = [file for file in sorted(folder.glob("*.md")) if file.name not in _NOT_A_GUIDE]
    return [guide(file.stem, file.read_text(encoding="utf-8"), {file.name for file in files}) for file in files]


def guide(name: str, text: str, pages: set[str]) -> Guide:
    """The page of one guide. ``pages`` are the files that links may lead to; of other files only the name is shown."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        if token.children is not None:
            token.children = list(_linked(token.children, pages))
    title = text.partition("\n")[0].removeprefix("#").strip()
    return Guide(f"guides/{name}.html", title, parser.renderer.render(tokens, parser.options, {}))


def _linked(tokens: list[Token], pages: set[str]) -> Iterator[Token]:
    dropped = 0
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrs["href"])
            file, hash_, fragment = href.partition("#")
            if "://" not in href and file and PurePosixPath(file).name in pages:
                token.attrs["href"] = f"{PurePosixPath(file).stem}.html{hash_}{fragment}"
            elif "://" not in href and file:
                dropped += 1
                continue
        elif token.type == "link_close" and dropped:
            dropped -= 1
            continue
        elif token.type == "image":
            continue
        yield token


def build(out: Path) -> int:
    """Write the site to ``out``: how many files."""
    files = site(rules(), registry.load(), guides(DOCS))
    for path, text in files.items():
        file = out / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return len(files)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.docs_site OUT")
    folder = Path(sys.argv[1])
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        sys.exit(f"docs_site: {folder} is not an empty folder")
    print(f"{build(folder)} files in {folder}")
