"""A long trace is read in bounded memory: 24 MB here; ``benchmarks/trace.py`` does the same with 200 MB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Traces

#: VmHWM, and not ru_maxrss: the latter begins with the size of the process that started this one.
MEASURE = """
import re, sys
from pathlib import Path
from graphdoctor.trace.diagnose import diagnose
diagnosis = diagnose(Path(sys.argv[1]))
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(diagnosis.findings[0].events, int(peak) // 1024)
"""


def test_the_size_of_a_trace_does_not_show_in_memory(traces: Traces, root: Path) -> None:
    once = traces.start(0, 0, "/job/net.py", 3) + traces.graph_break("/job/net.py", 5)
    once += traces.artifact("aot_joint_graph", "\n".join(["mul = torch.ops.aten.mul.Tensor(a, b)"] * 500))
    peaks = []
    for times in (1, 1200):
        file = traces.write(0, *[once] * times)
        done = subprocess.run([sys.executable, "-c", MEASURE, str(file)], cwd=root, capture_output=True, text=True)
        events, megabytes = map(int, done.stdout.split())
        assert events == times
        peaks.append(megabytes)
    assert file.stat().st_size > 24_000_000
    assert peaks[1] - peaks[0] < 8
