"""The paper's experiments: each by one call, beside what the library does by default.

``reproduce(name)`` is what the command ``plcp reproduce NAME`` runs.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
