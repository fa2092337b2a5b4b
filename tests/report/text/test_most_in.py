"""Where most of the findings of a folder are."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from graphdoctor import cli

NET = "import torch\n{}\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n{}        return x\n"


def scan(folder: Path, *prints: int) -> list[str]:
    parts = range(len(prints))
    (folder / "main.py").write_text(
        NET.format(
            "".join(f"from net{number} import f{number}\n" for number in parts),
            "".join(f"        x = f{number}(x)\n" for number in parts),
        )
    )
    for number, count in enumerate(prints):
        (folder / f"net{number}.py").write_text(f"def f{number}(x):\n" + "    print(x)\n" * count + "    return x\n")
    return CliRunner().invoke(cli.cli, ["scan", str(folder), "--no-run", "--no-cache"]).stdout.splitlines()


def test_a_long_list_says_where_to_begin(tmp_path: Path) -> None:
    lines = scan(tmp_path, 1, 5, 2, 4)
    assert lines[0] == "12 predicted graph breaks found (static analysis)"
    assert lines[1].endswith("net1.py (5), net3.py (4) and net2.py (2).") and lines[1].startswith("Most are in ")


def test_a_short_list_and_one_of_few_files_need_no_more(tmp_path: Path) -> None:
    assert scan(tmp_path, 2, 2, 2, 2)[1] == ""
    for file in tmp_path.iterdir():
        file.unlink()
    assert scan(tmp_path, 9, 9)[1] == ""
