"""The original and the fixed code in eager on varied inputs, compared in everything that a call leaves behind.

Running again in eager is cheap, and shows whether a rewrite holds where the sample does not look.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from types import ModuleType

import torch

from graphdoctor.dynamic.numerics import comparison, observed, operator_domains, perturbed_inputs, reference, rounding
from graphdoctor.dynamic.numerics.comparison import Snapshot
from graphdoctor.dynamic.numerics.perturbed_inputs import ALL, FURTHER, NotApplicable, Variation
from graphdoctor.dynamic.numerics.plain_globals import PlainGlobals
from graphdoctor.dynamic.tracing import private_torch
from graphdoctor.dynamic.tracing.branch_coverage import Seen
from graphdoctor.dynamic.user_code.fresh import is_large
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target, seed
from graphdoctor.dynamic.user_code.time_limit import TooLong, at_most
from graphdoctor.model.runs import Varied

#: Seconds that the original gets for one variation, and after which it is not run on further ones, in each mode; the
#: sample itself always is.
BUDGET = 10.0
#: In a snapshot: whether the inputs were given gradients.
_GIVEN = "inputs with gradients"

_SETTINGS = "settings"
_NOISE = "noise"
_OUTSIDE = "outside"


@dataclass(frozen=True)
class Varying:
    """A target in one mode, varied.

    ``call`` goes backward where ``gradients`` is set, and inputs then get gradients where the model takes such inputs;
    ``forward`` never does.
    ``folder`` holds what the original left; ``modules`` are those whose globals count; ``is_own`` says of a file
    whether it is the user's code. ``known`` are the differences that the fixes announce.
    """

    target: Target
    mode: Mode
    call: observed.Call
    forward: observed.Call
    folder: Path
    gradients: bool = False
    modules: Sequence[ModuleType] = ()
    is_own: Callable[[str], bool] = lambda _path: True
    known: Sequence[str] = ()

    def record(self, seen: Seen, update: Callable[[Varied], None], budget: float = BUDGET) -> Varied:
        """Run the original and save what each variation leaves. ``seen`` fills with the outcomes of tests meanwhile.

        ``update`` gets the state after each variation, so that one that ends the process costs only itself.
        """
        found = Varied(self.mode)
        until = time.monotonic() + budget
        refused: set[str] = set()
        outside: Snapshot = {}
        attempts = (True, False) if self.gradients else (False,)
        comparison.save(_settings(), self.folder, f"{self.mode}-{_SETTINGS}")
        for variation in ALL:
            if variation in FURTHER and not _one_sided(seen):
                continue
            if variation.kind and variation.kind in refused:
                continue
            if found.calls and time.monotonic() > until:
                found = replace(found, skipped=(*found.skipped, variation.name))
                continue
            try:
                with at_most(budget) if found.calls else contextlib.nullcontext():
                    after, dtypes = self._outcome(variation, attempts)
            except NotApplicable:
                continue
            except TooLong:
                found = replace(found, skipped=(*found.skipped, variation.name))
                continue
            comparison.save(after, self.folder, self._name(variation))
            if observed.RAISED not in after and not after[_GIVEN]:
                # It writes into its inputs, which those with gradients do not allow: a rewrite may do so on more paths.
                attempts = (False,)
            if observed.RAISED in after:
                refused.add(variation.kind)
                found = replace(found, refused=(*dict.fromkeys([*found.refused, variation.kind or variation.name]),))
            else:
                backward = found.backward or any(name.startswith("gradient of ") for name in after)
                dtypes = {*found.dtypes, *dtypes}
                found = replace(found, calls=found.calls + 1, dtypes=tuple(sorted(dtypes)), backward=backward)
                if backward and self._is_outside(variation, after[_GIVEN]):
                    outside[variation.name] = True
                    comparison.save(outside, self.folder, f"{self.mode}-{_OUTSIDE}")
            found = replace(found, seen=tuple(sorted(seen)))
            update(found)
        return found

    def check(self) -> Varied:
        """Run the fixed code on the same variations, and compare."""
        noise = comparison.load(self.folder, f"{self.mode}-{_NOISE}") or {}
        outside = comparison.load(self.folder, f"{self.mode}-{_OUTSIDE}") or {}
        calls, differs, changes = 0, "", self._changed_settings()
        for variation in ALL:
            before = comparison.load(self.folder, self._name(variation))
            if before is None:
                continue
            try:
                expected = tuple(before) if "early" in self.known else ()
                after, _ = self._outcome(variation, (before[_GIVEN],), expected)
            except NotApplicable:
                differs = differs or f"{variation.name} is possible in the original only"
                continue
            exact = cache(partial(self._again, variation, before[_GIVEN], _widened))
            nudged = cache(partial(self._again, variation, before[_GIVEN], rounding.nudge))
            is_outside = variation.name in outside
            wrong, other = self._compared(variation, before, after, noise, exact, nudged, is_outside)
            calls += observed.RAISED not in before
            differs = differs or (wrong and f"with {variation.name}: {wrong}")
            changes = changes or (other and f"with {variation.name}: {other}")
        return Varied(self.mode, calls=calls, differs=differs, changes=changes)

    def repeat(self) -> Varied:
        """Run the original once more; what differs from its first run is not compared from now on."""
        noise: dict[str, str] = {}
        for variation in ALL:
            before = comparison.load(self.folder, self._name(variation))
            if before is not None:
                after, _ = self._outcome(variation, (before[_GIVEN],))
                noise.update(observed.differences(before, after))
        comparison.save(noise, self.folder, f"{self.mode}-{_NOISE}")
        return Varied(self.mode, noise=tuple(noise))

    @cached_property
    def _globals(self) -> PlainGlobals:
        """What each call begins with, so that none counts on from another."""
        return PlainGlobals(self.modules)

    def _name(self, variation: Variation) -> str:
        return f"{self.mode}-{ALL.index(variation)}"

    def _outcome(
        self, variation: Variation, attempts: Sequence[bool], expected: Collection[str] = ()
    ) -> tuple[Snapshot, set[str]]:
        """What one variation leaves behind, and the dtypes of its inputs. Raises NotApplicable.

        ``attempts`` say whether the inputs get gradients: the first that does not raise counts.
        """
        for gradients in attempts:
            self._globals.restore()
            sample = perturbed_inputs.sample(self.target, self.mode, variation, gradients)
            dtypes = perturbed_inputs.dtypes(sample)
            try:
                self._call_before(variation, sample)
                return {**observed.observe(sample, self.call, self.modules, expected), _GIVEN: gradients}, dtypes
            except Exception as error:
                raised = {**observed.of_error(error, self.is_own), _GIVEN: gradients}
        return raised, dtypes

    def _is_outside(self, variation: Variation, gradients: bool) -> bool:
        """Whether inputs are positive no more, and an operator of the original has no number for them."""
        if variation.inputs is None or variation.extreme:
            return False
        first = perturbed_inputs.sample(self.target, self.mode, ALL[0], False)
        sample = perturbed_inputs.sample(self.target, self.mode, variation, gradients)
        if not operator_domains.not_positive_now((first.args, first.kwargs), (sample.args, sample.kwargs)):
            return False
        self._globals.restore()
        return operator_domains.has_no_number(lambda: self.forward(sample))

    def _call_before(self, variation: Variation, sample: Sample) -> None:
        """The call that a second one follows, with inputs of its own; its gradients are gone by then."""
        if not variation.second or sample.module is None:
            return
        args, kwargs = self.target.on_device((sample.args, sample.kwargs))
        with contextlib.redirect_stdout(io.StringIO()):
            self.call(replace(sample, args=args, kwargs=kwargs))
        sample.module.zero_grad(set_to_none=True)
        sample.gradients.clear()
        seed()

    def _again(self, variation: Variation, gradients: bool, change: Callable[[Sample], None]) -> Snapshot:
        """What the code leaves behind on a sample after ``change``; nothing where it raises, or the model is large."""
        self._globals.restore()
        try:
            sample = perturbed_inputs.sample(self.target, self.mode, variation, gradients)
            if sample.module is not None and is_large(sample.module):
                return {}
            change(sample)
            self._call_before(variation, sample)
            return observed.observe(sample, self.call, self.modules)
        except Exception:  # a dtype that is written in the code
            return {}

    def _compared(
        self,
        variation: Variation,
        before: Snapshot,
        after: Snapshot,
        noise: Collection[str],
        exact: Callable[[], Snapshot],
        nudged: Callable[[], Snapshot],
        is_outside: bool,
    ) -> tuple[str, str]:
        """What is wrong with the fixed code, and what it does in another way: two clauses.

        ``exact`` is what it leaves behind in float64, ``nudged`` with the last bit of all numbers changed. Of inputs
        for which the original ``is_outside`` the domain of an operator, a gradient that is NaN refutes nothing.
        """
        if observed.RAISED in before:
            # An input that the original does not accept proves nothing, unless it is refused on purpose, or where it
            # computes with numbers: callers may count on that.
            if not before[observed.DELIBERATE] and not before[observed.BY_NUMBER]:
                return "", ""
            if observed.RAISED not in after:
                clause = f"only the original raises {before[observed.TEXT]}"
                return _sorted(variation, clause) if before[observed.DELIBERATE] else ("", clause)
            same = before[observed.RAISED] == after[observed.RAISED]
            return "", "" if same else f"it raises {after[observed.TEXT]}, and the original {before[observed.TEXT]}"
        if observed.RAISED in after:
            return _sorted(variation, f"only the fixed code raises {after[observed.TEXT]}")
        changes = ""
        for name, clause in observed.differences(before, after):
            if name in noise or rounding.explains(name, before, after, exact()):
                continue
            if variation.saturated and rounding.amplified(name, before, after, nudged()):
                continue
            is_nan = is_outside and observed.has_overflowed(name, before, after)
            if not is_nan and not self._is_change(name, variation, before, after):
                wrong, change = _sorted(variation, clause)
                return wrong, changes or change
            changes = changes or clause
        return "", changes

    def _is_change(self, name: str, variation: Variation, before: Snapshot, after: Snapshot) -> bool:
        """Whether a leaf that differs leaves the fix unsafe, and does not refute it."""
        overflows = name.startswith("gradient of ") and variation.extreme
        overflows = overflows or (variation.zeros and observed.has_overflowed(name, before, after))
        expected = observed.is_known(name, self.known, before, after) or (variation.zeros and "zeros" in self.known)
        expected = expected or (variation.extreme and "not_finite" in self.known)
        return overflows or expected or observed.is_harmless(name, before, after)

    def _changed_settings(self) -> str:
        """The settings of Dynamo that the fixed code sets and the original does not, as a clause."""
        before, after = comparison.load(self.folder, f"{self.mode}-{_SETTINGS}") or {}, _settings()
        names = [f"torch._dynamo.config.{name}" for name in after if before.get(name) != after[name]]
        return f"{', '.join(names)} is set for the whole process" if before and names else ""


def _widened(sample: Sample) -> None:
    reference.convert(sample, torch.float64)


def _settings() -> Snapshot:
    """The settings of Dynamo, as text. Sets in an order of their own: each process has another."""
    settings = private_torch.config_copy().items()
    return {
        name: repr(sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value)
        for name, value in settings
        if not callable(value)
    }


def _one_sided(seen: Seen) -> bool:
    """Whether a test had one outcome only."""
    return any((*place, not truth) not in seen for *place, truth in seen)


def _sorted(variation: Variation, clause: str) -> tuple[str, str]:
    """``clause`` as a fault; of inputs of another kind than the sample's, as another way."""
    return ("", clause) if variation.kind else (clause, "")
