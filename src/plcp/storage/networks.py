"""Modules of torch: classes from a list, plain attributes, children, and tensors by safetensors."""

import sys
from typing import Any

from plcp.rows import is_module
from plcp.storage.kinds import Kind
from plcp.storage.layers import LAYERS
from plcp.storage.objects import dump_class, dump_state, load_state
from plcp.storage.reader import Reader
from plcp.storage.types import found
from plcp.storage.writer import Writer

PART = "tensors.safetensors"
OWN = ("_parameters", "_buffers", "_modules")
REMEDY = "pip install 'plcp[files]'"


def _dump_module(module: Any, writer: Writer) -> list[Any]:
    from torch import nn

    writer.packages.add("torch")
    base, state = vars(nn.Module()), dict(vars(module))
    is_lazy = _is_lazy(module)
    plain = {name: value for name, value in state.items() if name not in base}
    hooks = [name for name in base if name.endswith("hooks") and state[name]]
    if is_lazy:  # they hook themselves, until they have seen their input
        plain = {name: value for name, value in plain.items() if not name.endswith("_hook")}
    elif hooks:
        raise writer.refused(module, f"it has {hooks[0][1:].replace('_', ' ')}: remove them first")
    plain |= {name: dict(state[name]) for name in OWN}
    plain |= {name: state[name] for name in ("training", "_non_persistent_buffers_set")}
    return [_layer_name(module, writer), dump_state(plain, writer)]


def _layer_name(module: Any, writer: Writer) -> str:
    """Name of one of torch's own layers after a dot, which no other name begins with."""
    from torch import nn

    name = type(module).__name__
    known = name in LAYERS and getattr(nn, name) is type(module)
    return f".{name}" if known else dump_class(module, writer)


def _load_module(content: Any, reader: Reader) -> Any:
    from torch import nn
    from torch.nn.modules.lazy import LazyModuleMixin

    name, told = content
    cls = _layer(name, reader)
    module, state = object.__new__(cls), load_state(told, reader)
    base = vars(nn.Module())
    allowed = {*OWN, "training", "_non_persistent_buffers_set"}
    strange = [key for key in state if key in base and key not in allowed]
    if strange:
        raise ValueError(f"a module has {strange[0]}, which none that is written here has")
    nn.Module.__init__(module)
    vars(module).update(state)
    if issubclass(cls, LazyModuleMixin):
        module._load_hook = module._register_load_state_dict_pre_hook(module._lazy_load_hook)
        module._initialize_hook = module.register_forward_pre_hook(
            module._infer_parameters, with_kwargs=True
        )
    return module


def _layer(name: Any, reader: Reader) -> Any:
    from torch import nn

    is_layer = isinstance(name, str) and name.startswith(".") and name[1:] in LAYERS
    cls = getattr(nn, name[1:]) if is_layer else found(name, reader.trusted)
    if not isinstance(cls, type) or not issubclass(cls, nn.Module):
        raise ValueError(f"{name} is no module of torch")
    return cls


def _is_lazy(module: Any) -> bool:
    from torch.nn.modules.lazy import LazyModuleMixin

    return isinstance(module, LazyModuleMixin)


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _dump_tensor(tensor: Any, writer: Writer) -> list[Any]:
    """Key of its values (none, where it waits for its shape), and what learning does to it."""
    from torch import nn
    from torch.nn.parameter import is_lazy

    about = [isinstance(tensor, nn.Parameter), bool(tensor.requires_grad)]
    if is_lazy(tensor):
        return [None, *about]
    key = f"{len(writer.tensors):05d}"
    writer.tensors[key] = tensor.detach().cpu().contiguous().clone()
    return [key, *about]


def _load_tensor(content: Any, reader: Reader) -> Any:
    from torch import nn
    from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

    key, is_parameter, learns = content
    if key is None:
        return (
            UninitializedParameter(requires_grad=bool(learns))
            if is_parameter
            else UninitializedBuffer()
        )
    if PART not in reader.cache:
        reader.cache[PART] = _unpacked(reader.parts[PART])
    tensor = reader.cache[PART][key]
    return nn.Parameter(tensor, bool(learns)) if is_parameter else tensor.requires_grad_(learns)


def tensor_parts(tensors: dict[str, Any]) -> dict[str, bytes]:
    """Return the part that holds tensors, if there are any."""
    if not tensors:
        return {}
    try:
        from safetensors.torch import save
    except ImportError as error:
        raise ImportError(f"tensors are stored by safetensors: {REMEDY}") from error
    return {PART: save(tensors)}


def _unpacked(part: bytes) -> dict[str, Any]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load
    except ImportError as error:
        raise ImportError(f"it holds tensors, which safetensors reads: {REMEDY}") from error
    try:
        return dict(load(part))
    except SafetensorError as error:
        raise ValueError(f"its tensors are damaged ({error})") from error


KINDS = (
    Kind("module", is_module, _dump_module, _load_module),
    Kind("tensor", _is_tensor, _dump_tensor, _load_tensor),
)
