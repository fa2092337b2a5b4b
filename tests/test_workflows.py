"""The project's workflows, hooks and issue templates, its action, and the workflow that it writes for others.

They parse, and name only what exists.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphdoctor.init.change import Change
from graphdoctor.init.origin import Origin
from graphdoctor.init.workflow import workflow

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
HOOKS = ROOT / ".pre-commit-config.yaml"
each_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)


def steps(file: Path) -> list[dict[str, Any]]:
    return [step for job in yaml.safe_load(file.read_text())["jobs"].values() for step in job["steps"]]


def scripts(file: Path) -> str:
    """All that the steps of a workflow run in a shell."""
    return "\n".join(step["run"] for step in steps(file) if "run" in step)


def test_there_are_workflows_and_templates() -> None:
    assert {file.stem for file in WORKFLOWS} == {"test", "docs", "release"}
    assert {file.stem for file in TEMPLATES} == {"false_alarm", "missed_break", "wrong_fix", "crash"}


@each_workflow
def test_make_targets_exist(file: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = re.findall(r"\bmake(?: -C \S+)? ([\w-]+)", scripts(file))
    assert set(called) - targets == set()
    variables = re.findall(r"\b([A-Z]+)=", " ".join(re.findall(r"\bmake .*", scripts(file))))
    assert [name for name in variables if f"{name} ?=" not in (ROOT / "Makefile").read_text()] == []


def test_the_tests_are_run_by_make_and_as_in_a_fresh_clone() -> None:
    text = scripts(ROOT / ".github" / "workflows" / "test.yml")
    assert "make test" in text and ".ci/run" in text


def test_pythons_are_those_that_are_supported() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    assert workflow["jobs"]["pythons"]["strategy"]["matrix"]["python"] == ["3.10", "3.11", "3.12", "3.13"]
    assert "python_requires = >=3.10" in (ROOT / "setup.cfg").read_text()


@each_workflow
def test_tools_and_files_exist(file: Path) -> None:
    text = scripts(file)
    assert [name for name in re.findall(r"-m tools\.(\w+)", text) if not (ROOT / "tools" / f"{name}.py").exists()] == []
    paths = re.findall(r"(?<!\S)((?:\.ci|fixtures|graphdoctor)/[\w./]+|\w+\.(?:md|txt))", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


@each_workflow
def test_actions_are_pinned_and_rights_are_few(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    used = [step["uses"] for step in steps(file) if "uses" in step]
    assert [name for name in used if not re.fullmatch(r"[\w./-]+@([0-9a-f]{40}|v\d+|release/v\d+)", name)] == []
    assert all(job["timeout-minutes"] <= 90 for job in workflow["jobs"].values())
    assert "secrets." not in file.read_text()
    checkouts = [step for step in steps(file) if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)


def test_only_what_publishes_may_identify_itself() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    assert "permissions" not in jobs["build"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert not any("run" in step for step in jobs["publish"]["steps"])


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.stem)
def test_issue_templates_are_forms(file: Path) -> None:
    form = yaml.safe_load(file.read_text())
    assert form["name"] and form["description"]
    ids = [part["id"] for part in form["body"]]
    assert "versions" in ids and len(ids) == len(set(ids))
    assert all(
        part["type"] in ("input", "textarea", "dropdown") and part["attributes"]["label"] for part in form["body"]
    )


def test_the_hooks_run_the_modules_of_make_lint() -> None:
    [repository] = yaml.safe_load(HOOKS.read_text())["repos"]
    called = [re.match(r"\.venv/bin/python -m (\w+)", hook["entry"]) for hook in repository["hooks"]]
    linted = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    assert all(match and f"-m {match[1]}" in linted for match in called)


def test_what_is_used_is_pinned(root: Path) -> None:
    """A tag can be moved; a commit cannot."""
    files = (root / "action.yml", root / "comment" / "action.yml", root / "docs" / "ci.md", root / "README.md")
    for text in (*(file.read_text() for file in files), workflow_text()):
        for used in re.findall(r"uses: *([\w<\"].*)", text):
            ours = used.startswith(("<owner>/", '"acme/graphdoctor'))
            assert ours or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", used), used


def workflow_text() -> str:
    step = workflow(Path("/nowhere"), Origin("https://github.com/acme/graphdoctor", "v1"))
    assert isinstance(step, Change)
    return step.after


def test_the_workflow_of_init_asks_for_what_it_uses(root: Path) -> None:
    written = yaml.safe_load(workflow_text())
    action = yaml.safe_load((root / "action.yml").read_text())
    [job] = written["jobs"].values()
    given = job["steps"][1]["with"]
    inputs = {name: str(each.get("default", "")) for name, each in action["inputs"].items()} | given
    assert given["fail-on"] == "new" and set(given) <= set(action["inputs"])
    needed = {"contents": "read"}
    needed |= {"pull-requests": "write"} if inputs["comment"] == "true" else {}
    needed |= {"security-events": "write"} if inputs["sarif"] == "true" else {}
    assert written["permissions"] == needed and "permissions" not in job
    # YAML 1.1 reads `on` as true.
    assert written[True] == "pull_request"


def test_every_step_is_one_that_github_can_run(root: Path) -> None:
    action = yaml.safe_load((root / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert ("uses" in step) != ("run" in step and step["shell"] == "bash"), step
        # What a user gives reaches a script as a variable only, never as part of its text.
        assert "${{" not in step.get("run", ""), step
    used = set(re.findall(r"inputs\.([\w-]+)", (root / "action.yml").read_text()))
    assert used == set(action["inputs"])
