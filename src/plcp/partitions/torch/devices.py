"""Where the arithmetic is done."""

import torch


def find_device(name: str) -> torch.device:
    """Device of this name; "auto": CUDA, else MPS, else the CPU.

    Examples
    --------
    >>> find_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        name = next((kind for kind in ("cuda", "mps") if is_there(kind)), "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps', got {name!r}") from None
    if not is_there(device.type):
        raise ValueError(
            f"device {name!r} is not there: torch {torch.__version__} sees none on this machine; "
            "use device='auto' or 'cpu'"
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise ValueError(f"device {name!r} is not there: this machine has {count} CUDA device(s)")
    return device


def is_there(kind: str) -> bool:
    """Whether this machine has a device of a kind."""
    if kind == "cuda":
        return torch.cuda.is_available()
    return torch.backends.mps.is_available() if kind == "mps" else kind == "cpu"
