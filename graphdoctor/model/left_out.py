"""How lines of ``DynamicRun.left_out`` begin, which the worker writes and reports look for."""

RECOMPILES = "counting recompiles"
#: On all that was to come after the verdict.
NOTHING_MORE = "nothing was done after the verdict"
