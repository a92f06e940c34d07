"""Prediction intervals around any regressor."""

from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import RegressorMixin

from plcp.conformal.base import Conformal
from plcp.scores import AbsoluteResidual, Score
from plcp.validation import check_option, check_response

CONTAINERS = ("default", "pandas", "polars")


class ConformalRegressor(RegressorMixin, Conformal):
    """Prediction intervals around any regressor, valid for each kind of input.

    ``score`` is R² of the point prediction, as of any regressor: it says nothing of the intervals.
    Tune the rule where it is fitted, on scores: ``GridSearchCV(PLCP(), ...).fit(X, scores)`` goes
    by its pinball loss.

    Parameters
    ----------
    estimator : regressor
        The model. Wrapped in ``FrozenEstimator`` it is taken as trained, and all rows given to
        ``fit`` calibrate; otherwise ``fit`` splits them, trains and calibrates. A ``QuantilePair``
        or ``MeanScalePair`` of frozen models counts as frozen.
    conformity : Score or None, default=None
        The score; None: ``AbsoluteResidual()``.
    threshold : ThresholdRule or None, default=None
        The rule that turns scores into thresholds; None: ``PLCP()``. Its ``alpha`` is the level,
        or a list of levels. A score with two tails gets one rule each, at alpha / 2.
    features : column, list of columns, callable or None, default=None
        What the rule sees of X: some columns (names or positions), or a function of X such as an
        embedding. None: all of it.
    calibration_size : float, default=0.3
        Share of rows to calibrate on, for a model that is not frozen.
    random_state : int, RandomState or None
        Seed of that split, and of whatever ``random_state`` in the model, the score and the rule
        is None. None: they are left as they are.

    Attributes
    ----------
    estimator_, conformity_ : the fitted model and score
    thresholds_ : list of fitted rules, one a tail
    guarantee_ : str
        What holds, and when.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LinearRegression
    >>> from plcp.datasets import make_toy
    >>> train, cal, test = (make_toy(2000, random_state=seed) for seed in range(3))
    >>> fitted = LinearRegression().fit(train.X, train.y)
    >>> model = ConformalRegressor(FrozenEstimator(fitted)).fit(cal.X, cal.y)
    >>> model.predict_set(test.X).contains(test.y).shape
    (2000,)
    """

    _task = "regression"

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train (unless frozen) and calibrate; weights are those of the calibration rows."""
        self._fit(X, self._labels(y), sample_weight)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Point predictions of the model."""
        prediction = self._ask(self._rows(X))
        return self.conformity_.point(prediction)

    def predict_set(self, X: Any) -> Any:
        """``Intervals``, a set that can be asked: ``contains``, ``size``, ``clip``.

        At several levels ``NestedSets``, a mapping of each alpha to its intervals.
        """
        return self._sets(*self._answers(X))

    def predict_interval(self, X: Any) -> Any:
        """Lower and upper ends, shape (n, 2); a data frame if ``set_output`` says so.

        At several levels the shape is (n, 2, levels), and columns end in their level.
        """
        intervals = self.predict_set(X)
        container = self._container()
        if container == "pandas":
            return intervals.to_pandas(index=getattr(X, "index", None))
        return intervals.to_polars() if container == "polars" else intervals.to_numpy()

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of ``predict_interval``: "default", "pandas" or "polars"."""
        if transform is not None:
            check_option("transform", transform, CONTAINERS)
            self._sklearn_output_config = {"transform": transform}  # the name that clone keeps
        return self

    def _container(self) -> str:
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform")
        return str(chosen or get_config()["transform_output"])

    @staticmethod
    def _labels(y: ArrayLike) -> NDArray[Any]:
        return check_response(y)

    def _default_score(self) -> Score:
        return AbsoluteResidual()
