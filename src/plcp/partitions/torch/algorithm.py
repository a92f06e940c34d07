"""Algorithm 1 on a network: small steps on memberships h, exact steps on thresholds q."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from plcp.partitions.classifier import start_thresholds
from plcp.partitions.torch.batches import outputs_of
from plcp.partitions.torch.descent import Descent, Record, run
from plcp.partitions.torch.devices import find_device
from plcp.partitions.torch.objective import imbalance, membership_loss, weighted_mean
from plcp.partitions.torch.sample import Sample
from plcp.partitions.torch.training import Training
from plcp.quantiles import FloatArray, IntArray, pinball_loss, weighted_quantiles

EPOCHS = 20


class SoftmaxGroups(nn.Module):
    """A network that gives one logit a group, and the threshold of each."""

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
    plan: Training
    rng: np.random.RandomState
    alpha: float
    balance: float

    def run(self, hold: Sample | None, *, joint: bool, warm: bool) -> list[Record]:
        """Alternate epochs on h with exact q-steps, or (``joint``) descend on both at once."""
        self._set(start_thresholds(self.learn.array(), len(self.groups.thresholds), self.alpha))
        if warm:
            self.teach_bins()
            self.threshold_step()
        self.groups.thresholds.requires_grad_(joint)
        descent = self._descent(self.plan)

        def one_epoch() -> Record:
            found = {"loss": descent.epoch(self.learn.X, self.loss)}
            if not joint:
                self.threshold_step()
            if hold is not None:
                found["held_out"] = self.objective(hold)
            return found

        return run(self.groups, descent.epochs, one_epoch, self.plan)

    def teach_bins(self) -> None:
        """One epoch of telling which of m equal parts of all scores a row's score is in."""
        scores, m = self.learn.array(), len(self.groups.thresholds)
        edges = np.quantile(scores, np.arange(1, m) / m)
        bins = torch.as_tensor(np.searchsorted(edges, scores, side="right"))

        def loss(logits: Tensor, rows: IntArray, progress: float) -> Tensor:
            target, weights = bins[rows].to(logits.device), self.learn.at(rows, logits.device)[1]
            return weighted_mean(cross_entropy(logits, target, reduction="none"), weights)

        self._descent(replace(self.plan, schedule="constant")).epoch(self.learn.X, loss)

    def threshold_step(self) -> None:
        """Exact q-step over all rows; a group without weight keeps the threshold it has."""
        sample, old = self.learn, self.thresholds()
        mass = self.memberships(sample) * sample.weights.double().numpy()[:, None]
        found = weighted_quantiles(sample.array(), mass, 1 - self.alpha)
        self._set(np.where(np.isnan(found), old, found))

    def loss(self, logits: Tensor, rows: IntArray, progress: float) -> Tensor:
        """Objective on a batch, and a term against collapse that is gone when descent ends."""
        scores, weights = self.learn.at(rows, logits.device)
        value = membership_loss(logits, self.groups.thresholds, scores, weights, self.alpha)
        penalty = imbalance(logits, weights) if self.balance > 0 else 0.0
        return value / self.unit + self.balance * (1 - progress) * penalty

    def objective(self, sample: Sample) -> float:
        """Objective on a sample."""
        losses = pinball_loss(self.thresholds(), sample.array()[:, None], self.alpha)
        expected = (self.memberships(sample) * losses).sum(axis=1)
        return float(np.average(expected, weights=sample.weights)) / self.unit

    def memberships(self, sample: Sample) -> FloatArray:
        """Memberships of the rows of a sample."""
        device = find_device(self.plan.device)
        with np.errstate(invalid="ignore"):  # logits that are not finite: `run` tells of them
            return softmax(outputs_of(self.groups.to(device), sample.X, device), axis=1)

    def thresholds(self) -> FloatArray:
        """Thresholds of the groups, as doubles, which not every device has."""
        return self.groups.thresholds.detach().cpu().double().numpy()

    @cached_property
    def unit(self) -> float:
        """Split's loss, so that the weight of the term against collapse means the same anywhere."""
        return self.learn.split_loss(self.alpha)

    def _descent(self, plan: Training) -> Descent:
        return Descent(self.groups, plan, len(self.learn), self.rng, EPOCHS)

    def _set(self, thresholds: FloatArray) -> None:
        with torch.no_grad():
            self.groups.thresholds.copy_(torch.as_tensor(thresholds).float())
