"""Where prediction sets fail, and how sure that is: audits, certificates, reports."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
