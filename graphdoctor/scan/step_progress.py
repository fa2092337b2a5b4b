"""The steps of a scan that runs the code, numbered, for the line of progress."""

from __future__ import annotations

import time
from collections.abc import Callable

from graphdoctor.dynamic.parent import stages
from graphdoctor.model.activity import Activity

_MODES = {"eval": ("eval",), "train": ("train",), "both": ("eval", "train")}


class StepProgress:
    """Passes activities on to ``progress``, as ``[3/9] compiling by default (eval)``.

    ``verifies``: fixes may be verified; ``goes_on``: something comes after the verdict.
    """

    def __init__(self, progress: Callable[[str], None], mode: str, verifies: bool, goes_on: bool) -> None:
        self._progress = progress
        groups: list[tuple[str, ...]] = [("reading",), (stages.IMPORT, stages.BUILD)]
        for each in _MODES[mode]:
            groups.append((f"{stages.EAGER} ({each})", f"{stages.COMPILE} ({each})"))
            groups.append((f"{stages.FULLGRAPH} ({each})", *([stages.TRAINING] if each == "train" else [])))
        groups += [(stages.VERIFY,)] if verifies else []
        groups += [(stages.RECOMPILES,), tuple(stages.SHARES)] if goes_on else []
        self._groups = groups
        self._reached = 0
        self._began = 0.0
        self._limit: float | None = None

    def run(self, limit: float) -> Callable[[str], None]:
        """The progress callback of a run that begins now and may take ``limit`` seconds."""
        self._began, self._limit = time.monotonic(), limit
        return self

    def verifying(self, text: str) -> None:
        """``text`` is what is done with a copy in which fixes are applied."""
        self(stages.VERIFY if text == stages.VERIFY else f"{stages.VERIFY}: {text}")

    def __call__(self, text: str) -> None:
        number = next((n for n, group in enumerate(self._groups, 1) if text.startswith(group)), None)
        if number is not None:
            # What comes after the verdict imports the file again: no step back.
            self._reached = max(self._reached, number)
            text = f"[{self._reached}/{len(self._groups)}] {text}"
        shown = Activity(text)
        if self._limit is not None:
            shown.began, shown.limit = self._began, self._limit
        self._progress(shown)
