"""What runs under TorchDynamo saw: the part of the data (``model.py``) that a static scan does without.

A file of its own because making a dataclass takes a millisecond, and a static scan of what stayed a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphdoctor.model.audit import Audit
from graphdoctor.model.export import Exported
from graphdoctor.model.findings import Grade, Owner
from graphdoctor.model.left_out import NOTHING_MORE, RECOMPILES
from graphdoctor.model.submodules import Blocks, ModuleNode, Readiness

Phase = Literal["forward", "backward", "step"]
Outcome = Literal["ok", "raised", "exited", "crashed", "timeout", "memory", "no-target"]


@dataclass(frozen=True)
class Frame:
    """One entry of a user stack: where a traced function stood."""

    path: str
    line: int
    function: str

    @property
    def is_comprehension(self) -> bool:
        """Whether it is what Python up to 3.11 makes of a comprehension: ``Net.forward.<listcomp>``.

        It can be given up alone: the function around it is split at its line, and goes on behind it.
        """
        return self.function.endswith("comp>")


@dataclass(frozen=True)
class Break:
    """A graph break that really happened: one place, however many events."""

    path: str
    line: int
    column: int | None
    function: str
    gb_id: str | None
    gb_type: str | None
    reason: str
    hints: tuple[str, ...] = ()
    events: int = 1
    whole_frame: bool = False
    #: What ``whole_frame`` says was given up is the rest of a function, which an earlier break split.
    rest: bool = False
    owner: Owner = "own"
    #: Outermost first, ``torch_dynamo_resume_in_*`` mapped back to the function they resume.
    stack: tuple[Frame, ...] = ()
    #: Where in a training step it happened.
    phase: Phase = "forward"
    #: The functions that Dynamo gave up as a whole because of it, callers first, each at its line on the way to it.
    dropped: tuple[Frame, ...] = ()
    #: In a library: the condition of the ``if`` that the line stands in.
    condition: str = ""
    #: The number of the first call with it: what the first one leaves behind may send later ones another way.
    call: int = 1
    #: Arguments that are numpy scalars, as Python numbers (``int(n)``): with these in their place it did not come.
    as_numbers: tuple[str, ...] = ()
    #: In eval mode: under ``torch.no_grad()`` it did not come.
    with_gradients: bool = False
    #: The call ended there with Dynamo's exception.
    raises: bool = False


@dataclass(frozen=True)
class Piece:
    """A graph or a break of the first compiled call, in the order of execution: one of the two is None.

    ``operators`` are the calls in a graph as traced; ``break_at`` is the number of the break in ``DynamicRun.breaks``.
    A break in a function that was inlined cuts its callers' graphs too, so it may come more than once. ``dropped`` is
    the function that Dynamo gave up as a whole there; empty where it compiles what follows the break.
    """

    operators: int | None = None
    break_at: int | None = None
    dropped: str = ""


@dataclass(frozen=True)
class FullGraph:
    """The verdict of ``torch.compile(fullgraph=True)``; ``passes`` is None when it could not be run."""

    passes: bool | None
    error: str | None = None
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Explain:
    """The result of ``torch._dynamo.explain``. ``disagrees`` is a sentence, or None when it agrees with the trace."""

    graphs: int
    breaks: int
    reasons: int
    disagrees: str | None = None


@dataclass(frozen=True)
class TriedRemedy:
    """A remedy that was run: ``compilations`` with it, or None with the reason in ``detail`` where it does not work."""

    text: str
    compilations: int | None
    detail: str = ""


@dataclass(frozen=True)
class Recompile:
    """A guard that failed and made Dynamo compile a frame again.

    ``kind`` says what the guard looked at (graphdoctor/breaks/recompiles/guards.py) and ``name`` is its expression.
    ``limit`` is torch._dynamo.config.recompile_limit: from there on the function runs uncompiled, which ``at_limit``
    says happened.
    ``caused`` counts those of the ``compilations`` of the function that came from this cause; None where not counted.
    ``later_calls`` counts the calls after the first that were compiled again for it: 0 where only the layers that run
    the function in one call differ, None where the calls are not told apart.
    ``remedy`` was run where ``verified_compilations`` is given, else it is advice.
    """

    cause: str
    guard: str
    input: str | None
    dimension: int | None
    path: str | None
    line: int | None
    compilations: int
    remedy: str | None = None
    verified_compilations: int | None = None
    kind: str = "other"
    name: str | None = None
    varied: str = ""
    limit: int | None = None
    at_limit: bool = False
    tried: tuple[TriedRemedy, ...] = ()
    caused: int | None = None
    later_calls: int | None = None


@dataclass(frozen=True)
class SweepCall:
    """One call of a sweep: how many functions it recompiled, and what differs from the call before (``ids: 4 -> 3 in
    dimension 0``)."""

    compilations: int
    changed: str = ""


@dataclass(frozen=True)
class Sweep:
    """Calls in order on one compiled function, and how often its most compiled frame was compiled.

    ``varied`` is what differs between the calls. ``verified_compilations`` is the count with the remedies of all causes
    together; None where there are not two of them. ``breaks`` are the graph breaks that neither the calls of the sample
    nor earlier ones have.
    """

    varied: str
    automatic: bool
    calls: int
    compilations: int
    detail: str = ""
    verified_compilations: int | None = None
    steps: tuple[SweepCall, ...] = ()
    breaks: tuple[Break, ...] = ()


@dataclass(frozen=True)
class Stage:
    """One backend of the ladder: what it gave, and where it failed the layer that is at fault."""

    name: str
    outcome: Literal["ok", "failed", "differs", "skipped"]
    layer: str | None = None
    detail: str = ""
    path: str | None = None
    line: int | None = None

    @property
    def failure(self) -> str:
        """``backend inductor fails in Inductor``, for a stage that failed."""
        return f"backend {self.name} fails" + (f" in {self.layer}" if self.layer else "")


@dataclass(frozen=True)
class Ladder:
    """The stages in order, up to the first that failed. ``repro`` is a script that fails in the same way."""

    stages: tuple[Stage, ...]
    repro: str | None = None


@dataclass(frozen=True)
class Training:
    """One training step under the compiler: forward, backward by compiled autograd on request, optimizer step.

    ``graphs`` counts by phase; ``numerics`` compares the parameters after the step with those of eager.
    """

    optimizer: str | None
    compiled_autograd: bool
    graphs: Mapping[str, int]
    numerics: Numerics | None = None
    outcome: Outcome = "ok"
    detail: str = ""


@dataclass(frozen=True)
class Hint:
    """A message of torch about performance, with what to do about it."""

    text: str
    action: str
    path: str | None = None
    line: int | None = None
    events: int = 1


@dataclass(frozen=True)
class DeviceChecks:
    """What only the device shows. ``unchecked`` has a line for all that could not be seen, and why.

    ``peak_memory`` is in bytes, of one step in eager and one compiled by Inductor, with what the model itself takes.
    """

    peak_memory_eager: int | None = None
    peak_memory_compiled: int | None = None
    synchronisations: tuple[Hint, ...] = ()
    cudagraph_skips: tuple[Hint, ...] = ()
    hints: tuple[Hint, ...] = ()
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Numerics:
    """Eager against compiled outputs; ``equal`` is None when they were not compared.

    ``mutated`` names the inputs and buffers that an eager run writes to. ``diverges`` is the first submodule that gives
    other outputs when it is compiled alone; None where none does, or nothing differs.
    """

    equal: bool | None
    max_abs_diff: float | None
    tolerance: str
    detail: str = ""
    mutated: tuple[str, ...] = ()
    diverges: str | None = None


@dataclass(frozen=True)
class DynamicRun:
    """One run of one target in one mode under Dynamo; a trace does not always have the mode."""

    target: str
    mode: Literal["eval", "train", "unknown"]
    device: str
    outcome: Outcome
    detail: str = ""
    #: Where the exception came from that ended the run: a line of the user's code, or of a library.
    raised_at: Frame | None = None
    #: The tensors and layers on that line: ``h float32[2, 8, 20]``.
    raised_with: tuple[str, ...] = ()
    #: What the model was called with, and where that comes from: one line.
    inputs: str = ""
    graphs: int = 0
    operators: int = 0
    compiled_share: float | None = None
    breaks: tuple[Break, ...] = ()
    pieces: tuple[Piece, ...] = ()
    fullgraph: FullGraph = FullGraph(None)
    explain: Explain | None = None
    recompiles: tuple[Recompile, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    numerics: Numerics | None = None
    modules: tuple[ModuleNode, ...] = ()
    blocks: tuple[Blocks, ...] = ()
    readiness: Readiness | None = None
    ladder: Ladder | None = None
    audit: Audit | None = None
    export: tuple[Exported, ...] = ()
    training: Training | None = None
    device_checks: DeviceChecks | None = None
    #: What was not done, and why, one line each: it did not fit into the time limit, or ended the process.
    left_out: tuple[str, ...] = ()
    #: Lines of scanned files that ran in eager, by path. Not part of the JSON contract.
    executed: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: Whether these are the lines that Dynamo traced, of a program or of fixed code: what else ran is not known. Not
    #: part of it either.
    traced_only: bool = False
    #: Whether a module was called: that of a function is in the mode that the code sets. Not part of it either.
    of_module: bool = True
    #: How many calls of the same inputs after the first were compiled again. Not part of it either.
    compiled_again: int = 0
    #: The seconds of one eager run and of one compile with its run. Not part of it either.
    cost: tuple[float, float] = (0.0, 0.0)
    #: Of fixed code: attributes and globals that the compiled original writes and this does not. Not part of it either.
    unwritten: tuple[str, ...] = ()

    @property
    def fails_compiled(self) -> bool:
        """Whether the code came to its end in eager and raised under torch.compile."""
        return self.outcome == "raised" and self.numerics is not None

    @property
    def varied_breaks(self) -> tuple[Break, ...]:
        """The graph breaks of calls with other inputs that those with the sample do not have."""
        return tuple(entry for sweep in self.sweeps for entry in sweep.breaks)

    @property
    def not_counted(self) -> str:
        """Why not all other inputs were tried that were to be tried, so that more may recompile than is known."""
        stopped = [line.partition(": ")[2] for line in self.left_out if line.startswith((RECOMPILES, NOTHING_MORE))]
        failed = [self.detail] if self.outcome == "ok" and self.detail else []
        return "; ".join(dict.fromkeys([*stopped, *failed]))


@dataclass(frozen=True)
class Varied:
    """Eager runs on varied inputs: of the original, or of fixed code against it. Not part of the JSON contract.

    ``calls`` counts those that the original accepted; ``refused`` and ``skipped`` name the variations that it did not
    accept and those that there was no time for; ``dtypes`` are those of the accepted inputs, ``backward``
    says whether gradients were computed. ``seen`` holds the tests
    and loops of the original: path, line, column, outcome. ``differs`` says where the fixed code did something else,
    and ``changes`` where it does the same in another way, as raising another exception; each is a clause about the
    first variation that shows it, or empty. ``noise`` names what differs between two runs of the original itself.
    """

    mode: str
    calls: int = 0
    differs: str = ""
    changes: str = ""
    seen: tuple[tuple[str, int, int, bool], ...] = ()
    refused: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    backward: bool = False
    noise: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dropped:
    """A fix (by the fingerprint of its finding) that did not stand the proof, and why."""

    fix: str
    reason: str


@dataclass(frozen=True)
class Verification:
    """The same runs with the suggested fixes applied to a copy in memory.

    ``numerics`` compares with the eager outputs of the original source. ``minimal`` are fixes that alone make
    ``fullgraph=True`` pass, none of which can be left out; None when that was not found out.
    """

    fixes: tuple[str, ...]
    graphs: int
    breaks: int
    fullgraph_passes: bool | None
    numerics: Numerics | None
    grade: Grade
    detail: str = ""
    minimal: tuple[str, ...] | None = None
    dropped: tuple[Dropped, ...] = ()
