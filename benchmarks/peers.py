"""What other tools say of the same model: how much there is to read, and how many of its breaks they name.

``python benchmarks/peers.py FILE`` calls the file's ``graphdoctor_target()`` under ``torch._dynamo.explain``,
``TORCH_LOGS=graph_breaks``, ``fullgraph=True`` and ``TORCH_TRACE`` with tlparse (when it is on PATH), each in a
process of its own, and prints the lines of output and the distinct source lines of FILE that the output names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

DRIVER = """
import importlib.util, sys, torch
spec = importlib.util.spec_from_file_location("model", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
model, args, *kwargs = module.graphdoctor_target()
kwargs = kwargs[0] if kwargs else {}
if sys.argv[2] == "explain":
    print(torch._dynamo.explain(model)(*args, **kwargs))
else:
    torch.compile(model, backend="eager", fullgraph=sys.argv[2] == "fullgraph")(*args, **kwargs)
"""

#: How each tool marks the line that broke; group 1 is its number. ``FILE`` stands for the path.
MARKS = {
    "explain": r"<FrameSummary file FILE, line (\d+) in",
    "TORCH_LOGS=graph_breaks": r"Graph break in user code at FILE:(\d+)",
    "fullgraph=True": r'File "FILE", line (\d+)',
}


def run(file: Path, how: str, **environment: str) -> str:
    """Everything that the driver prints, standard error included."""
    command = [sys.executable, "-B", "-c", DRIVER, str(file), how]
    env = {**os.environ, **environment}
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def summary(file: Path, tool: str, text: str) -> dict[str, object]:
    """Output size and the lines of ``file`` that are named as broken."""
    named = re.findall(MARKS[tool].replace("FILE", re.escape(str(file))), text)
    result: dict[str, object] = {"output_lines": len(text.splitlines()), "names": sorted(set(map(int, named)))}
    if count := re.search(r"Graph Break Count: (-?\d+)", text):
        result["counts"] = int(count[1])
    return result


def tlparse(file: Path) -> dict[str, object]:
    """The number and size of the files of a tlparse report."""
    with tempfile.TemporaryDirectory() as folder:
        trace, report = Path(folder, "trace"), Path(folder, "report")
        run(file, "default", TORCH_TRACE=str(trace))
        [log] = trace.glob("*.log")
        subprocess.run(["tlparse", str(log), "-o", str(report), "--no-browser"], check=True, capture_output=True)
        sizes = [item.stat().st_size for item in report.rglob("*") if item.is_file()]
    return {"files": len(sizes), "bytes": sum(sizes)}


@click.command(help=__doc__)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(file: Path) -> None:
    file = file.resolve()
    results = {
        "explain": summary(file, "explain", run(file, "explain")),
        "TORCH_LOGS=graph_breaks": summary(
            file, "TORCH_LOGS=graph_breaks", run(file, "default", TORCH_LOGS="graph_breaks")
        ),
        "fullgraph=True": summary(file, "fullgraph=True", run(file, "fullgraph")),
    }
    if shutil.which("tlparse"):
        results["TORCH_TRACE and tlparse"] = tlparse(file)
    click.echo(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
