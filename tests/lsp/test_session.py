"""The server as an editor meets it: a real client, over stdin and stdout, with unsaved text."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

CLEAN = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x * 2
"""
PRINTS = CLEAN.replace("        return", '        print("😀", x.shape)\n        return')
BRANCHES = """\
import torch

from helper import big


class Net(torch.nn.Module):
    def forward(self, x):
        if big(x):
            return x * 2
        return x - 1
"""
HELPER = "def big(t):\n    return t.sum() > 0\n"


class Editor(LanguageClient):
    """A client that keeps what the server published last, and what it had to say."""

    def __init__(self) -> None:
        super().__init__("test-editor", "1")
        self.diagnostics: dict[str, list[types.Diagnostic]] = {}
        self.messages: asyncio.Queue[str] = asyncio.Queue()
        self.published: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(parameters: types.PublishDiagnosticsParams) -> None:
            self.diagnostics[parameters.uri] = list(parameters.diagnostics)
            self.published[parameters.uri].set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def message(parameters: types.ShowMessageParams) -> None:
            self.messages.put_nowait(parameters.message)

    async def answer(self, file: Path) -> list[str]:
        """Wait for what the server publishes next for ``file``: the codes."""
        published = self.published[file.as_uri()]
        await published.wait()
        published.clear()
        return self.codes(file)

    async def open(self, file: Path, text: str) -> list[str]:
        item = types.TextDocumentItem(file.as_uri(), "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.answer(file)

    def change(self, file: Path, text: str, version: int) -> None:
        document = types.VersionedTextDocumentIdentifier(version, file.as_uri())
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def edit(self, file: Path, text: str, version: int) -> list[str]:
        self.change(file, text, version)
        return await self.answer(file)

    def codes(self, file: Path) -> list[str]:
        return [str(item.code) for item in self.diagnostics[file.as_uri()]]

    async def actions(
        self, file: Path, chosen: types.Range, only: list[str] | None = None
    ) -> dict[str, types.CodeAction]:
        context = types.CodeActionContext([], only=only)  # type: ignore[arg-type]
        document = types.TextDocumentIdentifier(file.as_uri())
        found = await self.text_document_code_action_async(types.CodeActionParams(document, chosen, context))
        return {item.title: item for item in found or [] if isinstance(item, types.CodeAction)}


def applied(text: str, action: types.CodeAction, encoding: str = "utf-16-le", size: int = 2) -> str:
    """``text`` after the edits of ``action``, made as a client makes them: on code units of the encoding."""
    assert action.edit is not None and action.edit.changes is not None
    [edits] = action.edit.changes.values()
    lines = [line.encode(encoding) for line in text.splitlines(keepends=True)] + [b""]
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start, end = edit.range.start, edit.range.end
        before, after = lines[start.line][: start.character * size], lines[end.line][end.character * size :]
        lines[start.line : end.line + 1] = [before + edit.new_text.encode(encoding) + after]
    return b"".join(lines).decode(encoding)


Script = Callable[[Editor, Path], Awaitable[None]]
Play = Callable[[Script], None]


async def start(root: Path, encodings: list[str] | None, *options: str) -> Editor:
    editor = Editor()
    await editor.start_io(sys.executable, "-m", "graphdoctor", "lsp", *options)
    general = types.GeneralClientCapabilities(position_encodings=encodings)
    await editor.initialize_async(
        types.InitializeParams(types.ClientCapabilities(general=general), root_uri=root.as_uri(), process_id=None)
    )
    editor.initialized(types.InitializedParams())
    return editor


async def end(editor: Editor) -> None:
    await editor.shutdown_async(None)
    editor.exit(None)
    await editor.stop()


def sessions(factory: pytest.TempPathFactory, encodings: list[str] | None, *options: str) -> Iterator[Play]:
    """One server for several scripts, each with a folder of its own below the root."""
    root = factory.mktemp("workspace")
    loop = asyncio.new_event_loop()
    editor = loop.run_until_complete(start(root, encodings, *options))

    def play(script: Script) -> None:
        folder = root / script.__qualname__.partition(".")[0]
        folder.mkdir()
        loop.run_until_complete(script(editor, folder / "model.py"))

    yield play
    loop.run_until_complete(end(editor))
    loop.close()


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    yield from sessions(tmp_path_factory, None)


@pytest.fixture(scope="module")
def play_utf8(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    yield from sessions(tmp_path_factory, ["utf-8", "utf-16"], "--docs-url", "https://docs.example/")


def test_diagnostics_follow_the_unsaved_text(play: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        assert await editor.open(file, CLEAN) == []
        assert await editor.edit(file, PRINTS, 2) == ["GD101"]
        [shown] = editor.diagnostics[file.as_uri()]
        assert shown.source == "graphdoctor" and shown.severity == types.DiagnosticSeverity.Error
        assert shown.code_description is not None
        assert shown.code_description.href.endswith("/gb/gb0059.html")
        assert await editor.edit(file, CLEAN, 3) == []
        # Half a statement: what was published stays.
        assert await editor.edit(file, PRINTS, 4) == ["GD101"]
        editor.change(file, PRINTS + "def (", 5)
        await asyncio.sleep(1)
        assert editor.codes(file) == ["GD101"] and not editor.published[file.as_uri()].is_set()
        assert not file.exists()
        editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(file.as_uri())))
        assert await editor.answer(file) == []

    play(script)


def test_fast_typing_is_analysed_once(play: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        await editor.open(file, CLEAN)
        for version in range(2, 8):
            editor.change(file, PRINTS + f"# {version}\n", version)
        assert await editor.answer(file) == ["GD101"]
        await asyncio.sleep(1)
        assert not editor.published[file.as_uri()].is_set()

    play(script)


async def check_quick_fixes(editor: Editor, file: Path, codec: str, size: int, column: int) -> None:
    await editor.open(file, PRINTS)
    [shown] = editor.diagnostics[file.as_uri()]
    assert shown.range == types.Range(types.Position(5, 8), types.Position(5, column))
    found = await editor.actions(file, shown.range)
    fix, ignore, all_ = "Fix GD101 print-in-graph", "Ignore GD101 on this line", "Fix all safe graphdoctor findings"
    assert list(found) == [fix, ignore, all_]
    fixed = applied(PRINTS, found[fix], codec, size)
    guarded = ["        if not torch.compiler.is_compiling():", '            print("😀", x.shape)']
    assert fixed.splitlines()[5:7] == guarded
    assert await editor.edit(file, fixed, 2) == []
    ignored = applied(PRINTS, found[ignore], codec, size)
    assert ignored == PRINTS.replace("x.shape)", "x.shape)  # noqa: GD101")
    assert await editor.edit(file, ignored, 3) == []


def test_quick_fixes_count_in_utf16_by_default(play: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        await check_quick_fixes(editor, file, "utf-16-le", 2, 28)

    play(script)


def test_quick_fixes_count_as_negotiated(play_utf8: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        await check_quick_fixes(editor, file, "utf-8", 1, 30)

    play_utf8(script)


def test_actions_of_the_wanted_kind_for_a_text_that_was_just_typed(play: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        await editor.open(file, CLEAN)
        editor.change(file, PRINTS, 2)
        nowhere = types.Range(types.Position(0, 0), types.Position(0, 0))
        found = await editor.actions(file, nowhere, ["source.fixAll"])
        assert list(found) == ["Fix all safe graphdoctor findings"]
        assert "is_compiling" in applied(PRINTS, found["Fix all safe graphdoctor findings"])
        assert await editor.actions(file, nowhere, ["quickfix"]) == {}

    play(script)


def test_helpers_come_from_disk_and_a_saved_helper_is_seen(play: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        helper = file.with_name("helper.py")
        helper.write_text(HELPER)
        assert await editor.open(file, BRANCHES) == ["GD201"]
        helper.write_text("def big(t):\n    return t.shape[0] > 0\n")
        document = types.TextDocumentIdentifier(file.as_uri())
        editor.text_document_did_save(types.DidSaveTextDocumentParams(document))
        assert await editor.answer(file) == []

    play(script)


CALLS = """\
import torch

from helper import shown


class Net(torch.nn.Module):
    def forward(self, x):
        return shown(x)
"""
SHOWN = "def shown(t):\n    print(t.shape)\n    return t\n"


def test_what_breaks_in_a_helper_is_shown_there(play: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        helper = file.with_name("helper.py")
        helper.write_text(SHOWN)
        assert await editor.open(file, CALLS) == []
        # It is shown in the file on disk, and stays when an editor opens that.
        assert await editor.answer(helper) == ["GD101"]
        assert "called from: `" in editor.diagnostics[helper.as_uri()][0].message
        assert await editor.open(helper, SHOWN) == ["GD101"]
        actions = await editor.actions(helper, types.Range(types.Position(1, 4), types.Position(1, 4)))
        after = applied(SHOWN, actions["Fix GD101 print-in-graph"])
        assert "is_compiling():\n        print(t.shape)" in after
        editor.change(helper, SHOWN.replace("    print", "    t = t * 2\n    print"), 2)
        # The caller is analysed with the text as it is now.
        while [item.range.start.line for item in editor.diagnostics[helper.as_uri()]] != [2]:
            await editor.answer(helper)
        for closed, codes in ((helper, ["GD101"]), (file, [])):
            document = types.TextDocumentIdentifier(closed.as_uri())
            editor.text_document_did_close(types.DidCloseTextDocumentParams(document))
            while await editor.answer(helper) != codes:
                pass

    play(script)


def test_hover_shows_the_rule_and_the_link_goes_to_the_site(play_utf8: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        await editor.open(file, PRINTS)
        [shown] = editor.diagnostics[file.as_uri()]
        assert shown.code_description == types.CodeDescription("https://docs.example/rules/GD101.html")
        document = types.TextDocumentIdentifier(file.as_uri())
        hover = await editor.text_document_hover_async(types.HoverParams(document, shown.range.start))
        assert hover is not None and isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.value.startswith("**GD101 print-in-graph** (error)")
        assert "**Fix**: Remove the call" in hover.contents.value
        away = types.Position(0, 0)
        assert await editor.text_document_hover_async(types.HoverParams(document, away)) is None

    play_utf8(script)


def test_settings_of_the_project_hold_and_wrong_ones_are_said(play: Play) -> None:
    async def script(editor: Editor, file: Path) -> None:
        settings = file.with_name("pyproject.toml")
        settings.write_text("[tool.graphdoctor]\nignore = ['GD1']\n")
        assert await editor.open(file, PRINTS) == []
        settings.write_text("[tool.graphdoctor]\nexclude = ['model.py']\n")
        assert await editor.edit(file, BRANCHES, 2) == []
        settings.write_text("[tool.graphdoctor]\nselct = []\n")
        editor.change(file, CLEAN, 3)
        message = await editor.messages.get()
        assert "unknown graphdoctor setting 'selct'" in message
        # Said once, not at each keystroke.
        editor.change(file, PRINTS, 4)
        await asyncio.sleep(1)
        assert editor.messages.empty()
        settings.write_text("[tool.graphdoctor]\n")
        assert await editor.edit(file, PRINTS + "\n", 5) == ["GD101"]

    play(script)


def test_no_code_is_run(play: Play, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    text = f"open({str(marker)!r}, 'w').close()\n{PRINTS}"

    async def script(editor: Editor, file: Path) -> None:
        file.write_text(text)
        assert await editor.open(file, text) == ["GD101"]

    play(script)
    assert not marker.exists()


def test_without_pygls_one_line_says_what_to_install(tmp_path: Path) -> None:
    # As in an environment without it: the import system finds neither.
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('pygls', 'lsprotocol'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from graphdoctor.cli import main\n"
        "main(['lsp'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "graphdoctor: the language server needs pygls; install graphdoctor[lsp]\n"
