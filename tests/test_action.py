"""The steps of action.yml, run as shell in the order of the file, and the template for GitLab.

What GitHub sets is set here: GITHUB_* and RUNNER_TEMP, ``${{ inputs }}`` and ``${{ steps }}``, and a server that answers
as its API of comments does. Steps that only call another action are not run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

INSTALL, SCAN, COMMENT, RESULT = "Install graphdoctor", "Scan", "Comment on the pull request", "Result"
CLEAN = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"
PRINTS = CLEAN.replace("        return", "        print(x.shape)\n        return")
OLD = CLEAN.replace("        return", "        if x.sum() > 0:\n            return -x\n        return")


class GitHub(ThreadingHTTPServer):
    """Comments of one pull request, by id. ``forbidden``: the token may only read."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: dict[int, str] = {}
        #: Open pull requests by what the query names as their head.
        self.heads: dict[str, list[dict[str, Any]]] = {}
        self.forbidden = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: GitHub

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/repos/acme/models/pulls":
            self._answer(200, self.server.heads.get(parse_qs(address.query)["head"][0], []))
            return
        page = int(self.path.rpartition("page=")[2])
        found = [{"id": number, "body": body} for number, body in self.server.comments.items()]
        self._answer(200, found[(page - 1) * 100 : page * 100])

    def do_POST(self) -> None:
        self._write(len(self.server.comments) + 1, "/repos/acme/models/issues/7/comments")

    def do_PATCH(self) -> None:
        number = int(self.path.rpartition("/")[2])
        self._write(number, f"/repos/acme/models/issues/comments/{number}")

    def _write(self, number: int, path: str) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        if self.server.forbidden or self.headers["Authorization"] != "Bearer secret":
            self._answer(403, {"message": "Resource not accessible by integration"})
            return
        assert self.path == path
        self.server.comments[number] = body
        self._answer(201, {"html_url": f"https://github.com/acme/models/pull/7#issuecomment-{number}"})

    def _answer(self, code: int, data: object) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(data).encode())

    def log_message(self, format: str, *arguments: object) -> None:
        return


@dataclass
class Job:
    """A workflow run that has only this action."""

    action: dict[str, Any]
    folder: Path
    temporary: Path
    env: dict[str, str]
    inputs: dict[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    def run(self, *names: str, **inputs: str) -> dict[str, subprocess.CompletedProcess[str]]:
        """Run the steps of these names; the others are as if they were not in the file."""
        values = {**self.inputs, **{name.replace("_", "-"): value for name, value in inputs.items()}}
        done = {}
        for step in self.action["runs"]["steps"]:
            if step["name"] in names:
                done[step["name"]] = self._step(step, values)
        return done

    def _step(self, step: dict[str, Any], inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
        output = self.temporary / "output"
        output.write_text("")
        env = {name: self._value(text, inputs) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env={**self.env, **env, "GITHUB_OUTPUT": str(output)},
            capture_output=True,
            text=True,
        )
        if "id" in step:
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done

    def _value(self, text: str, inputs: dict[str, str]) -> str:
        def replaced(match: re.Match[str]) -> str:
            kind, _, rest = match[1].partition(".")
            if kind == "inputs":
                return inputs[rest]
            step, _, name = rest.partition(".outputs.")
            return self.outputs[step][name]

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", replaced, text)

    @property
    def summary(self) -> str:
        return Path(self.env["GITHUB_STEP_SUMMARY"]).read_text()


@pytest.fixture
def server() -> Iterator[GitHub]:
    github = GitHub()
    thread = threading.Thread(target=github.serve_forever, daemon=True)
    thread.start()
    yield github
    github.shutdown()
    github.server_close()
    thread.join()


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def prepared(root: Path, clone: Path, new_environment: Callable[[], Path]) -> Path:
    """The folder of the Python in which the step of the action installed graphdoctor."""
    bin_ = new_environment()
    action = yaml.safe_load((root / "action.yml").read_text())
    env = environment(bin_, clone) | {"RUNNER_TEMP": str(bin_)}
    (done,) = Job(action, bin_, bin_, env, defaults(action)).run(INSTALL).values()
    assert done.returncode == 0, done.stderr
    return bin_


def environment(bin_: Path, clone: Path) -> dict[str, str]:
    """What a runner sets for the action in ``clone``, with the Python in ``bin_``."""
    path = {"PATH": f"{bin_}:{os.environ['PATH']}", "GITHUB_ACTION_PATH": str(clone), "GITHUB_ACTIONS": "true"}
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | path


def defaults(action: dict[str, Any]) -> dict[str, str]:
    return {name: str(given.get("default", "")) for name, given in action["inputs"].items()}


@pytest.fixture
def job(root: Path, clone: Path, prepared: Path, server: GitHub, tmp_path: Path) -> Job:
    """A pull request to ``main``, which has one old break."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "feature")
    (folder / "old.py").write_text(OLD)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    summary = tmp_path / "summary.md"
    summary.write_text("")
    (tmp_path / "runner temp").mkdir()
    action = yaml.safe_load((root / "action.yml").read_text())
    env = environment(prepared, clone) | {
        "GITHUB_API_URL": server.url,
        "GITHUB_BASE_REF": "main",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "acme/models",
        "GITHUB_STEP_SUMMARY": str(summary),
        "RUNNER_TEMP": str(tmp_path / "runner temp"),
    }
    return Job(action, folder, tmp_path, env, {**defaults(action), "token": "secret"})


def test_a_new_break_fails_and_is_reported_everywhere(job: Job, server: GitHub) -> None:
    (job.folder / "new.py").write_text(PRINTS)
    done = job.run(SCAN, COMMENT, RESULT, fail_on="new")
    assert {name: step.returncode for name, step in done.items()} == {SCAN: 0, COMMENT: 0, RESULT: 1}, done
    assert "::error file=new.py,line=6" in done[SCAN].stdout
    assert job.summary.startswith("<!-- graphdoctor -->") and "GD101" in job.summary
    assert server.comments == {1: job.summary}
    folder = Path(job.outputs["scan"]["folder"])
    assert (folder / "graphdoctor.html").read_text().startswith("<!doctype html>")
    sarif = json.loads((folder / "graphdoctor.sarif").read_text())
    assert {result["ruleId"] for result in sarif["runs"][0]["results"]} >= {"GD101"}


def test_the_comment_is_brought_up_to_date(job: Job, server: GitHub) -> None:
    server.comments = dict.fromkeys(range(1, 151), "of somebody else") | {151: "<!-- graphdoctor -->\nold"}
    done = job.run(SCAN, COMMENT, RESULT, fail_on="new", comment="true")
    assert done[RESULT].returncode == 0, done[SCAN].stderr
    assert len(server.comments) == 151
    assert server.comments[151] == job.summary
    assert done[COMMENT].stdout == "https://github.com/acme/models/pull/7#issuecomment-151\n"


def test_an_old_break_fails_where_any_does(job: Job) -> None:
    assert job.run(SCAN, RESULT)[RESULT].returncode == 1


def test_a_token_that_may_only_read_costs_the_comment_only(job: Job, server: GitHub) -> None:
    server.forbidden = True
    done = job.run(SCAN, COMMENT)[COMMENT]
    assert done.returncode == 0
    assert done.stdout.startswith("::warning title=graphdoctor::The comment was not written: HTTP Error 403")


def test_a_push_has_no_comment_and_no_base(job: Job, server: GitHub) -> None:
    job.env.pop("GITHUB_BASE_REF")
    Path(job.env["GITHUB_EVENT_PATH"]).write_text(json.dumps({"ref": "refs/heads/main"}))
    done = job.run(SCAN, COMMENT, RESULT)
    assert [step.returncode for step in done.values()] == [0, 0, 1]
    assert server.comments == {}
    assert job.run(SCAN, RESULT, fail_on="new")[RESULT].returncode == 0


def test_a_base_that_was_not_fetched_is_an_error(job: Job) -> None:
    git(job.folder, "update-ref", "-d", "refs/remotes/origin/main")
    (told,) = job.run(SCAN, fail_on="new").values()
    assert told.returncode == 2 and job.outputs["scan"] == {"exit-code": "2"}
    assert (
        told.stdout.startswith("::error title=graphdoctor::origin/main was not fetched")
        and "fetch-depth: 0" in told.stdout
    )
    assert job.run(SCAN, RESULT, fail_on="none")[RESULT].returncode == 0


def test_inputs_are_split_as_by_a_shell_and_never_run(job: Job) -> None:
    (job.folder / "with space.py").write_text(PRINTS)
    done = job.run(SCAN, paths="old.py 'with space.py'", args="--select GD101 --ignore 'GD2,GD3'")
    assert "file=with space.py" in done[SCAN].stdout and "file=old.py" not in done[SCAN].stdout
    done = job.run(SCAN, RESULT, paths="$(touch owned) `touch owned`; touch owned", args="; touch owned")
    assert not (job.folder / "owned").exists()
    assert done[RESULT].returncode == 2


@pytest.mark.parametrize("name", ["paths", "args"])
def test_an_input_that_cannot_be_split_is_an_error(job: Job, name: str) -> None:
    (done,) = job.run(SCAN, **{name: "'old.py"}).values()
    assert done.returncode == 2 and f"::error title=graphdoctor::the input {name} cannot be split" in done.stdout


#: Files of the checkout that Python, pip or setuptools would use if they looked there.
PLANTED = (
    *(
        "shlex.py",
        "pip.py",
        "pip/__init__.py",
        "pip/__main__.py",
        "graphdoctor.py",
        "graphdoctor/__main__.py",
        "click.py",
    ),
    *("sitecustomize.py", "usercustomize.py", "conftest.py", "json.py", "setup.py", "setuptools.py", "secrets.py"),
    *("tools/pr_comment.py", "lint/rule.py", "libcst.py", "typing.py", "_in_process.py", "encodings/__init__.py"),
)


def test_nothing_of_the_checkout_is_executed(job: Job, server: GitHub, tmp_path: Path) -> None:
    """Although the workflow puts the checkout, which is the working folder, on Python's path, as those of models do."""
    executed = tmp_path / "executed"
    executed.mkdir()
    for name in PLANTED:
        (job.folder / name).parent.mkdir(exist_ok=True)
        left = executed / name.replace("/", ":")
        text = f"import posix; posix.close(posix.open({str(left)!r}, posix.O_CREAT | posix.O_WRONLY, 0o600))\n"
        (job.folder / name).write_text(text)
    (job.folder / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/\n")
    (job.folder / "setup.cfg").write_text("[install]\nprefix = /nowhere\n[graphdoctor]\nrules = lint\n")
    (job.folder / "planted.pth").write_text(f"import os; os.mkdir({str(executed / 'pth')!r})\n")
    (job.folder / "new.py").write_text(PRINTS)
    job.env["PYTHONPATH"] = str(job.folder)
    done = job.run(INSTALL, SCAN, COMMENT, RESULT, fail_on="new", paths="old.py new.py")
    assert sorted(file.name for file in executed.iterdir()) == []
    assert [step.returncode for step in done.values()] == [0, 0, 0, 1], done
    assert "rules of the project were not run" in server.comments[1]
    # A check of the check: what is not isolated executes it.
    subprocess.run(["python", "-c", ""], cwd=job.folder, env=job.env, capture_output=True, timeout=60)
    assert list(executed.iterdir())


def test_source_lines_are_no_commands_for_the_runner(job: Job) -> None:
    (job.folder / "new.py").write_text(
        PRINTS.replace("print(x.shape)", 'print("""\n::set-output name=exit-code::0\n""")')
    )
    lines = job.run(SCAN)[SCAN].stdout.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("::stop-commands::"))
    mark = lines[begin].removeprefix("::stop-commands::")
    end = lines.index(f"::{mark}::")
    assert len(mark) == 32 and begin == 0
    assert any("set-output" in line for line in lines[begin:end])
    assert [
        line for line in lines[end + 1 :] if not re.match(r"(::(error|warning|notice) file=|graphdoctor: )", line)
    ] == []
    assert job.run(SCAN)[SCAN].stdout.splitlines()[0] != lines[0]


def test_the_comment_of_a_workflow_that_runs_behind_another(job: Job, server: GitHub, root: Path) -> None:
    """The pull request is the one whose head the other workflow looked at, whatever the report says."""
    report = Path(job.env["RUNNER_TEMP"]) / "report.md"
    report.write_text("<!-- graphdoctor -->\nall of it " + "x" * 70_000)
    server.heads = {
        "stranger:a/b c": [
            {"number": 5, "head": {"sha": "older"}},
            {"number": 7, "head": {"sha": "looked-at"}},
        ]
    }
    before: dict[str, Any] = {
        "event": "pull_request",
        "head_branch": "a/b c",
        "head_sha": "looked-at",
        "head_repository": {"owner": {"login": "stranger"}},
    }
    job.action = yaml.safe_load((root / "comment" / "action.yml").read_text())
    job.env["GITHUB_ACTION_PATH"] += "/comment"
    (job.folder / "json.py").write_text("raise SystemExit(3)")

    def comment(**changes: Any) -> str:
        Path(job.env["GITHUB_EVENT_PATH"]).write_text(json.dumps({"workflow_run": {**before, **changes}}))
        done = job.run(COMMENT, report=str(report))[COMMENT]
        assert done.returncode == 0, done.stderr
        return done.stdout

    for changes in ({"event": "push"}, {"head_sha": "gone"}, {"head_repository": None}, {"head_branch": "other"}):
        assert comment(**changes).startswith("graphdoctor: no comment:"), changes
    assert server.comments == {}
    assert "issuecomment-1" in comment()
    assert server.comments[1].startswith("<!-- graphdoctor -->\nall of it xxx") and len(server.comments[1]) == 65_000
    report.unlink()
    report.symlink_to("/proc/self/environ")
    assert comment().startswith("graphdoctor: no comment:")


def test_the_gitlab_template(root: Path, graphdoctor: Any) -> None:
    template = yaml.safe_load((root / "templates" / "gitlab-ci.yml").read_text())
    job = template["graphdoctor"]
    reports = job["artifacts"]["reports"]
    [scan] = [line for line in job["script"] if "graphdoctor scan" in line]
    for file in (*reports.values(), *job["artifacts"]["paths"]):
        assert f"={file}" in scan
    help_ = graphdoctor("scan", "--help").stdout
    assert [option for option in re.findall(r"(?<!\S)--[a-z-]+", scan) if option not in help_] == []


def test_the_script_of_the_gitlab_template(root: Path, job: Job) -> None:
    template = yaml.safe_load((root / "templates" / "gitlab-ci.yml").read_text())
    base = subprocess.run(["git", "rev-parse", "HEAD"], cwd=job.folder, capture_output=True, text=True, check=True)
    given = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base.stdout.strip(), "GRAPHDOCTOR_FAIL_ON": "new"}
    env = {**job.env, **template["variables"], **given}
    script = template["graphdoctor"]["script"][-1]
    done = subprocess.run(["bash", "-c", script], cwd=job.folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    quality = json.loads((job.folder / "graphdoctor.json").read_text())
    assert [issue["location"]["path"] for issue in quality] == ["old.py"]
    assert (job.folder / "graphdoctor.xml").read_text().startswith("<?xml")
