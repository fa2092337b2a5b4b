"""What the tests of the static pass share: interpret a source text and look at the events inside its regions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.source.module_files import package_of
from graphdoctor.static.domain.events import Compile, Event
from graphdoctor.static.domain.program import ModuleInfo, Scope
from graphdoctor.static.domain.project import Project
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.state.event_sink import EventSink
from graphdoctor.static.regions.regions import interpret
from graphdoctor.syntax.module import SourceModule

Interpret = Callable[..., list[Event]]


@pytest.fixture
def events(tmp_path: Path) -> Interpret:
    """``events(source, **others)``: the events of a file, ``others`` being files beside it (``helpers="..."``)."""

    def run(source: str, everywhere: bool = False, **others: str) -> list[Event]:
        for name, text in others.items():
            target = tmp_path / f"{name.replace('__', '/')}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text))
        file = tmp_path / "model.py"
        file.write_text(textwrap.dedent(source))
        seen: list[Event] = []
        compiles: list[Event] = []

        class Recorder(EventSink):
            def subscribes(self, kind: type[Event], qualname: str) -> bool:
                return True

            def receive(self, event: Event) -> bool:
                if isinstance(event, Compile):
                    compiles.append(event)
                seen.append(event)
                return False

        module = SourceModule("model.py", file, file.read_text(), "utf-8")
        name, _ = package_of(file)
        interpreter = Interpreter(Project(), Recorder())
        interpret(interpreter, ModuleInfo(module, name, name.rpartition(".")[0], Scope("module")), compiles)
        return seen if everywhere else [e for e in seen if e.site.compiled]

    return run


def places(found: list[Event], kind: type[Event]) -> list[int]:
    """The lines of the events of one kind, each once."""
    return sorted({e.site.module.location(e.node).line for e in found if type(e) is kind})
