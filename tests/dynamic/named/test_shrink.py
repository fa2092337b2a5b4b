from typing import Any

import pytest

from graphdoctor.dynamic.named.complete import complete
from graphdoctor.dynamic.named.shrink import LEVELS, Level, shrink


@pytest.fixture(scope="module")
def transformers() -> Any:
    """The package. It takes seconds to import, which every process of the tests would spend if the file did."""
    return pytest.importorskip("transformers")


def test_layers_widths_words_and_heads_shrink_together(transformers: Any) -> None:
    config = shrink(transformers.LlamaConfig(num_key_value_heads=8), LEVELS[0])
    assert config.num_hidden_layers == 2
    assert (config.hidden_size, config.num_attention_heads, config.num_key_value_heads) == (1024, 8, 2)
    assert config.vocab_size == 1024


def test_as_many_layers_stay_as_show_every_kind(transformers: Any) -> None:
    config = shrink(transformers.Qwen3NextConfig(), LEVELS[0])
    assert set(config.layer_types) == {"linear_attention", "full_attention"}
    assert len(config.layer_types) == config.num_hidden_layers <= 6


def test_special_tokens_fall_into_the_small_vocabulary_and_stay_apart(transformers: Any) -> None:
    config = shrink(transformers.Qwen2_5_VLConfig(), LEVELS[0])
    tokens = {config.image_token_id, config.video_token_id, config.vision_start_token_id}
    assert len(tokens) == 3
    assert max(tokens) < config.text_config.vocab_size


def test_a_level_without_sizes_keeps_the_words(transformers: Any) -> None:
    assert shrink(transformers.BertConfig(), Level(1, sizes=False)).vocab_size == transformers.BertConfig().vocab_size


def test_stages_of_a_pyramid_are_no_layers(transformers: Any) -> None:
    config: Any = shrink(transformers.SwinConfig(), LEVELS[0])
    assert len(config.depths) == len(config.num_heads) == config.num_layers == 4
    assert max(config.depths) == 2


def test_what_a_default_leaves_open_is_filled(transformers: Any) -> None:
    config: Any = complete(transformers.TimeSeriesTransformerConfig())
    assert config.prediction_length is not None
    assert config.context_length is not None


def test_heads_whose_width_is_left_open_share_the_width_of_the_model(transformers: Any) -> None:
    config: Any = complete(shrink(transformers.MinistralConfig(), LEVELS[0]))
    assert config.head_dim * config.num_attention_heads == config.hidden_size
    transformers.MinistralForSequenceClassification(config)


def test_a_vocabulary_that_is_left_to_a_tokenizer_has_some_words(transformers: Any) -> None:
    config: Any = complete(shrink(transformers.EsmConfig(), LEVELS[0]))
    assert config.vocab_size
    transformers.EsmModel(config)
