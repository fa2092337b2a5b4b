"""Wrong rewrites, planted: verification refuses each of them and says what differs. Right ones stay verified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from graphdoctor.dynamic.parent import runner
from graphdoctor.fixes.verification.verify import verify
from graphdoctor.model.findings import Edit, Finding, Fix, Location
from graphdoctor.model.labels import label
from graphdoctor.model.runs import DynamicRun, Verification
from graphdoctor.scan.copies import Copies

MODULE = """\
import time, random, itertools, torch
from torch import nn

SEEN = 0
NUMBERS = itertools.count()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.count = 0
        self.history = []

    def forward(self, x):
        global SEEN
        {}
        return y

def graphdoctor_target():
    torch.manual_seed(0)
    return Net(), (torch.randn(3, 4),)
"""

FUNCTION = """\
import torch

def make(calls):
    def f(x):
        {}
        return y
    return f

def graphdoctor_target():
    torch.manual_seed(0)
    return make([]), (torch.randn(3, 4{}),)
"""


@dataclass(frozen=True)
class Proved:
    """What verification says of one planted fix."""

    fix: Fix
    verification: Verification

    @property
    def label(self) -> str:
        return label(self.fix)


class Plant:
    """Writes programs, and has fixes of one line verified by real runs."""

    def __init__(self, folder: Path, server: runner.Server) -> None:
        self.folder, self.server = folder, server
        #: What was run of each program in each mode: several fixes may be planted in one.
        self.originals: dict[tuple[str, str], tuple[runner.RunRequest, tuple[DynamicRun, ...]]] = {}

    def __call__(
        self, program: str, before: str, after: str, safety: str = "unsafe", mode: str = "both", known: str = ""
    ) -> Proved:
        """``program`` holds ``before`` in one line, and the fix puts ``after`` there."""
        request, runs = self.original(program, mode)
        file = request.file
        line = next(number for number, text in enumerate(program.splitlines(), 1) if before in text)
        column = program.splitlines()[line - 1].index(before) + 1
        edit = Edit(file.name, (line, column), (line, column + len(before)), after)
        place = Location(file.name, line, column, line, column + len(before))
        announced: Any = (known,) if known else ()
        fix = Fix(safety, "planted", (edit,), known=announced)  # type: ignore[arg-type]
        finding = Finding(
            "GD101", "n", "error", "certain", place, "f", "m", "w", "s", status="static-only", fix=fix, fingerprint="f"
        )
        copies = Copies(request, {file.name: file}, lambda text: None, self.server)
        result = verify([finding], {file.name: program}, runs, copies, each=False)
        assert result is not None and result.findings[0].fix is not None
        return Proved(result.findings[0].fix, result.verification)

    def original(self, program: str, mode: str) -> tuple[runner.RunRequest, tuple[DynamicRun, ...]]:
        """How ``program`` was run in ``mode``, and what came of it."""
        if (program, mode) not in self.originals:
            file = self.folder / f"planted_{len(self.originals)}.py"
            file.write_text(program)
            request = runner.RunRequest(
                file=file, root=self.folder, mode=mode, watch=(str(file),), recompiles=False, deeper=False,
                reference=self.folder / f"reference_{file.stem}",
            )  # fmt: skip
            runs = runner.run(request, server=self.server).runs
            assert {run.outcome for run in runs} == {"ok"}, runs
            self.originals[program, mode] = request, runs
        return self.originals[program, mode]


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with runner.Server() as server:
        yield Plant(tmp_path_factory.mktemp("planted"), server)


#: By name: the program, a line of it, what is put there, and what the refusal must say.
WRONG = {
    "an attribute gets another value": (
        MODULE.format("self.count = 1; y = self.a(x)"), "self.count = 1", "self.count = 2",
        "what is written differs, attribute count: 1 and 2",
    ),
    "an attribute is no longer written": (
        MODULE.format("self.count += 1; y = self.a(x)"), "self.count += 1", "0",
        "only the original writes attribute count (1)",
    ),
    "a list of the module is longer": (
        MODULE.format("self.history.append(1); y = self.a(x)"), "append(1)", "extend([1, 1])",
        "attribute history",
    ),
    "an attribute of a submodule": (
        MODULE.format("y = self.a(x)"), "self.a(x)", "self.a(x); self.a.seen = True",
        "only the fixed code writes attribute a.seen (True)",
    ),
    "a global is written": (
        MODULE.format("y = self.a(x)"), "self.a(x)", "self.a(x); SEEN += 1",
        "only the fixed code writes global SEEN (1)",
    ),
    "a counter of the file is at another number": (
        MODULE.format("y = self.a(x); next(NUMBERS)"), "next(NUMBERS)", "0", "global NUMBERS",
    ),
    "what a closure has captured": (
        FUNCTION.format("y = x * 2; calls.append(1)", ""), "calls.append(1)", "0",
        "captured calls",
    ),
    "a parameter is written": (
        MODULE.format("y = self.a(x)"), "self.a(x)", "self.a(x); self.b.weight.data.mul_(2)", "parameter b.weight",
    ),
    "requires_grad is lost": (
        MODULE.format("y = self.a(x)"), "self.a(x)", "self.a(x).detach()",
        "requires_grad of output is True in the original and False in the fixed code",
    ),
    "torch's random numbers go on": (
        FUNCTION.format("y = x * 2", ""), "x * 2", "x * 2; torch.rand(1)",
        "the state of torch's random numbers differs",
    ),
    "Python's random numbers go on": (
        MODULE.format("y = self.a(x)"), "self.a(x)", "self.a(x); random.random()",
        "the state of Python's random numbers differs",
    ),
    "the input itself comes back": (
        FUNCTION.format("y = x.clone()", ""), "x.clone()", "x",
        "the memory of output is its own in the original and that of input[0] itself in the fixed code",
    ),
    "a gradient is zero and was None": (
        MODULE.format("y = self.a(x)"), "self.a(x)", "self.a(x) + 0 * self.b(x)", "gradient of b.",
    ),
    "less is printed": (
        MODULE.format("y = self.a(x); print('seen', x.shape[0])"), "print('seen', x.shape[0])", "0",
        "standard output: 'seen 3",
    ),
    "a check is gone": (
        FUNCTION.format("y = x * 2\n        if x.isnan().any(): raise ValueError('bad')", ""), "x.isnan().any()", "False",
        "with one NaN in each input: only the original raises ValueError: bad",
    ),
    "a setting of the process": (
        MODULE.format("y = self.a(x)"), "self.a(x)", "self.a(x); torch.set_default_dtype(torch.float64)",
        "the setting default dtype is torch.float32 in the original and torch.float64 in the fixed code",
    ),
}  # fmt: skip


#: The same for what differs only for another kind of input, or in a way that few callers notice.
OTHERWISE = {
    "the dtype of float64 is lost": (
        FUNCTION.format("y = x + 0.5", ""), "x + 0.5", "x.float() + 0.5",
        "with float64: output: dtypes torch.float64 and torch.float32",
    ),
    "whole numbers become fractions": (
        FUNCTION.format("y = x * 2", ""), "x * 2", "x * 2.0",
        "with integers in place of floats: output: dtypes torch.int64 and torch.float32",
    ),
    "an empty batch raises": (
        FUNCTION.format("y = x * 2", ""), "x * 2", "torch.stack([row * 2 for row in x])",
        "with an empty batch: only the fixed code raises RuntimeError: ",
    ),
    "a copy of the input comes back": (
        FUNCTION.format("y = x", ""), "y = x", "y = x.clone()",
        "the memory of output is that of input[0] itself in the original and its own in the fixed code",
    ),
    "a copy of a view comes back": (
        FUNCTION.format("y = x[0]", ""), "x[0]", "x[0].clone()",
        "the memory of output is shared with input[0] in the original and its own in the fixed code",
    ),
    "a gradient is NaN where the input is infinite": (
        FUNCTION.format("z = x.nan_to_num(posinf=float('inf')); y = torch.where(x.isfinite(), z, 0.0)",
                        ", requires_grad=True"),
        "x.isfinite(), z", "x.isfinite(), z * (z - z + 1)",
        "with one infinity in each input: gradient of input[0]: values differ: NaN in one and not in the other",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rewrite_is_refused_with_what_differs(plant: Plant, name: str) -> None:
    program, before, after, sentence = WRONG[name]
    proved = plant(program, before, after, mode="both" if "gradient" in name else "eval")
    assert proved.label == "refused" and sentence in proved.fix.detail, proved.fix.detail
    assert proved.verification.fixes == () and "No fix is offered" in proved.verification.detail


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_differs_for_other_inputs_alone_stays_unsafe_and_is_said(plant: Plant, name: str) -> None:
    program, before, after, sentence = OTHERWISE[name]
    proved = plant(program, before, after, mode="both" if "gradient" in name else "eval")
    assert proved.label == "unsafe" and sentence in proved.fix.doubts, proved.fix
    assert plant(program, before, after, "safe", mode="eval").label == "refused"


def test_a_safe_fix_that_a_run_shows_to_differ_is_refused_too(plant: Plant) -> None:
    program, before, after, sentence = WRONG["less is printed"]
    proved = plant(program, before, after, "safe", "eval")
    assert proved.label == "refused" and sentence in proved.fix.detail


LATE = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = {}

    def forward(self, x):
        {}
        return self.proj(x)

def graphdoctor_target():
    torch.manual_seed(0)
    return Net(), (torch.randn(3, 4),)
"""

#: By name: what the fix announces, the program, a line of it, what is put there, and what the label must say.
ANNOUNCED = {
    "a number becomes a buffer": (
        "unsaved", MODULE.format("self.count += 1; y = self.a(x) / self.count"), "self.count = 0",
        "self.register_buffer('count', torch.tensor(0), persistent=False)",
        "only the original writes attribute count (1)",
    ),
    "requires_grad is lost": (
        "requires_grad", MODULE.format("y = self.a(x)"), "self.a(x)", "self.a(x).detach()",
        "requires_grad of output is True in the original and False in the fixed code",
    ),
    "what was passed keeps its flag": (
        "flag", FUNCTION.format("x.requires_grad = False; y = x * 2", ", requires_grad=True"), "x.requires_grad = False", "x = x.detach()",
        "requires_grad of input[0] is False in the original and True in the fixed code",
    ),
    "a zero is treated in another way": (
        "zeros", FUNCTION.format("y = torch.where(x == 0, 1.0, x)", ""), "torch.where(x == 0, 1.0, x)", "x + 0",
        "with inputs of zeros: output: values differ by up to 1",
    ),
    "what is not finite goes on": (
        "not_finite", FUNCTION.format("y = torch.nan_to_num(x)", ""), "torch.nan_to_num(x)", "x + 0",
        "with one NaN in each input: output: values differ: NaN in one and not in the other",
    ),
    "gradients are others": (
        "gradients", FUNCTION.format("y = x * x", ""), "x * x", "x * x.detach()", "gradient of input[0]: values differ",
    ),
    "a gradient is NaN": (
        "", FUNCTION.format("y = torch.where(x == 0, x, 1.0)", ""), "x, 1.0", "x, 1.0 + 0 * x.nan_to_num(0, 0, 0).abs().sqrt()",
        "with inputs of zeros: gradient of input[0]: values differ: NaN in one and not in the other",
    ),
    "an attribute is no longer kept": (
        "anew", MODULE.format("self.scale = x.shape[0]; y = self.a(x) * self.scale"),
        "self.scale = x.shape[0]; y = self.a(x) * self.scale", "y = self.a(x) * x.shape[0]",
        "only the original writes attribute scale (3)",
    ),
    "a buffer is new and not saved": (
        "unsaved", LATE.format("nn.Linear(4, 4)", "pass"), "nn.Linear(4, 4)",
        "nn.Linear(4, 4); self.register_buffer('keep', torch.ones(2), persistent=False)",
        "buffer keep is there in the fixed code only",
    ),
    "what the first call made is there before": (
        "early", LATE.format("None", "if self.proj is None: self.proj = nn.Linear(4, 4)"), "None", "nn.Linear(4, 4)",
        "what is written differs, attribute proj.training: True and False",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANNOUNCED)
def test_a_difference_that_the_fix_announces_leaves_it_unsafe(plant: Plant, name: str) -> None:
    known, program, before, after, sentence = ANNOUNCED[name]
    proved = plant(program, before, after, mode="eval", known=known)
    assert proved.label == "unsafe" and sentence in proved.fix.doubts, proved.fix
    assert plant(program, before, after, "safe", "eval", known).label == "refused"


def test_what_is_announced_excuses_nothing_else(plant: Plant) -> None:
    """Other values, a new buffer that is saved, weights that differ by more than the order in which they are drawn."""
    lost = MODULE.format("y = self.a(x)")
    proved = plant(lost, "self.a(x)", "self.a(x).detach() + 1", mode="eval", known="requires_grad")
    assert proved.label == "refused" and "output: values differ by up to 1" in proved.fix.detail
    late = LATE.format("None", "if self.proj is None: self.proj = nn.Linear(4, 4)")
    kept = "nn.Linear(4, 4); self.register_buffer('keep', torch.ones(2))"
    proved = plant(LATE.format("nn.Linear(4, 4)", "pass"), "nn.Linear(4, 4)", kept, mode="eval", known="unsaved")
    assert proved.label == "refused" and "the names in the state_dict" in proved.fix.detail, proved.fix.detail
    counted = "self.register_buffer('count', torch.tensor(1), persistent=False)"
    counting = MODULE.format("self.count += 1; y = self.a(x)")
    proved = plant(counting, "self.count = 0", counted, mode="eval", known="unsaved")
    assert proved.label == "refused" and "only the original writes attribute count (1)" in proved.fix.detail
    scaled = "nn.Linear(4, 4); nn.init.normal_(self.proj.weight)"
    proved = plant(late, "None", scaled, mode="eval", known="early")
    assert proved.label == "refused" and "output: values differ" in proved.fix.detail, proved.fix.detail


def test_what_may_lose_more_than_output_under_compile_is_never_verified(plant: Plant) -> None:
    program = MODULE.format("y = self.a(x)\n        x.requires_grad_()")
    guarded = "None if torch.compiler.is_compiling() else x.requires_grad_()"
    proved = plant(program, "x.requires_grad_()", guarded, known="compile")
    assert proved.label == "unsafe"
    assert "what it leaves out under compile may be more than output" in proved.fix.doubts


def test_a_number_that_is_rounded_to_the_dtype_of_a_tensor_is_never_verified(plant: Plant) -> None:
    program = FUNCTION.format("y = x * 0.1", "")
    proved = plant(program, "0.1", "torch.tensor(0.1)", mode="eval", known="precision")
    assert proved.label == "unsafe"
    assert "a number of 64 bits is rounded to the dtype of its tensor" in proved.fix.doubts


def test_what_costs_more_and_raises_for_nan_is_never_verified(plant: Plant) -> None:
    proved = plant(FUNCTION.format("y = x * 2", ""), "x * 2", "2 * x", mode="eval", known="costly")
    assert proved.label == "unsafe"
    assert "it takes longer for large matrices" in proved.fix.doubts


def test_inputs_get_gradients_where_the_original_takes_them(plant: Plant) -> None:
    """``numpy()`` raises for tensors with gradients, so the original runs without; the fixed code is run likewise."""
    program = FUNCTION.format("y = x * torch.from_numpy(x.numpy()).abs()", "")
    proved = plant(program, "torch.from_numpy(x.numpy()).abs()", "x.detach().abs()", mode="eval")
    assert proved.label == "verified", proved.fix.detail


def test_an_input_for_which_the_original_does_not_end_is_named(plant: Plant) -> None:
    program = FUNCTION.format("y = x * 1\n        while y.abs().max() > 0.5: y = y * 0.5", "")
    proved = plant(program, "y = x * 1", "y = 1 * x", mode="eval")
    assert proved.label != "refused", proved.fix.detail
    assert proved.label == "unsafe" or "one infinity in each input" in proved.fix.assumes, proved.fix


RIGHT = {
    "a print that stays in eager": (
        MODULE.format("y = self.a(x)\n        print('seen')"), "print('seen')",
        "None if torch.compiler.is_compiling() else print('seen')",
    ),
    "a condition whose outcomes both occur": (
        FUNCTION.format("y = x * 2 if x.sum() > 0 else x - 1", ""), "x * 2 if x.sum() > 0 else x - 1",
        "torch.where(x.sum() > 0, x * 2, x - 1)",
    ),
    "a threshold far from the sample": (
        FUNCTION.format("y = x * 2 if x.abs().max() > 1e5 else x - 1", ""), "x * 2 if x.abs().max() > 1e5 else x - 1",
        "torch.where(x.abs().max() > 1e5, x * 2, x - 1)",
    ),
    "a condition after a normalisation": (
        MODULE.format("y = self.a(x); y = y * 2 if y.mean() > 5 else y - 1"), "y * 2 if y.mean() > 5 else y - 1",
        "torch.where(y.mean() > 5, y * 2, y - 1)",
    ),
    "state that is written in the same way": (
        MODULE.format("self.count += 1; self.history.append(x); y = self.a(x) * x.sum().abs()"),
        "x.sum().abs()", "abs(x.sum())",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rewrite_is_verified(plant: Plant, name: str) -> None:
    program, before, after = RIGHT[name]
    proved = plant(program, before, after)
    assert proved.label == "verified", proved.fix.detail
    assert proved.fix.assumes.startswith("inputs of float32"), proved.fix.assumes


def test_inputs_that_the_original_does_not_accept_are_named(plant: Plant) -> None:
    program = MODULE.format("y = self.a(x).max(0).values")
    proved = plant(program, "self.a(x).max(0).values", "self.a(x).amax(0)", mode="eval")
    assert proved.label == "verified" and proved.fix.assumes == (
        "inputs of float32, float64; nothing to compare where the original raises: integers in place of floats, an empty batch; without gradients"
    )
    assert f"Verified for {proved.fix.assumes}." in proved.verification.detail


def test_one_outcome_alone_verifies_nothing(plant: Plant) -> None:
    program = FUNCTION.format("y = x * 2 if (x * 0).nan_to_num().sum() > 5 else x - 1", "")
    proved = plant(program, "x * 2 if (x * 0).nan_to_num().sum() > 5 else x - 1", "x - 1", mode="eval")
    assert proved.label == "unsafe"
    assert "the test in line 5 was always false" in proved.fix.doubts


def test_a_setting_of_dynamo_is_never_verified(plant: Plant) -> None:
    program = MODULE.format("y = self.a(x) * x.sum().item()")
    setting = "from torch import nn; torch._dynamo.config.capture_scalar_outputs = True"
    proved = plant(program, "from torch import nn", setting, mode="eval")
    assert proved.label == "unsafe"
    assert "torch._dynamo.config.capture_scalar_outputs is set for the whole process" in proved.fix.doubts


def test_a_number_that_becomes_a_tensor_stays_unsafe(plant: Plant) -> None:
    program = MODULE.format("self.count = 1; y = self.a(x)")
    proved = plant(program, "self.count = 1", "self.count = torch.tensor(1)", mode="eval")
    assert proved.label == "unsafe" and "what is written differs, attribute count: " in proved.fix.doubts


def test_what_the_original_prints_anew_each_time_is_not_compared(plant: Plant) -> None:
    program = MODULE.format("print(time.perf_counter())\n        y = self.a(x).abs()")
    proved = plant(program, "self.a(x).abs()", "torch.abs(self.a(x))", mode="eval")
    assert proved.label == "verified", proved.fix.detail
    assert "two runs of the original differ there: standard output" in proved.fix.assumes


def test_a_side_effect_that_compile_leaves_out_is_no_verified_fix(plant: Plant) -> None:
    program = MODULE.format("y = self.a(x)\n        print(next(NUMBERS))")
    guarded = "None if torch.compiler.is_compiling() else print(next(NUMBERS))"
    proved = plant(program, "print(next(NUMBERS))", guarded, mode="eval")
    assert proved.label == "unsafe"
    assert "under compile global NUMBERS is no longer written" in proved.fix.doubts
