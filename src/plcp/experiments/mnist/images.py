"""The sheet of images: one digit of each kind, at every level of blur."""

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

SIDE, GAP = 28, 2


def one_of_each(images: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.uint8]:
    """First image of each label, as bytes (k, 28, 28)."""
    _, first = np.unique(labels, return_index=True)
    return np.rint(255 * images[first, 0]).astype(np.uint8)


def pack(images: NDArray[np.uint8]) -> str:
    """Images as a short text, for a record."""
    return base64.b64encode(zlib.compress(images.tobytes(), 9)).decode()


def unpack(text: str) -> NDArray[np.uint8]:
    """Images (k, 28, 28) from the text.

    Examples
    --------
    >>> images = np.arange(2 * 28 * 28).astype(np.uint8).reshape(2, 28, 28)
    >>> bool((unpack(pack(images)) == images).all())
    True
    """
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(-1, SIDE, SIDE)


def draw_images(
    images: NDArray[np.uint8], sigmas: Sequence[float], names: Sequence[str], words: Sequence[str]
) -> Any:
    """Sharp images in a row, blurred more from row to row; a name at the left, words at the right.

    Each image has grey levels of its own: blur spreads ink so thin that one scale would hide it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 1.1 * len(sigmas) + 0.2), layout="constrained")
    rows = np.atleast_1d(figure.subplots(len(sigmas), 1))
    for axes, sigma, name, text in zip(rows, sigmas, names, words, strict=True):
        axes.imshow(side_by_side(images, sigma), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=14)
        axes.annotate(text, (1.015, 0.5), xycoords="axes fraction", va="center", fontsize=12)
        axes.spines[:].set_visible(False)
    return figure


def side_by_side(images: NDArray[np.uint8], sigma: float) -> NDArray[np.float64]:
    """Blurred images in a row, the darkest point of each at one, with white between them."""
    blurred = gaussian_filter(images.astype(float), (0, sigma, sigma))
    blurred /= np.maximum(blurred.max(axis=(1, 2), keepdims=True), 1)
    return np.hstack(list(np.pad(blurred, ((0, 0), (0, 0), (0, GAP)))))
