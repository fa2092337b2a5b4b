"""The language server on stdin and stdout."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from graphdoctor import __version__
from graphdoctor.config.project import ConfigError
from graphdoctor.lint.catalog import rules
from graphdoctor.lsp.actions import KINDS, actions
from graphdoctor.lsp.analysis import Analysis, CheckedText, analyse
from graphdoctor.lsp.diagnostics import diagnostic, hover_text, span
from graphdoctor.lsp.positions import Positions, touch

#: Seconds without a keystroke before a changed text is analysed.
DEBOUNCE = 0.3

#: The static pass nests deeply, and threads of some systems have a small stack.
_STACK = 64 * 1024 * 1024


class Server(LanguageServer):
    """Keeps the latest analysis of each open document; publishes what it found there and in the files that it calls."""

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

    async def current(self, uri: str) -> CheckedText | None:
        """What is found in the document as it is now; None when it cannot be parsed, or is no Python file."""
        analysis = self.analyses.get(uri)
        if analysis is None or analysis.own.text != self.workspace.get_text_document(uri).source:
            analysis = await self._analyse(uri)
        file = _file(uri)
        return None if analysis is None or file is None else self._with_callers(file.resolve(), analysis.own)

    def publish(self, files: Iterable[Path]) -> None:
        """Publish what is found in each of ``files``, by its own analysis or as a helper of an open document."""
        opened = {path.resolve(): uri for uri in self.analyses if (path := _file(uri)) is not None}
        for file in files:
            uri = opened.get(file)
            helper = next((a.helpers[file].text for a in self.analyses.values() if file in a.helpers), "")
            own = CheckedText(helper, ()) if uri is None else self.analyses[uri].own
            document = self.workspace.get_text_document(uri) if uri is not None else None
            if document is not None and document.source != own.text:
                continue  # The check of what was typed since then publishes it.
            text = self._with_callers(file, own)
            positions = self.positions(text.text)
            diagnostics = [diagnostic(finding, positions, self.docs) for finding in text.findings]
            version = document.version if document is not None else None
            parameters = types.PublishDiagnosticsParams(uri or file.as_uri(), diagnostics, version)
            self.text_document_publish_diagnostics(parameters)

    def _with_callers(self, file: Path, own: CheckedText) -> CheckedText:
        """``own`` with what is found in that text where open documents call it."""
        helpers = (a.helpers[file] for a in self.analyses.values() if file in a.helpers)
        return own.but(f for helper in helpers if helper.text == own.text for f in helper.findings)

    def positions(self, text: str) -> Positions:
        """Converts places of ``text`` as negotiated with the client."""
        return Positions(text, self.workspace.position_encoding or types.PositionEncodingKind.Utf16)

    async def _check(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        file, before = _file(uri), self.analyses.get(uri)
        analysis = await self._analyse(uri)
        if analysis is None or file is None:
            return  # While a text does not parse, what was published last stays.
        self.analyses[uri] = analysis
        file = file.resolve()
        self.publish(dict.fromkeys((file, *analysis.helpers, *(before.helpers if before is not None else ()))))
        if before is None or before.own.text != analysis.own.text:
            for other in [other for other, known in self.analyses.items() if file in known.helpers]:
                self.check(other)

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
        analysis = server.analyses.pop(uri, None)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        if analysis is not None and (file := _file(uri)) is not None:
            # What is found where an open document calls it stays.
            server.publish((file.resolve(), *analysis.helpers))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(parameters: types.HoverParams) -> types.Hover | None:
        found_here = await server.current(parameters.text_document.uri)
        if found_here is None:
            return None
        positions = server.positions(found_here.text)
        here = types.Range(parameters.position, parameters.position)
        spans = [(finding.rule, span(finding, positions)) for finding in found_here.findings]
        by_code = {rule.code: rule for rule in rules()}
        found = [(by_code[code], place) for code, place in spans if touch(place, here)]
        if not found:
            return None
        texts = dict.fromkeys(hover_text(rule) for rule, _ in found)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(texts)), found[0][1])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=list(KINDS)))
    async def code_actions(parameters: types.CodeActionParams) -> list[types.CodeAction]:
        uri, context = parameters.text_document.uri, parameters.context
        found = await server.current(uri)
        if found is None:
            return []
        wanted = [str(getattr(kind, "value", kind)) for kind in context.only] if context.only else None
        return actions(uri, found, server.positions(found.text), parameters.range, wanted, server.docs)

    return server


def serve(docs: str | None = None) -> None:
    """Serve the client on stdin and stdout until it ends the session."""
    build(docs).start_io()
