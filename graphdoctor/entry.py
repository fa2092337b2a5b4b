"""Where the ``graphdoctor`` command begins and ends. What needs no command line is answered before importing click."""

from __future__ import annotations

import gc
import os
import sys

from graphdoctor import __version__

#: Objects made before young ones are searched for garbage. What a scan makes stays, or is given back without a search;
#: searching it again and again takes a tenth of the time.
_YOUNG = 1_000_000


def main() -> None:
    """Answer ``--version``, else hand over to the command line, which ends the process."""
    _open_closed_streams()
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


def _open_closed_streams() -> None:
    """Let what the caller closed (``>&-``) lead nowhere. Else Python has None there, and the next file that is opened
    becomes the standard output of every process that is started.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free, so that of the stream: processes that are started get it, too.
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))
