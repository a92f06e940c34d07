"""How a network is trained: rows as batches of tensors, descent, options of the estimators."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from torch import Tensor, nn
from torch.utils.data import default_collate

from plcp._folds import copy_ids, split_rows
from plcp._options import check_count, check_option, check_share, is_real
from plcp._parallel import counted
from plcp._rows import count, is_dataset, is_frame, take, to_plain_array
from plcp._validation import feature_errors, first_not_finite
from plcp.quantiles import FloatArray, IntArray, pinball_loss, weighted_quantiles


def pinball(threshold: Tensor, scores: Tensor, alpha: float) -> Tensor:
    """Pinball loss ℓ_α(q, s), elementwise.

    Examples
    --------
    >>> pinball(torch.tensor(2.0), torch.tensor([1.0, 3.0]), alpha=0.1)
    tensor([0.1000, 0.9000])
    """
    excess = threshold - scores
    return torch.maximum(alpha * excess, (alpha - 1) * excess)


def membership_loss(
    logits: Tensor, thresholds: Tensor, scores: Tensor, weights: Tensor, alpha: float
) -> Tensor:
    """Mean over rows of Σ_i h_i(x) ℓ_α(q_i, s), h the softmax of the logits."""
    losses = pinball(thresholds, scores[:, None], alpha)
    return ((logits.softmax(dim=1) * losses).sum(dim=1) * weights).mean()


def imbalance(logits: Tensor, weights: Tensor) -> Tensor:
    """KL divergence of the mean membership of a batch from equal shares: 0 where all are alike.

    Softmax groups die by a race on average cost: within some thirty steps the group whose threshold
    is best for all takes all, and all gradients vanish. This term blocks that common way.
    """
    mean = (logits.softmax(dim=1) * weights[:, None]).sum(dim=0) / weights.sum()
    return (mean * (len(mean) * mean + torch.finfo(mean.dtype).tiny).log()).sum()


def find_device(name: str) -> torch.device:
    """Device of this name; "auto": CUDA, else MPS, else the CPU.

    Examples
    --------
    >>> find_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        name = next((kind for kind in ("cuda", "mps") if is_there(kind)), "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps', got {name!r}") from None
    if not is_there(device.type):
        raise ValueError(
            f"device {name!r} is not there: torch {torch.__version__} sees none on this machine; "
            "use device='auto' or 'cpu'"
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise ValueError(f"device {name!r} is not there: this machine has {count} CUDA device(s)")
    return device


def to_device(fitted: Any, name: str) -> None:
    """Let every network inside a fitted estimator, a rule or a partition, predict on a device.

    Examples
    --------
    >>> from plcp import PLCP
    >>> from plcp.datasets import make_toy
    >>> from plcp.partitions.torch import TorchPartition, mlp, to_device
    >>> task = make_toy(200, random_state=0)
    >>> rule = PLCP(TorchPartition(mlp(4), epochs=1), random_state=0).fit(task.X, task.scores)
    >>> to_device(rule, "cpu")
    """
    find_device(name)
    if type(fitted).__module__.startswith(__package__):
        fitted.set_params(device=name)
    learned = [value for key, value in vars(fitted).items() if key.endswith("_")]
    parts = [part for value in learned for part in (value if isinstance(value, list) else [value])]
    for part in [step for _, step in fitted.steps] if isinstance(fitted, Pipeline) else parts:
        ours = type(part).__module__.startswith("plcp.")  # others may have devices of their own
        if isinstance(part, Pipeline) or (ours and isinstance(part, BaseEstimator)):
            to_device(part, name)


def is_there(kind: str) -> bool:
    """Whether this machine has a device of a kind."""
    if kind == "cuda":
        return torch.cuda.is_available()
    return torch.backends.mps.is_available() if kind == "mps" else kind == "cpu"


ROWS_TO_READ = 1024  # at once where nothing is learned,
BYTES_TO_READ = 2**25  # and never more than this
# held while a network is in another mode than its owner left it, as another thread may be using it
_MODES = RLock()


def as_rows(X: Any) -> Any:
    """Return X in a form that `read` reads: a data set as it is, all else as an array."""
    if is_dataset(X):
        return X
    for name in X.columns if is_frame(X) else ():
        if np.asarray(X[name]).dtype.kind not in "biuf":
            raise ValueError(
                f"column {name!r} of X holds no numbers: encode it first, in a pipeline before the "
                "network, or use the default regressor, which takes categories, text and dates"
            )
    with feature_errors(X):
        return check_array(to_plain_array(X), allow_nd=True, dtype="numeric", input_name="X")


def read(X: Any, rows: IntArray) -> Tensor:
    """Return some rows as floats: of an array, or a data set.

    Items of a data set may be pairs (x, label), of which the label is left alone. Bytes of images
    are scaled to [0, 1]; images of other integers are refused, since their range is not known.

    Examples
    --------
    >>> read(np.full((2, 1, 2, 2), 255, dtype=np.uint8), np.array([0])).flatten().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    if is_dataset(X):
        items = [X[int(row)] for row in rows]
        parts = [x[0] if isinstance(x, (tuple, list)) else x for x in items]
        block = default_collate([to_plain_array(part) for part in parts])
        if not isinstance(block, Tensor) or block.ndim < 2:
            raise ValueError(
                "items of a data set must be a vector or an image each, as a tensor or an array, "
                f"or pairs of one and a label, got {items[0]!r}"
            )
    else:
        block = torch.as_tensor(np.ascontiguousarray(X[rows]))
    if block.ndim == 2 or block.is_floating_point():
        return block.float()
    if block.dtype != torch.uint8:
        raise ValueError(
            f"images of {block.dtype} have no known range: give bytes (uint8), which are "
            "scaled to [0, 1], or floats"
        )
    return block.float() / 255


def row_shape(X: Any) -> tuple[int, ...]:
    """Shape of a row, as the first one has it."""
    return tuple(read(X, np.zeros(1, dtype=int)).shape[1:])


def read_batches(X: Any, device: torch.device) -> Iterator[Tensor]:
    """Batches of all rows, in order."""
    n = count(X)
    size = max(1, min(ROWS_TO_READ, BYTES_TO_READ // read(X, np.zeros(1, dtype=int)).nbytes))
    for start in range(0, n, size):
        yield read(X, np.arange(start, min(start + size, n))).to(device)


def shuffled(n: int, batch_size: int, rng: np.random.RandomState) -> Iterator[IntArray]:
    """Rows of each batch of an epoch; a last one of less than half the size is left out."""
    order = rng.permutation(n)
    for start in range(0, n, batch_size):
        rows = order[start : start + batch_size]
        if start == 0 or 2 * len(rows) >= batch_size:
            yield rows


def moments(X: Any) -> tuple[Tensor, Tensor]:
    """Mean and spread of each column, or channel of images, in one pass."""
    scaler = StandardScaler()
    with feature_errors(X):
        for block in read_batches(X, torch.device("cpu")):
            scaler.partial_fit(block.movedim(1, -1).flatten(0, -2).double().numpy())
    return torch.tensor(scaler.mean_).float(), torch.tensor(scaler.scale_).float()


def outputs_of(network: torch.nn.Module, X: Any, device: torch.device) -> FloatArray:
    """Outputs of a network for all rows, as an array of doubles; its modes stay as they were."""
    with _MODES:
        training = [part for part in network.modules() if part.training]
        if training:
            network.eval()
            try:
                return _outputs(network, X, device)
            finally:
                for part in training:
                    part.training = True
    return _outputs(network, X, device)


def _outputs(network: torch.nn.Module, X: Any, device: torch.device) -> FloatArray:
    dtype = next((p.dtype for p in network.parameters()), torch.float32)
    with torch.no_grad():
        blocks = [network(block.to(dtype)).cpu().double() for block in read_batches(X, device)]
    return torch.cat(blocks).numpy()


def mlp(*widths: int) -> nn.Sequential:
    """Layers of ReLU units of these widths; ``mlp(200, 100)`` is the paper's, for census data.

    Examples
    --------
    >>> import torch
    >>> from plcp.partitions.torch import mlp
    >>> mlp(200, 100)(torch.zeros(3, 7)).shape
    torch.Size([3, 100])
    """
    layers: list[nn.Module] = [nn.Flatten()]
    for width in widths:
        layers += [nn.LazyLinear(width), nn.ReLU()]
    return nn.Sequential(*layers)


def small_cnn() -> nn.Sequential:
    """Three convolutions, of 8, 16 and 16 channels, and a layer of 64 units; for MNIST.

    The layer that `TorchPartition` or `TorchQuantile` puts on top is the second of the paper's two.
    Strides stand for pooling: two to three times cheaper, and no worse.

    Examples
    --------
    >>> import torch
    >>> from plcp.partitions.torch import small_cnn
    >>> small_cnn()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 64])
    """
    return nn.Sequential(
        nn.LazyConv2d(8, kernel_size=5, stride=2, padding=2),
        nn.ReLU(),
        nn.LazyConv2d(16, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.LazyConv2d(16, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(64),
        nn.ReLU(),
    )


def one_conv() -> nn.Sequential:
    """One convolution of 8 channels, which the layer on top reads; the paper's, for RxRx1.

    Examples
    --------
    >>> import torch
    >>> from plcp.partitions.torch import one_conv
    >>> one_conv()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 1568])
    """
    return nn.Sequential(
        nn.LazyConv2d(8, kernel_size=5, stride=2, padding=2), nn.ReLU(), nn.Flatten()
    )


class Standardise(nn.Module):
    """Each column, or channel of images, less its mean, over its spread."""

    def __init__(self, mean: Tensor, spread: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("spread", spread)

    def forward(self, x: Tensor) -> Tensor:
        """Return standardised rows."""
        shape = (1, -1) + (1,) * (x.ndim - 2)
        return (x - self.get_buffer("mean").view(shape)) / self.get_buffer("spread").view(shape)


def make_network(options: Any, X: Any, width: int) -> nn.Sequential:
    """Return the network of an estimator, with ``width`` outputs, that takes rows of X.

    Draws the weights that are not there yet.
    """
    rows = read(X, np.arange(2) % len(X))  # two: some layers refuse a batch of one
    module = options.module
    if module is None:
        module = mlp(200, 100) if rows.ndim == 2 else small_cnn()
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module or None, got {module!r}")
    layers: list[nn.Module] = [Standardise(*moments(X))] if options.standardize else []
    network = nn.Sequential(*layers, deepcopy(module).float()).eval()
    try:
        with torch.no_grad():
            found: Any = network(rows)
    except (RuntimeError, TypeError, ValueError) as error:
        shape = tuple(rows.shape[1:])
        raise ValueError(f"the module cannot take rows of shape {shape}: {error}") from error
    if not isinstance(found, Tensor) or found.ndim != 2 or len(found) != len(rows):
        got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(
            f"the module must give one vector per row, shape (2, k) for two rows of shape "
            f"{tuple(rows.shape[1:])}, got {got}: add nn.Flatten(), and a channel "
            "axis to images, X[:, None]"
        )
    if options.head:
        network.append(nn.Linear(found.shape[1], width))
    elif found.shape[1] != width:
        raise ValueError(
            f"the module gives {found.shape[1]} outputs per row, but {width} are needed: change "
            "its last layer or n_groups, or set head=True, which puts a linear layer on top"
        )
    if not any(p.requires_grad for p in network.parameters()):
        raise ValueError("every parameter is frozen: set head=True, or let some of them learn")
    return network


def predict_outputs(
    network: nn.Module, X: Any, device_name: str, fitted_shape: tuple[int, ...]
) -> FloatArray:
    """Finite outputs for all rows, computed on a device; the network itself stays on the CPU."""
    given = row_shape(X)
    if given != fitted_shape:
        raise ValueError(f"rows have shape {given}, but the network was fitted on {fitted_shape}")
    device = find_device(device_name)
    there = network if device.type == "cpu" else deepcopy(network).to(device)
    outputs = outputs_of(there, X, device)
    fault = first_not_finite(outputs.sum(axis=1))
    if fault:
        raise ValueError(f"the network gives {fault}: check that row for NaN or huge numbers")
    return outputs


# Fused steps are a third of the time of one step per tensor, on small networks.
OPTIMIZERS = {
    "adam": partial(torch.optim.Adam, fused=True),
    "adamw": partial(torch.optim.AdamW, fused=True),
    "sgd": partial(torch.optim.SGD, fused=True),
}
SCHEDULES = ("cosine", "constant")
LARGEST_BATCH = 128
LEAST_STEPS, LEAST_PATIENCE = 450, 3


def check_training(options: Any) -> None:
    """Raise for options of training that are out of range; `TorchQuantile` documents them."""
    if not callable(options.optimizer):
        check_option("optimizer", options.optimizer, tuple(OPTIMIZERS))
    check_option("schedule", options.schedule, SCHEDULES)
    check_share("validation_fraction", options.validation_fraction)
    for name in ("batch_size", "epochs", "patience"):
        if getattr(options, name) != "auto":
            check_count(name, getattr(options, name), 1)
    for name in ("early_stopping", "mixed_precision"):
        if not isinstance(getattr(options, name), bool):
            raise ValueError(f"{name} must be True or False, got {getattr(options, name)!r}")
    for name in ("learning_rate", "clip_norm"):
        value = getattr(options, name)
        is_positive = is_real(value) and 0 < value < np.inf
        if not is_positive and (name, value) != ("clip_norm", None):
            raise ValueError(f"{name} must be a positive number, got {value!r}")
    find_device(options.device)


LEAST_ROWS = 20  # below which none can be spared


@dataclass(frozen=True)
class Sample:
    """Rows, their scores on the scale of learning, and weights that are 1 on average."""

    X: Any
    scores: Tensor
    weights: Tensor

    @classmethod
    def of(cls, X: Any, scores: FloatArray, weights: FloatArray) -> Self:
        """Return a sample of arrays."""
        return cls(X, torch.tensor(scores).float(), torch.tensor(weights / weights.mean()).float())

    def __len__(self) -> int:
        return len(self.scores)

    def at(self, rows: IntArray, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return scores and weights of some rows."""
        return self.scores[rows].to(device), self.weights[rows].to(device)

    def array(self) -> FloatArray:
        """Return the scores as an array of doubles."""
        return self.scores.double().numpy()

    def split_loss(self, alpha: float) -> float:
        """Mean pinball loss of the best single threshold; 1 where nothing is lost."""
        scores, weights = self.array(), self.weights.double().numpy()
        best = weighted_quantiles(scores, weights[:, None], 1 - alpha)[0]
        return float(np.average(pinball_loss(best, scores, alpha), weights=weights)) or 1.0

    def take(self, rows: IntArray) -> "Sample":
        """Return the sample of some rows."""
        return Sample(take(self.X, rows), self.scores[rows], self.weights[rows])


def hold_out(
    sample: Sample, options: Any, rng: np.random.RandomState
) -> tuple[Sample, Sample | None]:
    """Rows to learn from, and rows to stop by with ``early_stopping``."""
    if not options.early_stopping or len(sample) < LEAST_ROWS:
        return sample, None
    ids = copy_ids(sample.X, sample.array())
    learn, hold = split_rows(ids, options.validation_fraction, rng)
    return sample.take(learn), sample.take(hold)


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
    """Epochs of small steps on the parameters of a network.

    ``options`` is the estimator to fit; ``least_epochs`` its epochs where they are "auto", unless
    450 steps take more.
    """

    def __init__(
        self,
        network: nn.Module,
        options: Any,
        n: int,
        rng: np.random.RandomState,
        least_epochs: int,
        *,
        schedule: str | None = None,
    ) -> None:
        self.network, self.options, self.n, self.rng = network, options, n, rng
        self.schedule = options.schedule if schedule is None else schedule
        self.device = find_device(options.device)
        is_auto = options.batch_size == "auto"
        self.batch_size = min(LARGEST_BATCH, n) if is_auto else int(options.batch_size)
        if self.batch_size > n:
            raise ValueError(
                f"batch_size = {self.batch_size} is larger than the {n} rows to learn from: "
                "give a smaller one, or 'auto'"
            )
        enough = max(least_epochs, -(-LEAST_STEPS * self.batch_size // n))
        self.epochs = enough if options.epochs == "auto" else int(options.epochs)
        # a quarter of all, for an epoch may be but two steps
        enough = max(LEAST_PATIENCE, self.epochs // 4)
        self.patience = enough if options.patience == "auto" else int(options.patience)
        whole, rest = divmod(n, self.batch_size)
        batches = max(1, whole + (2 * rest >= self.batch_size))
        self.steps, self.step = self.epochs * batches, 0
        network.to(self.device)
        make: Any = OPTIMIZERS.get(options.optimizer, options.optimizer)
        learning = [p for p in network.parameters() if p.requires_grad]
        self.optimizer = make(learning, lr=options.learning_rate)

    def epoch(self, X: Any, loss_of: Loss) -> float:
        """Pass once over the rows; mean over batches of ``loss_of(outputs, rows, progress)``."""
        self.network.train()
        for part in self.network.modules():
            if all(not p.requires_grad for p in part.parameters()):
                part.eval()  # what is frozen keeps its statistics too
        batches = shuffled(self.n, self.batch_size, self.rng)
        losses = [self._descend(read(X, rows), rows, loss_of) for rows in batches]
        some = read(X, np.arange(self.batch_size)).to(self.device)
        self.network.eval()
        with torch.inference_mode():  # after the last step, whose loss is not known
            is_finite = bool(self.network(some).isfinite().all())
        return float(np.mean(losses)) if is_finite else np.nan

    def _descend(self, block: Tensor, rows: IntArray, loss_of: Loss) -> float:
        options, progress = self.options, min(self.step / self.steps, 1.0)
        rate = options.learning_rate
        if self.schedule == "cosine":
            rate = float(rate * (1 + np.cos(np.pi * progress)) / 2)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with torch.autocast(self.device.type, torch.bfloat16, enabled=options.mixed_precision):
            outputs = self.network(block.to(self.device))
        loss = loss_of(outputs.float(), rows, progress)
        self.optimizer.zero_grad()
        loss.backward()
        if options.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), options.clip_norm)
        self.optimizer.step()
        self.step += 1
        return float(loss.detach())


def run(
    network: nn.Module,
    epochs: int,
    patience: int,
    one_epoch: Callable[[], Record],
    *,
    verbose: bool = False,
) -> list[Record]:
    """Run epochs, and leave the network in the best state: of least "held_out", else the last.

    Ctrl-C, or a loss that is no number, ends the run and leaves the best state so far.
    """
    history: list[Record] = []
    best: dict[str, Any] = {}
    best_epoch, least = 0, np.inf
    for epoch in counted(range(1, epochs + 1), epochs, verbose, "epochs"):
        try:
            found = one_epoch()
        except KeyboardInterrupt:
            if not best:
                raise
            kept = f"the state of epoch {best_epoch} stays"
            _warn(f"interrupted in epoch {epoch} of {epochs}: {kept}")
            break
        if not np.isfinite(list(found.values())).all():
            broken = f"the loss is no finite number in epoch {epoch}"
            if not best:
                raise ValueError(f"{broken}: check the data for NaN, or {REMEDY}")
            _warn(f"{broken}: the state of epoch {best_epoch} stays; {REMEDY}")
            break
        history.append({"epoch": epoch, **found})
        held = found.get("held_out", -epoch)
        if held < least:
            best, best_epoch, least = deepcopy(network.state_dict()), epoch, held
        elif epoch - best_epoch >= patience:
            break
    network.load_state_dict(best)
    return history


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
