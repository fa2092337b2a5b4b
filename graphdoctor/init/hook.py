"""The entry in .pre-commit-config.yaml, put into the text so that all else stays as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

from graphdoctor.init.change import Change, Kept, Step, read
from graphdoctor.init.origin import Origin

PATH = ".pre-commit-config.yaml"

_FROM_GIT = """\
- repo: {url}
  rev: {rev}
  hooks:
    - id: graphdoctor
"""
#: Where the repository is unknown: the graphdoctor that is installed.
_LOCAL = """\
- repo: local
  hooks:
    - id: graphdoctor
      name: graphdoctor
      entry: graphdoctor scan --no-run --only-given
      language: system
      types_or: [python, jupyter]
      require_serial: true
"""
_OURS = re.compile(r"\bid:\s*[\"']?graphdoctor(?:-fix)?\b")
_REPOS = re.compile(r"repos:\s*(?:#.*)?")


def hook(folder: Path, origin: Origin | None) -> Step:
    """The hook, as the last of the file's repositories. Raises InitError for a file that cannot be read."""
    # JSON strings are YAML strings: a revision such as 1.10 must not become a number.
    entry = _FROM_GIT.format(url=json.dumps(origin.url), rev=json.dumps(origin.rev)) if origin else _LOCAL
    text = read(folder / PATH)
    if text is None or not text.strip():
        return Change(folder, PATH, text, "repos:\n" + _indented(entry, "  "))
    if _OURS.search(text):
        return Kept(f"{PATH} has the hook")
    after = _inserted(text, entry)
    if after is None:
        return Kept(f"{PATH} has no plain list under `repos:`", entry)
    return Change(folder, PATH, text, after)


def _inserted(text: str, entry: str) -> str | None:
    """``text`` with ``entry`` at the end of the list under ``repos:``; None where there is no such list.

    Only block style is understood: an item a line, all with the indent of the first.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if _REPOS.fullmatch(line)]
    if len(heads) != 1:
        return None
    indent, last = None, heads[0]
    for number, line in enumerate(lines[last + 1 :], last + 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        here = line[: len(line) - len(line.lstrip(" "))]
        if indent is None:
            indent = here
        is_item = line.startswith(indent + "- ")
        if len(here) < len(indent) or (here == indent and not is_item):
            break
        last = number
    if indent is None or last == heads[0]:
        return None
    added = _indented(entry, indent).splitlines()
    return newline.join([*lines[: last + 1], *added, *lines[last + 1 :]]) + newline


def _indented(entry: str, indent: str) -> str:
    return "".join(indent + line for line in entry.splitlines(keepends=True))
