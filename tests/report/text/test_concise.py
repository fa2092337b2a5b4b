"""The short text reports: a line for each finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.escaping import width
from graphdoctor.report.text.concise import concise, grouped
from graphdoctor.report.text.look import Look


def test_a_line_for_each_finding_then_what_failed_then_the_verdict(rich: Diagnosis) -> None:
    lines = concise(rich).splitlines()
    assert lines[:2] == [
        "model.py:18:9: error GD101 [print-in-graph] print() breaks the graph (safe fix)",
        "model.py:21:12: error GD110 [data-dependent-branch] the branch depends on the data of a tensor",
    ]
    assert lines[4].startswith("model.py:40:9:") and lines[5] == ""
    assert "  bad.py: syntax error in line 3: invalid syntax" in lines
    assert "Net, train mode, on cpu: stopped at the time limit: stopped after 120 s" in lines
    assert rich.summary.headline in lines
    assert lines[-1].startswith("Found 3 errors, 1 warning and 1 note in 1 of 2 files.")


def test_grouped_by_file(rich: Diagnosis) -> None:
    other = replace(rich.findings[0], location=replace(rich.findings[0].location, path="net.py", line=100))
    shown = grouped(replace(rich, findings=(rich.findings[0], other, rich.findings[1])))
    assert shown.startswith(
        "model.py\n"
        "  18:9   error GD101 [print-in-graph] print() breaks the graph (safe fix)\n"
        "  21:12  error GD110 [data-dependent-branch] the branch depends on the data of a tensor\n"
        "\n"
        "net.py\n"
        "  100:9  error GD101 [print-in-graph] print() breaks the graph (safe fix)\n"
    )


def test_many_findings_take_a_line_each(many: Callable[[int], Diagnosis]) -> None:
    listed = sum(finding.status != "refuted" for finding in many(300).findings)
    assert len(concise(many(300)).splitlines()) < listed + 20


def test_what_the_base_had_gets_no_line(compared: Diagnosis) -> None:
    assert compared.comparison is not None
    new = {f.message for f in compared.findings if f.fingerprint in compared.comparison.new}
    lines = concise(compared).split("\n\n")[0].splitlines()
    assert len(lines) == len(new) and all(any(message in line for line in lines) for message in new)
    everything = concise(compared, Look(verbose=True)).split("\n\n")[0].splitlines()
    assert sorted(everything) == sorted(concise(replace(compared, comparison=None)).split("\n\n")[0].splitlines())


def test_a_terminal_cuts_the_message_and_nothing_else_does(rich: Diagnosis) -> None:
    diagnosis = replace(rich, findings=(replace(rich.findings[0], fact="many words " * 30),))
    line = concise(diagnosis, Look(columns=80)).splitlines()[0]
    assert width(line) == 80 and line.endswith("… (safe fix)")
    assert "many words " * 29 in concise(diagnosis).splitlines()[0]
