"""Networks come back by their layers and tensors; layers that would fill memory are refused."""

import numpy as np
import pytest
import torch
from opened_files import (
    entry,
    opened,
    refused,
    resealed,
    value_again as again,
    with_entries,
)
from saved_examples import fitted, outputs, plane, task
from sklearn.linear_model import LinearRegression
from torch import nn

import plcp
from plcp.partitions.torch import TorchQuantile, mlp, small_cnn

pytestmark = pytest.mark.filterwarnings("ignore::plcp.storage.TrustWarning")

IMAGES = torch.rand(6, 1, 9, 9, generator=torch.Generator().manual_seed(0))


class Net(nn.Module):
    """A network of the user's own, with a weight that it uses twice."""

    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.second = nn.Linear(3, width)
        self.second.weight = self.first.weight
        self.register_buffer("shift", torch.ones(width, dtype=torch.bfloat16), persistent=False)
        self.sizes = (width, [1, 2])

    def forward(self, x):
        return self.first(x) * self.second(x) + self.shift


def layers():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding="same"), nn.BatchNorm2d(4), nn.PReLU(), nn.MaxPool2d(2),
        nn.Dropout2d(), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.LayerNorm(16), nn.Linear(16, 3, bias=False), nn.Softplus(), nn.Identity(),
    ).eval()  # fmt: skip


def test_layers_come_back_as_they_were(tmp_path):
    module = layers()
    module[9].requires_grad_(False)
    other = again(module, tmp_path)
    assert repr(other) == repr(module)
    assert not other.training
    assert torch.equal(other(IMAGES), module(IMAGES))
    assert [p.requires_grad for p in other.parameters()] == [
        p.requires_grad for p in module.parameters()
    ]
    assert other.state_dict().keys() == module.state_dict().keys()
    sum(other.train()(IMAGES).sum() for _ in range(2)).backward()  # it can be trained


@pytest.mark.parametrize(("make", "rows"), [(lambda: mlp(5, 4), plane), (small_cnn, IMAGES)])
def test_lazy_layers_stay_lazy(make, rows, tmp_path):
    rows = torch.as_tensor(np.asarray(rows), dtype=torch.float32)
    other = again(make(), tmp_path)
    assert repr(other) == repr(make())
    modules = [make(), other]
    for module in modules:
        torch.manual_seed(0)
        module(rows)
    assert repr(modules[0]) == repr(modules[1])
    assert torch.equal(modules[0](rows), modules[1](rows))


def test_a_network_of_the_users_own_comes_back_if_it_is_trusted(tmp_path):
    net = Net()
    with pytest.raises(ValueError, match=r"names test_stored_networks\.Net.*trusted=\[Net\]"):
        again(net, tmp_path)
    other = again(net, tmp_path, trusted=[Net])
    rows = torch.rand(5, 3)
    assert torch.equal(other(rows), net(rows))
    assert other.first.weight is other.second.weight
    assert other.sizes == net.sizes
    assert other.state_dict().keys() == net.state_dict().keys()


def test_features_by_a_network_come_back(tmp_path):
    model = plcp.ConformalRegressor(
        LinearRegression(), threshold=plcp.RLCP(random_state=0), features=nn.Linear(3, 2).double()
    )
    fitted(model, plane, task.y)
    plcp.save(model, tmp_path / "m.plcp")
    other = plcp.load(tmp_path / "m.plcp")
    before, after = outputs(model, plane), outputs(other, plane)
    np.testing.assert_array_equal(after["sets"], before["sets"])


def test_a_module_with_hooks_is_refused(tmp_path):
    module = nn.Sequential(nn.Linear(3, 2))
    module[0].register_forward_hook(lambda *_: None)
    with pytest.raises(TypeError, match=r"SplitConformal\.value\._modules\['0'\].*hooks"):
        again(module, tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.__setitem__(0, ".Module"), "which plcp does not list"),
        (lambda c: c.__setitem__(0, ".functional"), "which plcp does not list"),
        (lambda c: c.__setitem__(0, "PLCP"), "is no class derived from Module"),
        (lambda c: c[1].__setitem__("_forward_hooks", None), "has _forward_hooks"),
    ],
)
def test_an_unknown_module_is_refused(change, words, tmp_path):
    parts = opened(TorchQuantile(nn.Linear(3, 1)))
    changed = with_entries(parts, lambda entries: change(entry(entries, "module")))
    refused(resealed(changed, tmp_path / "m.plcp"), words)


@pytest.mark.parametrize("cut", [0, 4, 20, -1])
def test_incomplete_tensors_are_refused(cut, tmp_path):
    parts = opened(TorchQuantile(nn.Linear(3, 1)))
    parts["tensors.safetensors"] = parts["tensors.safetensors"][:cut]
    refused(resealed(parts, tmp_path / "m.plcp"), "tensors are damaged")


@pytest.mark.parametrize(
    ("layer", "name", "value"),
    [
        (nn.AdaptiveAvgPool2d(1), "output_size", 10**6),
        (nn.AdaptiveAvgPool2d(1), "output_size", np.int64(10**6)),
        (nn.AdaptiveAvgPool2d(1), "output_size", np.array([10**6, 1])),
        (nn.AdaptiveAvgPool2d(1), "output_size", {10**6: 1}),
        (nn.Conv2d(1, 1, 1), "padding", (10**6, 10**6)),
        (nn.LazyLinear(1), "out_features", 10**9),
        (nn.LazyLinear(1), "out_features", np.int64(10**9)),
        (nn.LazyConv1d(1, 1), "kernel_size", (10**8,)),
        (nn.LazyConv1d(1, 1), "kernel_size", [10**8]),
        (nn.LazyConv2d(2**16, 1), "kernel_size", (2**9, 2**9)),
    ],
)
def test_a_layer_that_would_fill_memory_is_refused(layer, name, value, tmp_path):
    setattr(layer, name, value)
    with pytest.raises(ValueError, match=f"has a {name} (beyond|of more|that is no number)"):
        again(layer, tmp_path)
