"""Which method should I use? Every method on the user's own rows, and a recommendation."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
