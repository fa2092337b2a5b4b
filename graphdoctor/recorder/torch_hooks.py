"""The one place where the recorder touches private parts of torch. Each is optional: without it, less is recorded."""

from __future__ import annotations

import contextlib
import linecache
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from traceback import FrameSummary, walk_stack
from types import CodeType, FrameType
from typing import Any

#: Every graph break, compilation and recompile is one record here (torch/_logging/_internal.py, trace_structured).
_TRACE = "torch.__trace"
#: Before torch 2.11 some breaks are traced only while this logger is on (torch/_dynamo/convert_frame.py).
_FRAME_BREAKS = "torch._dynamo.convert_frame.__graph_breaks"
_SINCE = (2, 11)
#: The folder of Dynamo.
_DYNAMO = "/torch/_dynamo/"
#: The most units of code that an entry of a line table stands for.
_ENTRY = 8
#: What logs a graph break (torch/_dynamo/symbolic_convert.py, convert_frame.py), and its name for the exception.
_LOGS_BREAK = {"log_graph_break": "exc", "_log_graph_break": "exc", "__call__": "e"}
#: What calls it and then gives up the function for a loop (symbolic_convert.py of torch 2.10).
_GIVES_UP_LOOPS = ("wrapper", "jump_graph_break")


def listen(handler: logging.Handler) -> None:
    """Give ``handler`` the records of the trace. TORCH_LOGS and TORCH_TRACE of the user keep working."""
    import torch

    logging.getLogger(_TRACE).addHandler(handler)
    numbers = torch.__version__.split("+")[0].split(".")[:2]
    if tuple(int(number) for number in numbers if number.isdigit()) >= _SINCE:
        return
    frame_breaks = logging.getLogger(_FRAME_BREAKS)
    if frame_breaks.getEffectiveLevel() > logging.DEBUG:
        frame_breaks.setLevel(logging.DEBUG)
        frame_breaks.propagate = False


def watch_lines(traced: dict[str, set[int]], last: dict[str, int]) -> None:
    """Collect in ``traced``, by file, the lines that Dynamo traces, and in ``last`` the newest.

    Costs nothing once the code is compiled.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from torch._guards import TracingContext

        original = TracingContext.set_current_loc

        def set_current_loc(filename: str, lineno: int, *rest: Any, **more: Any) -> None:
            if not last:
                # Dynamo, which a program that compiles nothing does not load, is loaded by now.
                keep_lines()
            if not _is_jump(sys._getframe(1)):
                traced.setdefault(filename, set()).add(lineno)
            last[filename] = lineno
            original(filename, lineno, *rest, **more)

        TracingContext.set_current_loc = staticmethod(set_current_loc)  # type: ignore[method-assign]


def keep_lines() -> None:
    """Let the code that Dynamo makes of what is after a graph break have the lines of the source.

    As ``exact_lines`` does in a scan (graphdoctor/dynamic/tracing/private_torch.py says what is wrong without it).
    """
    with contextlib.suppress(ImportError, AttributeError):
        from torch._dynamo import bytecode_transformation

        within: Any = bytecode_transformation
        usual = within.linetable_311_writer

        def writer(first_line: int) -> Any:
            table, write = usual(first_line)

            def write_exactly(positions: Any, size: int) -> None:
                while size > _ENTRY:
                    write(positions, _ENTRY)
                    size -= _ENTRY
                write(positions, size)

            return table, write_exactly

        within.linetable_311_writer = writer


def _is_jump(traces: FrameType) -> bool:
    """Whether ``traces``, a method of the tracer of a function, is at a jump back in a loop.

    That has the line of the last statement in the body, and is reached over an ``if`` whose body does not run.
    """
    instruction = getattr(traces.f_locals.get("self"), "current_instruction", None)
    return str(getattr(instruction, "opname", "")) in ("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE")


def watch_backward(note: Callable[[], None]) -> None:
    """Call ``note`` at the first backward pass.

    Dynamo sees neither: in compiled code what is called here would be a graph break that the program does not have.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from torch import _compile, autograd

        within: Any = autograd
        original, unseen = within._engine_run_backward, _compile._disable_dynamo(note)

        def run_backward(*args: Any, **kwargs: Any) -> Any:
            # torch.autograd.grad comes here too, and keeps no gradients.
            if kwargs.get("accumulate_grad") and within._engine_run_backward is run_backward:
                within._engine_run_backward = original
                unseen()
            return original(*args, **kwargs)

        # Dynamo passes over what stands in the file of its caller.
        run_backward.__code__ = run_backward.__code__.replace(co_filename=within.__file__)
        within._engine_run_backward = run_backward


def nearest_callers() -> list[tuple[str, int]]:
    """The two nearest callers of the function that Dynamo is asked to compile, by path and line; called by Dynamo."""
    inside = False
    found: list[tuple[str, int]] = []
    for frame, line in walk_stack(sys._getframe()):
        path = frame.f_code.co_filename
        if _DYNAMO in path.replace("\\", "/"):
            inside = True
            if found:
                break
        elif inside:
            found.append((path, line))
    return found[:2]


def frame_being_compiled() -> tuple[CodeType, Mapping[str, Any]] | None:
    """The code and the variables of the frame that Dynamo is asked to compile; called by Dynamo."""
    for frame, _ in walk_stack(sys._getframe()):
        asked = frame.f_locals.get("frame") if _DYNAMO in frame.f_code.co_filename.replace("\\", "/") else None
        code, variables = getattr(asked, "f_code", None), getattr(asked, "f_locals", None)
        if isinstance(code, CodeType) and isinstance(variables, Mapping):
            return code, variables
    return None


def traced_frames() -> list[tuple[str, int, int | None, str]]:
    """The frames that the graph break being logged was traced through, outermost first: path, line, column, name.

    The column counts from 1 in the line without its indentation, as the marks in the text of the record do. That text
    leaves out a frame that calls one of its name, as the ``forward`` of a model calls that of a layer
    (torch/_dynamo/exc.py, collapse_resume_frames).
    """
    for frame, _ in walk_stack(sys._getframe()):
        if _DYNAMO in frame.f_code.co_filename.replace("\\", "/"):
            held = _LOGS_BREAK.get(frame.f_code.co_name)
            if held is None:
                continue
            # Until torch 2.10 the exception is not handed over, but being handled, and a branch raises none.
            error = frame.f_locals.get(held, sys.exc_info()[1] if held == "exc" else None)
            stack = getattr(error, "real_stack", None) or (_stack_being_traced() if held == "exc" else ())
            if stack:
                return [(f.filename, f.lineno or 0, _column(f), f.name) for f in stack]
    return []


def gives_up_function() -> bool:
    """Whether Dynamo gives up the whole function for the graph break being logged, and says so nowhere.

    So it is until torch 2.10 where the code jumps back from behind the break, as in a loop.
    """
    for frame, _ in walk_stack(sys._getframe()):
        code, caller = frame.f_code, frame.f_back
        if code.co_name == "log_graph_break" and caller and _DYNAMO in code.co_filename.replace("\\", "/"):
            translator = caller.f_locals.get("self") if caller.f_code.co_name in _GIVES_UP_LOOPS else None
            ask = getattr(translator, "maybe_has_backedge", None)
            return "exc" not in code.co_varnames and ask is not None and bool(ask())
    return False


def _stack_being_traced() -> Sequence[FrameSummary]:
    with contextlib.suppress(ImportError, AttributeError):
        from torch._guards import TracingContext

        stack: Sequence[FrameSummary] = TracingContext.extract_stack()
        return stack
    return ()


def _column(frame: FrameSummary) -> int | None:
    byte = getattr(frame, "colno", None)
    if byte is None:
        return None
    line = linecache.getline(frame.filename, frame.lineno or 0)
    return len(line.encode()[:byte].decode(errors="replace").lstrip()) + 1


def interned_names() -> dict[str, int]:
    """The file names that the trace refers to by number."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch._logging.structured import INTERN_TABLE

        return dict(INTERN_TABLE)
    return {}
