"""Scores on a scale that networks learn well on: units of their own spread, or ranks."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from plcp._base import Estimator
from plcp._options import check_share
from plcp._validation import check_features, check_pairs, drop_weightless
from plcp.partitions.torch.training import (
    Descent,
    Record,
    Sample,
    as_rows,
    check_training,
    hold_out,
    make_network,
    outputs_of,
    pinball,
    predict_outputs,
    random_stream,
    row_shape,
    run,
)
from plcp.partitions.tree import ranks
from plcp.quantiles import FloatArray, IntArray, weighted_quantiles


@dataclass(frozen=True)
class Scale:
    """A rising map of scores, linear between knots, and its inverse."""

    scores: FloatArray
    values: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return scores on the scale of learning."""
        return _interpolate(scores, self.scores, self.values)

    def invert(self, values: FloatArray) -> FloatArray:
        """Return values on the scale of the scores."""
        return _interpolate(values, self.values, self.scores)


def rank_scale(scores: FloatArray, weights: FloatArray) -> Scale:
    """Map to mid-ranks in (0, 1): equal scores share one, and no pile of scores is too narrow.

    Examples
    --------
    >>> rank_scale(np.array([1.0, 5.0, 5.0, 1000.0]), np.ones(4))(np.array([1.0, 5.0, 1000.0]))
    array([0.125, 0.5  , 0.875])
    """
    distinct, rows = np.unique(scores, return_index=True)
    values = ranks(scores, weights)[rows]
    if len(distinct) == 1:  # any slope will do
        step = np.maximum(1.0, abs(distinct))
        return Scale(np.append(distinct, distinct + step), np.append(values, values + 1.0))
    return Scale(distinct, values)


def unit_scale(scores: FloatArray, weights: FloatArray, quantile: float) -> Scale:
    """Map the quantile to zero, and the median distance from it to one.

    The median, for a single score may be a million times as large as all others.

    Examples
    --------
    >>> unit_scale(np.array([0.0, 1.0, 3.0]), np.ones(3), quantile=0.5)(np.array([1.0, 3.0]))
    array([0., 2.])
    """
    centre = weighted_quantiles(scores, weights[:, None], quantile)[0]
    distances = abs(scores - centre)
    spread = weighted_quantiles(distances, weights[:, None], 0.5)[0]
    if centre + spread == centre:  # most scores are one
        spread = np.average(distances, weights=weights)
    if centre + spread == centre:  # all are, up to rounding
        spread = 1e-9 * (abs(centre) or 1.0)
    return Scale(np.array([centre, centre + spread]), np.array([0.0, 1.0]))


def _interpolate(x: FloatArray, knots: FloatArray, values: FloatArray) -> FloatArray:
    """Piecewise linear, and on beyond the ends with the slope between the outermost knots."""
    inside = np.interp(x, knots, values)
    slope = (values[-1] - values[0]) / (knots[-1] - knots[0])
    return inside + slope * (np.minimum(x - knots[0], 0.0) + np.maximum(x - knots[-1], 0.0))


EPOCHS = 6


class TorchQuantile(RegressorMixin, Estimator):
    """A network that predicts a quantile of the score: a regressor for ``OrderedPartition``.

    Rows are vectors (n, d) or images (n, c, h, w), as arrays or tensors, or a map-style
    ``torch.utils.data.Dataset``, whose items (or their first parts, where they are pairs) are read
    a batch at a time. Bytes (uint8) of images are scaled to [0, 1]. Columns of frames must be
    numbers. Networks are trained one at a time, whatever the ``n_jobs`` of a rule; leave that at
    None, so that Ctrl-C reaches them.

    Parameters
    ----------
    module : torch.nn.Module or None, default=None
        Gives one vector per row. It is copied, and its weights are where training starts, so a
        trained one is fine-tuned; freeze what shall stay by ``requires_grad_(False)``. None:
        ``mlp(200, 100)`` for vectors, ``small_cnn()`` for images, drawn from ``random_state``.
    quantile : float or None, default=None
        Which quantile. None means 0.5 for an estimator fitted alone; inside a partition it means
        1 - alpha, which the partition sets.
    head : bool, default=True
        Put a linear layer on top of the module. False: the module has one output itself.
    standardize : bool, default=True
        Standardise each column, or channel of images, first. False for a trained module that
        expects its input as it is.
    optimizer : {"adam", "adamw", "sgd"} or callable, default="adam"
        A callable is given the parameters and ``lr``, as the classes of ``torch.optim`` are.
    learning_rate : float, default=0.002
        Of the first step.
    schedule : {"cosine", "constant"}, default="cosine"
        How the learning rate goes on; "cosine" ends at zero.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto": 128, or all where there are fewer.
    epochs : int or "auto", default="auto"
        Most passes over the rows; "auto": six, or as many as make 450 steps.
    early_stopping : bool, default=True
        Stop, and go back to the best epoch, by pinball loss on held-out rows; not below 20 rows.
    validation_fraction : float, default=0.1
        Share of rows held out for that.
    patience : int or "auto", default="auto"
        Epochs without a better one after which to stop; "auto": a quarter of ``epochs``, at least
        three.
    clip_norm : float or None, default=None
        Largest norm of a gradient.
    mixed_precision : bool, default=False
        Run the network in bfloat16 while it learns.
    device : {"auto", "cpu", "cuda", "mps", ...}, default="auto"
        Where to compute; "auto": CUDA or MPS where there is one. A fitted estimator lives on the
        CPU, pickles, and predicts on the device that ``set_params(device=...)`` sets.
    random_state : int, RandomState or None
        Seed of new weights, batches and held-out rows: two runs on a CPU, with as many threads, are
        the same to the bit. torch's global stream is left as it was.
    verbose : bool, default=False
        Show a progress bar over epochs (needs the extra ``progress``).

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network.
    history_ : list of dict
        Mean pinball loss of each epoch, in units of ``scale_``, and on the rows held out. Ctrl-C
        ends training after at least one epoch with a warning, and the best epoch so far stays; of
        several folds, it ends one.

    Examples
    --------
    >>> from plcp import OrderedPartition
    >>> from plcp.datasets import make_toy
    >>> from plcp.partitions.torch import TorchQuantile, mlp
    >>> task = make_toy(2000, random_state=0)
    >>> partition = OrderedPartition(TorchQuantile(mlp(32), random_state=0), n_groups=2)
    >>> partition.fit(task.X, task.scores).predict([[-0.9], [0.9]])
    array([0, 1])
    """

    fold_repeats = 1  # networks are costly: folds are not drawn again to average more of them

    def __init__(
        self,
        module: Any = None,
        *,
        quantile: float | None = None,
        head: bool = True,
        standardize: bool = True,
        optimizer: Any = "adam",
        learning_rate: float = 2e-3,
        schedule: str = "cosine",
        batch_size: int | str = "auto",
        epochs: int | str = "auto",
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int | str = "auto",
        clip_norm: float | None = None,
        mixed_precision: bool = False,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.module = module
        self.quantile = quantile
        self.head = head
        self.standardize = standardize
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.clip_norm = clip_norm
        self.mixed_precision = mixed_precision
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network on rows ``X`` and scores ``y``."""
        check_training(self)
        quantile = check_share("quantile", 0.5 if self.quantile is None else self.quantile)
        checked = check_pairs(self, X, y, sample_weight, allow_nan=False)
        X, scores, given = drop_weightless(*checked)
        weights = np.ones(len(scores)) if given is None else given
        self.scale_ = unit_scale(scores, weights, quantile)
        rng = check_random_state(self.random_state)
        with random_stream(rng.randint(np.iinfo(np.int32).max)):
            sample = Sample.of(as_rows(X), self.scale_(scores), weights)
            learn, hold = hold_out(sample, self, rng)
            network = make_network(self, learn.X, 1)
            self._row_shape = row_shape(learn.X)
            descent = Descent(network, self, len(learn), rng, EPOCHS)
            self.history_ = descend_pinball(descent, learn, hold, 1 - quantile)
        self.network_ = network.cpu().eval()
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the quantile of the score of each row."""
        check_is_fitted(self, "network_")
        X = check_features(self, X, reset=False, allow_nan=False)
        outputs = predict_outputs(self.network_, as_rows(X), self.device, self._row_shape)
        return self.scale_.invert(outputs[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.regressor_tags.poor_score = True
        return tags


def descend_pinball(
    descent: Descent, learn: Sample, hold: Sample | None, alpha: float
) -> list[Record]:
    """Train a network with one output on the pinball loss; what each epoch reached."""

    def loss(outputs: Tensor, rows: IntArray, progress: float) -> Tensor:
        scores, weights = learn.at(rows, outputs.device)
        return (pinball(outputs[:, 0], scores, alpha) * weights).mean()

    def one_epoch() -> Record:
        found = {"loss": descent.epoch(learn.X, loss)}
        if hold is not None:
            outputs = torch.from_numpy(outputs_of(descent.network, hold.X, descent.device)[:, 0])
            losses = pinball(outputs, hold.scores, alpha)
            found["held_out"] = float((losses * hold.weights).mean())
        return found

    verbose = descent.options.verbose
    return run(descent.network, descent.epochs, descent.patience, one_epoch, verbose=verbose)
