"""Where the ``graphdoctor`` command begins: what needs no command line is answered before click is imported."""

from __future__ import annotations

import sys

from graphdoctor import __version__


def main() -> None:
    """Answer ``--version``, else hand over to the command line, which ends the process."""
    if sys.argv[1:] == ["--version"]:
        print(f"graphdoctor {__version__}")
        return
    from graphdoctor.cli import main as run

    run()
