"""Images of cells as a torch data set, and what a network says of them, computed once."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset

from plcp.datasets import CellImages
from plcp.experiments.networks.resnet import ask_resnet, load_resnet

Arrays = tuple[NDArray[np.float32], NDArray[np.float32]]


class Pictures(Dataset[NDArray[np.float32]]):
    """Some of the images, read from their files when they are asked for."""

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
            _keep(path, *ask_resnet(load_resnet(weights), pictures))
        with np.load(path, allow_pickle=False) as kept:
            return kept["logits"], kept["features"]


def _keep(path: Path, logits: Any, features: Any) -> None:
    """Write a file that is whole as soon as it has its name."""
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(file, logits=logits, features=features)
    os.replace(unfinished, path)
