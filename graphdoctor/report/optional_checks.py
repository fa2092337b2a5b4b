"""Which parts and layers of a model are at fault, a training step, the device: one wording for text and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphdoctor.report import wording
from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.audit import Audit
    from graphdoctor.model.export import Exported
    from graphdoctor.model.runs import DeviceChecks, DynamicRun, Hint, Ladder, Training
    from graphdoctor.model.submodules import Blocks, ModuleVerdict, Readiness

#: Submodules of one kind that are named; the JSON has all.
_NAMED = 5


def lines(run: DynamicRun, first: bool = True) -> list[str]:
    """Sentences about one run, in the order of the fields; what could not be checked is listed for the ``first``."""
    found = [_blocks(same) for same in _alike(run.blocks)]
    found += _readiness(run.readiness) if run.readiness else []
    found += _ladder(run.ladder) if run.ladder else []
    found += audit(run.audit) if run.audit else []
    found += exports(run.export)
    found += _training(run.training) if run.training else []
    found += _device(run.device_checks) if run.device_checks else []
    if first and run.device_checks and run.device_checks.unchecked:
        found.append(f"not checked on {run.device}: {', '.join(run.device_checks.unchecked)}")
    return found


def of_runs(runs: Iterable[DynamicRun]) -> list[str]:
    """The lines of all runs, each with its run."""
    return [f"{wording.run_title(run)}: {line}" for number, run in enumerate(runs) for line in lines(run, not number)]


def _alike(blocks: Iterable[Blocks]) -> list[list[Blocks]]:
    """The blocks of which there is something to say; lists of one class share its compilations, and are one entry."""
    groups: dict[Blocks, list[Blocks]] = {}
    for group in blocks:
        if group.compilations or group.alone is not None:
            groups.setdefault(replace(group, names=()), []).append(group)
    return list(groups.values())


def _blocks(same: Sequence[Blocks]) -> str:
    group = same[0]
    lists = f" in {len(same)} lists" if len(same) > 1 else ""
    blocks = f"{sum(len(each.names) for each in same)} blocks of class {group.type}{lists}"
    if group.compilations:
        text = f"{blocks}: {plural(group.compilations, 'compilation')} in all{_limit(group.at_limit)}"
    else:
        text = f"{blocks}: part of their caller's graphs"
    if group.alone is None:
        return text
    return f"{text}; each compiled for itself: {plural(group.alone, 'compilation')}{_limit(bool(group.alone_at_limit))}"


def _limit(reached: bool) -> str:
    return ", then the recompile limit: the other blocks run uncompiled" if reached else ""


def _readiness(result: Readiness) -> list[str]:
    found = []
    if result.ready:
        found.append(f"compiles alone with fullgraph=True: {_largest(result.ready)}")
    # Where the model itself fails, the line on fullgraph=True has it.
    culprits = [verdict for verdict in result.culprits if verdict.name]
    causes: dict[tuple[object, ...], list[str]] = {}
    for verdict in culprits[:_NAMED]:
        key = (verdict.ready is None, f" at {verdict.path}:{verdict.line}" if verdict.path else "", verdict.error)
        causes.setdefault(key, []).append(_module(verdict))
    for (is_untried, where, error), modules in causes.items():
        fails = "not tried" if is_untried else f"{'does' if len(modules) == 1 else 'do'} not compile alone"
        found.append(f"{' and '.join(modules)} {fails}{where}: {error}")
    more = len(culprits) - _NAMED
    found += (
        [f"{plural(more, 'more submodule')} that {'does' if more == 1 else 'do'} not compile alone"] if more > 0 else []
    )
    return found + ([result.detail] if result.detail else [])


def _largest(verdicts: Sequence[ModuleVerdict]) -> str:
    named = ", ".join(f"{_module(v)} with {plural(v.operators, 'operator')}" for v in verdicts[:_NAMED])
    return named + (f", and {len(verdicts) - _NAMED} more" if len(verdicts) > _NAMED else "")


def _module(verdict: ModuleVerdict) -> str:
    return f"{verdict.name} ({verdict.type})" if verdict.name else f"the model ({verdict.type})"


def _ladder(ladder: Ladder) -> list[str]:
    passed = [stage.name for stage in ladder.stages if stage.outcome == "ok"]
    found = [f"backends that work: {', '.join(passed)}"] if passed else []
    for stage in ladder.stages:
        where = f" at {stage.path}:{stage.line}" if stage.path else ""
        if stage.outcome == "failed":
            found.append(f"{stage.failure}{where}: {stage.detail}")
        elif stage.outcome == "differs":
            found.append(f"backend {stage.name} gives other outputs than eager, from {stage.layer}: {stage.detail}")
        elif stage.outcome == "skipped":
            found.append(f"backend {stage.name} not tried: {stage.detail}")
    return found


def audit(made: Audit) -> list[str]:
    """Which backends do what eager does, and how the first that does not differs."""
    same = [backend.name for backend in made.backends if backend.outcome == "same"]
    backends = f"backend{'s' if len(same) > 1 else ''} {', '.join(same)}"
    found = [f"audit: the same as without compiling: {backends}"] if same else []
    for backend in made.backends:
        if backend.outcome == "differs":
            deviations = "; ".join(
                f"{deviation.oracle}: {deviation.detail}" for deviation in backend.deviations[:_NAMED]
            )
            more = len(backend.deviations) - _NAMED
            found.append(
                f"audit: {backend.name} ({backend.layer}) changes the answer: {deviations}"
                + (f"; and {more} more" if more > 0 else "")
                + (f"; the first submodule whose outputs differ is {made.submodule}" if made.submodule else "")
                + (f"; it starts at the operator {made.operator}" if made.operator else "")
            )
        elif backend.outcome == "skipped":
            found.append(f"audit: {backend.name} not tried: {backend.detail}")
        elif backend.detail:
            found.append(f"audit: {backend.name}: {backend.detail}")
    return found + ([f"audit: {made.detail}"] if made.detail else [])


def exports(made: Sequence[Exported]) -> list[str]:
    """What torch.export made of the model, a line for each way."""
    return [f"torch.export({export.way}) {_exported(export)}" for export in made]


def _exported(export: Exported) -> str:
    if export.outcome == "ok":
        return f"works: {plural(export.operators or 0, 'operator')}, the same outputs"
    if export.outcome == "differs":
        return f"works, and the exported program gives other outputs: {export.error}"
    where = f" at {export.path}:{export.line}" if export.path else ""
    return f"fails{where}{f' ({export.rule})' if export.rule else ''}: {export.error}"


def _training(step: Training) -> list[str]:
    parts = ["forward", "backward by compiled autograd" if step.compiled_autograd else "backward in eager"]
    parts += [f"step of {step.optimizer}"] if step.optimizer else []
    title = f"training step ({', '.join(parts)})"
    if step.outcome != "ok":
        return [f"{title}: {wording.OUTCOMES[step.outcome]}: {step.detail}"]
    graphs = ", ".join(f"{plural(number, 'graph')} in {phase}" for phase, number in step.graphs.items() if number)
    text = f"{title}: {graphs}; parameters and gradients against eager: {wording.numerics(step.numerics)}"
    return [f"{text}; {step.detail}" if step.detail else text]


def _device(checks: DeviceChecks) -> list[str]:
    found = []
    sizes = {"in eager": checks.peak_memory_eager, "compiled by Inductor": checks.peak_memory_compiled}
    if taken := [f"{size / 2**20:,.1f} MiB {how}" for how, size in sizes.items() if size is not None]:
        found.append(f"peak memory of a step: {', '.join(taken)}")
    found += _hints("waits for the GPU", checks.synchronisations)
    found += _hints("CUDA graphs", checks.cudagraph_skips)
    found += _hints("speed", checks.hints)
    return found


def _hints(title: str, hints: Iterable[Hint]) -> list[str]:
    found = []
    for hint in hints:
        where = f" at {hint.path}:{hint.line}" if hint.path else ""
        found.append(
            f"{title}{where}: {hint.text}; {hint.action}" + (f" ({hint.events} times)" if hint.events > 1 else "")
        )
    return found
