"""The paper's objective (problem 8) on a batch, and the term that keeps its groups alive."""

import torch
from torch import Tensor


def pinball(threshold: Tensor, scores: Tensor, alpha: float) -> Tensor:
    """Pinball loss ℓ_α(q, s), elementwise.

    Examples
    --------
    >>> pinball(torch.tensor(2.0), torch.tensor([1.0, 3.0]), alpha=0.1)
    tensor([0.1000, 0.9000])
    """
    excess = threshold - scores
    return torch.maximum(alpha * excess, (alpha - 1) * excess)


def weighted_mean(values: Tensor, weights: Tensor) -> Tensor:
    """Mean of ``values`` that are worth 1 on average over all batches."""
    return (values * weights).mean()


def membership_loss(
    logits: Tensor, thresholds: Tensor, scores: Tensor, weights: Tensor, alpha: float
) -> Tensor:
    """Mean over rows of Σ_i h_i(x) ℓ_α(q_i, s), h the softmax of the logits."""
    losses = pinball(thresholds, scores[:, None], alpha)
    return weighted_mean((logits.softmax(dim=1) * losses).sum(dim=1), weights)


def imbalance(logits: Tensor, weights: Tensor) -> Tensor:
    """KL divergence of the mean membership of a batch from equal shares: 0 where all are alike.

    Softmax groups die by a race on average cost: within some thirty steps the group whose threshold
    is best for everybody takes all, and all gradients vanish. This term blocks that common way.
    """
    mean = (logits.softmax(dim=1) * weights[:, None]).sum(dim=0) / weights.sum()
    return (mean * (len(mean) * mean + torch.finfo(mean.dtype).tiny).log()).sum()
