"""Which targets a fleet has."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.fleet.targets import NoTargets, left_out, targets
from graphdoctor.model.fleet import Target

SAMPLE = "def graphdoctor_target(): ..."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_list_has_paths_from_its_own_folder(folder: Path) -> None:
    (folder / "zoo").mkdir()
    (folder / "zoo/list.toml").write_text(
        'targets = ["a.py --target Net", {name = "second", scan = "\'b c.py\' --mode eval"}]'
    )
    assert targets("zoo/list.toml") == (
        Target("a.py --target Net", ("a.py", "--target", "Net"), folder / "zoo"),
        Target("second", ("b c.py", "--mode", "eval"), folder / "zoo"),
    )


def test_of_a_folder_the_files_that_declare_a_sample(folder: Path) -> None:
    (folder / "zoo").mkdir()
    texts = {"a.py": SAMPLE, "helper.py": "x = 1", "broken.py": "def graphdoctor_target(:", "other.py": "def f(:"}
    for name, text in texts.items():
        (folder / "zoo" / name).write_text(text)
    # The scan of the broken one says what is wrong with it.
    assert [target.name for target in targets("zoo")] == ["zoo/a.py", "zoo/broken.py"]
    assert left_out("zoo") == ()


def test_of_a_folder_the_models_without_a_sample_are_left_out(folder: Path) -> None:
    (folder / "zoo").mkdir()
    model = "class Net(Module):\n    def forward(self, x):\n        return x\n"
    for name, text in {"a.py": model + SAMPLE, "b.py": model, "helper.py": "def forward(x):\n    return x\n"}.items():
        (folder / "zoo" / name).write_text(text)
    assert left_out("zoo") == ("zoo/b.py",)
    (folder / "zoo/a.py").unlink()
    with pytest.raises(NoTargets, match="none of its files declares a sample input"):
        targets("zoo")
    assert left_out("list.toml") == ()


def test_a_function_of_the_project_returns_the_list_whatever_it_prints(folder: Path) -> None:
    (folder / "catalog.py").write_text("def every():\n    print('loading')\n    return ['a.py', {'scan': 'b.py'}]\n")
    assert [target.name for target in targets("catalog:every")] == ["a.py", "b.py"]
    with pytest.raises(NoTargets, match="catalog:none: AttributeError"):
        targets("catalog:none")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('targets = ["a.py", "a.py"]', "two targets are called 'a.py'"),
        ('targets = ["a.py \'"]', "No closing quotation"),
        ("targets = [1]", "a target is"),
        ('targets = "a.py"', "must be a list"),
        ("targets = []", "there is no target"),
        ("models = []", "the one key `targets`"),
        ("targets = [", "list.toml: "),
    ],
)
def test_what_is_no_list_is_said_in_one_line(folder: Path, text: str, message: str) -> None:
    (folder / "list.toml").write_text(text)
    with pytest.raises(NoTargets, match=message) as caught:
        targets("list.toml")
    assert "\n" not in str(caught.value)


def test_what_is_not_there(folder: Path) -> None:
    with pytest.raises(NoTargets, match="no such file or folder"):
        targets("zoo")


def test_one_file_is_for_scan(folder: Path) -> None:
    (folder / "net.py").write_text(SAMPLE)
    with pytest.raises(NoTargets, match=r"net\.py: one file is scanned with `graphdoctor scan net\.py`"):
        targets("net.py")


def test_a_wildcard_stands_for_the_models_of_an_installed_package(folder: Path) -> None:
    """Models, not their parts, and not what they are made from."""
    models = folder / "timm/models"
    models.mkdir(parents=True)
    (folder / "timm/__init__.py").touch()
    (models / "resnet.py").write_text(
        "@register_model\ndef resnet18(): ...\n\n\n@register_model\ndef resnet50(): ...\n\n\ndef helper(): ...\n"
    )
    (models / "vit.py").write_text("@register_model\ndef vit_tiny(): ...\n")
    assert [target.name for target in targets("timm:*")] == ["timm:resnet18", "timm:resnet50", "timm:vit_tiny"]
    (folder / "list.toml").write_text(
        'targets = ["timm:vit_tiny", "timm:res* --mode eval", {name = "one: timm:resnet1?", scan = "timm:resnet1?"}]'
    )
    assert [(target.name, target.arguments) for target in targets("list.toml")] == [
        ("timm:vit_tiny", ("timm:vit_tiny",)),
        ("timm:resnet18 --mode eval", ("timm:resnet18", "--mode", "eval")),
        ("timm:resnet50 --mode eval", ("timm:resnet50", "--mode", "eval")),
        ("one: timm:resnet18", ("timm:resnet18",)),
    ]
    with pytest.raises(NoTargets, match=r"timm:none\*: no model of the installed timm has such a name"):
        targets("timm:none*")


def test_public_model_classes_of_transformers(folder: Path) -> None:
    bert = folder / "transformers/models/bert"
    bert.mkdir(parents=True)
    (folder / "transformers/__init__.py").touch()
    (bert / "modeling_bert.py").write_text(
        "class BertLayer(GradientCheckpointingLayer): ...\n\n\nclass BertPreTrainedModel(PreTrainedModel): ...\n\n\n"
        "class BertModel(BertPreTrainedModel): ...\n\n\nclass BertLMHeadModel(BertPreTrainedModel, GenerationMixin): ...\n\n\n"
        "class BertHidden(BertPreTrainedModel): ...\n\n\nclass BertLong(\n    GenerationMixin,\n    BertModel,\n): ...\n\n\n"
        '__all__ = [\n    "BertModel", "BertLayer",\n    "BertLMHeadModel", "BertPreTrainedModel", "BertLong"]\n'
    )
    assert [target.name for target in targets("hf:*")] == ["hf:BertModel", "hf:BertLMHeadModel", "hf:BertLong"]
