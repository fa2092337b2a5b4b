"""Ten planted miscompilations through the audit: the oracle that sees each, and a script that shows it. And twenty
models of which eager, aot_eager and inductor change nothing.

    python -m benchmarks.audit [--only NAME] [--json FILE]

Each script is run in a process of its own, in which torch finds the planted backends as those of an installed package.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from benchmarks.audit.healthy import HEALTHY
from benchmarks.audit.planted import PLANTED, Planted
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.layers import audit_repro, inductor
from graphdoctor.dynamic.layers.audit import audit
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.model.audit import Audit

_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Print a line for each; 1 where one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="those whose name contains this")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    found = {}
    with installed():
        found["planted"] = {name: _planted(name, PLANTED[name]) for name in PLANTED if options.only in name}
    found["healthy"] = {name: _healthy(name) for name in HEALTHY if options.only in name}
    if options.json is not None:
        options.json.write_text(json.dumps({"torch": torch.__version__, **found}, indent=2) + "\n", encoding="utf-8")
    rows = [*found["planted"].values(), *found["healthy"].values()]
    return 0 if all(row["right"] for row in rows) else 1


def _planted(name: str, planted: Planted) -> dict[str, object]:
    found = audited(name, planted)
    seen = sorted({deviation.oracle for deviation in found.backends[-1].deviations})
    lines = len(found.repro.splitlines()) if found.repro else 0
    right = planted.oracle in seen and lines > 0 and planted.operator in found.operator
    shown = f"script of {lines} lines" if lines else "no script"
    print(f"{name:30}{', '.join(seen):24}{found.operator or '-':12}{shown}{'' if right else '  WRONG'}", flush=True)
    return {"seen": seen, "expected": planted.oracle, "operator": found.operator, "script": lines, "right": right}


def _healthy(name: str) -> dict[str, object]:
    mode, made = HEALTHY[name]

    def build() -> Sample:
        function, args = made()
        return Sample(function, args)

    target = Target(name, build, torch.device("cpu"))
    found = audit(target, mode, _experiment(target, mode).answer, ())
    outcomes = {backend.name: backend.outcome for backend in found.backends}
    details = [deviation.detail for backend in found.backends for deviation in backend.deviations]
    right = list(outcomes.values()) == ["same"] * 3
    print(f"{name:30}{mode:8}{'the same' if right else f'WRONG: {outcomes} {details}'}", flush=True)
    return {"mode": mode, "backends": outcomes, "differences": details, "not judged": found.detail, "right": right}


@contextmanager
def installed() -> Iterator[None]:
    """The backends, here and in processes that are started from here."""
    for name, planted in PLANTED.items():
        torch._dynamo.register_backend(planted.backend, name=name)
    before = os.environ.get("PYTHONPATH")
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / "planted-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n")
        names = "".join(f"{name} = benchmarks.audit.planted:{name}\n" for name in PLANTED)
        (info / "entry_points.txt").write_text(f"[torch_dynamo_backends]\n{names}")
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, str(_ROOT), *filter(None, [before])])
        try:
            yield
        finally:
            os.environ.pop("PYTHONPATH")
            if before is not None:
                os.environ["PYTHONPATH"] = before


def audited(name: str, planted: Planted) -> Audit:
    """The audit of the one backend, with its script."""
    target = Target("t", lambda: Sample(planted.model(), (torch.full((4, 4), 0.5),)), torch.device("cpu"))
    experiment = _experiment(target, planted.mode)
    kept = inductor.Kept(name)
    found = audit(target, planted.mode, experiment.answer, (), {name: kept})
    if found.backends[-1].outcome != "differs":
        return found
    return audit_repro.reproduced(found, kept, _source(planted), planted.mode == "train")


def _experiment(target: Target, mode: Mode) -> Experiment:
    places = Places(root=str(_ROOT), own=(str(_ROOT),), torch=str(Path(torch.__file__).parent))
    return Experiment(target, mode, RunRequest(Path(__file__), _ROOT), places, CountingBackend())


def _source(planted: Planted) -> str:
    """A file of the user's with the model."""
    return (
        f"import torch\n\nfrom benchmarks.audit.planted import {planted.model.__name__}\n\n\n"
        f"def graphdoctor_target():\n    return {planted.model.__name__}(), (torch.full((4, 4), 0.5),)\n"
    )


if __name__ == "__main__":
    sys.exit(main())
