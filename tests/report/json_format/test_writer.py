"""The JSON contract: names, nulls, order, and numbers that JSON can hold."""

from __future__ import annotations

import json
from dataclasses import replace

from graphdoctor.model.findings import SCHEMA, Diagnosis
from graphdoctor.model.runs import Numerics
from graphdoctor.report.json_format.writer import render, to_dict


def test_top_level(rich: Diagnosis) -> None:
    data = to_dict(rich)
    assert data["schema"] == SCHEMA == "graphdoctor/1"
    assert data["tool"] == {"name": "graphdoctor", "version": "0.1.0"}
    assert data["environment"] == {"device": "cpu", "gpu": None, "python": "3.11.7", "torch": "2.13.0"}
    assert data["summary"]["verdict"] == "not-ready"
    assert data["files"][2] == {
        "path": "bad.py",
        "lines": 3,
        "status": "failed",
        "reason": "syntax error in line 3: invalid syntax",
    }


def test_finding_has_a_flat_location_and_its_fix(rich: Diagnosis) -> None:
    finding = to_dict(rich)["findings"][0]
    place = [finding[key] for key in ("path", "line", "column", "end_line", "end_column")]
    assert place == ["model.py", 18, 9, 18, 32]
    assert (finding["rule"], finding["status"], finding["gb_ids"], finding["events"]) == (
        "GD101",
        "confirmed",
        ["GB0059"],
        3,
    )
    assert finding["fix"]["safety"] == "safe"
    assert finding["fix"]["grade"] == "general"
    assert finding["fix"]["edits"][0]["start"] == [18, 9]


def test_run_with_breaks_stacks_and_recompiles(rich: Diagnosis) -> None:
    run = to_dict(rich)["dynamic"][0]
    assert run["breaks"][0]["stack"] == [["model.py", 60, "Outer.forward"], ["model.py", 18, "Net.forward"]]
    assert run["fullgraph"] == {
        "passes": False,
        "error": "Data-dependent branching",
        "path": "model.py",
        "line": 21,
    }
    assert run["explain"]["disagrees"] == "explain counts 2 breaks, the trace has 3"
    assert run["recompiles"][0]["verified_compilations"] == 2
    assert run["numerics"]["equal"] is True
    assert "executed" not in run


def test_absent_is_null_and_present(clean: Diagnosis, rich: Diagnosis) -> None:
    data = to_dict(clean)
    assert data["dynamic"] is None
    assert data["verification"] is None
    assert data["command"] is None
    finding = to_dict(rich)["findings"][4]
    assert finding["fix"] is None
    assert finding["url"] is None


def test_nan_is_null(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], numerics=Numerics(False, float("nan"), "", "the compiled outputs hold NaN"))
    data = json.loads(render(replace(rich, dynamic=(run,))))
    assert data["dynamic"][0]["numerics"] == {
        "equal": False,
        "max_abs_diff": None,
        "tolerance": "",
        "detail": "the compiled outputs hold NaN",
        "mutated": [],
        "diverges": None,
    }


def test_same_data_same_bytes_but_for_timings(rich: Diagnosis) -> None:
    later = replace(rich, environment=dict(reversed(rich.environment.items())), timings={"dynamic": 9.5, "static": 0.1})
    first, second = json.loads(render(rich)), json.loads(render(later))
    assert first.pop("timings") != second.pop("timings")
    assert json.dumps(first) == json.dumps(second)


def test_hostile_text_survives_unchanged(hostile: Diagnosis) -> None:
    text = render(hostile)
    assert text.isascii()
    assert json.loads(text)["summary"]["headline"] == hostile.summary.headline
