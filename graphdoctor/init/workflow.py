"""A GitHub workflow that runs the action on each pull request."""

from __future__ import annotations

import json
from pathlib import Path

from graphdoctor.init.change import Change, Kept, Step, read
from graphdoctor.init.origin import Origin

FOLDER = ".github/workflows"
PATH = f"{FOLDER}/graphdoctor.yml"

_WORKFLOW = """\
name: graphdoctor

on: pull_request

permissions:
  contents: read
  pull-requests: write  # for the comment

jobs:
  graph-breaks:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@d23441a48e516b6c34aea4fa41551a30e30af803  # v6.1.0
        with:
          fetch-depth: 0  # the base of the pull request, to tell what is new
          persist-credentials: false
      - uses: {action}
        with:
          paths: .
          fail-on: new
"""


def workflow(folder: Path, origin: Origin | None) -> Step:
    """The workflow as a new file; none where one of the project's workflows names graphdoctor.

    Raises InitError for a workflow that cannot be read.
    """
    for file in sorted((folder / FOLDER).glob("*.y*ml")):
        if "graphdoctor" in (read(file) or "") or file.name == Path(PATH).name:
            return Kept(f"{FOLDER}/{file.name} is there")
    if origin is None:
        return Kept("no workflow: it is not known where graphdoctor comes from; give --repo")
    if origin.github is None:
        return Kept("no workflow: the action can be used from a repository on github.com only; see docs/ci.md")
    action = json.dumps(f"{origin.github}@{origin.rev}")
    return Change(folder, PATH, None, _WORKFLOW.format(action=action))
