"""SARIF: valid by the schema of the standard, and what services read from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.ci import sarif


@cache
def validator() -> jsonschema.Draft202012Validator:
    """The schema that Microsoft's SARIF multitool ships; see data/README.md."""
    schema = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())


def run_of(diagnosis: Diagnosis) -> dict[str, Any]:
    """The one run of the log, after validation."""
    log = json.loads(sarif.render(diagnosis))
    assert [error.message for error in validator().iter_errors(log)] == []
    run: dict[str, Any] = log["runs"][0]
    return run


@pytest.mark.parametrize("name", ["rich", "hostile", "clean", "compared"])
def test_it_is_valid(name: str, request: pytest.FixtureRequest) -> None:
    run_of(request.getfixturevalue(name))


def test_the_check_sees_what_is_wrong(rich: Diagnosis) -> None:
    """A check of the check."""
    log = json.loads(sarif.render(rich))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not validator().is_valid(log)


def test_a_real_scan_with_rules_and_fixes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphdoctor import api

    monkeypatch.chdir(root / "fixtures")
    diagnosis = api.scan(api.ScanOptions(("demo/model.py",), run=False))
    run = run_of(diagnosis)
    # The scan was made in a folder of the repository, and the paths are those of the repository.
    assert {uri(result) for result in run["results"]} == {"fixtures/demo/model.py"}
    assert len(run["results"]) == len(diagnosis.findings) >= 7
    assert any("fixes" in result for result in run["results"])
    for rule in run["tool"]["driver"]["rules"]:
        assert "**Why:**" in rule["help"]["markdown"] and "```python" in rule["help"]["markdown"]


def uri(result: dict[str, Any]) -> str:
    text: str = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    return text


def test_a_result(rich: Diagnosis) -> None:
    run = run_of(rich)
    assert run["columnKind"] == "unicodeCodePoints"
    result = run["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "model.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 18, "startColumn": 9, "endLine": 18, "endColumn": 32}
    assert result["partialFingerprints"] == {"graphdoctor/v1": "f0018"}
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "GD101"
    stack = [(frame["physicalLocation"]["region"]["startLine"]) for frame in result["relatedLocations"]]
    assert stack == [60, 18]


def test_rules_without_a_file_of_ours(rich: Diagnosis) -> None:
    own = replace(rich.findings[0], rule="XY001", name="our-rule", why="We do not <do> this.")
    run = run_of(replace(rich, findings=(own, rich.findings[4])))
    break_, rule = run["tool"]["driver"]["rules"]
    assert break_["help"]["text"] == "A graph break that happened in the run and that no rule predicted."
    assert rule["help"] == {"text": "We do not <do> this.", "markdown": "We do not &lt;do&gt; this."}


def test_a_fix_is_its_edits(rich: Diagnosis) -> None:
    fix = run_of(rich)["results"][0]["fixes"][0]
    replacement = fix["artifactChanges"][0]["replacements"][0]
    assert replacement == {
        "deletedRegion": {"startLine": 18, "startColumn": 9, "endLine": 18, "endColumn": 32},
        "insertedContent": {"text": "if not torch.compiler.is_compiling():\n            print()"},
    }


def test_what_the_run_refuted_is_no_result(rich: Diagnosis) -> None:
    assert len(run_of(rich)["results"]) == len(rich.findings) - 1


def test_levels(rich: Diagnosis) -> None:
    assert [result["level"] for result in run_of(rich)["results"]] == ["error", "error", "warning", "error", "note"]


def test_what_is_allowed_is_suppressed(rich: Diagnosis) -> None:
    findings = (replace(rich.findings[0], allowed="legacy (until 2999-01-01)"), *rich.findings[1:])
    first, second, *_ = run_of(replace(rich, findings=findings))["results"]
    assert first["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "legacy (until 2999-01-01)"}
    ]
    assert "suppressions" not in second


def test_what_is_new_is_marked(compared: Diagnosis, rich: Diagnosis) -> None:
    states = [result["baselineState"] for result in run_of(compared)["results"]]
    assert states == ["unchanged"] * 3 + ["new"] * 2
    assert all("baselineState" not in result for result in run_of(rich)["results"])


def test_a_file_that_could_not_be_read(rich: Diagnosis) -> None:
    invocation = run_of(rich)["invocations"][0]
    assert not invocation["executionSuccessful"]
    assert [(said["level"], said["message"]["text"]) for said in invocation["toolExecutionNotifications"]] == [
        ("error", "model.py: Net, train mode, on cpu: stopped at the time limit: stopped after 120 s"),
        ("error", "bad.py: syntax error in line 3: invalid syntax"),
        ("note", "CPU run: CUDA graphs were not checked"),
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a b/ü#?.py", {"uri": "a%20b/%C3%BC%23%3F.py", "uriBaseId": "SRCROOT"}),
        ("/lib/site-packages/x.py", {"uri": "file:///lib/site-packages/x.py"}),
        ("not\udcffutf8.py", {"uri": "not%FFutf8.py", "uriBaseId": "SRCROOT"}),
        ("mirrored\u202e.py", {"uri": "mirrored%E2%80%AE.py", "uriBaseId": "SRCROOT"}),
    ],
)
def test_paths_are_uris(rich: Diagnosis, path: str, expected: dict[str, str]) -> None:
    first = replace(rich.findings[0], location=replace(rich.findings[0].location, path=path))
    result = run_of(replace(rich, findings=(first,)))["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == expected


def test_a_message_holds_no_link(rich: Diagnosis) -> None:
    first = replace(rich.findings[0], fact="[a](javascript:b) x[0] f([1])", suggestion="")
    message = run_of(replace(rich, findings=(first,)))["results"][0]["message"]["text"]
    assert message == r"\[a\](javascript:b) x[0] f([1])"


def test_many_results_are_all_there(many: Callable[[int], Diagnosis]) -> None:
    diagnosis = many(500)
    open_findings = [finding for finding in diagnosis.findings if finding.status != "refuted"]
    assert len(run_of(diagnosis)["results"]) == len(open_findings)
