"""What running a model takes: torch, and a system that can fork."""

from __future__ import annotations

import os

from graphdoctor.target_torch.installed import torch_available


def cannot_run() -> str:
    """Why no model can be run here, and what to do about it; empty where one can."""
    if torch_available() is None:
        return "torch is not installed; install graphdoctor[torch] to run the model"
    return cannot_fork()


def cannot_fork() -> str:
    """Why this system cannot run a model, and what to do about it; empty where it can."""
    return "" if hasattr(os, "fork") else "a model is run on Linux and macOS only; on Windows, use WSL"
