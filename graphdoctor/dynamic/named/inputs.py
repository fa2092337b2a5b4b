"""Inputs for a transformers model, from the parameters of its forward and the attributes of its configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphdoctor.dynamic.named.media import BATCH, LENGTH, Inputs, attribute, media_of
from graphdoctor.dynamic.named.shrink import parts


def candidates(model: Any) -> Iterator[Inputs]:
    """Keyword arguments to try, those that reach most of the model first."""
    names = list(inspect.signature(model.forward).parameters)
    needed = {
        n for n, p in inspect.signature(model.forward).parameters.items()
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }  # fmt: skip
    texts = _texts(model, names)
    words = [text for text in texts if "inputs_embeds" not in text]
    for media in media_of(model, names):
        yield from (inputs for inputs in _with_text(model, names, words, media) if needed <= set(inputs))
    for text in texts:
        if text and needed <= set(text):
            yield text
            if "use_cache" in names:
                yield {**text, "use_cache": False}
    for text in words:
        if "input_ids" in text and needed <= set(text):
            yield from _of_tasks(model, text)


def _of_tasks(model: Any, text: Inputs) -> Iterator[Inputs]:
    """``text`` as heads of some tasks want it: with the end token, with padding that is known, as several choices."""
    ids = text["input_ids"]
    end = attribute(model.config, "eos_token_id")
    if isinstance(end, int):
        yield {**text, "input_ids": torch.cat([ids[:, :-1], torch.full_like(ids[:, -1:], end)], 1)}
    unused = next(word for word in range(ids.numel() + 1) if word not in ids)
    for part in parts(model.config):
        if getattr(part, "pad_token_id", unused) is None:
            part.pad_token_id = unused
    yield text
    yield {name: value.unsqueeze(1).repeat_interleave(2, dim=1) for name, value in text.items()}


def _with_text(model: Any, names: list[str], texts: list[Inputs], media: Inputs) -> Iterator[Inputs]:
    """``media`` with text whose placeholder tokens match it, with plain text, and alone."""
    for text in texts:
        if "input_ids" in text:
            placed = _placeholders(model, names, text, media)
            if placed is not None:
                yield placed
        if text:
            yield {**text, **media}
    yield media


def _texts(model: Any, names: list[str]) -> list[Inputs]:
    """Text inputs: words, where there are several codebooks one word for each, or embeddings."""
    found: list[Inputs] = []
    books = attribute(model.config, "num_codebooks", "n_codes_total")
    if "input_ids" in names:
        found.append({"input_ids": _tokens(model, _length(model))})
        if isinstance(books, int) and books > 1:
            found.append({"input_ids": _tokens(model, LENGTH).unsqueeze(-1).repeat(1, 1, books)})
    width = attribute(model.config, "hidden_size", "d_model", "n_embd")
    if "inputs_embeds" in names and isinstance(width, int):
        found.append({"inputs_embeds": torch.randn(BATCH, LENGTH, width)})
    return [_completed(model, names, inputs) for inputs in found or [{}]]


def _completed(model: Any, names: list[str], inputs: Inputs) -> Inputs:
    """``inputs`` with what belongs to text: a mask, boxes, the tokens of the decoder, a codebook."""
    length = _length(model)
    if "decoder_input_ids" in names:
        inputs["decoder_input_ids"] = _tokens(model, length)
    elif "attention_mask" in names and inputs and not getattr(model.config, "is_encoder_decoder", False):
        inputs["attention_mask"] = torch.ones(next(iter(inputs.values())).shape[:2], dtype=torch.long)
    if "bbox" in names:
        inputs["bbox"] = torch.tensor([1, 2, 30, 40]).repeat(BATCH, length, 1)
    if "codebook_idx" in names:
        inputs["codebook_idx"] = 1
    if "qformer_input_ids" in names:
        inputs["qformer_input_ids"] = _tokens(model, length)
    return inputs


def _length(model: Any) -> int:
    most = getattr(model.config, "max_position_embeddings", LENGTH)
    # -1 stands for any length.
    return min(most, LENGTH) if isinstance(most, int) and most > 0 else LENGTH


def _tokens(model: Any, length: int) -> torch.Tensor:
    """Words that are no special token."""
    vocabulary = attribute(model.config, "vocab_size") or 64
    special = {v for part in parts(model.config) for k, v in vars(part).items() if "token" in k and type(v) is int}
    plain = [word for word in range(min(int(vocabulary), 512)) if word not in special]
    return torch.tensor(plain)[torch.randint(0, len(plain), (BATCH, length))]


def _placeholders(model: Any, names: list[str], text: Inputs, media: Inputs) -> Inputs | None:
    """Text that holds one placeholder token for each feature of ``media``; None where the model has no placeholder."""
    for kind, feature in (("image", "get_image_features"), ("audio", "get_audio_features")):
        token = attribute(model.config, f"{kind}_token_id", f"{kind}_token_index", f"{kind}_placeholder_token_id")
        extract = getattr(model, feature, None) or getattr(getattr(model, "model", None), feature, None)
        if not isinstance(token, int) or extract is None:
            continue
        count = _features(extract, media)
        if count is None:
            continue
        ids = torch.cat([text["input_ids"][:, :4], torch.full((BATCH, count), token), text["input_ids"][:, 4:8]], 1)
        inputs = {**text, **media, "input_ids": ids}
        if "attention_mask" in inputs:
            inputs["attention_mask"] = torch.ones_like(ids)
        for name in ("mm_token_type_ids", "token_type_ids"):
            if name in names:
                inputs[name] = (ids == token).long()
                break
        return inputs
    return None


def _features(extract: Callable[..., Any], media: Inputs) -> int | None:
    """How many placeholders one sample needs: the rows that ``extract`` gives; None when it cannot be found out."""
    accepted = inspect.signature(extract).parameters
    try:
        with torch.no_grad():
            found = extract(**{name: value for name, value in media.items() if name in accepted})
    except Exception:  # the model decides what it accepts; the next candidate may be right
        return None
    for name in ("pooler_output", "last_hidden_state"):
        found = getattr(found, name, found) if getattr(found, name, None) is not None else found
    tensors = [found] if isinstance(found, torch.Tensor) else [t for t in found if isinstance(t, torch.Tensor)]
    rows = sum(t.numel() // t.shape[-1] for t in tensors if t.dim() > 1)
    return rows // BATCH if rows >= BATCH else None
