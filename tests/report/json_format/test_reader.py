"""Reading back the JSON contract."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.json_format import writer
from graphdoctor.report.json_format.reader import ReadError, read


def changed(diagnosis: Diagnosis, *keys: Any, value: Any) -> str:
    """The JSON of ``diagnosis`` with the value at ``keys`` replaced."""
    data: Any = writer.to_dict(diagnosis)
    inner = data
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize("name", ["rich", "hostile", "clean", "compared"])
def test_what_was_written_is_read_back(name: str, request: pytest.FixtureRequest) -> None:
    diagnosis: Diagnosis = request.getfixturevalue(name)
    # The folder of the scan is not part of the contract.
    assert read(writer.render(diagnosis)) == replace(diagnosis, root="", code_url="", patch="", samples=())


def test_unknown_fields_are_passed_over(rich: Diagnosis) -> None:
    assert read(changed(rich, "findings", 0, "from_the_future", value={"a": 1})) == rich


def test_missing_fields_get_their_defaults(rich: Diagnosis) -> None:
    data = writer.to_dict(rich)
    for finding in data["findings"]:
        del finding["allowed"], finding["snippet"]
    del data["comparison"]
    assert read(json.dumps(data)).findings[0] == replace(rich.findings[0], snippet=())


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (
            ("schema",),
            "graphdoctor/9",
            "is no report of graphdoctor: it does not begin with the schema 'graphdoctor/1'",
        ),
        (("findings", 3, "line"), "x", 'findings[3].line must be a number, not "x"'),
        (("findings", 0, "severity"), "fatal", 'findings[0].severity must be one of error, warning, info, not "fatal"'),
        (("findings",), 7, "findings must be a list, not 7"),
        (("findings", 0, "fix", "edits", 0, "start"), [1], "findings[0].fix.edits[0].start must be a list of 2"),
        (("dynamic", 0, "breaks", 0, "stack", 0), 4, "dynamic[0].breaks[0].stack[0] must be an object, not 4"),
        (("summary",), None, "summary must be an object, not null"),
        (("findings", 1, "whole_frame"), 1, "findings[1].whole_frame must be true or false, not 1"),
        (("findings", 1, "events"), True, "findings[1].events must be a number, not true"),
    ],
)
def test_a_wrong_value_is_named(rich: Diagnosis, keys: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(ReadError) as error:
        read(changed(rich, *keys, value=value))
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, "null", '{"schema": "graphdoctor/1"}'])
def test_what_is_no_report_is_one_line(text: str) -> None:
    with pytest.raises(ReadError) as error:
        read(text)
    assert "\n" not in str(error.value)
