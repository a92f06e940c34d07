"""Algorithm 1 on a network: small steps on memberships h, exact steps on thresholds q."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parameter import is_lazy

from plcp._options import check_option, is_real
from plcp._validation import check_features
from plcp.partitions.base import Partition, merge_columns, warn_if_collapsed
from plcp.partitions.classifier import start_thresholds
from plcp.partitions.ordered import OrderedPartition
from plcp.partitions.torch.quantile import TorchQuantile, rank_scale, unit_scale
from plcp.partitions.torch.training import (
    Descent,
    Record,
    Sample,
    as_rows,
    check_training,
    find_device,
    hold_out,
    imbalance,
    make_network,
    membership_loss,
    outputs_of,
    predict_outputs,
    random_stream,
    row_shape,
    run,
)
from plcp.quantiles import FloatArray, IntArray, pinball_loss, weighted_quantiles

EPOCHS = 20


class SoftmaxGroups(nn.Module):
    """A network that gives one logit per group, and the threshold of each."""

    def __init__(self, network: nn.Module, n_groups: int) -> None:
        super().__init__()
        self.network = network
        self.thresholds = nn.Parameter(torch.zeros(n_groups))

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the groups."""
        logits: Tensor = self.network(x)
        return logits


@dataclass(frozen=True)
class Algorithm:
    """Descent of mean_j Σ_i h_i(x_j) ℓ_α(q_i, s_j), relative to Split's loss, over h and q."""

    groups: SoftmaxGroups
    learn: Sample
    options: Any  # the TorchPartition to fit
    rng: np.random.RandomState

    def run(self, hold: Sample | None) -> list[Record]:
        """Alternate epochs on h with exact q-steps, or descend on both at once ("joint")."""
        scores, weights = self.learn.array(), self.learn.weights.double().numpy()
        m, joint = len(self.groups.thresholds), self.options.descent == "joint"
        self._set(start_thresholds(scores, weights, m, self.options.alpha))
        if self.options.start == "bins":
            self.learn_bins()
            self.threshold_step()
        self.groups.thresholds.requires_grad_(joint)
        descent = Descent(self.groups, self.options, len(self.learn), self.rng, EPOCHS)

        def one_epoch() -> Record:
            found = {"loss": descent.epoch(self.learn.X, self.loss)}
            if not joint:
                self.threshold_step()
            if hold is not None:
                found["held_out"] = self.objective(hold)
            return found

        verbose = self.options.verbose
        return run(self.groups, descent.epochs, descent.patience, one_epoch, verbose=verbose)

    def learn_bins(self) -> None:
        """One epoch of predicting which of m equal parts of all scores a row's score is in."""
        scores, m = self.learn.array(), len(self.groups.thresholds)
        edges = np.quantile(scores, np.arange(1, m) / m)
        bins = torch.as_tensor(np.searchsorted(edges, scores, side="right"))

        def loss(logits: Tensor, rows: IntArray, progress: float) -> Tensor:
            target, weights = bins[rows].to(logits.device), self.learn.at(rows, logits.device)[1]
            return (cross_entropy(logits, target, reduction="none") * weights).mean()

        n, steady = len(self.learn), "constant"
        descent = Descent(self.groups, self.options, n, self.rng, EPOCHS, schedule=steady)
        descent.epoch(self.learn.X, loss)

    def threshold_step(self) -> None:
        """Exact q-step over all rows; a group without weight keeps the threshold it has."""
        sample, old = self.learn, self.thresholds()
        mass = self.memberships(sample) * sample.weights.double().numpy()[:, None]
        found = weighted_quantiles(sample.array(), mass, 1 - self.options.alpha)
        self._set(np.where(np.isnan(found), old, found))

    def loss(self, logits: Tensor, rows: IntArray, progress: float) -> Tensor:
        """Objective on a batch, and a term against collapse that is gone when descent ends."""
        scores, weights = self.learn.at(rows, logits.device)
        alpha, balance = self.options.alpha, self.options.balance
        value = membership_loss(logits, self.groups.thresholds, scores, weights, alpha)
        penalty = imbalance(logits, weights) if balance > 0 else 0.0
        return value / self.unit + balance * (1 - progress) * penalty

    def objective(self, sample: Sample) -> float:
        """Objective on a sample."""
        losses = pinball_loss(self.thresholds(), sample.array()[:, None], self.options.alpha)
        expected = (self.memberships(sample) * losses).sum(axis=1)
        return float(np.average(expected, weights=sample.weights)) / self.unit

    def memberships(self, sample: Sample) -> FloatArray:
        """Memberships of the rows of a sample."""
        device = find_device(self.options.device)
        with np.errstate(invalid="ignore"):  # logits that are not finite: `run` raises for them
            return softmax(outputs_of(self.groups.to(device), sample.X, device), axis=1)

    def thresholds(self) -> FloatArray:
        """Thresholds of the groups, as doubles, which not every device has."""
        return self.groups.thresholds.detach().cpu().double().numpy()

    @cached_property
    def unit(self) -> float:
        """Split's loss, so that the weight of the term against collapse means the same anywhere."""
        return self.learn.split_loss(self.options.alpha)

    def _set(self, thresholds: FloatArray) -> None:
        with torch.no_grad():
            self.groups.thresholds.copy_(torch.as_tensor(thresholds).float())


def embed(module: nn.Module, X: Any) -> FloatArray:
    """Outputs of a trained module for all rows, flat; on the device its weights are on.

    ``features=module`` of a conformal estimator does the same: give it a backbone cut before its
    last layer.

    Examples
    --------
    >>> import numpy as np
    >>> import torch.nn as nn
    >>> from plcp.partitions.torch import embed
    >>> embed(nn.Flatten(), np.ones((2, 1, 2, 2)))
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    if any(is_lazy(p) for p in module.parameters()):
        raise ValueError(
            "the module has no weights yet: train it, or call it once, and give it then"
        )
    device = next((p.device for p in module.parameters()), torch.device("cpu"))
    outputs = outputs_of(module, as_rows(X), device)
    return outputs.reshape(len(outputs), -1)


STRUCTURES = ("ordered", "softmax")
DESCENTS = ("alternating", "joint")
STARTS = ("bins", "random")
REMEDY = 'keep start="bins" and balance=0.1, or take structure="ordered"'


class TorchPartition(Partition):
    """Groups of inputs, images included, that a network learns to distinguish.

    ``structure="ordered"``: one regressor, trained on the pinball loss and cut into intervals;
    short for ``OrderedPartition(TorchQuantile(module, ...), n_groups)``, which is what ``PLCP``
    uses.

    ``structure="softmax"``: the paper's Algorithm 1. h(x) is the softmax of one output per group,
    and mean_j Σ_i h_i(x_j) ℓ_α(q_i, s_j) is descended in small batches on the network, with
    thresholds q set to exact weighted quantiles after each epoch ("alternating") or descended on
    too ("joint"). Without further measures it may collapse, on images within some tens of steps:
    the group whose threshold is best for all takes all rows, and no gradient is left. Two things
    keep groups alive: an epoch of predicting in which of m equal parts of all scores a row's score
    lies (``start="bins"``), and a term for equal shares that is gone when descent ends
    (``balance``). A ``CollapseWarning`` is given when one group holds more than 95 %.

    Parameters
    ----------
    module : torch.nn.Module or None, default=None
        As in `TorchQuantile`; with ``head=False`` it gives one logit per group.
    n_groups : int, default=8
        Number of groups m.
    structure : {"ordered", "softmax"}, default="ordered"
        As above.
    alpha : float, default=0.1
        Miscoverage rate.
    descent : {"alternating", "joint"}, default="alternating"
        How softmax groups and their thresholds are descended on.
    start : {"bins", "random"}, default="bins"
        How the network of softmax groups starts: trained to predict bins of the score, or as drawn.
    balance : float, default=0.1
        Weight of the term for equal shares of softmax groups, relative to Split's loss.
    ranks : bool, default=True
        Learn softmax groups on ranks of the scores, in which a pile of scores cannot hide others.
        Thresholds are read off the scores all the same.
    epochs : int or "auto", default="auto"
        As in `TorchQuantile`, but twenty in place of six for softmax groups.
    head, standardize, optimizer, learning_rate, schedule, batch_size, early_stopping, \
validation_fraction, patience, clip_norm, mixed_precision, device, random_state, verbose :
        As in `TorchQuantile`.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network with its groups (softmax).
    partition_ : OrderedPartition
        The partition this was short for (ordered).
    history_ : list of dict
        Loss of each epoch, with the term for equal shares, relative to Split's, and without it on
        the rows held out (softmax); as in `TorchQuantile` (ordered).

    References
    ----------
    Kiyani, Pappas, Hassani (2024). Conformal Prediction with Learned Features. ICML.

    Examples
    --------
    >>> from plcp import PLCP
    >>> from plcp.datasets import make_toy
    >>> from plcp.partitions.torch import TorchPartition, mlp
    >>> task = make_toy(2000, random_state=0)
    >>> partition = TorchPartition(mlp(32), structure="softmax")
    >>> rule = PLCP(partition, n_groups=2, random_state=0).fit(task.X, task.scores)
    >>> rule.groups([[-0.9], [0.9]])
    array([0, 1])
    """

    _of_rows = ("scale_",)  # what files leave out

    def __init__(
        self,
        module: Any = None,
        n_groups: int = 8,
        *,
        structure: str = "ordered",
        alpha: float = 0.1,
        descent: str = "alternating",
        start: str = "bins",
        balance: float = 0.1,
        ranks: bool = True,
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
        self.n_groups = n_groups
        self.structure = structure
        self.alpha = alpha
        self.descent = descent
        self.start = start
        self.balance = balance
        self.ranks = ranks
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
        """Learn groups and thresholds from rows ``X`` and scores ``y``."""
        check_option("structure", self.structure, STRUCTURES)
        check_option("descent", self.descent, DESCENTS)
        check_option("start", self.start, STARTS)
        if not is_real(self.balance) or not 0 <= self.balance < np.inf:
            raise ValueError(f"balance must be a number, not below zero, got {self.balance!r}")
        check_training(self)
        X, scores, given = self._check_fit(X, y, sample_weight)
        if self.structure == "ordered":
            self.partition_ = cast(OrderedPartition, self.spelled_out().fit(X, scores, given))
            for name in ("thresholds_", "group_sizes_", "history_"):
                setattr(self, name, getattr(self.partition_, name))
            return self
        X, weights = as_rows(X), np.ones(len(scores)) if given is None else given
        groups = self._learn(X, scores, weights)
        self.network_ = groups.cpu().eval()
        memberships = self._raw(X)
        found = weighted_quantiles(scores, memberships * weights[:, None], 1 - self.alpha)
        last = self.scale_.invert(groups.thresholds.detach().double().numpy())
        thresholds = np.where(np.isnan(found), last, found)
        self.store_groups(thresholds, weights @ memberships, least=weights.mean())
        warn_if_collapsed(self.group_sizes_, self.n_groups, REMEDY)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Memberships h(x), shape (n, ``n_groups_``)."""
        check_is_fitted(self, "thresholds_")
        X = check_features(self, X, reset=False, allow_nan=False)
        if self.structure == "ordered":
            return self._on_device().predict_proba(X)
        return merge_columns(self._raw(as_rows(X)), self._group_of, self.n_groups_)

    def predict_quantile(self, X: Any) -> FloatArray:
        """Learned regressor of each row (ordered), or mean threshold Σ h_i(x) q_i (softmax)."""
        if self.structure == "ordered":
            check_is_fitted(self, "thresholds_")
            return self._on_device().predict_quantile(X)
        return super().predict_quantile(X)

    def spelled_out(self) -> Partition:
        """Return the partition this one is short for."""
        if self.structure != "ordered":
            return self
        shared = TorchQuantile().get_params().keys() & self.get_params(deep=False).keys()
        regressor = TorchQuantile(**{name: getattr(self, name) for name in sorted(shared)})
        return OrderedPartition(regressor, self.n_groups, alpha=self.alpha)

    def _on_device(self) -> OrderedPartition:
        """Return the fitted ordered partition, on the device to compute on."""
        self.partition_.regressor_.set_params(device=self.device)
        return self.partition_

    def _learn(self, X: Any, scores: FloatArray, weights: FloatArray) -> SoftmaxGroups:
        """Run Algorithm 1 from a fresh network."""
        by_rank = self.ranks
        self.scale_ = (
            rank_scale(scores, weights) if by_rank else unit_scale(scores, weights, 1 - self.alpha)
        )
        rng = check_random_state(self.random_state)
        with random_stream(rng.randint(np.iinfo(np.int32).max)):
            learn, hold = hold_out(Sample.of(X, self.scale_(scores), weights), self, rng)
            groups = SoftmaxGroups(make_network(self, learn.X, self.n_groups), self.n_groups)
            self._row_shape = row_shape(learn.X)
            self.history_ = Algorithm(groups, learn, self, rng).run(hold)
        return groups

    def _raw(self, X: Any) -> FloatArray:
        return softmax(predict_outputs(self.network_, X, self.device, self._row_shape), axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
