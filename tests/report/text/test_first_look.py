"""What is known so far, while the scan goes on."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.diagnosis.summary import summarise
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.runs import Break, DynamicRun, FullGraph
from graphdoctor.report.text.first_look import lines, verdict

PRINT = Break("net.py", 7, 8, "Net.forward", "GB0059", "Failed to trace builtin operator", "print(x)\nin a frame")
RUN = DynamicRun("Net", "eval", "cpu", "ok", breaks=(PRINT,), graphs=2, operators=4, fullgraph=FullGraph(False))


def test_the_first_findings_are_listed(rich: Diagnosis) -> None:
    few: list[Finding] = [replace(rich.findings[0], fact="one\nline")] * 7
    said = lines(few)
    assert said[0] == "graphdoctor: static analysis: 7 findings so far; now the code is run"
    assert said[1].endswith(f"{few[0].rule} one line")
    assert (len(said), said[-1]) == (7, "  ... and 2 more")
    assert lines([]) == []


def test_the_verdict_comes_before_the_checks_behind_it() -> None:
    train = replace(RUN, mode="train", breaks=(PRINT, replace(PRINT, line=9), replace(PRINT, owner="torch", line=1)))
    summary = summarise((), (), (RUN, train))
    said = verdict(summary, (RUN, train), 8.4)
    assert said[0] == f"graphdoctor: so far, after 8 s: {summary.headline}"
    assert summary.headline.startswith("Not ready: 2 graph breaks in your code")
    assert said[1:-1] == [
        "  net.py:7: Failed to trace builtin operator",
        "  net.py:9: Failed to trace builtin operator",
    ]
    assert "Ctrl-C ends them" in said[-1]
    many = replace(RUN, breaks=tuple(replace(PRINT, line=line) for line in range(1, 9)))
    assert verdict(summary, (many,), 8.4)[-2] == "  ... and 3 more"


def test_where_all_is_quick_the_report_comes_at_once() -> None:
    assert verdict(summarise((), (), (RUN,)), (RUN,), 0.5) == []
