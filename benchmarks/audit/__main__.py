"""Ten planted miscompilations through the audit: the oracle that sees each, and a script that shows it.

    python -m benchmarks.audit [--only NAME]

Each script is run in a process of its own, in which torch finds the planted backends as those of an installed package.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from benchmarks.audit.planted import PLANTED, Planted
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.layers import audit_repro, inductor
from graphdoctor.dynamic.layers.audit import audit
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.model.audit import Audit

_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    missed = 0
    with installed():
        for name, planted in PLANTED.items():
            if options.only not in name:
                continue
            found = audited(name, planted)
            seen = sorted({deviation.oracle for deviation in found.backends[-1].deviations})
            lines = len(found.repro.splitlines()) if found.repro else 0
            right = planted.oracle in seen and lines > 0 and planted.operator in found.operator
            missed += not right
            shown = f"script of {lines} lines" if lines else "no script"
            start = found.operator or "-"
            print(f"{name:22}{', '.join(seen):24}{start:12}{shown:24}{'' if right else 'WRONG'}", flush=True)
    return 1 if missed else 0


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
    places = Places(root=str(_ROOT), own=(str(_ROOT),), torch=str(Path(torch.__file__).parent))
    request = RunRequest(Path(__file__), _ROOT)
    experiment = Experiment(target, planted.mode, request, places, CountingBackend())
    kept = inductor.Kept(name)
    found = audit(target, planted.mode, experiment.answer, (), {name: kept})
    if found.backends[-1].outcome != "differs":
        return found
    return audit_repro.reproduced(found, kept, _source(planted), planted.mode == "train")


def _source(planted: Planted) -> str:
    """A file of the user's with the model."""
    return (
        f"import torch\n\nfrom benchmarks.audit.planted import {planted.model.__name__}\n\n\n"
        f"def graphdoctor_target():\n    return {planted.model.__name__}(), (torch.full((4, 4), 0.5),)\n"
    )


if __name__ == "__main__":
    sys.exit(main())
