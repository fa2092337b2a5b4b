"""The language server on stdin and stdout."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from graphdoctor import __version__
from graphdoctor.config.project import ConfigError
from graphdoctor.lint.catalog import rules
from graphdoctor.lsp.actions import KINDS, actions
from graphdoctor.lsp.analysis import Analysis, analyse
from graphdoctor.lsp.diagnostics import diagnostic, hover_text, span
from graphdoctor.lsp.positions import Positions, touch

#: Seconds without a keystroke before a changed text is analysed.
DEBOUNCE = 0.3

#: The static pass nests deeply, and threads of some systems have a small stack.
_STACK = 64 * 1024 * 1024


class Server(LanguageServer):
    """Keeps the latest analysis of each open document, and publishes its findings."""

    def __init__(self, docs: str | None = None) -> None:
        # Full texts: pygls applies partial changes by lines of str.splitlines, which are not those of an editor.
        super().__init__("graphdoctor", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.docs = docs
        self.analyses: dict[str, Analysis] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._warned: set[str] = set()
        threading.stack_size(_STACK)
        self._analyst = ThreadPoolExecutor(max_workers=1)

    def check(self, uri: str, delay: float = 0.0) -> None:
        """Analyse the document and publish its findings, unless another request comes within ``delay`` seconds."""
        self.cancel(uri)
        self._checks[uri] = asyncio.create_task(self._check(uri, delay))

    def cancel(self, uri: str) -> None:
        """Forget the check of the document that is under way."""
        if (task := self._checks.pop(uri, None)) is not None:
            task.cancel()

    async def current(self, uri: str) -> Analysis | None:
        """The analysis of the document as it is now; None when it cannot be parsed, or is no Python file."""
        known = self.analyses.get(uri)
        if known is not None and known.text == self.workspace.get_text_document(uri).source:
            return known
        return await self._analyse(uri)

    def positions(self, text: str) -> Positions:
        """Converts places of ``text`` as negotiated with the client."""
        return Positions(text, self.workspace.position_encoding or types.PositionEncodingKind.Utf16)

    async def _check(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        version = self.workspace.get_text_document(uri).version
        analysis = await self._analyse(uri)
        if analysis is None:
            return  # While a text does not parse, what was published last stays.
        self.analyses[uri] = analysis
        positions = self.positions(analysis.text)
        diagnostics = [diagnostic(finding, positions, self.docs) for finding in analysis.findings]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    async def _analyse(self, uri: str) -> Analysis | None:
        file = _file(uri)
        if file is None:
            return None
        documents = self.workspace.text_documents
        unsaved = {path.resolve(): documents[other].source for other in documents if (path := _file(other)) is not None}
        root = Path(self.workspace.root_path or file.parent).resolve()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._analyst, analyse, file, unsaved, root)
        except ConfigError as error:
            self._warn(f"graphdoctor: {error}")
            return None

    def _warn(self, message: str) -> None:
        """Show ``message``, which holds for every keystroke, once."""
        if message not in self._warned:
            self._warned.add(message)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))


def _file(uri: str) -> Path | None:
    """The Python file that the document is, or None."""
    path = to_fs_path(uri)
    return Path(path) if path is not None and path.endswith((".py", ".pyi")) else None


def build(docs: str | None = None) -> Server:
    """A server with its features. ``docs`` is the address of the documentation site, for links."""
    server = Server(docs)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(parameters: types.DidOpenTextDocumentParams) -> None:
        server.check(parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(parameters: types.DidChangeTextDocumentParams) -> None:
        server.check(parameters.text_document.uri, DEBOUNCE)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(_parameters: types.DidSaveTextDocumentParams) -> None:
        # What was saved may be a helper of the others.
        for uri in list(server.workspace.text_documents):
            server.check(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        server.cancel(uri)
        server.analyses.pop(uri, None)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(parameters: types.HoverParams) -> types.Hover | None:
        analysis = await server.current(parameters.text_document.uri)
        if analysis is None:
            return None
        positions = server.positions(analysis.text)
        here = types.Range(parameters.position, parameters.position)
        spans = [(finding.rule, span(finding, positions)) for finding in analysis.findings]
        by_code = {rule.code: rule for rule in rules()}
        found = [(by_code[code], place) for code, place in spans if touch(place, here)]
        if not found:
            return None
        texts = dict.fromkeys(hover_text(rule) for rule, _ in found)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(texts)), found[0][1])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=list(KINDS)))
    async def code_actions(parameters: types.CodeActionParams) -> list[types.CodeAction]:
        uri, context = parameters.text_document.uri, parameters.context
        analysis = await server.current(uri)
        if analysis is None:
            return []
        wanted = [str(getattr(kind, "value", kind)) for kind in context.only] if context.only else None
        return actions(uri, analysis, server.positions(analysis.text), parameters.range, wanted, server.docs)

    return server


def serve(docs: str | None = None) -> None:
    """Serve the client on stdin and stdout until it ends the session."""
    build(docs).start_io()
