"""What ``graphdoctor.check`` and ``graphdoctor.record`` give back."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from graphdoctor.model.findings import Diagnosis, Finding, Fix
from graphdoctor.model.labels import is_offered
from graphdoctor.model.runs import Recompile


class Answers(ABC):
    """The answers of a diagnosis that tests and notebooks need most."""

    @property
    @abstractmethod
    def diagnosis(self) -> Diagnosis:
        """Everything that was found."""

    @property
    def ok(self) -> bool:
        """Compiled, without a break in own code or libraries or recompiles, and ``fullgraph=True`` does not fail."""
        return self.diagnosis.summary.verdict == "ready" and not self.recompiles

    @property
    def breaks(self) -> tuple[Finding, ...]:
        """The places at which a graph broke, with rule and fix; those that torch makes on purpose left out."""
        seen = ("confirmed", "dynamic-only")
        return tuple(f for f in self.diagnosis.findings if f.status in seen and f.owner != "torch")

    @property
    def recompiles(self) -> tuple[Recompile, ...]:
        """Why functions were compiled again and again. A size that changes once is not among them."""
        return tuple(recompile for run in self.diagnosis.dynamic or () for recompile in run.recompiles)

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """The fixes that are offered, with their edits and their diff."""
        return tuple(f.fix for f in self.diagnosis.findings if f.fix is not None and is_offered(f))

    def raise_if_broken(self) -> None:
        """Raises AssertionError with the whole report, where not ``ok``."""
        __tracebackhide__ = True
        if not self.ok:
            raise AssertionError(str(self))

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML file. Raises OSError."""
        from graphdoctor.report import write
        from graphdoctor.report.html import page

        write.write(os.fspath(path), page.render(self.diagnosis))

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        from graphdoctor.report.html.brief import lines

        return "\n".join(lines(self.diagnosis))

    def __str__(self) -> str:
        from graphdoctor.report.text import terminal

        return terminal.render(self.diagnosis)

    def _repr_html_(self) -> str:
        from graphdoctor.report.html.brief import fragment

        return fragment(self.diagnosis)


class Result(Answers):
    """The outcome of one check."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self._diagnosis = diagnosis

    @property
    def diagnosis(self) -> Diagnosis:
        """Everything that was found."""
        return self._diagnosis
