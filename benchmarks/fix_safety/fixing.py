"""The fixes that a scan writes: programs go into a folder, and come back as the command left them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fix_safety.program import Program
from graphdoctor.api import scan
from graphdoctor.model.findings import Finding
from graphdoctor.scan.options import ScanOptions

#: What fixes put around output that compiled code leaves out.
_GUARD = "torch.compiler.is_compiling()"


@dataclass(frozen=True)
class Fixed:
    """A program as a scan left it, and the rules whose fixes were written; none where nothing was."""

    program: Program
    text: str
    rules: tuple[str, ...] = ()
    #: What the scan says of the fixes that it wrote: rule, line and reason.
    reasons: tuple[str, ...] = ()

    @property
    def as_compiled(self) -> tuple[str, str] | None:
        """The original and the fixed text as Dynamo reads them, where the fix added guards that it decides."""
        before, after = self.program.text, self.text
        if after.count(_GUARD) == before.count(_GUARD):
            return None
        return before.replace(_GUARD, "True"), after.replace(_GUARD, "True")


def statically_fixed(programs: Sequence[Program]) -> list[Fixed]:
    """What ``graphdoctor scan FOLDER --no-run --fix`` makes of the programs, each in a file of its own."""
    with tempfile.TemporaryDirectory(prefix="fix-safety-") as name:
        folder = Path(name)
        for program in programs:
            (folder / f"{program.name}.py").write_bytes(program.text.encode())
        diagnosis = scan(ScanOptions((name,), run=False, fix=True, isolated=True, jobs=1))
        return [_read(program, folder, diagnosis.findings) for program in programs]


def verified_fixed(program: Program, timeout: float = 120.0) -> Fixed:
    """What ``graphdoctor scan FILE --fix`` makes of a program that declares a sample, with its run."""
    with tempfile.TemporaryDirectory(prefix="fix-safety-") as name:
        folder = Path(name)
        file = folder / f"{program.name}.py"
        file.write_bytes(program.text.encode())
        options = ScanOptions((str(file),), run=True, fix=True, isolated=True, jobs=1, device="cpu", timeout=timeout)
        return _read(program, folder, scan(options).findings)


def _read(program: Program, folder: Path, findings: Sequence[Finding]) -> Fixed:
    file = f"{program.name}.py"
    written = [f for f in findings if Path(f.location.path).name == file and f.fix is not None and f.fix.written]
    reasons = tuple(f"{f.rule} line {f.location.line}: {f.fix.reason}" for f in written if f.fix is not None)
    text = (folder / file).read_bytes().decode()
    return Fixed(program, text, tuple(sorted({f.rule for f in written})), reasons)
