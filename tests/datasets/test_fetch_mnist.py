"""Digits: files are read byte by byte, split without overlap, and blurred as the law says."""

import gzip
import hashlib
import struct

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plcp.datasets import fetch_blurred_mnist, mnist as digits, mnist_files, read_idx

IMAGES, LABELS = "mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"
N = 60


def idx_bytes(array):
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return b"\x00\x00\x08" + bytes([array.ndim]) + shape + array.astype(np.uint8).tobytes()


def write_idx(path, array):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(idx_bytes(array)))


@pytest.fixture
def source(tmp_path, rng):
    """Write N images, no two alike, and labels; return them by the bytes of the image."""
    images, labels = rng.integers(0, 256, (N, 28, 28)), rng.integers(0, 10, N)
    images[:10] = np.maximum(images[:10], 255 * (np.arange(28) > 0))  # all but white
    write_idx(tmp_path / IMAGES, images)
    write_idx(tmp_path / LABELS, labels)
    return {
        bytes(image.astype(np.uint8)): label for image, label in zip(images, labels, strict=True)
    }


def fetch(root, **options):
    options = {"n_train": 20, "n_shifted": 33, "random_state": 0} | options
    return fetch_blurred_mnist(root, **options)


def as_bytes(images):
    return [bytes(np.rint(image * 255).astype(np.uint8)) for image in images]


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4), (0, 28, 28)])
def test_an_idx_file_is_read_as_it_was_written(tmp_path, rng, shape):
    array = rng.integers(0, 256, shape).astype(np.uint8)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(idx_bytes(array)))
    assert_array_equal(read_idx(path), array)
    assert_array_equal(read_idx(str(path)), array)


def test_images_keep_their_labels_and_none_is_used_twice(tmp_path, source):
    data = fetch(tmp_path, sigmas=[0])
    drawn = as_bytes(data.X_train) + as_bytes(data.X)
    assert len(set(drawn)) == len(drawn) == 53
    assert [source[image] for image in drawn] == [*data.y_train, *data.y]
    for X, y, n in ((data.X_train, data.y_train, 20), (data.X, data.y, 33)):
        assert X.shape == (n, 1, 28, 28)
        assert (X.dtype, y.dtype) == (np.float32, np.int64)
        assert_array_equal(X, (np.rint(X * 255) / 255).astype(np.float32))


def blur(image, sigma):
    """Two sums with the weights of a normal density, the image mirrored at its edges."""
    reach = int(4 * sigma + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(sigma, 1e-9)) ** 2)
    weights /= weights.sum()
    for _ in range(2):
        padded = np.pad(image, ((reach, reach), (0, 0)), mode="symmetric")
        image = sum(w * padded[k : k + 28] for k, w in enumerate(weights)).T
    return image


def test_each_image_is_blurred_by_the_sigma_of_its_level(tmp_path, source):
    sharp, blurred = fetch(tmp_path, sigmas=[0]), fetch(tmp_path, sigmas=(0, 1, 2.5))
    assert_array_equal(blurred.X_train, sharp.X_train)
    assert_array_equal(blurred.y, sharp.y)
    assert blurred.sigmas == (0, 1, 2.5)
    sigmas = np.array(blurred.sigmas)[blurred.level]
    expected = [[blur(x[0].astype(float), s)] for x, s in zip(sharp.X, sigmas, strict=True)]
    rounding = 4 * np.finfo(np.float32).eps  # of the two sums, and of their weights
    assert_allclose(blurred.X, expected, rtol=0, atol=rounding)
    assert blurred.X.dtype == np.float32
    assert blurred.X.min() >= 0
    assert blurred.X.max() <= 1


def test_levels_have_equal_parts_in_random_order(tmp_path, source):
    level = fetch(tmp_path).level
    counts = np.bincount(level, minlength=5)
    assert counts.tolist() == [7, 7, 7, 6, 6]
    assert (np.sort(level) != level).any()
    assert (fetch(tmp_path, random_state=1).level != level).any()
    assert_array_equal(fetch(tmp_path).level, level)


def test_images_are_drawn_at_random(tmp_path, source):
    one, same, other = (as_bytes(fetch(tmp_path, random_state=s).X_train) for s in (0, 0, 1))
    assert one == same
    assert set(one) != set(other)


def test_all_images_may_be_used(tmp_path, source):
    data = fetch(tmp_path, n_train=N - 15, n_shifted=15, sigmas=[0])
    assert {*as_bytes(data.X_train), *as_bytes(data.X)} == set(source)
    assert len(fetch(tmp_path, n_train=N, n_shifted=0).X) == 0


def test_files_are_known_by_what_they_hold(tmp_path, source):
    expected = {
        name.removesuffix(".gz"): hashlib.sha256(
            gzip.decompress((tmp_path / name).read_bytes())
        ).hexdigest()
        for name in (IMAGES, LABELS)
    }
    assert fetch(tmp_path).files == mnist_files(tmp_path) == expected
    assert fetch(tmp_path).paths == (tmp_path / IMAGES, tmp_path / LABELS)


def test_both_files_are_requested(tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "MIRRORS", ("http://127.0.0.1:0/", "http://127.0.0.1:0/again/"))
    for function in (fetch_blurred_mnist, mnist_files):
        with pytest.raises(FileNotFoundError, match=f"MNIST: not in {tmp_path}.*") as caught:
            function(tmp_path)
        assert f"Put there\n     {IMAGES}, {LABELS}\nfrom http://127.0.0.1:0/ or" in str(
            caught.value
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigmas": ()}, r"sigmas=\(\): give one or more finite numbers"),
        ({"sigmas": (1, -1)}, "none below zero"),
        ({"sigmas": (np.nan,)}, "finite"),
        ({"sigmas": (np.inf,)}, "finite"),
        ({"n_train": -1}, "n_train=-1"),
        ({"n_shifted": -1}, "n_shifted=-1"),
        ({"n_train": 50, "n_shifted": 11}, "may not exceed the 60 images"),
    ],
)
def test_bad_values_are_named(tmp_path, source, options, message):
    with pytest.raises(ValueError, match=message):
        fetch(tmp_path, **options)


DAMAGE = {
    "cut off": (IMAGES, lambda good: good[:-20]),
    "not packed": (IMAGES, lambda good: b"images"),
    "empty": (LABELS, lambda good: b""),
    "of signed bytes": (
        LABELS,
        lambda good: gzip.compress(b"\0\0\x09" + gzip.decompress(good)[3:]),
    ),
    "three bytes long": (LABELS, lambda good: gzip.compress(b"\0\0\x08")),
    "without a shape": (LABELS, lambda good: gzip.compress(b"\0\0\x08\3" + bytes(4))),
    "too short": (IMAGES, lambda good: gzip.compress(gzip.decompress(good)[:-1])),
    "too long": (IMAGES, lambda good: gzip.compress(gzip.decompress(good) + b"x")),
    "narrow": (IMAGES, lambda good: gzip.compress(idx_bytes(np.zeros((N, 28, 27))))),
    "of too few labels": (LABELS, lambda good: gzip.compress(idx_bytes(np.zeros(N - 1)))),
    "of eleven digits": (LABELS, lambda good: gzip.compress(idx_bytes(np.full(N, 10)))),
}


@pytest.mark.parametrize(("name", "damage"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_named(tmp_path, source, name, damage):
    path = tmp_path / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=f"{path} cannot be read .*Remove it and run again"):
        fetch(tmp_path)
