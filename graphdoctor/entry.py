"""Where the ``graphdoctor`` command begins and ends. What needs no command line is answered before importing click."""

from __future__ import annotations

import gc
import sys

from graphdoctor import __version__

#: Objects made before young ones are searched for garbage. What a scan makes stays, or is given back without a search;
#: searching it again and again takes a tenth of the time.
_YOUNG = 1_000_000


def main() -> None:
    """Answer ``--version``, else hand over to the command line, which ends the process."""
    if sys.argv[1:] == ["--version"]:
        print(f"graphdoctor {__version__}")
        return
    gc.set_threshold(_YOUNG)
    from graphdoctor.cli import main as run

    try:
        run()
    finally:
        # The system takes the memory back as a whole; Python would search it for garbage first.
        gc.freeze()
