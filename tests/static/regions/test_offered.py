"""What a library offers besides modules."""

from __future__ import annotations

from graphdoctor.static.domain.events import Call, Truth
from graphdoctor.static.domain.values import Tensor


def test_methods_of_distributions_and_transforms_that_take_tensors_are_regions(events):
    found = events("""
        import torch
        from torch import Tensor
        from torch.distributions import Transform

        __all__ = ["Slope", "Table"]

        class Slope(Transform):
            def __init__(self, f):
                super().__init__()
                self.f = f

            def _call(self, x: Tensor):
                print("call")
                return self.f(x)

            def ladj(self, x: Tensor):
                print("slope")
                return torch.autograd.grad(self.f(x), x)[0]

            def describe(self, name):
                print(name)
                return name

        class Table:
            def lookup(self, x: Tensor, default: int):
                print("no distribution")
                return x
    """)
    assert [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"] == [
        "Slope._call",
        "Slope.ladj",
    ]


def test_what_takes_an_array_or_a_tensor_is_compiled_with_the_tensor(events):
    found = events("""
        import numpy as np
        import torch

        __all__ = ["Net", "scaled"]

        class Net(torch.nn.Module):
            def forward(self, x: np.ndarray | torch.Tensor):
                if isinstance(x, np.ndarray):
                    print("an array")
                print("a tensor")
                return x * 2

        def scaled(x: np.ndarray | torch.Tensor):
            print("on the host")
            return x * 2
    """)
    assert [e.args[0].value for e in found if isinstance(e, Call) and e.qualname == "builtins.print"] == ["a tensor"]


def test_functions_that_prepare_or_draw_data_are_no_regions(events):
    found = events("""
        import cv2
        import matplotlib.pyplot as plt
        import numpy as np
        import torch
        from torch import Tensor
        from torch.utils.data import TensorDataset

        __all__ = ["pad", "shown", "told", "listed", "measured", "cropped", "loaded", "scaled", "copied", "plotted"]

        def pad(x: Tensor, rows: np.ndarray):
            print("pad")
            return x

        def shown(x: Tensor):
            print("shown")
            return cv2.resize(x.numpy(), (2, 2))

        def told(x: Tensor):
            import pandas as pd

            print("told")
            return pd.Series(x.numpy())

        def listed(x: Tensor) -> np.ndarray:
            print("listed")
            return x.numpy()

        def measured(x: Tensor):
            if isinstance(x, Tensor):
                x = x.detach().cpu().numpy().transpose(1, 0)
            print("measured")
            return np.mean(x)

        def cropped(x: Tensor):
            print("cropped")
            return measured(x[1:])

        def loaded(x: Tensor):
            print("loaded")
            return TensorDataset(x)

        def scaled(x: Tensor):
            print("scaled")
            return x * 2

        def copied(x: Tensor):
            print("copied")
            return x * torch.from_numpy(torch.ones(4).cpu().numpy())

        def plotted(x: Tensor, axes: list[plt.Axes] | None = None):
            print("plotted")
            return _drawn(x, axes)

        def _drawn(x, axes):
            return x
    """)
    printed = [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert printed == ["scaled", "copied"]


def test_functions_beside_a_dataset_are_no_regions(events):
    code = """
        import torch
        from torch import Tensor
        from torch.utils.data import Dataset

        __all__ = ["mixed"]

        class NAME(BASE):
            def __getitem__(self, index):
                return mixed(torch.ones(4))

        def mixed(x: Tensor):
            print("mixed")
            return x * 2
    """
    for name, base, printed in (
        ("Clips", "Dataset", []),
        ("ClipDataset", "object", []),
        ("Clips", "object", ["mixed"]),
    ):
        found = events(code.replace("NAME", name).replace("BASE", base))
        assert [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"] == printed


def test_the_methods_of_a_module_that_only_compute_are_regions(events):
    found = events("""
        import torch
        import torch.nn as nn
        from torch import Tensor

        __all__ = ["Solver", "Net", "Derived"]

        class Solver(nn.Module):
            def sample(self, x: Tensor):
                print("sample")
                return x

            def describe(self, name):
                print(name)
                return name

            def fitted(self, x: Tensor):
                print("fitted")
                x.sum().backward()
                return x

        class Net(nn.Module):
            def forward(self, x):
                return x

            def sample(self, noise: Tensor):
                print("beside a forward")
                return noise

            def largest(self, noise: Tensor, count: int):
                print("it takes a number, too")
                return noise.topk(count).values.tolist()

            def reset(self, noise: Tensor):
                print("it changes the module")
                self.weight.data = noise
                return self

            def shown(self, noise: Tensor):
                print("it draws a picture")
                return self._picture(noise)

            def _picture(self, noise):
                import matplotlib.pyplot as plt

                return plt.imshow(noise)

        class Derived(Net):
            def shown(self, noise: Tensor):
                print("it draws a picture, too")
                return super().shown(noise)
    """)
    printed = [e.site.function for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
    assert set(printed) == {"Solver.sample", "Net.sample"}


def test_the_forward_of_an_autograd_function_that_nothing_calls_is_a_region(events):
    found = events("""
        import torch

        class Log(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, k):
                y = torch.zeros_like(x)
                if k > 1:
                    return y
                if x.sum() > 0:
                    y = y + 1
                ctx.save_for_backward(x)
                return y

            @staticmethod
            def backward(ctx, slope):
                return slope, None

        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x if x.sum() > 1 else x.exp()

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

        class Table:
            def forward(self, x):
                return x if x.sum() > 2 else x.exp()
    """)
    tested = [e.site.function for e in found if isinstance(e, Truth) and isinstance(e.value, Tensor)]
    assert tested == ["Log.forward", "Exp.forward"]


def test_methods_of_a_module_whose_forward_is_no_function_are_regions(events):
    found = events("""
        import torch

        __all__ = ["Sphere"]

        class Manifold(torch.nn.Module):
            forward = NotImplemented

        class Sphere(Manifold):
            def project(self, x):
                return x / x.norm() if x.sum() > 0 else x
    """)
    assert [e.site.function for e in found if isinstance(e, Truth)] == ["Sphere.project"]


def test_parts_of_a_forward_that_another_package_has_are_regions(events):
    """Nothing of a dataset is one, nor of a class whose own forward or steps decide what is called."""
    found = events("""
        import torch
        from lightning import LightningModule
        from models import Transformer
        from torch.utils.data import Dataset

        class Pooled(Transformer):
            def forward_features(self, x):
                return x.mean(1) if x.sum() > 0 else x[:, 0]

            def init_weights(self, x):
                return x if x.sum() > 1 else -x

            async def forward_later(self, x):
                return x if x.sum() > 1 else -x

            def forward_backward(self, x):
                loss = x.mean() if x.sum() > 1 else -x.mean()
                loss.backward()
                return loss

        class Layer(torch.nn.TransformerEncoderLayer):
            def forward_ff(self, x, scale=None):
                return x if x.sum() > 2 else -x

        class Images(Dataset):
            def forward_features(self, x):
                return x if x.sum() > 3 else -x

        class Whole(Transformer):
            def forward(self, x):
                return x

            def forward_features(self, x):
                return x if x.sum() > 4 else -x

        class Trained(LightningModule):
            def forward_evaluation(self, x):
                return x if x.sum() > 5 else -x
    """)
    tested = [e.site.function for e in found if isinstance(e, Truth) and isinstance(e.value, Tensor)]
    assert tested == ["Pooled.forward_features", "Layer.forward_ff"]


def test_a_static_forward_is_that_of_an_autograd_function(events):
    source = """
    import torch
    from ring_attention import RingFunction

    class Attention(RingFunction):
        @staticmethod
        def forward(ctx, group, q: torch.Tensor, dropout, causal):
            if causal:
                q = q * 2
            return q * dropout if q.sum() > 0 else q

    class Block(RingFunction):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    """
    found = [e for e in events(source) if isinstance(e, Truth) and isinstance(e.value, Tensor) and e.value.is_known]
    assert sorted((e.site.function, e.context) for e in found) == [
        ("Attention.forward", "ternary"),
        ("Block.forward", "ternary"),
    ]
    assert not [e for e in events(source) if isinstance(e, Truth) and e.context == "if" and isinstance(e.value, Tensor)]


def test_a_function_that_unpacks_its_argument_into_tensors_is_a_region(events):
    found = events("""
        from collections import namedtuple

        import torch

        __all__ = ["error", "error_of", "run", "cut", "ends"]

        Batch = namedtuple("Batch", ["logits", "action", "weight"])

        def error(data: namedtuple, clip: float = 0.2):
            logits, action, weight = data
            loss = torch.log_softmax(logits, dim=-1) * weight
            if weight.sum() > clip:
                return loss
            return loss.mean()

        def error_of(data):
            logits, weight = data
            return logits.exp() if logits.sum() > weight else logits

        def run(pair):
            model, rate = pair
            model.to("cpu")
            return model if rate > 0 else None

        def cut(sample):
            image, boxes = sample
            inside = image.reshape(-1).sum() > 0
            return boxes if inside else boxes[:1]

        def ends(sizes):
            first, last = sizes
            return last if first > 0 else range(last)
    """)
    assert {e.site.function for e in found if isinstance(e, Truth)} == {"error", "error_of"}


def test_what_gives_a_dict_of_numbers_is_called_around_compiled_code(events):
    found = events("""
        from typing import Dict

        from torch import Tensor

        __all__ = ["shares", "parts"]

        def shares(x: Tensor) -> Dict[str, float]:
            return {"largest": x.max().item()} if x.sum() > 0 else {}

        def parts(x: Tensor) -> Dict[str, Tensor]:
            return {"largest": x.max()} if x.sum() > 0 else {}
    """)
    assert {e.site.function for e in found if isinstance(e, Truth)} == {"parts"}
