"""Devices that are there, those that are not, and unknown names."""

import pytest
import torch

from plcp.partitions.torch import training as devices
from plcp.partitions.torch.training import find_device


@pytest.fixture
def machine(monkeypatch):
    """A machine with the devices it is given."""

    def have(*kinds, cudas=1):
        monkeypatch.setattr(devices, "is_there", lambda kind: kind in {"cpu", *kinds})
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cudas)

    return have


@pytest.mark.parametrize(
    ("there", "found"),
    [((), "cpu"), (("mps",), "mps"), (("cuda",), "cuda"), (("cuda", "mps"), "cuda")],
)
def test_auto_takes_the_fastest_there_is(machine, there, found):
    machine(*there)
    assert find_device("auto") == torch.device(found)


@pytest.mark.parametrize("name", ["cpu", "cpu:0"])
def test_the_cpu_is_always_there(name):
    assert find_device(name) == torch.device(name)


@pytest.mark.parametrize("name", ["cuda", "cuda:3", "mps", "meta"])
def test_a_device_that_is_not_there(machine, name):
    machine()
    with pytest.raises(ValueError, match=f"device '{name}' is not there: torch .* sees none"):
        find_device(name)


def test_a_number_beyond_the_last(machine):
    machine("cuda", cudas=2)
    assert find_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ValueError, match=r"'cuda:2' is not there: this machine has 2 CUDA"):
        find_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "", "cpu:x", None, 1.5])
def test_names_nobody_knows(name):
    with pytest.raises(ValueError, match="device must be 'auto', 'cpu', 'cuda' or 'mps', got"):
        find_device(name)
