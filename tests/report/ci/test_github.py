"""GitHub annotations: the limits of GitHub, and its escaping."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.ci import github
from graphdoctor.report.problems import problems

COMMAND = re.compile(r"^::(?P<kind>error|warning|notice) (?P<properties>[^:]*)::(?P<message>.*)$")


def commands(diagnosis: Diagnosis) -> tuple[list[re.Match[str]], str]:
    """The commands for findings, where all else went well, and the last line."""
    well = replace(diagnosis, dynamic=None, files=())
    *lines, last = github.render(well).splitlines()
    found = [match for line in lines if (match := COMMAND.match(line))]
    assert len(found) == len(lines)
    assert not last.startswith("::")
    return found, last


def test_an_annotation(rich: Diagnosis) -> None:
    assert github.render(rich).splitlines()[2] == (
        "::error file=model.py,line=18,endLine=18,col=9,endColumn=31,title=GD101 print-in-graph::"
        "print() breaks the graph%0APrint only when the code is not being compiled.%0A"
        "predicted, and seen in the run (GB0059)"
    )


def test_ten_of_each_kind_and_what_was_left_out(many: Callable[[int], Diagnosis]) -> None:
    found, last = commands(many(500))
    assert Counter(match["kind"] for match in found) == {"error": 10, "warning": 10, "notice": 10}
    assert last == (
        "graphdoctor: 251 errors, 83 warnings, 83 notices; GitHub shows 10 of a kind, "
        "so 241 errors and 73 warnings and 73 notices are not annotated"
    )


def test_what_is_new_is_annotated_first(many: Callable[[int], Diagnosis], compared: Diagnosis) -> None:
    assert compared.comparison is not None
    diagnosis = many(300)
    new = [finding for finding in diagnosis.findings if finding.severity == "error"][-1]
    comparison = replace(compared.comparison, new=(new.fingerprint,))
    found, _ = commands(replace(diagnosis, comparison=comparison))
    assert f"line={new.location.line}," in found[0]["properties"]


def test_escaping(rich: Diagnosis) -> None:
    place = replace(rich.findings[0].location, path="a:b,c%.py")
    hostile = replace(rich.findings[0], location=place, fact="100 %\n::error::x\r\n::set-output name=a::b")
    found, _ = commands(replace(rich, findings=(hostile,)))
    assert len(found) == 1
    assert "file=a%3Ab%2Cc%25.py," in found[0]["properties"]
    assert found[0]["message"].startswith(r"100 %25 ::error::x\x0d ::set-output name=a::b%0A")


def test_hostile_text_makes_no_command_of_its_own(hostile: Diagnosis) -> None:
    lines = github.render(hostile).splitlines()
    expected = sum(finding.status != "refuted" for finding in hostile.findings) + len(problems(hostile))
    assert sum(line.startswith("::") for line in lines) == len(lines) - 1 == expected


def test_what_the_base_had_too_is_a_notice(rich: Diagnosis, compared: Diagnosis) -> None:
    assert compared.comparison is not None
    (old, *_) = (finding for finding in rich.findings if finding.severity == "error")
    comparison = replace(compared.comparison, new=(), unchanged=(old.fingerprint,))
    found, _ = commands(replace(rich, findings=(old,), comparison=comparison))
    assert found[0]["kind"] == "notice"
    assert found[0]["message"].endswith("%0Athe base has it too")


def test_what_is_allowed_is_a_notice(rich: Diagnosis) -> None:
    found, _ = commands(replace(rich, findings=(replace(rich.findings[0], allowed="legacy"),)))
    assert found[0]["kind"] == "notice"
    assert found[0]["message"].endswith("allowed: legacy")


def test_nothing_found(clean: Diagnosis) -> None:
    assert github.render(clean) == "graphdoctor: nothing found\n"
