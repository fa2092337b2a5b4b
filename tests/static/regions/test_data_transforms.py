"""Augmentations and other transforms of a data pipeline are no regions; layers beside them are."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Truth


def functions(found):
    return sorted({e.site.function for e in found if isinstance(e, Truth)})


FLIP = """
class Flip(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, image):
        if torch.rand(1) < self.p:
            return image.flip(-1)
        return image
"""


@pytest.mark.parametrize(
    ("beside", "entered"),
    [
        ("", ["Flip.forward"]),
        ("from torch.utils.data import Dataset\n\nclass Photos(Dataset):\n    pass\n", []),
        ("import lightning as L\n\nclass Photos(L.LightningDataModule):\n    pass\n", []),
        ("from torchvision.transforms import functional as TF\n", []),
        ("from torchvision import models\n", ["Flip.forward"]),
    ],
)
def test_a_module_that_draws_is_an_augmentation_beside_data(events, beside, entered):
    assert functions(events(f"import torch\nimport torch.nn as nn\n{beside}\n{FLIP}")) == entered


@pytest.mark.parametrize(
    ("base", "made", "result", "entered"),
    [
        ("T.Transform", "None", "x", []),
        ("nn.Module", "T.GaussianBlur(3)", "T.functional.hflip(x)", []),
        ("nn.Module", "nn.Linear(2, 2)", "T.functional.hflip(x)", ["Net.forward"]),
        ("nn.Module", "torch.ones(2)", "T.functional.hflip(x)", ["Net.forward"]),
        ("nn.Module", "models.resnet50()", "T.functional.hflip(x)", ["Net.forward"]),
        ("nn.Module", "None", "x * 2", ["Net.forward"]),
        ("nn.Module", "Resize()", "self.part(x)", []),
    ],
)
def test_what_uses_torchvision_and_holds_no_layer_is_a_transform(events, base, made, result, entered):
    source = f"""
    import torch
    import torch.nn as nn
    import torchvision.transforms as T
    from torchvision import models

    class Resize:
        def __call__(self, x):
            return T.functional.resize(x, 4)

    class Net({base}):
        def __init__(self):
            super().__init__()
            self.part = {made}

        def forward(self, x: torch.Tensor):
            return {result} if x.sum() > 0 else x
    """
    assert functions(events(source)) == entered


def test_what_a_model_holds_is_a_part_of_it(events):
    source = f"""
import torch
import torch.nn as nn
from torchvision.transforms import functional as TF
{FLIP}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.flip = Flip(0.5)
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(self.flip(x))
"""
    assert functions(events(source)) == ["Flip.forward"]


@pytest.mark.parametrize(
    ("declared", "entered"),
    [
        ("pages: list[np.ndarray], size: int = 2", ["Detector.forward"]),
        ("pages: 'np.ndarray | torch.Tensor'", ["Detector.forward", "Predictor.forward"]),
        ("pages: np.ndarray | torch.Tensor", ["Detector.forward", "Predictor.forward"]),
        ("pages: np.ndarray, scale: torch.FloatTensor", ["Detector.forward", "Predictor.forward"]),
    ],
)
def test_a_forward_that_takes_arrays_alone_prepares_data_for_a_model(events, declared, entered):
    source = f"""
    import numpy as np
    import torch
    import torch.nn as nn

    class Detector(nn.Module):
        def forward(self, x: torch.Tensor):
            return x if x.sum() > 0 else -x

    class Predictor(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = Detector()

        def forward(self, {declared}):
            x = torch.as_tensor(pages[0])
            return self.model(x) if x.sum() > 0 else x
    """
    assert functions(events(source)) == entered


def test_functions_around_a_model_are_no_regions(events):
    found = events("""
        import torch
        from torch import Tensor

        __all__ = ["found", "pinned", "filled", "filled_", "shifted", "batches", "pairs", "decoded", "solved"]

        def found(persons, image: Tensor):
            print("found")
            return [person for person in persons.astype(int) if person[0] < image.shape[0]]

        def pinned(x: Tensor):
            print("pinned")
            return x.pin_memory()

        def filled(x: Tensor):
            print("filled")
            return filled_(x)

        def filled_(x: Tensor):
            print("filled_")
            with torch.no_grad():
                return x.normal_()

        def shifted(x: Tensor):
            print("shifted")
            return x + torch.empty_like(x).normal_()

        def batches(x: Tensor) -> tuple[list[list[int]], list[int], str]:
            print("batches")
            return x.tolist(), [1], ""

        def pairs(x: Tensor) -> list[tuple[int, Tensor]]:
            print("pairs")
            return [(1, x)]

        def decoded(model, x: Tensor):
            print("decoded")
            return model(x)

        def solved(field: torch.nn.Module, x: Tensor, model=None):
            print("solved")
            return x + field(x)
    """)
    printed = [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert printed == ["shifted", "pairs", "solved"]


@pytest.mark.parametrize(
    ("held", "reads", "entered"),
    [
        ("model", "Image.open(name)", []),
        ("None", "Image.open(name)", []),
        ("nn.Linear(2, 2)", "Image.open(name)", ["Net.forward"]),
        ("model", "model(name)", ["Net.forward"]),
        ("None", "Image.fromarray(name).rotate(30)", ["Net.forward"]),
        ("None", "io.BytesIO()", []),
        ("None", "get(name)", []),
    ],
)
def test_what_opens_files_and_makes_no_layer_is_around_a_model(events, held, reads, entered):
    source = f"""
    import io

    import torch.nn as nn
    from PIL import Image
    from requests import get

    class Net(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.held = {held}

        def forward(self, x, name):
            picture = {reads}
            if x.sum() > 0:
                return x
            return self.held(picture)
    """
    assert functions(events(source)) == entered


@pytest.mark.parametrize(("params", "entered"), [("model", []), ("model, x", ["Average.forward"])])
def test_what_takes_a_model_alone_is_around_it(events, params, entered):
    source = f"""
    import torch
    import torch.nn as nn

    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("updates", torch.tensor(0))

        def forward(self, {params}):
            if self.updates >= 0:
                self.updates += 1
            return model
    """
    assert functions(events(source)) == entered
