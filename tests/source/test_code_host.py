"""The address of a file's lines on the code host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphdoctor.source.code_host import code_url

SHA, HEAD = "a" * 40, "b" * 40
WORKFLOW = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "me/my.models", "GITHUB_SHA": SHA}


def test_a_workflow_is_at_its_commit_and_a_pull_request_at_its_head(tmp_path: Path) -> None:
    assert code_url(tmp_path, WORKFLOW) == f"https://github.com/me/my.models/blob/{SHA}/"
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"head": {"sha": HEAD}}}))
    here = {**WORKFLOW, "GITHUB_EVENT_PATH": str(event), "GITHUB_WORKSPACE": str(tmp_path)}
    assert code_url(tmp_path / "my src", here) == f"https://github.com/me/my.models/blob/{HEAD}/my%20src/"
    event.write_text("[")
    assert SHA in code_url(tmp_path, here)
    assert code_url(tmp_path.parent, here) == ""


@pytest.mark.parametrize("name", ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA"])
def test_elsewhere_there_is_none(tmp_path: Path, name: str) -> None:
    assert code_url(tmp_path, {}) == code_url(tmp_path, {**WORKFLOW, name: 'x"><script>'}) == ""
