"""``graphdoctor lsp``."""

from __future__ import annotations

import click

from graphdoctor.commands.common import OneLine


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
    serve(docs_url)
