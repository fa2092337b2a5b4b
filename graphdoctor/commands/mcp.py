"""``graphdoctor mcp``."""

from __future__ import annotations

import click

from graphdoctor.commands.problems import OneLine


@click.command()
def mcp() -> None:
    """Serve a coding assistant over stdin and stdout.

    A server of the Model Context Protocol with the tools scan, finding, explain, fixes and verify. No file is written,
    and code is run only where a call says run=true.
    """
    try:
        from graphdoctor.assistants.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise OneLine("the server for assistants needs the package mcp; install graphdoctor[mcp]") from None
    serve()
