"""A benchmark as text, Markdown, JSON and HTML."""

import json
from dataclasses import replace

from graphdoctor.model.benchmark import Bench, Result, Timing
from graphdoctor.report.html.bench import render
from graphdoctor.report.measurements.bench import as_json, markdown, text

BENCH = Bench(
    "Net<b>",
    "eval",
    "inductor",
    (
        Result("eager", timing=Timing(0.010, 0.0099, 0.0102, 20), peak=3 << 20, equal=True, difference=0.0),
        Result("default", "ok", "", 12.5, 2.0, 3, Timing(0.005, 0.0049, 0.0051, 20), 1 << 20, True, 1e-7),
        Result("regional", cold=0.0, compilations=0, timing=Timing(0.011, 0.011, 0.011, 20)),
        Result("lite", "skipped", "torch 2.7 has no such mode"),
        Result("dynamic", "failed", "RuntimeError: a|b\nc"),
    ),
    {"torch": "2.13.0", "device": "cpu, 2 threads"},
    "interrupted",
)


def test_the_text_has_a_line_for_each_measured_strategy_and_notes_for_the_rest() -> None:
    lines = text(BENCH).splitlines()
    assert lines[0] == (
        "Compile with the strategy default: 2.00 times as fast as eager (5 ms a step against 10 ms); its compilation "
        "(12.50 s) is paid back after 2,500 steps (interrupted)"
    )
    default = next(line for line in lines if line.startswith("default")).split()
    assert " ".join(default) == "default 5 ms 4.9 ms to 5.1 ms 2.00x 12.50 s 2,500 steps 2.00 s 3 1 MiB equal (1.0e-07)"
    assert "lite: not run: torch 2.7 has no such mode" in lines
    assert "regional: nothing was compiled" in lines


def test_markdown_escapes_what_would_break_the_table() -> None:
    shown = markdown(BENCH)
    assert "- dynamic: failed: RuntimeError: a\\|b" in shown
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {11}


def test_it_is_told_why_the_gpu_was_not_used() -> None:
    on_cpu = replace(BENCH, device_note="run on the CPU: on <H200> it ended with a_b")
    assert "\n\nnote: run on the CPU: on <H200> it ended with a_b\n\n" in text(on_cpu)
    assert "\n\nnote: run on the CPU: on \\<H200\\> it ended with a\\_b\n\n" in markdown(on_cpu)
    assert "<p>note: run on the CPU: on &lt;H200&gt; it ended with a_b</p>" in render(on_cpu)
    assert json.loads(as_json(on_cpu))["device_note"] == on_cpu.device_note
    assert "note:" not in text(BENCH) + markdown(BENCH) + render(BENCH).partition("<table>")[0]


def test_json_holds_the_verdict() -> None:
    data = json.loads(as_json(BENCH))
    assert data["schema"] == "graphdoctor-bench/1"
    found = data["verdict"]
    assert (found["worth"], found["best"], found["speedup"], found["steps"]) == (True, "default", 2.0, 2500)


def test_the_page_is_escaped_and_scales_its_bars() -> None:
    page = render(BENCH)
    assert "Net&lt;b&gt;" in page and "Net<b>" not in page
    # The longest step (its quartile) takes the whole width of 560 units.
    assert 'width="254.5"' in page and 'width="560.0"' in page
    assert len(page) < 100_000
