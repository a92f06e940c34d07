"""Descent in small batches, one epoch after the other, and what to do when it breaks."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from plcp.partitions.torch.batches import batches_in, read, shuffled
from plcp.partitions.torch.devices import find_device
from plcp.partitions.torch.training import Training
from plcp.progress import counted
from plcp.quantiles import IntArray

Record = dict[str, float]
Loss = Callable[[Tensor, IntArray, float], Tensor]
REMEDY = "lower learning_rate, or set clip_norm=1"
_STREAM = threading.Lock()


@contextmanager
def random_stream(seed: int) -> Iterator[None]:
    """Seed torch's one global stream, put it back, and let no other fit draw from it meanwhile."""
    with _STREAM, torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


class Descent:
    """Epochs of small steps on the parameters of a network."""

    def __init__(
        self, network: nn.Module, plan: Training, n: int, rng: np.random.RandomState, epochs: int
    ) -> None:
        self.network, self.plan, self.n, self.rng = network, plan, n, rng
        self.device = find_device(plan.device)
        self.batch_size, self.epochs = plan.batch_for(n), plan.epochs_for(n, epochs)
        self.steps, self.step = self.epochs * batches_in(n, self.batch_size), 0
        network.to(self.device)
        self.optimizer = plan.make_optimizer([p for p in network.parameters() if p.requires_grad])

    def epoch(self, X: Any, loss_of: Loss) -> float:
        """Pass once over the rows; mean over batches of ``loss_of(outputs, rows, progress)``."""
        self.network.train()
        for part in self.network.modules():
            if all(not p.requires_grad for p in part.parameters()):
                part.eval()  # what is frozen keeps its statistics too
        batches = shuffled(self.n, self.batch_size, self.rng)
        losses = [self._descend(read(X, rows), rows, loss_of) for rows in batches]
        return float(np.mean(losses)) if self._is_sound(X) else np.nan

    def _is_sound(self, X: Any) -> bool:
        """Whether outputs are numbers after the last step too, whose loss nobody has seen."""
        some = read(X, np.arange(self.batch_size)).to(self.device)
        self.network.eval()
        with torch.inference_mode():
            return bool(self.network(some).isfinite().all())

    def _descend(self, block: Tensor, rows: IntArray, loss_of: Loss) -> float:
        progress = min(self.step / self.steps, 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.rate(progress)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.plan.mixed_precision):
            outputs = self.network(block.to(self.device))
        loss = loss_of(outputs.float(), rows, progress)
        self.optimizer.zero_grad()
        loss.backward()
        if self.plan.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.plan.clip_norm)
        self.optimizer.step()
        self.step += 1
        return float(loss.detach())


def run(
    network: nn.Module, epochs: int, one_epoch: Callable[[], Record], plan: Training
) -> list[Record]:
    """Run epochs, and leave the network in the best state: of least "held_out", else the last.

    Ctrl-C, or a loss that is no number, ends the run and leaves the best state so far.
    """
    history: list[Record] = []
    best: dict[str, Any] = {}
    best_epoch, least, patience = 0, np.inf, plan.patience_for(epochs)
    for epoch in counted(range(1, epochs + 1), epochs, plan.verbose, "epochs"):
        try:
            found = one_epoch()
        except KeyboardInterrupt:
            if not best:
                raise
            _say(f"interrupted in epoch {epoch} of {epochs}: the state of epoch {best_epoch} stays")
            break
        if not np.isfinite(list(found.values())).all():
            broken = f"the loss is no finite number in epoch {epoch}"
            if not best:
                raise ValueError(f"{broken}: look for NaN in the data, or {REMEDY}")
            _say(f"{broken}: the state of epoch {best_epoch} stays; {REMEDY}")
            break
        history.append({"epoch": epoch, **found})
        held = found.get("held_out", -epoch)
        if held < least:
            best, best_epoch, least = deepcopy(network.state_dict()), epoch, held
        elif epoch - best_epoch >= patience:
            break
    network.load_state_dict(best)
    return history


def _say(what: str) -> None:
    warnings.warn(what, ConvergenceWarning, stacklevel=4)
