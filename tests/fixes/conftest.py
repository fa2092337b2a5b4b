"""Builds the hit that a rule would give, runs a rewrite on it, and runs the code before and after under Dynamo."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.branches.choose import Rewrite, first_fit
from graphdoctor.fixes.core.apply import apply, fixed_texts, select_fixes
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.lint import engine
from graphdoctor.model.findings import Finding
from graphdoctor.static.domain import events
from graphdoctor.static.domain.program import ModuleInfo, Scope
from graphdoctor.static.domain.project import Project
from graphdoctor.static.domain.recorded_values import Recorder
from graphdoctor.static.domain.values import UNKNOWN, Tensor, Value
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.state.event_sink import EventSink
from graphdoctor.static.regions.regions import interpret
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import walk

#: Settings of Dynamo that fixes may write, which are off by default.
SETTINGS = ("allow_rnn", "capture_dynamic_output_shape_ops", "capture_scalar_outputs", "trace_autograd_ops")


@dataclass(frozen=True)
class Case:
    """A source text, the editor of it, and the hit at its first call, if, conditional expression or assert."""

    source: str
    editor: Editor
    hit: Hit

    def run(self, rewrite: Callable[..., FixPlan | Refusal]) -> FixPlan | Refusal:
        """What ``rewrite`` says; branch rewrites get the branch first."""
        place = self.hit.event.node
        if isinstance(self.hit.event, events.Truth):
            return rewrite(self.hit.event.branch, self.hit, self.editor)
        if isinstance(self.hit.event, events.Assert):
            return rewrite(place, self.hit, self.editor)
        return rewrite(self.hit, self.editor)

    def after(self, rewrite: Callable[..., FixPlan | Refusal]) -> str:
        """The text after ``rewrite``, which must not refuse."""
        plan = self.run(rewrite)
        assert isinstance(plan, FixPlan), plan
        return apply(self.source, plan.edits)

    def refusal(self, rewrite: Callable[..., FixPlan | Refusal]) -> str:
        """Why ``rewrite`` refuses."""
        plan = self.run(rewrite)
        assert isinstance(plan, Refusal), plan
        return plan.reason


def case(source: str, kind: type[cst.CSTNode] = cst.Call, marker: str = "", value: Value = UNKNOWN) -> Case:
    """The case whose hit is the first node of ``kind`` with ``marker`` in its code."""
    module = SourceModule("model.py", Path("model.py"), source, "utf-8")
    editor = Editor(module, recorded=lambda: recorded(module))
    nodes = (editor.module.of(n) for n in walk(module.tree) if isinstance(n, kind) and marker in editor.code(n))
    node = next(nodes)
    site = events.Site(module, "f", node, None, False, True)
    event: events.Event
    if isinstance(node, (cst.If, cst.IfExp)):
        event = events.Truth(node.test, site, value, "if" if isinstance(node, cst.If) else "ternary", node)
    elif isinstance(node, cst.Assert):
        event = events.Assert(node, site, value, None)
    else:
        name = dotted_name(node.func, editor) if isinstance(node, cst.Call) else ""
        event = events.Call(node, site, name, (value,), {}, used=False)
    return Case(source, editor, Hit(event, "message", "suggestion"))


def recorded(module: SourceModule) -> Recorder:
    """The values of the expressions in each function and model of ``module``, as if it were what is compiled."""
    recorder = Recorder()
    for name in [n.name.value for n in module.top.body if isinstance(n, (cst.FunctionDef, cst.ClassDef))]:
        machine = Interpreter(Project(), EventSink())
        machine.recorder = recorder
        interpret(machine, ModuleInfo(module, "model", "", Scope("module")), [], name)
    return recorder


@pytest.fixture
def make() -> Callable[..., Case]:
    """``case`` as a fixture."""
    return case


@pytest.fixture
def refusal() -> Callable[..., str]:
    """Why a rewrite is not offered in a program, or in a function of a tensor that has the body that is given."""

    def refuse(rewrite: Rewrite, body: str, place: tuple[type[cst.CSTNode], str], value: Value) -> str:
        is_program = "\ndef f" in f"\n{body}" or "class Net" in body or body.startswith(("import torch", "if True"))
        function = "import torch\n\n\ndef f(x: torch.Tensor, y=None, *, n=2):\n"
        source = body if is_program else function + "".join(f"    {line}\n" for line in body.splitlines())
        it = case(source, *place, value)
        plan = first_fit(it.hit, it.editor, rewrite)
        assert isinstance(plan, Refusal), plan
        return plan.reason

    return refuse


@dataclass(frozen=True)
class Fixed:
    """What the static pass finds in a program, and the program with its fixes."""

    findings: tuple[Finding, ...]
    text: str

    def safety(self, rule: str) -> str:
        """What the fixes of ``rule`` are called, all alike."""
        (found,) = {f.fix.safety for f in self.findings if f.rule == rule and f.fix is not None}
        return found


@pytest.fixture
def fixed(tmp_path: Path) -> Callable[..., Fixed]:
    """Finds and makes the safe fixes of a source text, or all of them, with the types that the interpreter finds."""

    def fix(source: str, unsafe: bool = False) -> Fixed:
        file = tmp_path / "program.py"
        file.write_text(source)
        findings = engine.analyse([(file, "program.py")]).findings
        chosen, _ = select_fixes(findings, unsafe)
        return Fixed(findings, fixed_texts({"program.py": source}, chosen).get("program.py", source))

    return fix


@dataclass(frozen=True)
class Compiled:
    """What Dynamo made of one call."""

    value: Any
    graphs: int
    breaks: int


class Runner:
    """Runs ``f`` of a source text in eager and under ``torch.compile``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def load(self, source: str) -> ModuleType:
        """The module of ``source``, from a real file so that Dynamo can read it."""
        self.count += 1
        name = f"rewritten_{id(self)}_{self.count}"
        file = self.folder / f"{name}.py"
        file.write_text(source)
        sys.path.insert(0, str(self.folder))
        try:
            return __import__(name)
        finally:
            sys.path.remove(str(self.folder))

    def eager(self, source: str, *args: Any) -> Any:
        return self.load(source).f(*args)

    def compiled(self, source: str, *args: Any, fullgraph: bool = False) -> Compiled:
        import torch

        graphs: list[object] = []

        def backend(graph: Any, inputs: Any) -> Any:
            graphs.append(graph)
            return graph.forward

        records = _Records()
        trace = logging.getLogger("torch.__trace")
        trace.addHandler(records)
        torch._dynamo.reset()
        try:
            value = torch.compile(self.load(source).f, backend=backend, fullgraph=fullgraph)(*args)
        finally:
            trace.removeHandler(records)
        return Compiled(value, len(graphs), records.breaks)


class _Records(logging.Handler):
    """Counts the graph breaks of the structured trace."""

    breaks = 0

    def emit(self, record: logging.LogRecord) -> None:
        name = getattr(record, "metadata", {}).get("artifact", {}).get("name", "")
        self.breaks += name == "dynamo_graph_break_reason"


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    pytest.importorskip("torch")
    from graphdoctor.dynamic.tracing.private_torch import skip_guard_timing

    skip_guard_timing()
    yield Runner(tmp_path_factory.mktemp("rewrites"))


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """What a rewritten program may set for the process, put back afterwards."""
    config = sys.modules.get("torch._dynamo.config")
    before = {name: getattr(config, name, False) for name in SETTINGS}
    yield
    config = sys.modules.get("torch._dynamo.config")
    for name, value in before.items() if config is not None else ():
        setattr(config, name, value)


@pytest.fixture
def tensor() -> type[Tensor]:
    return Tensor
