"""Warnings and errors of this package."""

__all__ = [
    "CollapseWarning",
    "ColumnOrderWarning",
    "InfiniteThresholdWarning",
    "NotExportableError",
    "OtherVersionWarning",
    "ProgramError",
    "RowOrderWarning",
    "SmallGroupWarning",
    "TrustWarning",
    "UnseenCategoryWarning",
]


class InfiniteThresholdWarning(UserWarning):
    """Too few calibration points for a finite threshold at this alpha.

    Sets with an infinite threshold hold every outcome. The message says how many rows are needed.
    Remedies: more calibration rows, a larger ``alpha``, fewer groups, no ``confidence``. Groups and
    labels that no calibration row has are infinite too.

    Examples
    --------
    >>> import warnings
    >>> from plcp import SplitConformal
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     rule = SplitConformal(alpha=0.1).fit([[0.0]] * 5, range(5))
    >>> rule.threshold_, seen[0].category.__name__
    (inf, 'InfiniteThresholdWarning')
    """


class ColumnOrderWarning(UserWarning):
    """Columns came in another order than in ``fit``, and were put back into it by their names.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from plcp import Mondrian
    >>> X = pd.DataFrame({"sex": [0, 1] * 20, "age": range(40)})
    >>> rule = Mondrian(["sex"]).fit(X, range(40))
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     thresholds = rule.predict(X[["age", "sex"]])
    >>> bool((thresholds == rule.predict(X)).all()), seen[0].category.__name__
    (True, 'ColumnOrderWarning')
    """


class RowOrderWarning(UserWarning):
    """Rows of y or of weights have other labels than those of X, and were taken by position.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from plcp import SplitConformal
    >>> X = pd.DataFrame({"age": range(20)})
    >>> scores = pd.Series(range(20), index=reversed(range(20)))
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     rule = SplitConformal().fit(X, scores)
    >>> seen[0].category.__name__
    'RowOrderWarning'
    """


class UnseenCategoryWarning(UserWarning):
    """Rows hold categories that ``fit`` never saw.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from plcp import PLCP
    >>> X = pd.DataFrame({"job": pd.Categorical(["clerk", "cook"] * 100)})
    >>> rule = PLCP(n_groups=2, calibration="split", random_state=0).fit(X, range(200))
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     thresholds = rule.predict(pd.DataFrame({"job": pd.Categorical(["pilot"])}))
    >>> seen[0].category.__name__
    'UnseenCategoryWarning'
    """


class SmallGroupWarning(UserWarning):
    """A given group holds too few calibration points to say anything about it.

    Examples
    --------
    >>> import warnings
    >>> from plcp import BatchGCP
    >>> X = [[0.0]] * 99 + [[1.0]]  # one row of the second group
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     rule = BatchGCP(0).fit(X, range(100))
    >>> seen[0].category.__name__
    'SmallGroupWarning'
    """


class CollapseWarning(UserWarning):
    """Nearly all points fell into one learned group.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from plcp import TreePartition
    >>> X, scores = np.zeros((200, 1)), np.arange(200.0)  # all rows are alike
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     partition = TreePartition(n_groups=2).fit(X, scores)
    >>> seen[0].category.__name__
    'CollapseWarning'
    """


class ProgramError(RuntimeError):
    """A program was not solved; the message says how far it came.

    Examples
    --------
    >>> from plcp import BatchGCP
    >>> from plcp.exceptions import ProgramError
    >>> X, scores = [[0.0], [1.0]] * 100, [2.0**i for i in range(-1000, 1000, 10)]
    >>> try:
    ...     rule = BatchGCP(0).fit(X, scores)
    ... except ProgramError as error:
    ...     print(str(error).partition(": ")[2])
    scores or features differ too much in size, rescale them
    """


class NotExportableError(ValueError):
    """A part of a model that cannot be written as an ONNX graph.

    Examples
    --------
    >>> from plcp import BatchGCP
    >>> from plcp.onnx import NotExportableError, export
    >>> rule = BatchGCP(0).fit([[0.0], [1.0]] * 100, range(200))
    >>> try:
    ...     graph = export(rule)
    ... except NotExportableError as error:
    ...     print(str(error).partition(": ")[0])
    BatchGCP cannot be exported to ONNX
    """


class TrustWarning(UserWarning):
    """A model was saved that loads only with some classes or functions as ``trusted``.

    Examples
    --------
    >>> import warnings
    >>> import tempfile
    >>> from sklearn.svm import SVR
    >>> from plcp import ConformalRegressor, load, save
    >>> model = ConformalRegressor(SVR(), random_state=0).fit([[0.0], [1.0]] * 50, range(100))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with warnings.catch_warnings(record=True, action="always") as seen:
    ...         save(model, f"{folder}/model.plcp")
    ...     again = load(f"{folder}/model.plcp", trusted=[SVR])
    >>> seen[0].category.__name__
    'TrustWarning'
    """


class OtherVersionWarning(UserWarning):
    """A model was made with another version of a package that computes its predictions.

    Examples
    --------
    >>> import tempfile
    >>> import warnings
    >>> from plcp import SplitConformal, load, save
    >>> from plcp.exceptions import OtherVersionWarning
    >>> rule = SplitConformal().fit([[0.0]] * 20, range(20))
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("error", OtherVersionWarning)  # refuse models of other versions
    ...     save(rule, f"{folder}/rule.plcp")
    ...     load(f"{folder}/rule.plcp").threshold_
    18.0
    """
