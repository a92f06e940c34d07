"""Networks: training, one thread, ResNet50 and its checkpoints."""

import pickle
from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import batch_norm, conv2d, max_pool2d, relu

from plcp.experiments.networks import (
    EVALUATED_AT_ONCE,
    ResNet,
    load_resnet,
    logits_of,
    one_thread,
    read_digits,
    resnet_outputs,
    standardise,
    train_classifier,
)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_one_thread_leaves_threads_and_random_numbers_as_they_were(two_threads):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    with suppress(KeyError), one_thread(0):
        assert torch.get_num_threads() == 1
        torch.rand(5)
        raise KeyError  # an error does not keep the settings
    assert torch.get_num_threads() == 2
    assert torch.equal(torch.rand(3), expected)


def test_one_thread_draws_what_its_seed_states():
    drawn = []
    for seed in (0, 0, 1):
        with one_thread(seed):
            drawn.append(torch.rand(4))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_logits_are_those_of_one_pass_in_double_precision():
    X = torch.arange(2.0 * (2 * EVALUATED_AT_ONCE + 1)).reshape(-1, 2)
    found = logits_of(nn.Identity(), X)
    assert found.dtype == np.float64
    assert np.array_equal(found, X.numpy())


def test_training_is_adam_on_the_cross_entropy():
    rng = np.random.default_rng(0)
    X, y = torch.from_numpy(rng.normal(size=(50, 2))), torch.from_numpy(rng.integers(0, 3, 50))
    network = nn.Linear(2, 3).double()
    weight, bias = (value.detach().clone().requires_grad_() for value in network.parameters())
    first = [torch.zeros_like(value) for value in (weight, bias)]
    second = [torch.zeros_like(value) for value in (weight, bias)]
    for step in range(1, 6):  # fewer rows than a batch holds: a step an epoch
        loss = nn.functional.cross_entropy(X @ weight.T + bias, y)
        for k, (value, g) in enumerate(
            zip((weight, bias), torch.autograd.grad(loss, (weight, bias)), strict=True)
        ):
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.999 * second[k] + 0.001 * g**2
            root = (second[k] / (1 - 0.999**step)).sqrt() + 1e-8
            value.data -= 1e-3 * first[k] / (1 - 0.9**step) / root
    assert not train_classifier(network, X, y, epochs=5).training
    torch.testing.assert_close(network.weight, weight)
    torch.testing.assert_close(network.bias, bias)


def test_a_batch_is_seen_as_often_as_there_are_epochs():
    class Counting(nn.Linear):
        rows = 0

        def forward(self, x):
            Counting.rows += len(x)
            return super().forward(x)

    X, y = torch.zeros(300, 2), torch.zeros(300, dtype=torch.int64)
    train_classifier(Counting(2, 2), X, y, epochs=3)
    assert Counting.rows == 3 * 300


def test_a_seed_reads_digits_alike_on_one_and_on_two_threads(two_threads):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(200, 1, 28, 28)).astype(np.float32), rng.integers(0, 10, 200)
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with one_thread(3):
            found.append(read_digits(X, y, X[:50], [2, 2, 2], epochs=1))
    assert found[0].shape == (50, 10)
    assert np.array_equal(found[0], found[1])


TOLERANCE = float(np.sqrt(np.finfo(np.float32).eps))


def small_resnet(seed=0, n_classes=5):
    """Every part of ResNet50, with statistics and weights that are not those of a fresh network."""
    torch.manual_seed(seed)
    network = ResNet(n_classes, blocks=(1, 2, 1, 1), width=4)
    for name, buffer in network.named_buffers():
        if buffer.is_floating_point():
            buffer.copy_(torch.rand_like(buffer) + (0.5 if name.endswith("var") else -0.5))
    return network.eval()


def test_its_size_is_that_of_torchvisions_resnet50():
    with torch.device("meta"):  # shapes alone, nothing is drawn
        network = ResNet(1000)
    state = network.state_dict()
    assert sum(p.numel() for p in network.parameters()) == 25_557_032
    assert len(state) == 320
    shapes = {
        "conv1.weight": (64, 3, 7, 7),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer1.2.conv3.weight": (256, 64, 1, 1),
        "layer2.3.bn2.running_var": (128,),
        "layer3.5.conv2.weight": (256, 256, 3, 3),
        "layer4.0.downsample.1.running_mean": (2048,),
        "layer4.2.bn3.bias": (2048,),
        "fc.weight": (1000, 2048),
    }
    assert {name: tuple(state[name].shape) for name in shapes} == shapes


def by_hand(state, images):
    """The network from its weights alone: strides in the 3 x 3, shortcuts where there is one."""

    def normal(x, name):
        mean, var, weight, bias = (
            state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return batch_norm(x, mean, var, weight, bias)

    x = relu(normal(conv2d(images, state["conv1.weight"], stride=2, padding=3), "bn1"))
    x = max_pool2d(x, 3, 2, 1)
    blocks = dict.fromkeys(
        ".".join(name.split(".")[:2]) for name in state if name.startswith("layer")
    )
    for block in blocks:
        stride = 2 if block.endswith(".0") and not block.startswith("layer1") else 1
        y = relu(normal(conv2d(x, state[f"{block}.conv1.weight"]), f"{block}.bn1"))
        y = conv2d(y, state[f"{block}.conv2.weight"], stride=stride, padding=1)
        y = conv2d(relu(normal(y, f"{block}.bn2")), state[f"{block}.conv3.weight"])
        if f"{block}.downsample.0.weight" in state:
            x = conv2d(x, state[f"{block}.downsample.0.weight"], stride=stride)
            x = normal(x, f"{block}.downsample.1")
        x = relu(normal(y, f"{block}.bn3") + x)
    features = x.mean(dim=(2, 3))
    return features @ state["fc.weight"].T + state["fc.bias"], features


def test_it_computes_what_its_weights_states():
    network = small_resnet()
    images = np.random.default_rng(0).random((5, 3, 40, 40), dtype=np.float32)
    logits, features = resnet_outputs(network, images, at_once=2)
    expected = by_hand(network.state_dict(), standardise(torch.from_numpy(images)))
    for found, wanted in zip((logits, features), expected, strict=True):
        scale = float(wanted.abs().max())
        np.testing.assert_allclose(found, wanted.numpy(), rtol=0, atol=TOLERANCE * scale)


def test_images_are_standardised_one_by_one_and_flat_channels_left_at_zero():
    images = torch.rand(4, 3, 16, 16) * torch.arange(1, 5).view(-1, 1, 1, 1)
    images[1, 2] = 0.25
    found = standardise(images)
    assert (found[1, 2] == 0).all()
    others = [(i, c) for i in range(4) for c in range(3) if (i, c) != (1, 2)]
    for i, c in others:
        pixels = images[i, c].double().numpy()
        expected = (pixels - pixels.mean()) / pixels.std(ddof=1)
        np.testing.assert_allclose(found[i, c].numpy(), expected, atol=TOLERANCE)


@pytest.mark.parametrize("layout", ["torchvision", "wilds"])
def test_a_checkpoint_gives_its_network_back(tmp_path, layout):
    network = small_resnet()
    state = network.state_dict()
    if layout == "wilds":
        inner = {f"model.{name}": value for name, value in state.items()}
        state = {"algorithm": inner, "epoch": 89, "best_val_metric": 0.19}
    torch.save(state, tmp_path / "weights.pth")
    found = load_resnet(tmp_path / "weights.pth")
    assert not found.training
    assert found.state_dict().keys() == network.state_dict().keys()
    for name, value in network.state_dict().items():
        assert torch.equal(found.state_dict()[name], value)


def test_other_weights_are_refused_by_name(tmp_path):
    state = small_resnet().state_dict()
    del state["layer2.1.conv2.weight"]
    path = tmp_path / "other.pth"
    for wrong in (state, {"linear.weight": torch.zeros(2, 2)}):
        torch.save(wrong, path)
        with pytest.raises(ValueError, match=r"other\.pth does not hold the weights of a ResNet50"):
            load_resnet(path)


class Trap:
    def __reduce__(self):
        return (print, ("unpickled",))


def test_code_in_a_checkpoint_is_not_run(tmp_path, capsys):
    torch.save({"algorithm": Trap()}, tmp_path / "trap.pth")
    with pytest.raises(pickle.UnpicklingError):
        load_resnet(tmp_path / "trap.pth")
    assert "unpickled" not in capsys.readouterr().out
