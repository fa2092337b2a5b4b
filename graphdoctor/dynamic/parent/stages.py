"""The stages of a run, with the texts of its progress. No torch: the parent counts by these texts."""

from __future__ import annotations

from graphdoctor.model.left_out import RECOMPILES as RECOMPILES

TORCH = "importing torch"
IMPORT = "importing"
BUILD = "building the target"
EAGER = "running in eager"
COMPILE = "compiling by default"
FULLGRAPH = "compiling with fullgraph=True"
TRAINING = "running a training step"
VERIFY = "verifying fixes"
VARY = "varying the inputs"
READINESS = "compiling submodules alone"
DIVERGES = "looking for the submodule that differs"
LADDER = "trying the backends one by one"
AUDIT = "auditing the backends"
EXPORT = "exporting"
DEVICE = "looking at the device"

#: The part of the time limit that an optional stage may take.
SHARES = {RECOMPILES: 0.4, READINESS: 0.3, DIVERGES: 0.2, LADDER: 0.5, AUDIT: 0.5, EXPORT: 0.4, DEVICE: 0.2}
