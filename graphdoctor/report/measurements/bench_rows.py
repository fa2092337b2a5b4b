"""The table of a benchmark as words: what the text, the Markdown and the HTML show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphdoctor.bench.against_eager import Comparison, against_eager
from graphdoctor.bench.units import seconds, steps, times
from graphdoctor.model.benchmark import Bench, Result
from graphdoctor.report.escaping import one_line, visible

if TYPE_CHECKING:
    from graphdoctor.model.advice import Advice

HEADINGS = (
    "strategy",
    "step",
    "quartiles",
    "speed-up",
    "cold compile",
    "paid back after",
    "warm",
    "graphs",
    "peak memory",
    "outputs",
)

_STATUS = {"ok": "", "interrupted": "", "failed": "failed: ", "skipped": "not run: "}


@dataclass(frozen=True)
class Row:
    """One strategy: ``cells`` under HEADINGS, and in ``note`` why cells are empty, and other remarks."""

    cells: tuple[str, ...]
    note: str


def rows(bench: Bench) -> list[Row]:
    """One row for each strategy, in the order of measurement."""
    return [Row(_cells(bench, result), _note(result)) for result in bench.results]


def heading(bench: Bench) -> str:
    """What was measured and where."""
    named = [f"{name} {bench.environment[name]}" for name in ("torch", "transformers") if bench.environment.get(name)]
    device = bench.environment.get("device") or "unknown device"
    return ", ".join([f"{visible(bench.target)}, {bench.mode} mode", f"backend {bench.backend}", device, *named])


def caption(bench: Bench) -> str:
    """How the columns were measured, in a few sentences."""
    step = "one call under no_grad" if bench.mode == "eval" else "zero_grad, forward, loss, backward, AdamW step"
    return (
        f"A step is {step}. Step times are medians after warm-up; the quartiles tell how they scatter. Cold: the calls "
        "that compiled, in a new process with empty caches; warm: the same again with the caches on disk. Paid back: "
        "cold divided by the gain of a step; cannot tell: the quartiles overlap eager's. Peak memory is what tensors "
        f"take during a step above what they hold before it, and what CUDA graphs keep.{_took(bench)}"
    )


def device_note(measured: Bench | Advice) -> str:
    """Why it ran on the CPU of a machine that has a GPU; empty where it did not."""
    return f"note: {one_line(visible(measured.device_note))}" if measured.device_note else ""


def mebibytes(value: int) -> str:
    """A number of bytes in MiB."""
    return f"{value / 2**20:.3g} MiB"


def _took(bench: Bench) -> str:
    if not bench.seconds:
        return ""
    busy = f"; up to {bench.load:.1f} processes wanted to run (load average)" if bench.load is not None else ""
    return f" Measured in {bench.seconds:.0f} s{busy}."


def _cells(bench: Bench, result: Result) -> tuple[str, ...]:
    timing, compared = result.timing, against_eager(bench, result)
    return (
        result.strategy,
        seconds(timing.median) if timing else "",
        f"{seconds(timing.low)} to {seconds(timing.high)}" if timing else "",
        f"{times(compared.factor)}x" if compared else "",
        seconds(result.cold) if result.cold is not None else "",
        _paid_back(compared),
        seconds(result.warm) if result.warm is not None else "",
        "" if result.compilations is None or result.strategy == "eager" else str(result.compilations),
        mebibytes(result.peak) if result.peak is not None else "",
        _outputs(result),
    )


def _paid_back(compared: Comparison | None) -> str:
    if compared is None or compared.result.compilations == 0 or compared.result.equal is False:
        return ""
    if compared.standing == "faster":
        return "" if compared.steps is None else steps(compared.steps)
    return "never" if compared.standing == "slower" else "cannot tell"


def _outputs(result: Result) -> str:
    if result.equal is None or result.strategy == "eager":
        return ""
    difference = f"{result.difference:.1e}" if result.difference else "0"
    return f"equal ({difference})" if result.equal else f"differ ({difference})"


def _note(result: Result) -> str:
    status = f"{_STATUS[result.status]}{result.detail}"
    nothing = "nothing was compiled" if result.strategy != "eager" and result.compilations == 0 else ""
    numerics = result.numerics if result.strategy != "eager" else ""
    return one_line(visible("; ".join(part for part in (status, nothing, numerics) if part)))
