"""ResNet50 with torchvision's names, so that its checkpoints and WILDS' load; as WILDS asks it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

BLOCKS, WIDTH, EXPANSION = (3, 4, 6, 3), 64, 4
STAGES = ("layer1", "layer2", "layer3", "layer4")
ASKED_AT_ONCE = 64


class Bottleneck(nn.Module):
    """Three convolutions, 1 x 1, 3 x 3 and 1 x 1, beside a shortcut; the middle one strides."""

    def __init__(self, given: int, width: int, stride: int) -> None:
        super().__init__()
        wide = width * EXPANSION
        self.conv1 = nn.Conv2d(given, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, wide, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(wide)
        self.relu = nn.ReLU()
        self.downsample = nn.Sequential()
        if stride > 1 or given != wide:
            shortcut = nn.Conv2d(given, wide, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(wide))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, before the next one's."""
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        out: Tensor = self.relu(y + self.downsample(x))
        return out


class ResNet(nn.Module):
    """Four stages of bottlenecks, each twice as wide and half as fine as the one before.

    Parameters
    ----------
    n_classes : int
    blocks : sequence of four int, default=(3, 4, 6, 3)
        Bottlenecks in each stage: ResNet50's.
    width : int, default=64
        Channels of the first convolution.

    References
    ----------
    He, Zhang, Ren, Sun (2016). Deep residual learning for image recognition. CVPR.
    """

    def __init__(self, n_classes: int, blocks: Sequence[int] = BLOCKS, width: int = WIDTH) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        given = width
        for stage, (name, count) in enumerate(zip(STAGES, blocks, strict=True)):
            inner, stride = width * 2**stage, 1 if stage == 0 else 2
            wide = inner * EXPANSION
            first = Bottleneck(given, inner, stride)
            others = [Bottleneck(wide, inner, 1) for _ in range(count - 1)]
            self.add_module(name, nn.Sequential(first, *others))
            given = wide
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(given, n_classes)

    def features(self, x: Tensor) -> Tensor:
        """Channels of the last stage, averaged over the image: 2048 of them in ResNet50."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for name in STAGES:
            x = self.get_submodule(name)(x)
        return torch.flatten(self.avgpool(x), 1)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the classes."""
        logits: Tensor = self.fc(self.features(x))
        return logits


def load_resnet(path: Path) -> ResNet:
    """Return the network of a checkpoint, as deep, wide and with as many classes as its weights.

    The file holds a state dict as torchvision saves it, or as WILDS does: under ``"algorithm"``,
    each name after ``"model."``. Nothing but tensors and numbers is unpickled.
    """
    state = torch.load(path, map_location="cpu", weights_only=True)
    state = {name.removeprefix("model."): value for name, value in _weights(state).items()}
    try:
        network = ResNet(len(state["fc.bias"]), _blocks(state), len(state["bn1.weight"]))
        network.load_state_dict(state)
    except (KeyError, RuntimeError) as error:
        raise ValueError(
            f"{path} does not hold the weights of a ResNet50: take WILDS' checkpoint of RxRx1, or "
            f"a state dict of torchvision's resnet50 ({error})"
        ) from error
    return network.eval()


def _weights(state: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = state.get("algorithm", state)
    return inner


def _blocks(state: dict[str, Any]) -> list[int]:
    """Number of bottlenecks in each stage, by their names ``layer<stage>.<block>.…``."""
    found = {tuple(name.split(".")[:2]) for name in state if name.startswith("layer")}
    return [sum(stage == name for stage, _ in found) for name in STAGES]


def standardise(images: Tensor) -> Tensor:
    """Each channel of each image less its mean, over its spread, as WILDS does for RxRx1."""
    spread, mean = torch.std_mean(images, dim=(2, 3), keepdim=True)
    return (images - mean) / torch.where(spread == 0, 1.0, spread)


@torch.no_grad()
def ask_resnet(
    network: ResNet, images: Any, at_once: int = ASKED_AT_ONCE
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Logits and features of images in [0, 1], of shape (3, height, width), read as needed."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    there = network.to(device)
    logits, features = [], []
    for start in range(0, len(images), at_once):
        rows = range(start, min(start + at_once, len(images)))
        block = np.stack([images[row] for row in rows])
        found = there.features(standardise(torch.from_numpy(block).to(device)))
        features.append(found.cpu().numpy())
        logits.append(there.fc(found).cpu().numpy())
    return np.concatenate(logits), np.concatenate(features)
