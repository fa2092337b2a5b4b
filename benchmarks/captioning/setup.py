"""The model, the data and the training step of the study, at a size for a CPU and at the original one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from transformers import GPT2Config, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

from benchmarks.captioning.optimizers import ForeachMapAdamW

Padding = Literal["max", "longest", "buckets"]

#: Label that the loss ignores (torch.nn.CrossEntropyLoss, ``ignore_index``).
_IGNORED = -100


@dataclass(frozen=True)
class Size:
    """How large everything is; ``longest`` is the length to which "max" pads, ``align`` a multiple for the others."""

    hidden: int
    layers: int
    heads: int
    image: int
    patch: int
    vocabulary: int
    batch: int
    shortest: int
    longest: int
    align: int
    warm_up: int
    steps: int


TINY = Size(32, 1, 2, 32, 8, 100, 2, 4, 32, 8, 6, 50)
#: ViT-base and GPT-2 at the sizes of their configurations; bf16 autocast, as in the study.
ORIGINAL = Size(768, 12, 12, 224, 16, 50257, 32, 8, 128, 8, 20, 100)


def captioner(size: Size) -> VisionEncoderDecoderModel:
    """ViT encoder and GPT-2 decoder with random weights; no cache, which training does not need."""
    encoder = ViTConfig(
        hidden_size=size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.hidden,
        image_size=size.image,
        patch_size=size.patch,
    )
    decoder = GPT2Config(
        vocab_size=size.vocabulary,
        n_positions=size.longest,
        n_embd=size.hidden,
        n_layer=size.layers,
        n_head=size.heads,
        bos_token_id=0,
        eos_token_id=1,
        add_cross_attention=True,
        use_cache=False,
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id = 0
    config.pad_token_id = 1
    return VisionEncoderDecoderModel(config)


def batches(size: Size, padding: Padding, device: torch.device) -> Iterator[dict[str, torch.Tensor]]:
    """Batches without end: captions of random length, the same sequence for every padding."""
    generator = torch.Generator().manual_seed(0)
    while True:
        lengths = torch.randint(size.shortest, size.longest + 1, (size.batch,), generator=generator).tolist()
        # Captions are mostly short: half of the longest batch length is rarely passed.
        captions = [
            torch.randint(2, size.vocabulary, (max(length // 2, 1),), generator=generator) for length in lengths
        ]
        images = torch.rand(size.batch, 3, size.image, size.image, generator=generator)
        yield {"pixel_values": images.to(device), "labels": collate(captions, size, padding).to(device)}


def collate(captions: list[torch.Tensor], size: Size, padding: Padding) -> torch.Tensor:
    """Labels of one length: the largest there can be, the longest of the batch rounded up, or a power of two."""
    longest = -(-max(len(caption) for caption in captions) // size.align) * size.align
    if padding == "max":
        longest = size.longest
    elif padding == "buckets":
        longest = min(1 << (longest - 1).bit_length(), size.longest)
    labels = torch.full((len(captions), longest), _IGNORED)
    for row, caption in zip(labels, captions, strict=True):
        row[: len(caption)] = caption
    return labels


def train_step(
    forward: nn.Module,
    optimizer: torch.optim.Optimizer | ForeachMapAdamW,
    batch: dict[str, torch.Tensor],
    kept_gradients: bool = False,
) -> torch.Tensor:
    """One step; ``forward`` is the model, compiled or not. On a GPU under bf16 autocast, entered around the call.

    ``kept_gradients`` stay the same tensors, which a compiled optimizer is told.
    """
    on_gpu = batch["labels"].device.type == "cuda"
    with torch.autocast("cuda", torch.bfloat16, enabled=on_gpu):
        loss: torch.Tensor = forward(**batch).loss
    loss.backward()
    if kept_gradients:
        for weight in forward.parameters():
            if weight.grad is not None:
                torch._dynamo.mark_static_address(weight.grad)
    optimizer.step()
    optimizer.zero_grad(set_to_none=not kept_gradients)
    return loss.detach()
