"""``graphdoctor lsp``."""

from __future__ import annotations

import click

from graphdoctor.commands.problems import OneLine
from graphdoctor.interrupt import end_at_once


@click.command()
@click.option("--docs-url", metavar="URL", help="Where the documentation site is published; rules then link to it.")
def lsp(docs_url: str | None) -> None:
    """Serve an editor over stdin and stdout.

    A language server: findings of the static pass while you type, quick fixes, and the rule's text on hover. No code
    is run.
    """
    try:
        from graphdoctor.lsp.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise OneLine("the language server needs pygls; install graphdoctor[lsp]") from None
    # There is nothing to clean up, and a thread waits for the input, for which Python would wait in its turn.
    end_at_once()
    serve(docs_url)
