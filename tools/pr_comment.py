"""Keeps one comment with the report on a pull request: writes it, or brings the one that is there up to date.

    python tools/pr_comment.py report.md

For a GitHub workflow, of a pull request or of another workflow (``workflow_run``) that ran for one. The environment is
the one that GitHub sets (GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_API_URL), and GITHUB_TOKEN, which the action
passes on. Ends with 0 where a comment cannot be written, as for pull requests from forks, and says so as a warning: the
report is in the summary of the job too. Standard library only.

The report may come from a fork: it is text and nothing else, and it does not decide which pull request is meant.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

#: What the comment begins with, by which it is found again.
MARKER = "<!-- graphdoctor -->"

_PAGE = 100
#: Characters of a comment, beside the marker. GitHub takes 65,536.
_LONGEST = 65_000


class Api:
    """The REST API of GitHub, as far as it is needed here."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Accept": "application/vnd.github+json", "Authorization": f"Bearer {token}"}

    def call(self, method: str, path: str, data: object = None) -> Any:
        """The JSON that the request is answered with. Raises URLError, HTTPError."""
        body = None if data is None else json.dumps(data).encode()
        with urlopen(Request(self._url + path, body, self._headers, method=method), timeout=30) as answer:
            return json.load(answer)


def pull_request(api: Api, repository: str, event: Path) -> int | None:
    """The number of the pull request that the workflow runs for; None for other events. Raises URLError, HTTPError."""
    data = json.loads(event.read_text(encoding="utf-8"))
    number = data.get("pull_request", {}).get("number")
    if number is not None:
        return int(number)
    before = data.get("workflow_run", {})
    if before.get("event") != "pull_request" or before.get("head_repository") is None:
        return None
    # GitHub names the pull requests of a run only where they do not come from a fork.
    head = quote(f"{before['head_repository']['owner']['login']}:{before['head_branch']}", safe="")
    found = api.call("GET", f"/repos/{repository}/pulls?state=open&head={head}&per_page={_PAGE}&page=1")
    return next((int(each["number"]) for each in found if each["head"]["sha"] == before["head_sha"]), None)


def read(report: Path) -> str | None:
    """The text of the report, as far as a comment may be long; None where there is no such file."""
    if report.is_symlink() or not report.is_file():
        return None
    with report.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(_LONGEST)


def publish(api: Api, repository: str, number: int, text: str) -> str:
    """Write ``text`` to the comment with the marker, or to a new one. Gives the address of the comment."""
    body = text if text.startswith(MARKER) else f"{MARKER}\n{text}"
    comments = f"/repos/{repository}/issues/{number}/comments"
    mine = _find(api, comments)
    if mine is None:
        comment = api.call("POST", comments, {"body": body})
    else:
        comment = api.call("PATCH", f"/repos/{repository}/issues/comments/{mine}", {"body": body})
    return str(comment["html_url"])


def _find(api: Api, comments: str) -> int | None:
    """The id of the first comment with the marker."""
    page = 1
    while True:
        found = api.call("GET", f"{comments}?per_page={_PAGE}&page={page}")
        for comment in found:
            if str(comment["body"]).startswith(MARKER):
                return int(comment["id"])
        if len(found) < _PAGE:
            return None
        page += 1


def main(report: Path) -> None:
    """Post the text of ``report`` as a comment of the pull request, or replace the earlier one."""
    api, repository = Api(os.environ["GITHUB_API_URL"], os.environ["GITHUB_TOKEN"]), os.environ["GITHUB_REPOSITORY"]
    text = read(report)
    try:
        number = pull_request(api, repository, Path(os.environ["GITHUB_EVENT_PATH"]))
        if number is None or text is None:
            print("graphdoctor: no comment: there is no open pull request, or no report")
            return
        print(publish(api, repository, number, text))
    except (HTTPError, URLError) as error:
        print(f"::warning title=graphdoctor::The comment was not written: {error}. It needs pull-requests: write.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
