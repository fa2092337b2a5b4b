"""Where graphdoctor was installed from, which hooks and workflows have to name."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True)
class Origin:
    """A git repository and the revision to take."""

    url: str
    rev: str

    @property
    def github(self) -> str | None:
        """``owner/name`` on github.com, as workflows name an action; None for a repository elsewhere."""
        match = re.fullmatch(r"(?:https?://|ssh://git@|git@)github\.com[/:]([^/]+/[^/]+?)(?:\.git)?/?", self.url)
        return match[1] if match else None


def installed_origin() -> Origin | None:
    """The repository that pip recorded when it installed graphdoctor from git (PEP 610); None when it was not."""
    try:
        recorded = metadata.distribution("graphdoctor").read_text("direct_url.json")
        data = json.loads(recorded) if recorded else {}
        source = data.get("vcs_info", {})
        return Origin(data["url"], source.get("requested_revision") or source["commit_id"])
    except (metadata.PackageNotFoundError, ValueError, KeyError):
        return None
