"""The lines for other libraries, executed with the installed ones as a user pastes them, and what they compile.

Only Inductor is another backend, so that nothing waits for generated code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import fx, nn
from torch.utils.data import DataLoader, TensorDataset

from graphdoctor.advise.notes import notes
from graphdoctor.model.advice import Placement

IDS = torch.randint(2, 50, (2, 4), generator=torch.Generator().manual_seed(0))
LAYERS = 3


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[fx.GraphModule]]:
    """The graphs that reach Inductor."""
    found: list[fx.GraphModule] = []

    def inductor(self: object, graph: fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        found.append(graph)
        return graph.forward

    torch._dynamo.reset()
    monkeypatch.setattr(torch._TorchCompileInductorWrapper, "__call__", inductor)
    yield found
    torch._dynamo.reset()


def gpt2() -> Any:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=50, n_positions=32, n_embd=16, n_layer=LAYERS, n_head=2, bos_token_id=0, eos_token_id=1
    )
    return transformers.GPT2LMHeadModel(config).eval()


def lines(title: str, model: Any, text: str = "", kind: Any = "model") -> str:
    """The code of the note of this title."""
    found = {note.title: note.code for note in notes(model, text, [Placement(kind, "")])}
    return found[title]


def generated(model: Any) -> torch.Tensor:
    mask = torch.ones_like(IDS)
    return model.generate(input_ids=IDS, attention_mask=mask, max_new_tokens=8, do_sample=False, pad_token_id=1)


def test_generation_compiles_prefill_and_step_once_each(graphs: list[fx.GraphModule]) -> None:
    expected = generated(gpt2())
    model = gpt2()
    names = {"torch": torch, "model": model, "inputs": {"input_ids": IDS, "max_new_tokens": 8, "pad_token_id": 1}}
    exec(lines("Generation", model), names)
    assert len(graphs) == 2
    assert torch.equal(generated(model), expected)
    assert len(graphs) == 2


def test_without_the_static_cache_generation_compiles_again(graphs: list[fx.GraphModule]) -> None:
    model = gpt2()
    model.forward = torch.compile(model.forward)
    generated(model)
    assert len(graphs) > 2


def test_generate_of_a_compiled_model_compiles_nothing(graphs: list[fx.GraphModule]) -> None:
    generated(torch.compile(gpt2()))
    assert graphs == []


@pytest.fixture
def prepared() -> dict[str, Any]:
    """What the lines for Accelerate find: a model, its optimizer and a loader."""
    pytest.importorskip("accelerate")
    from accelerate.state import AcceleratorState

    # The state is one for the process, and another test may have made it.
    AcceleratorState._reset_state(reset_partial_state=True)
    model = gpt2()
    model.config.use_cache = False
    optimizer = torch.optim.AdamW(model.parameters())
    return {"torch": torch, "model": model, "optimizer": optimizer, "loader": DataLoader(TensorDataset(IDS))}


@pytest.mark.parametrize(
    ("title", "kind", "count"),
    [
        ("Accelerate", "model", 1),
        # One for all blocks, and one for each of the five other modules: embeddings, dropout, norm, head.
        ("Accelerate", "blocks", 6),
        ("Accelerate, without its launcher", "blocks", 6),
    ],
)
def test_accelerate_compiles_what_it_is_told(
    graphs: list[fx.GraphModule], prepared: dict[str, Any], title: str, kind: str, count: int
) -> None:
    exec(lines(title, prepared["model"], kind=kind), prepared)
    with torch.no_grad():
        outputs = [prepared["model"](IDS).logits for _ in range(2)]
    assert len(graphs) == count
    expected = gpt2()(IDS, use_cache=False).logits
    assert all(torch.allclose(output, expected, atol=1e-6) for output in outputs)


def test_fabric_sets_up_a_compiled_model_once(graphs: list[fx.GraphModule]) -> None:
    fabric = pytest.importorskip("lightning.fabric").Fabric(accelerator="cpu", devices=1)
    model = nn.Linear(4, 4)
    names = {"torch": torch, "fabric": fabric, "model": model, "optimizer": torch.optim.SGD(model.parameters(), 0.1)}
    exec(lines("Fabric", model, "import lightning"), names)
    before = model.weight.detach().clone()
    for _ in range(2):
        fabric.backward(names["model"](torch.rand(2, 4)).sum())
    names["optimizer"].step()
    assert len(graphs) == 1
    assert not torch.equal(model.weight, before)


def test_a_lightning_trainer_compiles_the_training_step(graphs: list[fx.GraphModule], tmp_path: Any) -> None:
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 1)

        def training_step(self, batch: list[torch.Tensor], number: int) -> torch.Tensor:
            return self.linear(batch[0]).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.1)

    module = Module()
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = lightning.Trainer(accelerator="cpu", max_steps=3, default_root_dir=tmp_path, **quiet)
    names = {"torch": torch, "module": module, "trainer": trainer}
    names["loader"] = DataLoader(TensorDataset(torch.rand(6, 4)), batch_size=2)
    exec(lines("Lightning", module, "import lightning"), names)
    assert trainer.global_step == 3
    assert len(graphs) == 1
