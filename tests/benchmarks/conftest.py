"""The benchmarks are run from the repository's root, and imported from there."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
