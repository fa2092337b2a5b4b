import torch
from torch import nn

from graphdoctor.dynamic.recompiles.guarded_values import as_tensors, find


class Net(nn.Module):
    scale = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.step = 3
        self.settings = {"rate": 0.5, "name": "n"}
        self.layers = nn.ModuleList([nn.Linear(1, 1)])


def test_only_numbers_are_found() -> None:
    roots = {"self": Net(), "G": {"COUNT": 7, "ON": True}}
    found = {
        e: find(e, roots) for e in ("self.step", "self.settings['rate']", "self.layers[0].in_features", "G['COUNT']")
    }
    assert [slot.value for slot in found.values() if slot] == [3, 0.5, 1, 7]
    for expression in ("self.settings['name']", "G['ON']", "self.missing", "other.step", "self.step + 1", "not python"):
        assert find(expression, roots) is None


def test_a_number_of_a_module_becomes_a_buffer() -> None:
    net = Net()
    slot = find("self.step", {"self": net})
    assert slot is not None
    with as_tensors((slot,), torch.device("cpu")):
        assert torch.equal(dict(net.named_buffers())["step"], torch.tensor(3))


def test_a_number_of_the_class_is_hidden_by_a_tensor() -> None:
    net = Net()
    slot = find("self.scale", {"self": net})
    assert slot is not None
    with as_tensors((slot,), torch.device("cpu")):
        assert isinstance(net.scale, torch.Tensor)
    assert Net.scale == 2.0


def test_a_global_gets_its_number_back() -> None:
    space = {"COUNT": 7}
    slot = find("G['COUNT']", {"G": space})
    assert slot is not None
    with as_tensors((slot,), torch.device("cpu")):
        assert isinstance(space["COUNT"], torch.Tensor)
    assert space == {"COUNT": 7}
