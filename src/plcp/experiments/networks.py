"""Networks of the experiments: small classifiers trained by Adam, and ResNet50 of a checkpoint."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset

from plcp.datasets import CellImages

BATCH_SIZE, EVALUATED_AT_ONCE = 128, 1_000


@contextmanager
def one_thread(seed: int) -> Iterator[None]:
    """Draw torch's numbers from ``seed`` and compute on one thread; then all is as it was.

    Sums over several threads differ in their last bits, and training makes them differ in the
    first: on one thread a seed gives the same network on any number of cores.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def train_classifier(network: nn.Module, X: Tensor, y: Tensor, epochs: int) -> nn.Module:
    """Train a network by Adam on the cross-entropy; it is changed, and returned in eval mode."""
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    network.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(BATCH_SIZE):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(X[rows]), y[rows]).backward()
            optimizer.step()
    return network.eval()


@torch.no_grad()
def logits_of(network: nn.Module, X: Tensor) -> NDArray[np.float64]:
    """Logits in double precision: in single, softmax probabilities near one tie."""
    outputs = [network(batch) for batch in X.split(EVALUATED_AT_ONCE)]
    return torch.cat(outputs).numpy().astype(np.float64)


N_DIGITS, SIDE = 10, 28


def digit_network(channels: Sequence[int]) -> nn.Module:
    """Three convolutions of so many channels, the first two pooled, and ten logits.

    Examples
    --------
    >>> digit_network([4, 8, 8])(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 10])
    """
    first, second, third = channels
    return nn.Sequential(
        nn.Conv2d(1, first, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(second, third, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(third * (SIDE // 4) ** 2, N_DIGITS),
    )


def read_digits(
    X_train: NDArray[np.float32],
    y_train: NDArray[np.int64],
    X: NDArray[np.float32],
    channels: Sequence[int],
    epochs: int,
) -> NDArray[np.float64]:
    """Logits of the images X, by a network that learned from the others."""
    network = digit_network(channels)
    train_classifier(network, torch.from_numpy(X_train), torch.from_numpy(y_train), epochs)
    return logits_of(network, torch.from_numpy(X))


UNITS = 64


def gas_logits(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    early: NDArray[np.bool_],
    n_classes: int,
    epochs: int,
    seed: int,
) -> NDArray[np.float64]:
    """Learn from the early rows, and give the logits of the others."""
    rows = torch.from_numpy(X.astype(np.float32))
    with one_thread(seed):
        network = nn.Sequential(
            nn.Linear(X.shape[1], UNITS), nn.ReLU(), nn.Linear(UNITS, n_classes)
        )
        train_classifier(network, rows[early], torch.from_numpy(y[early]), epochs)
        return logits_of(network, rows[~early])


BLOCKS, WIDTH, EXPANSION = (3, 4, 6, 3), 64, 4
STAGES = ("layer1", "layer2", "layer3", "layer4")
IMAGES_AT_ONCE = 64


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
    weights = state.get("algorithm", state)
    state = {name.removeprefix("model."): value for name, value in weights.items()}
    try:
        network = ResNet(len(state["fc.bias"]), _blocks(state), len(state["bn1.weight"]))
        network.load_state_dict(state)
    except (KeyError, RuntimeError) as error:
        raise ValueError(
            f"{path} does not hold the weights of a ResNet50: take WILDS' checkpoint of RxRx1, or "
            f"a state dict of torchvision's resnet50 ({error})"
        ) from error
    return network.eval()


def _blocks(state: dict[str, Any]) -> list[int]:
    """Number of bottlenecks in each stage, by their names ``layer<stage>.<block>.…``."""
    found = {tuple(name.split(".")[:2]) for name in state if name.startswith("layer")}
    return [sum(stage == name for stage, _ in found) for name in STAGES]


def standardise(images: Tensor) -> Tensor:
    """Each channel of each image less its mean, over its spread, as WILDS does for RxRx1."""
    spread, mean = torch.std_mean(images, dim=(2, 3), keepdim=True)
    return (images - mean) / torch.where(spread == 0, 1.0, spread)


@torch.no_grad()
def resnet_outputs(
    network: ResNet, images: Any, at_once: int = IMAGES_AT_ONCE
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


Arrays = tuple[NDArray[np.float32], NDArray[np.float32]]


class Pictures(Dataset[NDArray[np.float32]]):
    """Some of the images, read from their files when they are needed."""

    def __init__(self, images: CellImages, rows: NDArray[np.intp]) -> None:
        self.images, self.rows = images, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> NDArray[np.float32]:
        image: NDArray[np.float32] = self.images[int(self.rows[place])]
        return image


def network_outputs(pictures: Pictures, weights: Path, files: Mapping[str, str]) -> Arrays:
    """Logits and features of all images, kept beside the weights: trials need them again.

    The file's name has the hash of ``files``, the table and the weights that they come from, and
    of which rows of the table they are.
    """
    from filelock import FileLock

    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode())
    digest.update(pictures.rows.astype("<i8").tobytes())
    path = weights.with_name(f"{weights.stem}_outputs_{digest.hexdigest()[:16]}.npz")
    with FileLock(f"{path}.lock"):  # trials that run side by side wait for the first
        if not path.exists():
            logits, features = resnet_outputs(load_resnet(weights), pictures)
            unfinished = path.with_suffix(".part")  # a file with its name is whole
            with unfinished.open("wb") as file:
                np.savez(file, logits=logits, features=features)
            os.replace(unfinished, path)
        with np.load(path, allow_pickle=False) as kept:
            return kept["logits"], kept["features"]
