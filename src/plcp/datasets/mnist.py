"""MNIST: sharp digits to learn from, and digits blurred to several degrees."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from sklearn.utils import check_random_state

from plcp.datasets._files import Kind, locate, reading

SIDE, N_DIGITS = 28, 10
BYTES = b"\0\0\x08"  # how an idx file of unsigned bytes begins
# As torchvision records them; some copies are packed otherwise, but hold the same.
HASHES = {
    "mnist/train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "mnist/train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)


@dataclass(frozen=True)
class BlurredDigits:
    """Digits as float32 images (n, 1, 28, 28) in [0, 1], and their labels.

    Attributes
    ----------
    X_train, y_train : arrays
        Sharp images, to train a predictor.
    X, y : arrays
        Blurred images.
    level : array of int
        Which of ``sigmas`` each image of ``X`` was blurred by.
    sigmas : tuple of float
        Standard deviations of the blur, in pixels.
    paths : tuple of Path
        Files that were read.
    files : dict
        Their names in the data directory, and the SHA-256 of what they hold.

    Examples
    --------
    >>> import numpy as np
    >>> from plcp.datasets import BlurredDigits
    >>> images, labels = np.zeros((2, 1, 28, 28), dtype="float32"), np.array([3, 7])
    >>> blurred = np.array([1, 0])
    >>> digits = BlurredDigits(images, labels, images, labels, blurred, (0.0, 2.0), (), {})
    >>> [digits.sigmas[level] for level in digits.level]
    [2.0, 0.0]
    """

    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    level: NDArray[np.int64]
    sigmas: tuple[float, ...]
    paths: tuple[Path, ...]
    files: dict[str, str]


def mnist_files(data_dir: str | Path | None = None) -> dict[str, str]:
    """Name and SHA-256 of the files that ``fetch_blurred_mnist`` reads.

    Examples
    --------
    >>> from plcp.datasets import mnist_files
    >>> mnist_files("data")  # doctest: +SKIP
    """
    return locate(_kind(), data_dir).files


def fetch_blurred_mnist(
    data_dir: str | Path | None = None,
    sigmas: Sequence[float] = (0, 1, 2, 3, 4),
    n_train: int = 35_000,
    n_shifted: int = 25_000,
    random_state: Any = None,
) -> BlurredDigits:
    """MNIST as the paper has it: sharp images to train, and others under a Gaussian blur.

    Images are drawn at random from the 60,000 of MNIST's training part: the paper's 35,000 to
    train, 15,000 to calibrate and 10,000 to test make them up. Each ``sigma`` blurs an equal share
    of the shifted ones, in random order; the paper does not state its own.

    Parameters
    ----------
    data_dir : path or None
        Directory that holds ``mnist/train-images-idx3-ubyte.gz`` and
        ``mnist/train-labels-idx1-ubyte.gz``; None: the variable ``PLCP_DATA``, else the user's
        cache. Files that are not there are downloaded, and their hash is checked.
    sigmas : sequence of float, default=(0, 1, 2, 3, 4)
        Standard deviations of the blur in pixels; zero leaves an image sharp.
    n_train, n_shifted : int
        How many images stay sharp, and how many are blurred.
    random_state : int, RandomState or None
        Draws images and levels.

    Examples
    --------
    >>> from plcp.datasets import fetch_blurred_mnist
    >>> digits = fetch_blurred_mnist("data", sigmas=[0, 2, 4], random_state=0)  # doctest: +SKIP
    >>> digits.X.shape  # doctest: +SKIP
    """
    scales = _check_sigmas(sigmas)
    found = locate(_kind(), data_dir)
    images, labels = _read_digits(*found.paths)
    _check_counts(n_train, n_shifted, len(images))
    rng = check_random_state(random_state)
    rows = rng.permutation(len(images))[: n_train + n_shifted]
    X, y = images[rows, None].astype(np.float32), labels[rows].astype(np.int64)
    X /= 255
    level = rng.permutation(np.arange(n_shifted) % len(scales))
    return BlurredDigits(
        X_train=X[:n_train],
        y_train=y[:n_train],
        X=_blur(X[n_train:], np.asarray(scales)[level]),
        y=y[n_train:],
        level=level,
        sigmas=scales,
        paths=found.paths,
        files=found.files,
    )


def read_idx(path: str | Path) -> NDArray[np.uint8]:
    """Array of bytes in a gzipped idx file: its kind, its number of axes, their lengths, values.

    Examples
    --------
    >>> import gzip
    >>> import tempfile
    >>> from plcp.datasets import read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/two.gz"
    ...     content = bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9])  # one axis of length 2, and 7, 9
    ...     with gzip.open(path, "wb") as file:
    ...         _ = file.write(content)
    ...     read_idx(path)
    array([7, 9], dtype=uint8)
    """
    path = Path(path)
    with reading(path):
        with gzip.open(path) as file:
            content = file.read()
        if content[:3] != BYTES:
            raise ValueError("no idx file of unsigned bytes")
        shape = np.frombuffer(content, ">u4", content[3], offset=4)
        return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def _kind() -> Kind:
    source = f"from {MIRRORS[0]} or {MIRRORS[1]} (10 MB)."
    return Kind("MNIST", [tuple(HASHES)], source, HASHES, MIRRORS)


def _read_digits(
    images_path: Path, labels_path: Path
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    images, labels = read_idx(images_path), read_idx(labels_path)
    with reading(images_path):
        if images.shape[1:] != (SIDE, SIDE):
            raise ValueError(f"its shape is {images.shape}, not (n, {SIDE}, {SIDE})")
    with reading(labels_path):
        if labels.shape != images.shape[:1]:
            raise ValueError(f"it holds {labels.shape} labels of {len(images)} images")
        if (labels >= N_DIGITS).any():
            raise ValueError(f"it holds the label {labels.max()}, and digits end at 9")
    return images, labels


def _check_sigmas(sigmas: Sequence[float]) -> tuple[float, ...]:
    scales = tuple(float(sigma) for sigma in sigmas)
    if not scales or not all(0 <= sigma < np.inf for sigma in scales):
        raise ValueError(f"sigmas={sigmas!r}: give one or more finite numbers, none below zero")
    return scales


def _check_counts(n_train: int, n_shifted: int, available: int) -> None:
    if n_train < 0 or n_shifted < 0 or n_train + n_shifted > available:
        raise ValueError(
            f"n_train={n_train!r} and n_shifted={n_shifted!r}: none may be negative, and together "
            f"they may not exceed the {available:,} images of MNIST's training part"
        )


def _blur(images: NDArray[np.float32], sigmas: NDArray[np.float64]) -> NDArray[np.float32]:
    """Gaussian blur of each image by its own σ."""
    blurred = np.empty_like(images)
    for sigma in np.unique(sigmas):
        rows = sigmas == sigma
        blurred[rows] = gaussian_filter(images[rows], (0, 0, sigma, sigma))
    return blurred
