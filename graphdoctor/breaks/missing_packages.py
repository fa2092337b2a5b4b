"""What to install for the modules that an import did not find."""

from __future__ import annotations

import re

#: The end of what is said of a module that is missing: Python's words, and the others that the file lacks.
_MISSING = re.compile(r"^ModuleNotFoundError.*: No module named ((?:'[^']+'(?:, )?)+)")
#: The packages that have the modules which models use most. What an index offers under the name of any other module is
#: not known, so no command is given for it.
_PACKAGES = {
    "PIL": "pillow", "cv2": "opencv-python-headless", "hydra": "hydra-core", "pytorch_lightning": "pytorch-lightning",
    "skimage": "scikit-image", "sklearn": "scikit-learn", "torch_geometric": "torch-geometric", "yaml": "pyyaml",
}  # fmt: skip
#: Those whose packages have the same name.
_SAME = frozenset((
    "accelerate", "albumentations", "datasets", "diffusers", "einops", "gym", "gymnasium", "h5py", "kornia", "librosa",
    "lightning", "matplotlib", "numpy", "omegaconf", "pandas", "peft", "safetensors", "scipy", "sentencepiece",
    "soundfile", "tensorboard", "tiktoken", "timm", "tokenizers", "torchaudio", "torchmetrics", "torchvision", "tqdm",
    "transformers", "wandb",
))  # fmt: skip
_WHERE = "where graphdoctor is installed"


def remedy_of_missing(error: str) -> str:
    """What to install after ``error``, the line that a run ended with; empty for other errors."""
    found = _MISSING.search(error)
    if found is None:
        return ""
    names = re.findall(r"'([^']+)'", found[1])
    packages = {name: name if name in _SAME else _PACKAGES.get(name) for name in names}
    known = [package for package in packages.values() if package is not None]
    rest = [f"`{name}`" for name, package in packages.items() if package is None]
    others = f"what provides {' and '.join(filter(None, (', '.join(rest[:-1]), rest[-1])))}" if rest else ""
    if not known:
        return f"install {others} {_WHERE}"
    return f"`pip install {' '.join(known)}` {_WHERE}{others and ', and install ' + others}"
