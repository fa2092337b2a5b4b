"""The table of what torch.compile accepts, and what is read from the source of the installed torch."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.target_torch import compile_names
from graphdoctor.target_torch.source_files import TorchNames, read

torch = pytest.importorskip("torch")
FOLDER = Path(importlib.util.find_spec("torch").origin).parent
VERSION = ".".join(torch.__version__.split(".")[:2])


def tool(root: Path) -> Any:
    spec = importlib.util.spec_from_file_location("compile_names_tool", root / "tools" / "compile_names.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has(spans: str, version: str, versions: list[str]) -> bool:
    """Whether ``2.6-2.9, 2.11`` names ``version``."""
    for span in spans.split(", "):
        first, _, last = span.partition("-")
        if versions.index(first) <= versions.index(version) <= versions.index(last or first):
            return True
    return False


def test_the_row_of_the_installed_torch_is_what_its_source_says(root: Path) -> None:
    """Made anew with tools/compile_names.py, see there."""
    raw = json.loads((root / "graphdoctor" / "target_torch" / "compile_names.json").read_text(encoding="utf-8"))
    if VERSION not in raw["versions"]:
        pytest.skip(f"the table has no torch {VERSION}")
    made = tool(root).table({VERSION: read(FOLDER)})
    for kind in tool(root).KINDS:
        assert set(made[kind]) == {name for name, spans in raw[kind].items() if has(spans, VERSION, raw["versions"])}


def test_everything_that_can_be_set_was_read() -> None:
    """In a process of its own: what a running torch takes, aliases included."""
    script = (
        "import json, inspect, torch, torch._dynamo, torch._inductor.config as i, torch._dynamo.config as d\n"
        "kinds = {n: getattr(i._config[n].value_type, '__name__', '') for n in i._config}\n"
        "backends = [b for b in torch._dynamo.list_backends(exclude_tags=None) if 'TESTING' not in b]\n"
        "print(json.dumps([sorted(d._config), kinds, list(inspect.signature(torch.compile).parameters), backends,"
        " sorted(torch._inductor.list_mode_options())]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    dynamo, inductor, arguments, backends, modes = json.loads(done.stdout)
    names = read(FOLDER)
    assert set(dynamo) <= set(names.dynamo) and set(inductor) <= set(names.inductor)
    assert {"cache_size_limit", "accumulated_cache_size_limit"} <= set(names.dynamo)
    assert list(names.arguments) == arguments and list(names.modes) == modes
    assert set(backends) <= set(names.backends)
    assert "guard_filter_fn" in names.handled
    wrong = {n: (k, inductor[n]) for n, k in names.inductor.items() if k and n in inductor and k[0] != inductor[n]}
    assert wrong == {}


def test_spans_and_types(root: Path) -> None:
    old = TorchNames(inductor={"gone": None, "kept": ("bool", True), "other": ("bool", True), "typed": ("int", None)})
    new = TorchNames(inductor={"kept": ("bool", True), "other": ("bool", False), "typed": ("str", None)})
    made = tool(root).table({"2.6": old, "2.7": new, "2.8": old})
    assert made["inductor"] == {"gone": "2.6, 2.8", "kept": "2.6-2.8", "other": "2.6-2.8", "typed": "2.6-2.8"}
    assert made["types"] == {"kept": ["bool", True], "other": ["bool", None]}


def test_sections_branches_and_inheritance(tmp_path: Path) -> None:
    for name in ("_dynamo/backends", "_inductor"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "__init__.py").write_text(
        "def compile(model, *, mode=None, options=None):\n    options.pop('own', None)\n"
    )
    (tmp_path / "_dynamo/config.py").write_text(
        "if x:\n    a: bool = True\nelse:\n    b = 1\nc = d = Config(alias='e')\n"
    )
    (tmp_path / "_inductor/config.py").write_text(
        "class base:\n    depth = 3\n    class deep:\n        flag = False\n\n\n"
        "@inherit_fields_from(base)\nclass child:\n    own: str = os.environ['X']\n\n\n"
        "on = os.environ.get('ON', '1') == '1'\noff = os.environ.get('OFF') == '1'\nasked = read() == '1'\n"
    )
    (tmp_path / "_inductor/__init__.py").write_text(
        "def list_mode_options():\n    return {'default': {}, 'fast': {'a': 1}}\n"
    )
    (tmp_path / "_dynamo/eval_frame.py").write_text('_stance.stance == "sleepy"\n')
    (tmp_path / "_dynamo/backends/one.py").write_text(
        "@register_backend\ndef plain(): ...\n\n\nregister_backend(name='named', compiler_fn=f)\n"
    )
    names = read(tmp_path)
    assert (names.arguments, names.handled) == (("model", "mode", "options"), ("own",))
    assert (names.modes, names.stances, names.backends) == (
        ("default", "fast"),
        ("default", "sleepy"),
        ("named", "plain"),
    )
    assert set(names.dynamo) == {"a", "b", "c", "d"}
    assert names.inductor["child.depth"] == ("int", None) and names.inductor["child.deep.flag"] == ("bool", False)
    assert names.inductor["child.own"] == ("str", None)
    assert [names.inductor[n] for n in ("on", "off", "asked")] == [("bool", True), ("bool", False), ("bool", None)]


def test_without_torch_there_are_no_installed_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        monkeypatch.setattr(compile_names, "torch_folder", lambda folder=folder: folder)
        assert compile_names.installed.__wrapped__() is None
