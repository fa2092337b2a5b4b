"""How long ``graphdoctor trace`` takes for a long trace, and how much memory.

    python benchmarks/trace.py /tmp/trace --megabytes 200

The folder is what a job wrote with TORCH_TRACE set, for example fixtures/ddp/train.py. Its files are repeated until
they have the wanted size, and read in a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from graphdoctor.trace.files import find, open_trace

_READ = """
import re, sys, time
from pathlib import Path
started, cpu = time.monotonic(), time.process_time()
from graphdoctor.trace.diagnose import diagnose
diagnosis = diagnose(Path(sys.argv[1]))
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(diagnosis.notes[0])
print(f"{time.monotonic() - started:.1f} s, {time.process_time() - cpu:.1f} s of CPU, {int(peak) / 1024:.0f} MB")
"""


def main() -> None:
    """Print what was read, the seconds and the peak memory (Linux)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    options = parser.parse_args()
    files = find(options.folder)
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as folder:
        for file in files:
            with open_trace(file) as stream:
                data = stream.read()
            with Path(folder, file.path.name.removesuffix(".gz")).open("wb") as long:
                for _ in range(options.megabytes * 1_000_000 // len(files) // len(data) + 1):
                    long.write(data)
        subprocess.run([sys.executable, "-c", _READ, folder], check=True)


if __name__ == "__main__":
    main()
