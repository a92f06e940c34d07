"""Labels in held-out experiments: the protocol and the report of RxRx1 and of its stand-in."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plcp._rows import take
from plcp.exceptions import InfiniteThresholdWarning
from plcp.experiments.methods import CROSS, PUBLISHED, SPLIT, TWO_KINDS_OF_NETWORK, as_published
from plcp.experiments.report import (
    Claim,
    Floats,
    Line,
    Record,
    Report,
    Settings,
    Summary,
    Table,
    draw_by_group,
    group_table,
    outcome,
    overall_table,
    spread,
    summarise,
)
from plcp.groups import GroupProbabilities
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import TorchPartition
from plcp.quantiles import FloatArray
from plcp.scores import CumulativeProbability
from plcp.thresholds import PLCP, ConditionalCalibration, Mondrian, SplitConformal


class BrokenTies(CumulativeProbability):
    """S = Σ {π_i : π_i > π_y}, and a uniform draw from (-1, 0] where that is zero.

    The likeliest label scores 0, whatever its probability: a tie of most calibration scores where
    the predictor is good, on which any threshold covers all or none. Broken at random, once a row,
    a threshold below zero covers a share of it; scores above zero stay what they are.

    Examples
    --------
    >>> score = BrokenTies(random_state=0)
    >>> first, second = score([[0.75, 0.25], [0.75, 0.25]], [0, 1])
    >>> bool(-1 < first <= 0), second
    (True, np.float64(0.75))
    """

    @property
    def draws(self) -> bool:
        """Whether ties are broken at random: always."""
        return True

    def _all_scores(self, prediction: ArrayLike, in_order: bool) -> FloatArray:
        scores = super()._all_scores(prediction, in_order)
        drawn = super()._own_share(np.asarray(prediction, dtype=float), in_order)
        return np.where(scores == 0, -drawn[:, None], scores)

    def _own_share(self, probabilities: FloatArray, in_order: bool) -> FloatArray:
        return np.zeros(len(probabilities))


LEAST_ROWS = 20  # of an experiment: a half holds none of them with probability 2⁻²⁰


@dataclass(frozen=True)
class HeldOut:
    """Rows of experiments that are not in the training data.

    Attributes
    ----------
    logits : array (n, k)
        The predictor's output for each label.
    features : array (n, d)
        Columns that Conditional Calibration and PLCP by default learn from.
    inputs : array or data set
        What the published partition, a network, learns from.
    label, experiment : arrays (n,)
        The true label, and the experiment each row comes from.
    """

    logits: FloatArray
    features: NDArray[Any]
    inputs: Any
    label: NDArray[np.int64]
    experiment: NDArray[Any]

    def __getitem__(self, rows: NDArray[np.intp]) -> "HeldOut":
        return HeldOut(
            self.logits[rows],
            self.features[rows],
            take(self.inputs, rows),
            self.label[rows],
            self.experiment[rows],
        )


@dataclass(frozen=True)
class Halves:
    """Calibration and test rows of one trial, and the network of the published partition."""

    calibration: HeldOut
    test: HeldOut
    module: Any
    settings: Settings
    seed: int

    @cached_property
    def easy(self) -> NDArray[np.bool_]:
        """Test rows whose likeliest label is right more often than 1 - alpha.

        By a classifier of the features, fitted on the calibration rows.
        """
        right = self.calibration.logits.argmax(axis=1) == self.calibration.label
        if right.all() or not right.any():
            return np.full(len(self.test.label), right.all())
        classifier = HistGradientBoostingClassifier(random_state=self.seed)
        classifier.fit(self.calibration.features, right)
        chance = classifier.predict_proba(self.test.features)[:, 1]
        return np.asarray(chance > 1 - self.settings["alpha"])


def split_at_random(rows: HeldOut, module: Any, settings: Settings, seed: int) -> Halves:
    """Return random halves of the rows, whatever their experiments."""
    _check_sizes(rows.experiment)
    order_state, rule_state = (int(n) for n in np.random.SeedSequence(seed).generate_state(2))
    order = np.random.default_rng(order_state).permutation(len(rows.label))
    half = len(order) // 2
    return Halves(rows[order[:half]], rows[order[half:]], module, settings, rule_state)


def _check_sizes(experiment: NDArray[Any]) -> None:
    names, counts = np.unique(experiment, return_counts=True)
    if counts.min() < LEAST_ROWS:
        raise ValueError(
            f"experiment {names[counts.argmin()]} has {counts.min()} rows, fewer than "
            f"{LEAST_ROWS}: a half may hold none of them, leave it out"
        )


CONDITIONAL, ORACLE = "Conditional Calibration", "oracle"
PENALTIES = [0.001, 0.01, 0.1, 1.0]  # inverse strengths that cross-validation chooses from

Thresholds = tuple[FloatArray, dict[str, float]]


def split_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """One threshold for all."""
    rule = SplitConformal(halves.settings["alpha"])
    return rule.fit(halves.calibration.features, scores).predict(halves.test.features), {}


def conditional_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """Half of the calibration rows learn to predict the experiment, the others calibrate."""
    calibration, half = halves.calibration, len(scores) // 2
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    grid = {"logisticregression__C": PENALTIES}
    shifts = GroupProbabilities(GridSearchCV(plain, grid, scoring="neg_log_loss"))
    shifts.fit(calibration.features[:half], calibration.experiment[:half])
    rule = ConditionalCalibration(FrozenEstimator(shifts), alpha=halves.settings["alpha"])
    rule.fit(calibration.features[half:], scores[half:])
    with warnings.catch_warnings():  # infinite thresholds are counted
        warnings.simplefilter("ignore", InfiniteThresholdWarning)
        thresholds = rule.predict(halves.test.features)
    right = shifts.classifier_.predict(halves.test.features) == halves.test.experiment
    return thresholds, {"accuracy": right.mean(), "infinite": float(np.isinf(thresholds).mean())}


def published_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """Softmax groups of a network; thresholds of the optimisation itself, groups drawn from h."""
    settings = halves.settings
    partition = TorchPartition(
        halves.module, structure="softmax", epochs=settings["partition_epochs"]
    )
    rule = as_published(partition, settings["n_groups"], settings["alpha"], halves.seed)
    with warnings.catch_warnings():  # the number of groups is given
        warnings.simplefilter("ignore", CollapseWarning)
        rule.fit(halves.calibration.inputs, scores)
    return rule.predict(halves.test.inputs), {"groups_learned": rule.n_groups_}


def cross_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """Learned groups, calibrated out of fold."""
    alpha = halves.settings["alpha"]
    rule = PLCP(alpha=alpha, calibration="cross", random_state=halves.seed)
    return rule.fit(halves.calibration.features, scores).predict(halves.test.features), {}


def oracle_thresholds(halves: Halves, scores: FloatArray) -> Thresholds:
    """One threshold per experiment, given where each row comes from."""
    rule = Mondrian(alpha=halves.settings["alpha"])
    rule.fit(halves.calibration.features, scores, groups=halves.calibration.experiment)
    return rule.predict(halves.test.features, groups=halves.test.experiment), {}


RULES: dict[str, Callable[[Halves, FloatArray], Thresholds]] = {
    SPLIT: split_thresholds,
    CONDITIONAL: conditional_thresholds,
    PUBLISHED: published_thresholds,
    CROSS: cross_thresholds,
    ORACLE: oracle_thresholds,
}


@dataclass(frozen=True)
class Wording:
    """What differs between RxRx1 and its stand-in: words."""

    title: str
    question: str
    group: str
    groups: str
    paper: str
    notes: tuple[str, ...]


def question(words: Wording, target: float) -> str:
    """Return the question, and what each rule is given."""
    return (
        f"{words.question} Sets of labels are to hold the true one for {target:g} of the rows of "
        f"each such {words.group}. A random half of these rows calibrates, the other half tests. "
        f"Only the {ORACLE} is given which {words.group} a row is from. Split has one "
        f"threshold for all; {CONDITIONAL} first learns to predict the {words.group}, and then "
        f"calibrates against its own guesses. {TWO_KINDS_OF_NETWORK}"
    )


def shared_notes(records: list[Record], words: Wording) -> list[str]:
    """Return what holds for both: the choices that the paper leaves open, and the floor."""
    settings = records[0]["settings"]
    temperature = [record["results"]["about"]["temperature"] for record in records]
    target = 1 - settings["alpha"]
    notes = [
        "The score of a label is the probability of all labels likelier than it. Probabilities "
        "are softmax(T f(x)), with a scale T, an inverse temperature, fitted on the calibration "
        f"rows by cross-entropy, as in Gibbs et al.'s code (here {spread(temperature, 2)}); the "
        "paper leaves open on which rows. As these rows calibrate too, no rule is exactly valid, "
        "but one fitted number changes little.",
        f"{CONDITIONAL}: half of the calibration rows fit an l2-penalised multinomial regression "
        f"of the {words.group} on the features, its penalty chosen by cross-validation; the others "
        "calibrate against its probabilities, not randomised. With the paper's score, which is "
        "never negative, it may still give thresholds below zero, and thus empty sets.",
        f"As published: h(x) is the softmax of one convolution and a linear layer, with m = "
        f"{settings['n_groups']} groups, thresholds come from the optimisation itself, and the "
        "group of a row is drawn from h(x). The paper leaves the optimiser open; so that "
        "one group does not swallow all, the network here first learns bins of the score, and "
        "a term favours equal shares.",
        f"The oracle is given the {words.group} of every row, and has one threshold for each.",
        "The likeliest label scores 0, so it is in every set but an empty one. A row is easy if a "
        "classifier fitted on the calibration rows expects its likeliest label to be right more "
        f"often than {target:g}, and hard otherwise. The lowest coverage is that of sets that are "
        f"never empty and cover {target:g} of the hard rows: of the easy rows, they cover at least "
        f"those whose likeliest label is right. Where it is above {target:g}, a rule without empty "
        f"sets that covers {target:g} of the {words.group} covers fewer than {target:g} of its "
        "hard rows.",
    ]
    if "ties_broken" in records[0]["results"]:
        notes.append(
            "Ties broken at random: the likeliest label scores a uniform draw from (−1, 0] in "
            f"place of 0, one draw per row. Then a rule can cover {target:g} of the easy rows too, "
            "by leaving some sets empty. Nothing changes for the other labels, nor where a "
            "threshold is zero or more."
        )
    return notes


BROKEN = ", ties broken at random"
COLUMNS = {
    "coverage": "coverage",
    "hard": "coverage of hard rows",
    "size": "mean set size",
    "empty": "share of empty sets",
    "seconds": "seconds to fit and predict",
}


def report_shifted(records: list[Record], words: Wording) -> Report:
    """Return the report: with the paper's score, and with its ties broken if that was run."""
    summaries = {"": summarise(records)}
    if "ties_broken" in records[0]["results"]:
        summaries[BROKEN] = summarise([_ties_broken(record) for record in records])
    paper, *_ = summaries.values()
    lowest = _about(records, "least").mean(axis=0)
    figures = {
        "ties-broken" if kind else "by-group": _drawing(summary, words, None if kind else lowest)
        for kind, summary in summaries.items()
    }
    return Report(
        title=words.title,
        reading=_reading(paper, words),
        tables=[
            *(table for kind, summary in summaries.items() for table in _tables(summary, kind)),
            _about_table(records, paper, words),
        ],
        figures=figures,
        captions={
            "by-group": f"Coverage and mean set size by {words.group}.",
            "ties-broken": f"The same by {words.group}, ties broken at random.",
        },
        lines=_lines(paper, words),
        claims=[
            claim
            for kind, summary in summaries.items()
            for method in (CROSS, PUBLISHED)
            for claim in _claims(
                summary, method, kind, words, lowest if (kind, method) == ("", CROSS) else None
            )
        ],
        notes=[*words.notes, *shared_notes(records, words)],
        question=question(words, 1 - paper.alpha),
    )


def _ties_broken(record: Record) -> Record:
    results = record["results"]
    return record | {"results": results | {"methods": results["ties_broken"]}}


def _drawing(summary: Summary, words: Wording, least: Floats | None) -> Callable[[], Any]:
    """Return a function that draws coverage and size, and the least coverage if it is given."""

    def draw() -> Any:
        figure = draw_by_group(summary, "mean set size", words.group)
        if least is not None:
            axes, places = figure.axes[0], np.arange(len(least))
            target = 1 - summary.alpha
            name = (
                "lowest coverage of sets that are never\n"
                f"empty and cover {target:g} of the hard rows"
            )
            axes.hlines(least, places - 0.42, places + 0.42, "black", "dotted", label=name)
            low, high = axes.get_ylim()
            axes.set_ylim(low - 0.14 * (high - low), high)  # room for the line's name
            handles, labels = axes.get_legend_handles_labels()
            line = labels.index(name)
            axes.legend([handles[line]], [name], loc="lower left", fontsize=11, frameon=False)
        return figure

    return draw


def _tables(summary: Summary, kind: str) -> list[Table]:
    return [
        overall_table(
            summary,
            f"All test rows{kind} (mean, lowest to highest trial)",
            COLUMNS,
            {"size": 2, "seconds": 1},
        ),
        group_table(summary, f"Coverage (and mean set size){kind}, mean over trials", digits=2),
    ]


def _about_table(records: list[Record], summary: Summary, words: Wording) -> Table:
    """What no rule can change: the predictor's accuracy, and the coverage that follows."""
    accuracy, least = (_about(records, key) for key in ("accuracy", "least"))
    rows = [
        [group, f"{summary.counts[:, g].mean():.0f}", spread(accuracy[:, g]), spread(least[:, g])]
        for g, group in enumerate(summary.groups)
    ]
    header = [words.group, "test rows", "likeliest label right", "lowest coverage"]
    caption = (
        "How often the predictor's likeliest label is right, and the lowest coverage of sets that "
        f"are never empty and cover {1 - summary.alpha:g} of the hard rows (mean, lowest to "
        "highest trial)"
    )
    return Table(caption, header, rows)


def _about(records: list[Record], key: str) -> Floats:
    return np.array([record["results"]["about"][key] for record in records], dtype=float)


def _reading(summary: Summary, words: Wording) -> list[str]:
    target = 1 - summary.alpha
    ranges = []
    for method in (SPLIT, CONDITIONAL, PUBLISHED, CROSS):
        means = summary.coverage[method].mean(axis=0)
        ranges.append(f"{method} {means.min():.3f} to {means.max():.3f}")
    sizes = [f"{method} {_size(summary, method):.2f}" for method in summary.methods]
    hard = [f"{method} {summary.overall[method]['hard'].mean():.3f}" for method in summary.methods]
    return [
        f"Mean coverage over trials, from the {words.group} where it is lowest to that where it is "
        f"highest ({target:g} is the target of all {len(summary.groups)}): {'; '.join(ranges)}.",
        f"Coverage of the hard rows, those whose likeliest label a classifier expects to be right "
        f"at most {target:g} of the time: {'; '.join(hard)}.",
        f"Mean set size: {'; '.join(sizes)}.",
    ]


def _size(summary: Summary, method: str) -> float:
    return float(summary.overall[method]["size"].mean())


def _lines(summary: Summary, words: Wording) -> list[Line]:
    def gap(method: str) -> Floats:
        return np.abs(summary.coverage[method] - (1 - summary.alpha)).mean(axis=1)

    def ratio(method: str) -> Floats:
        return summary.overall[method]["size"] / summary.overall[CONDITIONAL]["size"]

    return [
        Line(
            f"distance of coverage from {1 - summary.alpha:g}, mean of {words.groups}",
            words.paper,
            gap(PUBLISHED),
            gap(CROSS),
        ),
        Line(
            "mean set size over Conditional Calibration's",
            words.paper,
            ratio(PUBLISHED),
            ratio(CROSS),
        ),
    ]


def _claims(
    summary: Summary, method: str, kind: str, words: Wording, lowest: Floats | None
) -> list[Claim]:
    ours, splits = summary.gap(method), summary.gap(SPLIT)
    by_group = ", ".join(
        f"{words.group} {group}: {a:.3f} against {b:.3f}"
        for group, a, b in zip(summary.groups, ours, splits, strict=True)
    )
    size, rival = _size(summary, method), _size(summary, CONDITIONAL)
    target = 1 - summary.alpha
    return [
        Claim(
            f"{method}{kind}: every {words.group}'s mean coverage over trials nearer to {target:g} "
            f"than {SPLIT}'s",
            by_group + ("" if lowest is None else _why_not(summary, method, words, lowest)),
            bool((ours < splits).all()),
        ),
        Claim(
            f"{method}{kind}: sets no larger than {CONDITIONAL}'s",
            f"{size:.3f} against {rival:.3f}",
            size <= rival,
        ),
    ]


def _why_not(summary: Summary, method: str, words: Wording, lowest: Floats) -> str:
    """Name where a rule that covers 1 - alpha of the hard rows cannot be as near as Split."""
    target, splits = 1 - summary.alpha, summary.gap(SPLIT)
    covers_more = summary.coverage[method].mean(axis=0) > target
    forced = covers_more & (summary.gap(method) >= splits) & (lowest - target > splits)
    if not forced.any():
        return ""
    at_least = " and ".join(
        f"{lowest[g]:.3f} of {words.group} {summary.groups[g]}" for g in np.flatnonzero(forced)
    )
    return (
        f"; sets that are never empty and cover {target:g} of the hard rows cover at least "
        f"{at_least}: {SPLIT} is nearer to {target:g} than that, by covering fewer of the hard rows"
    )


def compare_rules(halves: Halves) -> dict[str, Any]:
    """Coverage and set size of every rule by experiment; again with ties broken, on request."""
    names = np.unique(np.concatenate([halves.calibration.experiment, halves.test.experiment]))
    groups = {str(name): halves.test.experiment == name for name in names}
    score = fitted(CumulativeProbability(temperature="fit"), halves)
    results = {
        "groups": {name: int(rows.sum()) for name, rows in groups.items()},
        "methods": _outcomes(halves, score, groups),
        "about": {"temperature": score.temperature_, **about(halves, groups)},
    }
    if halves.settings["break_ties"]:
        broken = BrokenTies(temperature="fit", random_state=halves.seed)
        results["ties_broken"] = _outcomes(halves, fitted(broken, halves), groups)
    return results


def fitted(score: CumulativeProbability, halves: Halves) -> CumulativeProbability:
    """Fit the temperature of a score on the calibration rows."""
    calibration = halves.calibration
    return score.fit(softmax(calibration.logits, axis=1), calibration.label)


def _outcomes(
    halves: Halves, score: CumulativeProbability, groups: dict[str, NDArray[np.bool_]]
) -> dict[str, Any]:
    test = halves.test
    scores = score(softmax(halves.calibration.logits, axis=1), halves.calibration.label)
    found = {}
    for name, thresholds_of in RULES.items():
        start = time.perf_counter()
        thresholds, details = thresholds_of(halves, scores)
        seconds = round(time.perf_counter() - start, 3)
        sets = score.invert(softmax(test.logits, axis=1), thresholds)
        covered = sets.contains(test.label)
        numbers = {"hard": mean_or_one(covered[~halves.easy]), "empty": sets.is_empty.mean()}
        found[name] = outcome(covered, sets.size, groups, **numbers, seconds=seconds, **details)
    return found


def mean_or_one(covered: NDArray[np.bool_]) -> float:
    """Share that is covered; where there is nothing to miss, all of it."""
    return float(covered.mean()) if len(covered) else 1.0


def about(halves: Halves, groups: dict[str, NDArray[np.bool_]]) -> dict[str, Any]:
    """Accuracy of the predictor by experiment, and the least coverage that it leaves."""
    right = halves.test.logits.argmax(axis=1) == halves.test.label
    least = least_coverage(halves)
    return {
        "accuracy": [float(right[rows].mean()) for rows in groups.values()],
        "least": [float(least[rows].mean()) for rows in groups.values()],
    }


def least_coverage(halves: Halves) -> FloatArray:
    """Least coverage, row by row, of sets that are never empty and hold on easy and hard rows.

    The paper's score is 0 at the likeliest label, which is thus in every set: easy rows are covered
    as often as that label is right, and of hard rows 1 - alpha. The test rows themselves
    show how often it is right, so that rows wrongly taken for easy ones cannot raise it.
    """
    right = halves.test.logits.argmax(axis=1) == halves.test.label
    return np.where(halves.easy, right.astype(float), 1 - halves.settings["alpha"])
