"""Tables on disk: calibrate thresholds from one, apply them to another."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
