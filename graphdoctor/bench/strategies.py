"""The strategies by name, and which of them a run can measure. No torch here."""

from __future__ import annotations

from collections.abc import Sequence

from graphdoctor.model.benchmark import Mode

#: Modes of Inductor beside the default one (``torch._inductor.list_mode_options``).
MODES = ("lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")

#: All strategies with what they do, in the order in which they are measured: what matters most comes first.
STRATEGIES = {
    "eager": "no torch.compile",
    "default": "torch.compile(model)",
    "regional": "each repeated block: block.compile()",
    "cache": "default, with the cache artifacts of an earlier process",
    "optimizer": "default, and torch.compile(optimizer.step)",
    "dynamic": "torch.compile(model, dynamic=True)",
    **{mode: f'torch.compile(model, mode="{mode}")' for mode in MODES},
}


class UnknownStrategy(Exception):
    """A name that is no strategy; the text is one line."""


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The strategies ``names`` (all, where there are none) in the order of measurement. Raises UnknownStrategy.

    eager always comes, because the others are compared with it, and "cache" brings "default", whose artifacts it loads.
    """
    for name in names:
        if name not in STRATEGIES:
            raise UnknownStrategy(f"there is no strategy {name!r}: choose among {', '.join(STRATEGIES)}")
    wanted = {*(names or STRATEGIES), "eager"}
    if "cache" in wanted:
        wanted.add("default")
    return tuple(name for name in STRATEGIES if name in wanted)


def why_not(strategy: str, mode: Mode, backend: str) -> str | None:
    """Why the strategy cannot be measured in this setting, before anything runs; None when it can."""
    if strategy == "optimizer" and mode != "train":
        return "needs --mode train"
    if backend != "inductor" and (strategy in MODES or strategy == "cache"):
        return "needs the backend inductor"
    return None


def share(strategy: str, left: float, others: bool) -> float:
    """The seconds that ``strategy`` may take of those that are ``left``; ``others`` come after it.

    Without eager there is nothing to compare with, so it may take them all. Else each but the last may take half, so
    that one that compiles for long does not keep the rest from being measured.
    """
    return left / 2 if others and strategy != "eager" else left
