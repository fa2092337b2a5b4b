"""The original and the fixed code in eager on varied inputs, compared in everything that a call leaves behind.

Running again in eager is cheap, and shows whether a rewrite holds where the sample does not look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import torch

from graphdoctor.dynamic import numerics, observed, variations
from graphdoctor.dynamic.numerics import Snapshot
from graphdoctor.dynamic.target import Mode, Target
from graphdoctor.dynamic.tests_seen import Seen
from graphdoctor.dynamic.variations import ALL, FURTHER, NotApplicable, Variation
from graphdoctor.run_model import Varied

#: Seconds after which the original is not run on further variations, in each mode; the sample itself always is.
BUDGET = 10.0

_SETTINGS = "settings"
_NOISE = "noise"


@dataclass(frozen=True)
class Varying:
    """A target in one mode, varied.

    ``call`` goes backward where ``gradients`` is set, and inputs then get gradients where the model takes such inputs.
    ``folder`` holds what the original left; ``modules`` are those whose globals count; ``is_own`` says of a file
    whether it is the user's code.
    """

    target: Target
    mode: Mode
    call: observed.Call
    folder: Path
    gradients: bool = False
    modules: Sequence[ModuleType] = ()
    is_own: Callable[[str], bool] = lambda _path: True

    def record(self, seen: Seen, update: Callable[[Varied], None], budget: float = BUDGET) -> Varied:
        """Run the original and save what each variation leaves. ``seen`` fills with the outcomes of tests meanwhile.

        ``update`` gets the state after each variation, so that one that ends the process costs only itself.
        """
        found = Varied(self.mode)
        until = time.monotonic() + budget
        refused: set[str] = set()
        numerics.save(_settings(), self.folder, f"{self.mode}-{_SETTINGS}")
        for variation in ALL:
            if variation in FURTHER and not _one_sided(seen):
                continue
            if variation.kind and variation.kind in refused:
                continue
            if found.calls and time.monotonic() > until:
                found = replace(found, skipped=(*found.skipped, variation.name))
                continue
            try:
                after, dtypes = self._outcome(variation)
            except NotApplicable:
                continue
            numerics.save(after, self.folder, self._name(variation))
            if observed.RAISED in after:
                refused.add(variation.kind)
                found = replace(found, refused=(*dict.fromkeys([*found.refused, variation.kind or variation.name]),))
            else:
                backward = found.backward or any(name.startswith("gradient of ") for name in after)
                dtypes = {*found.dtypes, *dtypes}
                found = replace(found, calls=found.calls + 1, dtypes=tuple(sorted(dtypes)), backward=backward)
            found = replace(found, seen=tuple(sorted(seen)))
            update(found)
        return found

    def check(self) -> Varied:
        """Run the fixed code on the same variations, and compare."""
        noise = numerics.load(self.folder, f"{self.mode}-{_NOISE}") or {}
        calls, differs, changes = 0, "", self._changed_settings()
        for variation in ALL:
            before = numerics.load(self.folder, self._name(variation))
            if before is None:
                continue
            try:
                after, _ = self._outcome(variation)
            except NotApplicable:
                differs = differs or f"{variation.name} is possible in the original only"
                continue
            wrong, other = _compared(variation, before, after, noise)
            calls += observed.RAISED not in before
            differs = differs or (wrong and f"with {variation.name} {wrong}")
            changes = changes or (other and f"with {variation.name} {other}")
        return Varied(self.mode, calls=calls, differs=differs, changes=changes)

    def repeat(self) -> Varied:
        """Run the original once more; what differs from its first run is not compared from now on."""
        noise: dict[str, str] = {}
        for variation in ALL:
            before = numerics.load(self.folder, self._name(variation))
            if before is not None:
                after, _ = self._outcome(variation)
                noise.update(observed.differences(before, after))
        numerics.save(noise, self.folder, f"{self.mode}-{_NOISE}")
        return Varied(self.mode, noise=tuple(noise))

    def _name(self, variation: Variation) -> str:
        return f"{self.mode}-{ALL.index(variation)}"

    def _outcome(self, variation: Variation) -> tuple[Snapshot, set[str]]:
        """What one variation leaves behind, and the dtypes of its inputs. Raises NotApplicable."""
        attempts = (True, False) if self.gradients else (False,)
        for gradients in attempts:
            sample = variations.sample(self.target, self.mode, variation, gradients)
            dtypes = variations.dtypes(sample)
            try:
                return observed.observe(sample, self.call, self.modules), dtypes
            except Exception as error:
                raised = observed.of_error(error, self.is_own)
        return raised, dtypes

    def _changed_settings(self) -> str:
        """The settings of Dynamo that the fixed code sets and the original does not, as a clause."""
        before, after = numerics.load(self.folder, f"{self.mode}-{_SETTINGS}") or {}, _settings()
        names = [f"torch._dynamo.config.{name}" for name in after if before.get(name) != after[name]]
        return f"{', '.join(names)} is set for the whole process" if before and names else ""


def _settings() -> Snapshot:
    """The settings of Dynamo, as text."""
    return {name: repr(value) for name, value in torch._dynamo.config.get_config_copy().items() if not callable(value)}


def _one_sided(seen: Seen) -> bool:
    """Whether a test had one outcome only."""
    return any((*place, not truth) not in seen for *place, truth in seen)


def _compared(variation: Variation, before: Snapshot, after: Snapshot, noise: Collection[str]) -> tuple[str, str]:
    """What is wrong with the fixed code, and what it does in another way: two clauses."""
    if observed.RAISED in before:
        # An input that the original does not accept proves nothing, unless it is refused on purpose.
        if not before[observed.DELIBERATE]:
            return "", ""
        if observed.RAISED not in after:
            return _sorted(variation, f"only the original raises {before[observed.TEXT]}")
        same = before[observed.RAISED] == after[observed.RAISED]
        return "", "" if same else f"it raises {after[observed.TEXT]}, and the original {before[observed.TEXT]}"
    if observed.RAISED in after:
        return _sorted(variation, f"only the fixed code raises {after[observed.TEXT]}")
    changes = ""
    for name, clause in observed.differences(before, after):
        if name in noise:
            continue
        overflows = variation.extreme and name.startswith("gradient of ")
        if not overflows and not observed.is_harmless(name, before, after):
            wrong, change = _sorted(variation, clause)
            return wrong, changes or change
        changes = changes or clause
    return "", changes


def _sorted(variation: Variation, clause: str) -> tuple[str, str]:
    """``clause`` as a fault; of inputs of another kind than the sample's, as another way."""
    return ("", clause) if variation.kind else (clause, "")
