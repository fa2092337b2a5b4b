"""What ``graphdoctor run`` costs a warm step: the same program with and without it, as a ratio.

    python benchmarks/run_overhead.py --rounds 5

Both run in turn, in processes of their own. A step is a forward and a backward pass and the optimizer; its CPU time is
taken, because other programs change the clock's time. The ratio is that of the medians of all steps of all rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

PROGRAM = """\
import json, sys, time
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
layers = [nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(2)]
model = torch.compile(nn.Sequential(*layers), backend=sys.argv[1])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.rand(4, 16, 64)
seconds = []
for step in range(int(sys.argv[2])):
    start = time.process_time()
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    seconds.append(time.process_time() - start)
print(json.dumps(seconds[10:]))
"""


def steps(command: list[str], folder: Path, backend: str, count: int) -> list[float]:
    """The CPU seconds of each warm step."""
    done = subprocess.run(
        [*command, "program.py", backend, str(count)], cwd=folder, capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--backend", default="aot_eager")
    options = parser.parse_args()
    plain: list[float] = []
    recorded: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM)
        run = [sys.executable, "-m", "graphdoctor", "run", "--exit-zero"]
        for _ in range(options.rounds):
            plain += steps([sys.executable], folder, options.backend, options.steps)
            recorded += steps(run, folder, options.backend, options.steps)
    ratio = median(recorded) / median(plain)
    print(f"plain {1e3 * median(plain):.3f} ms, recorded {1e3 * median(recorded):.3f} ms: ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
