"""Packages that are followed on request, or from what one file compiles, and that others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor import api
from graphdoctor.commands.scan import exit_code
from graphdoctor.lint import libraries
from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.text import terminal
from graphdoctor.source.installed import PackageNotFound, find_package, site_folders

LAYERS = """\
import torch
from acme_nn.ops import act


class Block(torch.nn.Module):
    def forward(self, x):
        print("in block")
        return act(x)
"""
MODEL = """\
import acme_nn
import torch
from acme_nn import Block


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = {block}()

    def forward(self, x):
        return self.block(x)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a virtual environment, in which the package acme_nn is installed."""
    site = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages"
    files = {
        site / "acme_nn" / "__init__.py": "from .layers import Block\n",
        site / "acme_nn" / "layers.py": LAYERS,
        site / "acme_nn" / "ops.py": "def act(x):\n    return x if x.sum() > 0 else -x\n",
        site / "single.py": "import torch\nfrom acme_nn import Block\n\n\nclass One(Block):\n    pass\n",
        tmp_path / ".venv" / "pyvenv.cfg": "",
        tmp_path / "src" / "model.py": MODEL.format(block="Block"),
    }
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return tmp_path


def scan(*paths: str, **options: object) -> Diagnosis:
    return api.scan(api.ScanOptions(paths, run=False, **options))  # type: ignore[arg-type]


def places(diagnosis: Diagnosis) -> list[tuple[str, int, str, str]]:
    return sorted((Path(f.location.path).name, f.location.line, f.severity, f.owner) for f in diagnosis.findings)


def test_by_default_packages_are_not_followed(project: Path) -> None:
    assert scan("src").findings == scan("src/model.py").findings == ()


def test_of_one_file_that_compiles_something_they_are(project: Path) -> None:
    """Only what every trace comes to is said, with the line of the file that leads there."""
    unsure = "    if x.sum() > 0:\n        print('positive')\n    return x\n"
    ops = project / ".venv/lib/python3.11/site-packages/acme_nn/ops.py"
    ops.write_text(
        f"def act(x, flag=None):\n    if flag:\n        print('flag')\n    return late(x)\n\n\ndef late(x):\n{unsure}"
    )
    model = project / "src/model.py"
    model.write_text(MODEL.format(block="Block") + "\n\nnet = torch.compile(Net())\n")
    first, again = (scan("src/model.py", cache=project / "cache") for _ in range(2))
    assert places(first) == [("layers.py", 7, "warning", "third-party"), ("ops.py", 8, "warning", "third-party")]
    assert {f.message.partition(":")[0] for f in first.findings} == {"in a library, called from line 12 of model.py"}
    assert first.findings == again.findings and exit_code(first) == 0
    ops.write_text("def act(x):\n    return x\n")
    assert places(scan("src/model.py", cache=project / "cache")) == [("layers.py", 7, "warning", "third-party")]
    # A folder is the user's own code; what lies beside the file comes before what is installed.
    assert scan("src").findings == ()
    (project / "src/acme_nn.py").write_text("class Block:\n    def __call__(self, x):\n        return x\n")
    assert scan("src/model.py").findings == ()


@pytest.mark.parametrize(
    ("test", "said"),
    [
        # A quick way out, which may be the usual one.
        ("x.shape[0] == 1", False),
        ("fast", False),
        # Of the kinds of objects that a library takes, most users give the common one.
        ("isinstance(x, Sparse)", True),
        ("x is None", True),
        ("not is_dense(x)", True),
        ("x.ndim and hasattr(x, 'rows')", True),
    ],
)
def test_what_stands_behind_a_way_out_of_a_library(project: Path, test: str, said: bool) -> None:
    ops = project / ".venv/lib/python3.11/site-packages/acme_nn/ops.py"
    ops.write_text(
        "import os\nfrom sparse import Sparse, is_dense\n\nfast = os.cpu_count()\n\n\n"
        f"def act(x):\n    if {test}:\n        return x\n    return x if x.sum() > 0 else -x\n"
    )
    model = project / "src/model.py"
    model.write_text(MODEL.format(block="Block") + "\n\nnet = torch.compile(Net())\n")
    assert ("ops.py" in [name for name, *_ in places(scan("src/model.py"))]) is said


def test_what_may_be_read_is_kept_for_packages_that_graphs_depend_on(project: Path) -> None:
    site = project / ".venv/lib/python3.11/site-packages"
    for name in ("scipy", "tqdm"):
        (site / name).mkdir()
        (site / name / "__init__.py").write_text("VERSION = 1\n" + "#" * libraries.MOST_TEXT)
    layers = site / "acme_nn/layers.py"
    layers.write_text("import scipy\nfrom tqdm import VERSION\n\nOLD = scipy.VERSION < VERSION\n" + LAYERS)
    model = project / "src/model.py"
    model.write_text(MODEL.format(block="Block") + "\n\nnet = torch.compile(Net())\n")
    assert [name for name, *_ in places(scan("src/model.py"))] == ["layers.py", "ops.py"]


@pytest.mark.parametrize("block", ["Block", "acme_nn.Block", "acme_nn.layers.Block"])
def test_followed_findings_are_third_party_and_do_not_fail(project: Path, block: str) -> None:
    (project / "src" / "model.py").write_text(MODEL.format(block=block))
    diagnosis = scan("src", follow=("acme_nn",))
    assert places(diagnosis) == [("layers.py", 7, "warning", "third-party"), ("ops.py", 2, "warning", "third-party")]
    assert all(f.fix is None for f in diagnosis.findings)
    assert exit_code(diagnosis) == 0
    assert "\nIn libraries:\n\n.venv/lib/python3.11/site-packages/acme_nn/layers.py:7:9" in terminal.render(diagnosis)


def test_they_fail_when_asked(project: Path) -> None:
    diagnosis = scan("src", follow=("acme_nn",), fail_third_party=True)
    assert {f.severity for f in diagnosis.findings} == {"error"} and exit_code(diagnosis) == 1


def test_as_a_setting(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.graphdoctor]\nfollow = ['acme_nn']\n")
    assert len(scan("src").findings) == 2
    assert len(scan("src", isolated=True).findings) == 0


def test_a_package_that_is_scanned_itself_is_own_code(project: Path) -> None:
    site = ".venv/lib/python3.11/site-packages"
    assert places(scan(f"{site}/acme_nn")) == [("layers.py", 7, "error", "own"), ("ops.py", 2, "error", "own")]
    # What lies beside a module in site-packages is somebody else's.
    assert scan(f"{site}/single.py").findings == ()


def test_a_package_that_is_not_installed(project: Path) -> None:
    with pytest.raises(api.UsageError, match=r"^--follow: 'acme_n': not in .*; did you mean 'acme_nn'\?$"):
        scan("src", follow=("acme_n",))
    with pytest.raises(api.UsageError, match=r"^--python nowhere: no site-packages found there"):
        scan("src", follow=("acme_nn",), python="nowhere")
    (project / "pyproject.toml").write_text("[tool.graphdoctor]\nfollow = ['nothing_like_it']\n")
    with pytest.raises(api.UsageError, match=r"pyproject\.toml: follow: 'nothing_like_it'"):
        scan("src")


def test_environments(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    site = project / ".venv" / "lib" / "python3.11" / "site-packages"
    assert site_folders(None, project / "src")[0] == site
    (project / ".venv" / "bin").mkdir()
    (project / ".venv" / "bin" / "python").write_text("")
    for python in (".venv", ".venv/bin/python"):
        assert site_folders(python, Path("/")) == (site,)
    monkeypatch.setenv("VIRTUAL_ENV", str(project / ".venv"))
    assert site_folders(None, Path("/"))[0] == site
    # What is installed as editable lies elsewhere.
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "edited").mkdir()
    (elsewhere / "edited" / "m.py").write_text("")
    (site / "edited.pth").write_text(f"import sys\n{elsewhere}\n")
    assert find_package("edited", site_folders(".venv", Path("/"))) == elsewhere
    with pytest.raises(PackageNotFound):
        find_package("nothing", site_folders(".venv", Path("/")))


LAZY = """\
from typing import TYPE_CHECKING

{promise}
else:
    import sys

    sys.modules[__name__] = make_lazy(__name__)
"""


@pytest.mark.parametrize("use", ["from lazy_nn import Block\n", "import lazy_nn\nBlock = lazy_nn.Block\n"])
def test_a_package_that_loads_its_modules_when_asked(project: Path, use: str) -> None:
    package = project / ".venv" / "lib" / "python3.11" / "site-packages" / "lazy_nn"
    promises = {
        package: "if TYPE_CHECKING or EAGER:\n    try:\n        need()\n    finally:\n        from .models import *",
        package / "models": "if TYPE_CHECKING:\n    from .block import *\n    from .other import Other as Renamed",
        package / "models" / "block": "if TYPE_CHECKING:\n    from .modeling import *",
    }
    for folder, promise in promises.items():
        folder.mkdir()
        (folder / "__init__.py").write_text(LAZY.format(promise=promise))
    (package / "models" / "block" / "modeling.py").write_text(LAYERS.replace("acme_nn.ops", "acme_nn.elsewhere"))
    (project / "src" / "model.py").write_text(MODEL.format(block="Block").replace("from acme_nn import Block\n", use))
    assert scan("src").findings == ()
    assert places(scan("src", follow=("lazy_nn",))) == [("modeling.py", 7, "warning", "third-party")]
