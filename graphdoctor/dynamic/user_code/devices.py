"""The device that ``--device`` names."""

from __future__ import annotations

import torch

from graphdoctor.dynamic.user_code.target import NoTarget


def device(wanted: str) -> torch.device:
    """``cpu``, ``cuda``, ``cuda:1``; ``auto`` is a GPU where torch finds one. Raises NoTarget where it is not there.

    Of several GPUs the one that is named is also what ``cuda`` means in the code that runs.
    """
    count = torch.cuda.device_count() if wanted != "cpu" and torch.cuda.is_available() else 0
    if wanted == "auto":
        return torch.device("cuda" if count else "cpu")
    found = torch.device(wanted)
    if found.type == "cuda" and count <= (found.index or 0):
        there = {0: "torch finds none", 1: "torch finds one GPU, cuda:0"}
        more = f"torch finds {count} GPUs, cuda:0 to cuda:{count - 1}"
        raise NoTarget(f"the device {wanted} was asked for, and {there.get(count, more)}")
    if found.index is not None:
        torch.cuda.set_device(found)
    return found
