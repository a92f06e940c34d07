"""Warnings and errors of this package."""


class InfiniteThresholdWarning(UserWarning):
    """Too few calibration points for a finite threshold at this alpha."""


class ColumnOrderWarning(UserWarning):
    """Columns came in another order than in ``fit``, and were put back into it by their names."""


class RowOrderWarning(UserWarning):
    """Rows of y or of weights have other labels than those of X, and were taken by position."""


class UnseenCategoryWarning(UserWarning):
    """Rows hold categories that ``fit`` never saw."""


class SmallGroupWarning(UserWarning):
    """A given group holds too few calibration points to say anything about it."""


class CollapseWarning(UserWarning):
    """Nearly all points fell into one learned group."""


class ProgramError(RuntimeError):
    """A program was not solved; the message says how far it came."""


class NotExportableError(ValueError):
    """A part of a model that cannot be written as an ONNX graph."""


class TrustWarning(UserWarning):
    """A model was saved that loads only with some classes or functions as ``trusted``."""


class OtherVersionWarning(UserWarning):
    """A model was made with another version of a package that computes its predictions."""
