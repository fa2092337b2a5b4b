"""``graphdoctor.record``: what is compiled while a block of the user's program runs."""

from __future__ import annotations

import contextlib
from types import TracebackType

import torch

from graphdoctor.breaks.grouping import RawEvent, RawFrame
from graphdoctor.dynamic.tracing import capture
from graphdoctor.dynamic.tracing.private_torch import TorchDynamoException
from graphdoctor.in_process import listing, session
from graphdoctor.in_process.joined import Traced, diagnosis_of
from graphdoctor.in_process.result import Answers
from graphdoctor.model.findings import Diagnosis

_NOTHING = (
    "what was compiled before the recording began is not seen: begin it before the first call of a compiled model"
)


class record(Answers):
    """Records breaks and recompiles of all that is compiled inside ``with graphdoctor.record() as record:``.

    Nothing is compiled that would not be, and nothing is changed: a step that compiles nothing costs nothing. The
    answers (``ok``, ``breaks``, ``recompiles`` ...) may be read inside the block and after it, where it ended by an
    exception too.
    """

    def __init__(self) -> None:
        self._recording = capture.Recording()
        self._raised: tuple[RawEvent, ...] = ()
        self._open = contextlib.ExitStack()
        self._made: tuple[int, Diagnosis] | None = None

    def __enter__(self) -> record:
        self._open.enter_context(session.trace_handlers())
        self._recording = self._open.enter_context(capture.record())
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._open.close()
        # With fullgraph=True, and where a backend fails, the compiled call raises and no break is recorded.
        if error is not None and getattr(error, "real_stack", None):
            event = capture.raised(error)
            self._raised = (event,) if event is not None else ()
        elif isinstance(error, TorchDynamoException):
            # The error of a backend does not say where: it is what was compiled last.
            last = [RawFrame(start.path, start.line, None, "") for start in self._recording.starts[-1:]]
            self._raised = (RawEvent(str(error), "raise", (), tuple(last), error=type(error).__name__),)

    @property
    def diagnosis(self) -> Diagnosis:
        """What was recorded so far, joined with the static pass; made once for each state of the recording."""
        recording = self._recording
        size = len(recording.events) + len(recording.starts) + len(recording.recompiles) + len(self._raised)
        if self._made is None or self._made[0] != size:
            self._made = (size, self._diagnosis())
        return self._made[1]

    def _diagnosis(self) -> Diagnosis:
        recording = self._recording
        events = listing.undeliberate((*recording.events, *self._raised))
        traced = Traced(
            name="the recorded code",
            mode="train",
            device=str(torch.get_default_device()),
            graphs=len(recording.graphs),
            operators=0,
            events=events,
            recording=recording,
            notes=() if recording.starts else (_NOTHING,),
        )
        return diagnosis_of(traced, "graphdoctor.record()")
