"""The modules of a project are found where Python finds them, however its folders are laid out."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

OPS = "def double(x):\n    print(x)\n    return x * 2\n"


def net(imported: str, called: str = "double") -> str:
    return f"""
import torch.nn as nn
{imported}

class Net(nn.Module):
    def forward(self, x):
        return {called}(x)
"""


def train(imported: str, made: str = "Net") -> str:
    return f"""
import torch
{imported}

def main():
    model = torch.compile({made}())
    model(torch.rand(2))
"""


LAYOUTS = {
    "folders without __init__": {
        "train.py": train("from models.net import Net"),
        "models/net.py": net("from models.ops import double"),
        "models/ops.py": OPS,
    },
    "modules that are imported whole": {
        "train.py": train("import models.net as net", "net.Net"),
        "models/net.py": net("import models.ops", "models.ops.double"),
        "models/ops.py": OPS,
    },
    "a module of a folder": {
        "train.py": train("from models import net", "net.Net"),
        "models/net.py": net("from models import ops", "ops.double"),
        "models/ops.py": OPS,
    },
    "packages beside each other": {
        "train.py": train("from models.net import Net"),
        "models/__init__.py": "",
        "models/net.py": net("from utils.ops import double"),
        "utils/__init__.py": "",
        "utils/ops.py": OPS,
    },
    "a script in a folder of the project": {
        "pyproject.toml": "",
        "scripts/train.py": train("from lib.net import Net"),
        "lib/__init__.py": "",
        "lib/net.py": net("from .ops import double"),
        "lib/ops.py": OPS,
    },
    "packages in src": {
        "setup.py": "",
        "scripts/train.py": train("from lib.net import Net"),
        "src/lib/__init__.py": "",
        "src/lib/net.py": net("from lib.ops import double"),
        "src/lib/ops.py": OPS,
    },
    "a script that is named with its folder": {
        "src/train.py": train("from src.models.net import Net"),
        "src/models/net.py": net("from src.models.ops import double"),
        "src/models/ops.py": OPS,
    },
    "a package whose folders are no packages": {
        "lib/__init__.py": "",
        "lib/net.py": net("from lib.ops import double"),
        "lib/ops.py": OPS,
        "lib/runs/long/__init__.py": "",
        "lib/runs/long/train.py": train("from lib.net import Net"),
    },
    "a clone that is named like its package": {
        "lib/__init__.py": "",
        "lib/train.py": train("from lib.net import Net"),
        "lib/lib/__init__.py": "",
        "lib/lib/net.py": net("from lib.ops import double"),
        "lib/lib/ops.py": OPS,
    },
    "a path that the script adds": {
        "scripts/train.py": train('import sys\nsys.path.append("..")\nfrom net import Net'),
        "net.py": net("from ops import double"),
        "ops.py": OPS,
    },
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return next(folder.rglob("train.py"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_print_two_files_away_is_found(tmp_path: Path, layout: str) -> None:
    script = written(tmp_path, LAYOUTS[layout])
    ops = next(tmp_path.rglob("ops.py"))
    found = analyse([(script, "train.py"), (ops, "ops.py")]).findings
    assert [(f.rule, f.location.path, f.location.line) for f in found] == [("GD101", "ops.py", 2)]


def test_what_lies_beside_an_installed_package_is_not_of_its_project(tmp_path: Path) -> None:
    files = LAYOUTS["packages beside each other"] | {"utils-1.0.dist-info/METADATA": ""}
    script = written(tmp_path, files)
    assert not analyse([(script, "train.py"), (tmp_path / "utils/ops.py", "ops.py")]).findings


EXTENSIONS = {
    "source of Cython": ("from .core import double", "double", "align/core.pyx"),
    "built": ("from .core import double", "double", "align/core.cpython-312-x86_64-linux-gnu.so"),
    "imported whole": ("from . import core", "core.double", "align/core.pyd"),
    "built into a folder of its own": ("from .align.core import double", "double", "align/core.pyx"),
    "by its full name": ("from align.core import double", "double", "align/core.pyx"),
}


@pytest.mark.parametrize("case", EXTENSIONS)
def test_a_function_of_an_extension_module_is_not_traced(tmp_path: Path, case: str) -> None:
    imported, called, extension = EXTENSIONS[case]
    files = {
        "pyproject.toml": "",
        "train.py": train("from align import Net"),
        "align/__init__.py": net(imported, called),
        extension: "",
    }
    script = written(tmp_path, files)
    package = tmp_path / "align/__init__.py"
    (found,) = analyse([(script, "train.py"), (package, "align.py")]).findings
    assert (found.rule, found.location.path, found.location.line) == ("GD405", "align.py", 7)
    assert found.fix is not None and found.fix.reason == "What a function in C, Cython or numba does is not known."


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from . import _C", "_C.double"),
        ("from align._C import double", "double"),
        ("import align._ext as ops", "ops.double"),
        ("import align_cuda", "align_cuda.double"),
        ("from align_cuda import double", "double"),
        ("import alt_cuda_align", "alt_cuda_align.double"),
    ],
)
def test_an_extension_that_is_not_built_is_known_by_its_name(tmp_path: Path, imported: str, called: str) -> None:
    files = {"train.py": train("from align import Net"), "align/__init__.py": net(imported, called)}
    script, package = written(tmp_path, files), tmp_path / "align/__init__.py"
    (found,) = analyse([(script, "train.py"), (package, "align.py")]).findings
    assert (found.rule, found.location.path, found.location.line) == ("GD405", "align.py", 7)


@pytest.mark.parametrize(
    ("setup", "found"),
    [
        ("setup(ext_modules=[CUDAExtension('MSDA', ['msda.cu'])])", True),
        ("extension = CppExtension\nmodules = [\n    extension(\n        name='MSDA', sources=[]),\n]", True),
        ("setup(ext_modules=[CUDAExtension('DCNv3', ['dcn.cu'])])", False),
        ("setup(name='MSDA')", False),
    ],
)
def test_an_extension_that_setup_py_builds(tmp_path: Path, setup: str, found: bool) -> None:
    files = {
        "setup.py": setup,
        "train.py": train("from align import Net"),
        "align/__init__.py": net("import MSDA", "MSDA.double"),
    }
    script, package = written(tmp_path, files), tmp_path / "align/__init__.py"
    rules = [f.rule for f in analyse([(script, "train.py"), (package, "align.py")]).findings]
    assert rules == (["GD405"] if found else [])


@pytest.mark.parametrize("module", ["align/_C.py", "align/_C/ops.py", "align_cuda.py"])
def test_a_module_in_python_is_no_extension_whatever_it_is_called(tmp_path: Path, module: str) -> None:
    name = module.partition(".")[0].split("/")[-1] if module.endswith("_cuda.py") else "_C"
    imported = f"from . import {name}" if module.startswith("align/") else f"import {name}"
    files = {
        "train.py": train("from align import Net"),
        "align/__init__.py": net(imported, f"{name}.double"),
        module: "def double(x):\n    return x * 2\n",
    }
    script = written(tmp_path, files)
    assert not analyse([(script, "train.py"), (tmp_path / "align/__init__.py", "align.py")]).findings


def test_what_is_no_extension_module_may_be_anything(tmp_path: Path) -> None:
    script = written(
        tmp_path, {"train.py": train("from align import Net"), "align/__init__.py": net("from .core import double")}
    )
    assert not analyse([(script, "train.py"), (tmp_path / "align/__init__.py", "align.py")]).findings
