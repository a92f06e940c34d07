"""Prediction sets that hold for each kind of input, not only on average."""

import lazy_loader as _lazy

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
