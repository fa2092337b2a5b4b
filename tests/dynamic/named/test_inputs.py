"""What is tried as the input of a model that is known by its configuration."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from graphdoctor.dynamic.named.inputs import candidates  # noqa: E402


class Model:
    def __init__(self, **config: object) -> None:
        self.config = SimpleNamespace(vocab_size=64, hidden_size=8, **config)

    def forward(self, input_ids: object, attention_mask: object = None) -> None:
        """Nothing is computed: what the parameters are called decides."""


def test_text_comes_first_and_what_heads_of_tasks_want_behind_it() -> None:
    model = Model(pad_token_id=None, eos_token_id=2)
    tried = candidates(model)
    plain = next(tried)
    assert set(plain) == {"input_ids", "attention_mask"} and plain["input_ids"].dim() == 2
    assert 2 not in plain["input_ids"] and model.config.pad_token_id is None
    ended, padded, choices = tried
    assert ended["input_ids"][:, -1].tolist() == [2] * len(ended["input_ids"])
    assert model.config.pad_token_id not in (None, *padded["input_ids"].flatten().tolist())
    rows, length = plain["input_ids"].shape
    assert {name: tuple(value.shape) for name, value in choices.items()} == dict.fromkeys(plain, (rows, 2, length))


def test_a_padding_token_that_is_known_stays() -> None:
    model = Model(pad_token_id=1)
    assert len(list(candidates(model))) == 3
    assert model.config.pad_token_id == 1


def test_a_model_that_takes_any_length_gets_the_usual_one() -> None:
    usual, unlimited = (next(candidates(model)) for model in (Model(), Model(max_position_embeddings=-1)))
    assert unlimited["input_ids"].shape == usual["input_ids"].shape
