"""HistoryDisplay: the losses of a fit, step by step."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from plcp.conformal import check_one_alpha
from plcp.plotting.display import Display, draw_legend, label_axes, name_rows, styled
from plcp.quantiles import FloatArray

# quantities of a step, what they are called, and how they are drawn
LOSSES = {
    "objective": ("on the rows learned from", "--"),
    "loss": ("on the rows learned from", "--"),
    "held_out": ("on rows held out", "-"),
    "out_of_fold": ("out of fold", "-"),
}
GIVE = "give history_ of a fitted rule"
COLORS = ("#1f6fb4", "#e08214", "#4d9a52", "#9970ab", "#8c510a", "#c51b7d", "#35978f")


class HistoryDisplay(Display):
    """Pinball loss of each step of a fit, or of each member of a mixed regressor.

    Steps are lines: one for each quantity that was recorded, and one colour for each model, where
    folds were fitted. The members that the default regressor mixes have no steps: each is a point,
    with its weight in the mixture beside its name.

    Make it by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    history : list of dict
        Steps, as ``history_`` of a fitted rule, partition or regressor records them. Those of the
        choice of the number of groups are left to `SelectionDisplay`.

    Attributes
    ----------
    curves : dict of label to array
        Loss of each step.
    members : dict of label to float
        Loss of each member, its weight in the label.
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of label to Line2D
        One per curve.
    points_ : Line2D or None
        The members.

    Examples
    --------
    >>> import matplotlib
    >>> from plcp.plotting import HistoryDisplay
    >>> matplotlib.use("Agg")
    >>> steps = [{"objective": 0.3, "held_out": 0.4}, {"objective": 0.2, "held_out": 0.35}]
    >>> display = HistoryDisplay.from_predictions(steps)
    >>> display.curves["on rows held out"]
    array([0.4 , 0.35])
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, *, history: Sequence[Mapping[str, Any]]) -> None:
        self.history = [dict(step) for step in check_steps(history) if "n_groups" not in step]
        self.members = _members(self.history)
        self.curves, self._styles = _curves(self.history)
        if not self.members and not self.curves:
            raise ValueError(
                "history holds no step with a loss, one of "
                f"{', '.join(LOSSES)}: trees left none; give that of a fit in steps"
            )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **styles: Any) -> Self:
        """Draw the history of a fitted rule, partition, regressor or conformal estimator.

        Parameters
        ----------
        estimator : fitted, with ``history_``, or a conformal estimator around a rule with it
        ax, **styles
            As in `plot`.
        """
        return cls.from_predictions(history_of(estimator), ax=ax, **styles)

    @classmethod
    def from_predictions(
        cls, history: Sequence[Mapping[str, Any]], *, ax: Any = None, **styles: Any
    ) -> Self:
        """Draw a history: there are no predictions in it, only what was recorded while fitting.

        Parameters
        ----------
        history : list of dict
            As ``history_`` of a fitted rule.
        ax, **styles
            As in `plot`.
        """
        return cls(history=history).plot(ax, **styles)

    def plot(self, ax: Any = None, *, line_kwargs: Mapping[str, Any] | None = None) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None
        line_kwargs : mapping, optional
            Keywords of ``ax.plot``, for the curves or for the members.
        """
        ax = self._open(ax, height=1.2 + 0.45 * len(self.members) if self.members else 4.0)
        self.lines_, self.points_ = {}, None
        if self.members:
            self._draw_members(line_kwargs)
            return self
        for label, losses in self.curves.items():
            style = {**self._styles[label], "label": label, "marker": ".", "markersize": 4}
            steps = np.arange(1, len(losses) + 1)
            (self.lines_[label],) = ax.plot(steps, losses, **styled(style, line_kwargs))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(linewidth=0.5, alpha=0.6)
        label_axes(ax, "step", "pinball loss")
        draw_legend(ax, ncols=2)
        return self

    def _draw_members(self, given: Mapping[str, Any] | None) -> None:
        name_rows(self.ax_, self.members)
        style = {"color": COLORS[0], "marker": "o", "linestyle": "none"}
        losses = list(self.members.values())
        (self.points_,) = self.ax_.plot(losses, range(len(losses)), **styled(style, given))
        label_axes(self.ax_, "pinball loss, out of fold", "")


def check_steps(history: Any) -> list[Mapping[str, Any]]:
    """Return steps; refuse what ``history_`` of no rule is."""
    if not isinstance(history, list | tuple) or not all(isinstance(s, Mapping) for s in history):
        raise TypeError(f"history must be a list of dicts, got {history!r}: {GIVE}")
    return list(history)


def loss_of(step: Mapping[str, Any], key: str) -> float:
    """Return a loss of a step, which must be a number."""
    loss = step.get(key)
    if isinstance(loss, bool) or not isinstance(loss, Real) or np.isnan(float(loss)):
        raise ValueError(f"history must hold a number as {key!r}, got {loss!r}: {GIVE}")
    return float(loss)


def history_of(estimator: Any) -> list[dict[str, Any]]:
    """History of a fitted estimator, or of the one rule within."""
    if not isinstance(estimator, BaseEstimator):
        raise TypeError(f"a fitted estimator has a history, got {estimator!r}: give one")
    check_is_fitted(estimator)
    check_one_alpha(estimator)
    tails = estimator.tail_rules_ if hasattr(estimator, "conformity_") else [estimator]
    if len(tails) > 1:
        raise ValueError(
            "each tail has a history of its own: draw tail_rules_[0] or tail_rules_[1]"
        )
    if not hasattr(tails[0], "history_"):
        raise ValueError(
            f"{type(tails[0]).__name__} keeps no history: give a PLCP, a partition or a regressor "
            "that is learned in steps"
        )
    return list(tails[0].history_)


def _members(history: list[dict[str, Any]]) -> dict[str, float]:
    named = [step for step in history if "member" in step]
    return {
        f"{step['member']}{_of_model(step)}, weight {step['weight']:.2f}": step["out_of_fold"]
        for step in named
    }


def _curves(
    history: list[dict[str, Any]],
) -> tuple[dict[str, FloatArray], dict[str, dict[str, Any]]]:
    """Losses of each model and quantity in the order of the steps, and the style of each curve."""
    losses: dict[str, list[float]] = {}
    method_styles: dict[str, dict[str, Any]] = {}
    for step in history:
        if "member" in step:
            continue
        for key in LOSSES.keys() & step.keys():
            title, line = LOSSES[key]
            label = f"{title}{_of_model(step)}"
            losses.setdefault(label, []).append(loss_of(step, key))
            method_styles[label] = {
                "linestyle": line,
                "color": COLORS[step.get("model", 0) % len(COLORS)],
            }
    return {label: np.array(losses[label]) for label in sorted(losses)}, method_styles


def _of_model(step: Mapping[str, Any]) -> str:
    return f", model {step['model']}" if "model" in step else ""
