"""SelectionDisplay: how the number of groups was chosen."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from plcp._options import check_count
from plcp.plotting.display import OTHERS, Display, draw_legend, label_axes, styled
from plcp.plotting.history import check_steps, history_of, loss_of
from plcp.thresholds import PLCP
from plcp.thresholds._plcp_learning import MOST_FOLLOWING, ROWS_A_GROUP

REMEDY = "fit PLCP(n_groups='auto', within='constant') for a curve"


class SelectionDisplay(Display):
    """Held-out pinball loss against the number of groups, the least marked.

    Make it by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    n_groups, held_out : array of shape (k,)
        Numbers of groups that were tried, rising, and the loss of each.
    chosen : int
        The one that was taken.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, chosen_ : Line2D
        The curve, and the point on it that was chosen.

    Examples
    --------
    >>> import matplotlib
    >>> from plcp.plotting import SelectionDisplay
    >>> matplotlib.use("Agg")
    >>> tried = {1: 0.30, 2: 0.25, 4: 0.26, 3: 0.24}
    >>> history = [{"n_groups": m, "held_out": loss} for m, loss in tried.items()]
    >>> display = SelectionDisplay.from_predictions(history)
    >>> display.n_groups, display.chosen
    (array([1, 2, 3, 4]), 3)
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, *, n_groups: ArrayLike, held_out: ArrayLike, chosen: int) -> None:
        self.n_groups = np.asarray(n_groups)
        self.held_out = np.asarray(held_out, dtype=float)
        self.chosen = chosen

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **styles: Any) -> Self:
        """Draw how a fitted rule chose its number of groups.

        There is a curve where constant thresholds were fitted with ``n_groups="auto"``.

        Parameters
        ----------
        estimator : fitted PLCP, or a conformal estimator around one
        ax, **styles
            As in `plot`.
        """
        history = history_of(estimator)
        if not any("n_groups" in step for step in history):
            rule = estimator.tail_rules_[0] if hasattr(estimator, "conformity_") else estimator
            raise ValueError(f"{_how_chosen(rule)}: {REMEDY}")
        return cls.from_predictions(history, ax=ax, **styles)

    @classmethod
    def from_predictions(
        cls, history: Sequence[Mapping[str, Any]], *, ax: Any = None, **styles: Any
    ) -> Self:
        """Draw a history: there are no predictions in it, only what was tried while fitting.

        Parameters
        ----------
        history : list of dict
            As ``history_`` of a fitted rule: steps with "n_groups" and "held_out".
        ax, **styles
            As in `plot`.
        """
        tried = [
            (check_count("n_groups of history", step["n_groups"], 1), loss_of(step, "held_out"))
            for step in check_steps(history)
            if "n_groups" in step
        ]
        if not tried:
            raise ValueError(f"history holds no number of groups that was tried: {REMEDY}")
        chosen = min(tried, key=lambda pair: pair[1])[0]
        n_groups, held_out = zip(*sorted(tried), strict=True)
        return cls(n_groups=n_groups, held_out=held_out, chosen=chosen).plot(ax, **styles)

    def plot(
        self,
        ax: Any = None,
        *,
        line_kwargs: Mapping[str, Any] | None = None,
        chosen_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw on ``ax``, or on axes of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None
        line_kwargs, chosen_kwargs : mapping, optional
            Keywords of ``ax.plot`` for the curve, and for the mark of what was chosen.
        """
        ax = self._open(ax)
        line = {"color": OTHERS[0][0], "marker": "o", "markersize": 5, "label": "tried"}
        (self.line_,) = ax.plot(self.n_groups, self.held_out, **styled(line, line_kwargs))
        mark = {"color": OTHERS[1][0], "marker": "D", "markersize": 9, "linestyle": "none"}
        mark |= {"label": f"least loss, {self.chosen} groups", "zorder": 3}
        at = self.n_groups == self.chosen
        (self.chosen_,) = ax.plot(
            self.n_groups[at], self.held_out[at], **styled(mark, chosen_kwargs)
        )
        ax.set_xscale("log", base=2)  # as the search goes, by doubling
        doubled = 2 ** np.arange(int(self.n_groups.max()).bit_length())
        ax.set_xticks(doubled, doubled)
        ax.minorticks_off()
        ax.grid(axis="y", linewidth=0.5, alpha=0.6)
        label_axes(ax, "number of groups", "pinball loss on rows held out")
        draw_legend(ax)
        return self


def _how_chosen(rule: Any) -> str:
    """Why a fitted rule has no curve to show."""
    if not isinstance(rule, PLCP):
        return f"{type(rule).__name__} chooses no number of groups"
    if rule.n_groups != "auto":
        return f"nothing was chosen, n_groups={rule.n_groups} was given"
    if not rule.history_ and np.isinf(rule.thresholds_).all():
        return "nothing was chosen, there were too few calibration points for any group"
    return (
        f"thresholds that follow a regressor have one group for {ROWS_A_GROUP} rows, at most "
        f"{MOST_FOLLOWING}, and nothing was tried"
    )
