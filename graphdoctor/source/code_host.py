"""Where the files of a repository are seen on its code host, as the environment of a GitHub workflow says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

_SHA = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


def code_url(root: Path, environ: Mapping[str, str]) -> str:
    """The address that paths relative to ``root`` continue, at the commit that a workflow runs for; empty elsewhere.

    Of a pull request that is its head: the merge commit that GitHub checks out is gone after the next push.
    """
    server, repository = environ.get("GITHUB_SERVER_URL", ""), environ.get("GITHUB_REPOSITORY", "")
    workspace = Path(environ.get("GITHUB_WORKSPACE", "") or root)
    sha = _head(environ.get("GITHUB_EVENT_PATH", "")) or environ.get("GITHUB_SHA", "")
    known = server.startswith("https://") and _REPOSITORY.fullmatch(repository) and _SHA.fullmatch(sha)
    if not known or not root.is_relative_to(workspace):
        return ""
    folder = root.relative_to(workspace).as_posix()
    return f"{server}/{repository}/blob/{sha}/" + ("" if folder == "." else f"{quote(folder)}/")


def _head(event: str) -> str:
    """The head commit of the pull request that the file ``event`` is about; empty where it is about none."""
    try:
        data = json.loads(Path(event).read_text(encoding="utf-8")) if event else {}
        return str(data["pull_request"]["head"]["sha"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
