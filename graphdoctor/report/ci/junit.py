"""JUnit XML: each finding is a test case, and so is each file without one."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

from graphdoctor.model.findings import Diagnosis, Finding, ScannedFile
from graphdoctor.report import wording
from graphdoctor.report.escaping import one_line, printable
from graphdoctor.report.excerpt import source_lines
from graphdoctor.report.problems import Problem, problems

#: Characters that XML 1.0 has no way to write and ``printable`` leaves.
_NOT_XML = re.compile("[\ufffe\uffff]")


def render(diagnosis: Diagnosis) -> str:
    """Errors fail. What is allowed, and what the base had too, is skipped; warnings pass, with their text as output.

    A file that could not be read and a run that did not end well are errors of their own.
    """
    shown = printable(diagnosis)
    known = frozenset(shown.comparison.unchanged) if shown.comparison else frozenset[str]()
    findings = [finding for finding in shown.findings if finding.status != "refuted"]
    found = {finding.location.path for finding in findings}
    cases = [_finding(finding, known) for finding in findings]
    troubled = problems(shown)
    cases += map(_problem, troubled)
    found |= {problem.path for problem in troubled if problem.path and problem.kind.endswith("-file")}
    cases += [_file(file) for file in shown.files if file.path not in found]
    counts = Counter(child.tag for case in cases for child in case)
    totals = {
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }
    suites = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "graphdoctor", **totals})
    suite.extend(cases)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _finding(finding: Finding, known: frozenset[str]) -> ElementTree.Element:
    place = finding.location
    case = _case(place.path, f"{finding.rule} {finding.name}, line {place.line}", place.line)
    if finding.allowed:
        _child(case, "skipped", message=f"allowed: {finding.allowed}")
    elif finding.fingerprint in known:
        _child(case, "skipped", message="the base has it too")
    elif finding.severity == "error":
        _child(case, "failure", _details(finding), message=finding.message, type=finding.rule)
    else:
        _child(case, "system-out", f"{finding.severity}: {_details(finding)}")
    return case


def _file(file: ScannedFile) -> ElementTree.Element:
    case = _case(file.path, "scan")
    if file.status == "skipped":
        _child(case, "skipped", message=file.reason or "")
    return case


def _problem(problem: Problem) -> ElementTree.Element:
    name = "scan" if problem.kind.endswith("-file") else "run"
    case = _case(problem.path or "", name)
    _child(case, "error" if problem.stopped else "failure", message=problem.text, type=problem.kind)
    return case


def _case(path: str, name: str, line: int = 1) -> ElementTree.Element:
    values = {"classname": path, "name": name, "file": path, "line": str(line)}
    return ElementTree.Element("testcase", {key: _text(value) for key, value in values.items()})


def _child(case: ElementTree.Element, tag: str, text: str = "", **values: str) -> None:
    child = ElementTree.SubElement(case, tag, {key: _text(one_line(value)) for key, value in values.items()})
    child.text = _text(text) or None


def _details(finding: Finding) -> str:
    place = finding.location
    head = f"{place.path}:{place.line}:{place.column}: {one_line(finding.message)}"
    source = [f"{line.number:>5} | {line.text}".rstrip() for line in source_lines(finding)]
    rest = [wording.status(finding), finding.why, finding.suggestion and f"help: {finding.suggestion}"]
    return "\n".join([head, *source, *(one_line(text) for text in rest if text)])


def _text(text: str) -> str:
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
