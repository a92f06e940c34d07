"""Section 4.1, Table 1: incomes of the 2018 census, by groups that no method is given."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from plcp.conformal import ConformalRegressor
from plcp.datasets import census_files, fetch_census
from plcp.exceptions import InfiniteThresholdWarning, UnseenCategoryWarning
from plcp.experiments.methods import (
    CROSS,
    LOCALCP_NOTE,
    PUBLISHED,
    SPLIT,
    TWO_KINDS_OF_NETWORK,
    as_published,
)
from plcp.experiments.networks import one_thread
from plcp.experiments.report import (
    MEASURES,
    MEASURES_NOTE,
    Claim,
    Experiment,
    Floats,
    Line,
    Record,
    Report,
    Settings,
    Summary,
    Table,
    dependence,
    draw_by_group,
    gain,
    gain_cell,
    group_table,
    outcome,
    overall_table,
    spread,
    summarise,
    swapped_labels_note,
)
from plcp.metrics.binomial import clopper_pearson
from plcp.models import QuantilePair
from plcp.partitions import CollapseWarning
from plcp.partitions.torch import TorchPartition, mlp
from plcp.quantiles import FloatArray
from plcp.scores import QuantileResidual
from plcp.sets import Intervals
from plcp.thresholds import PLCP, LocalCP, Mondrian, SplitConformal


def independent_people(counts: ArrayLike, share: float) -> Floats:
    """Number of independent people that the mean over trials is worth, in each group.

    A trial tests each person with probability ``share``, and who is missed in one trial is missed
    in most others: a person who is tested t times counts as one, with weight t. A mean of weights t
    has the variance of (Σ t)² / Σ t² people, here with E t² of the binomial law. With endless
    trials it is all people there are; it is too few by as much as trials differ.

    Parameters
    ----------
    counts : array-like of shape (trials, groups)
        People of each group in the test part of each trial.
    share : float
        Share of all people that is tested in a trial.

    Examples
    --------
    >>> independent_people([[100, 30]], share=0.2).tolist()
    [100.0, 30.0]
    >>> independent_people([[100, 30]] * 1000, share=0.2).round().tolist()
    [498.0, 149.0]
    """
    tested = np.asarray(counts, dtype=float)
    return np.asarray(tested.sum(axis=0) / (1 + (len(tested) - 1) * share))


def chance_outside(people: ArrayLike, target: float, within: float) -> NDArray[np.float64]:
    """Probability that so many people, each covered with ``target``, are more than ``within`` off.

    Examples
    --------
    >>> chance_outside([10, 100, 1000], target=0.9, within=0.03).round(3).tolist()
    [0.613, 0.241, 0.001]
    """
    n = np.floor(people)
    low, high = (target - within) * n, (target + within) * n
    inside = binom.cdf(np.floor(high), n, target) - binom.cdf(np.ceil(low) - 1, n, target)
    return np.asarray(1 - inside)


Masks = dict[str, NDArray[np.bool_]]

TEST_SHARE = 0.2
LEAST_PEOPLE = 50  # of fewer, a test part may hold none: 0.8⁵⁰ is 1e-5
# Codes of each group. The Census Bureau's own tables join RAC1P 3 to 5: 4, Alaska Native, is rare
GROUPS_BY_RACE = {
    "White": (1,),
    "Black": (2,),
    "Native American": (3, 4, 5),
    "Asian": (6,),
    "Pacific Islander": (7,),
    "other race": (8,),
    "two or more races": (9,),
}
GROUPS_BY_SEX = {"men": (1,), "women": (2,)}
GROUPS_BY_STATE = {"CA": (6,), "FL": (12,), "NY": (36,), "PA": (42,), "TX": (48,)}
UNDER_25, OVER_60 = "under 25", "over 60"
DOCTORATE = "doctorate or professional degree"  # SCHL 24 and 23, beyond a bachelor's
NAMED = (*GROUPS_BY_RACE, *GROUPS_BY_SEX, *GROUPS_BY_STATE)
GROUPS = (*NAMED, UNDER_25, OVER_60, DOCTORATE)


@dataclass(frozen=True)
class People:
    """PUMS codes, as ``fetch_census`` gives them, and incomes."""

    X: Any
    y: Floats

    def take(self, rows: Any) -> "People":
        """Return some of them."""
        return People(self.X.iloc[rows], self.y[rows])


def read_people(settings: Settings, data_dir: Path | None) -> tuple[People, list[str]]:
    """All people, or the first ``rows`` of them, and the notes on the data."""
    data = fetch_census(data_dir)
    people = People(data.X, data.y)
    return people.take(slice(settings["rows"])), list(data.notes)


def divide(people: People, state: int) -> tuple[People, People, People]:
    """Divide at random into 60 % to train, 20 % to calibrate and 20 % to test."""
    rows = np.arange(len(people.y))
    train, rest = train_test_split(rows, test_size=2 * TEST_SHARE, random_state=state)
    calibration, test = train_test_split(rest, test_size=0.5, random_state=state)
    return people.take(train), people.take(calibration), people.take(test)


def groups_of(X: Any) -> Masks:
    """Who belongs to each group, the named ones first.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"RAC1P": [4, 6], "SEX": 2, "ST": 48, "AGEP": [61, 24], "SCHL": [23, 22]})
    >>> [name for name, who in groups_of(X).items() if who[0]]
    ['Native American', 'women', 'TX', 'over 60', 'doctorate or professional degree']
    """
    named: dict[str, Mapping[str, Sequence[int]]] = {
        "RAC1P": GROUPS_BY_RACE,
        "SEX": GROUPS_BY_SEX,
        "ST": GROUPS_BY_STATE,
    }
    return {
        name: X[column].isin(codes).to_numpy()
        for column, groups in named.items()
        for name, codes in groups.items()
    } | {
        UNDER_25: (X["AGEP"] < 25).to_numpy(),
        OVER_60: (X["AGEP"] > 60).to_numpy(),
        DOCTORATE: (X["SCHL"] >= 23).to_numpy(),
    }


def large_enough(people: People) -> list[str]:
    """Names of the groups that every test part has people of."""
    return [name for name, who in groups_of(people.X).items() if who.sum() >= LEAST_PEOPLE]


BINS = "ten bins of f(x)"
QUESTION = (
    "Intervals for the income of people at work in five states, f(x) ± q(x) around a linear "
    "regression f, are to cover {target:g} of each race, sex and state, and of groups that "
    "are not named, such as people over 60. No method is given the groups that are measured. Split "
    "has one q for all people. CQR takes a band between two learned quantiles of income in place "
    "of f(x) ± q. LocalCP weighs people by how like x they are. “ten bins of f(x)” has one q for "
    f"each tenth of the predictions. {TWO_KINDS_OF_NETWORK}"
)


def notes(records: Sequence[Record]) -> list[str]:
    """Return what is to be known beside the numbers."""
    about = [record["results"]["about"] for record in records]
    settings = records[0]["settings"]
    r2, r2_codes = (np.mean([one[key] for one in about]) for key in ("r2", "r2_codes"))
    largest = max(one["largest_learned_group"] for one in about)
    share = "all" if settings["rows"] is None else "the first"
    used = f"This run uses {share} {about[0]['people']:,} people of the file, divided again in each"
    missing = [name for name in GROUPS if name not in records[0]["results"]["groups"]]
    few = (
        f"Not shown, since this run has fewer than {LEAST_PEOPLE} people of each: "
        f"{', '.join(missing)}."
    )
    return [
        " ".join([*about[0]["notes"], f"{used} trial."]),
        "The paper leaves open how its linear regression takes codes such as occupation. Here "
        f"every category has a column (R² {r2:.3f}; categories of fewer than 100 people share "
        f"one); codes taken for numbers, as folktables gives them, have R² {r2_codes:.3f}. The "
        "network, the kernel and CQR's trees see codes as numbers, “PLCP, cross” the table.",
        f"As published: h(x) is the softmax of a network of 200 and 100 ReLU units, with m = "
        f"{settings['n_groups']} groups (the paper leaves open how many), thresholds come from "
        "the rows that it was fitted to, and the group of a person is drawn from h(x). To keep one "
        "group from taking all rows, the network first learns bins of the score, and a "
        "term of the loss favours groups of equal size (the largest group of any trial has "
        f"{largest:.0%} of the rows).",
        "CQR's band: boosted trees for the 5 and 95 % quantiles, fitted on the training rows.",
        f"{LOCALCP_NOTE} Weights are a Gaussian kernel on standardised codes, with "
        f"{settings['n_near']} effective neighbours; where too few are near, the set is unbounded.",
        "Lengths are those of intervals cut to possible incomes, from 0 to the largest of the "
        "training rows; coverage is that of the whole interval.",
        "Where all people are covered alike, coverage does not depend on length, the size of a "
        f"set. {MEASURES_NOTE} HSIC depends on the unit of length: here it is the mean income, as "
        "CQR's authors scale labels.",
        "Cut so, Split's length depends on the prediction alone, so that the dependence to get "
        f"free of in Table 1 is one of coverage on f(x). “{BINS}” knows the prediction and nothing "
        "else of a person: its gains, beside its coverage by group, show how much a gain means. "
        "Not cut, Split's lengths are all equal, and no gain is defined.",
        swapped_labels_note("the census", 73.36, 86.08),
        f"“Native American” joins RAC1P 3 to 5, as the Census Bureau does; “{DOCTORATE}” is "
        "SCHL 23 or 24.",
        "A person missed in one trial tends to be missed in the others, so that more trials are "
        "not as good as more people. “Independent people” is the number of people, each tested "
        "once, whose coverage would vary as much as the mean over trials does if a person missed "
        "once were always missed. Bounds are Clopper and Pearson's for that number, with "
        "Bonferroni's correction, so that they hold in all groups at once.",
        *([few] if missing else []),
    ]


CQR, LOCAL = "CQR", "LocalCP"
PAPER_GAINS = {  # per cent, of the table captioned "2018 US Census"
    PUBLISHED: {"hsic": 56.07, "pearson": 64.06},
    CQR: {"hsic": 51.89, "pearson": 59.21},
    LOCAL: {"hsic": 32.12, "pearson": 37.96},
}
TO_REACH = PAPER_GAINS[PUBLISHED]
TO_REACH_IN_WORDS = " and ".join(
    f"{TO_REACH[key]:.2f} % in {name}" for key, name in MEASURES.items()
)


def table_one(summary: Summary) -> Table:
    """Both measures of dependence, and both gains, of each method."""
    rows = [
        [
            method,
            spread(summary.overall[method]["pearson"]),
            spread(1e4 * summary.overall[method]["hsic"], 2),
            *(gain_cell(summary, method, measure) for measure in MEASURES),
            _gains_of_paper(method),
        ]
        for method in summary.methods
    ]
    header = [
        "",
        "Pearson",
        "HSIC × 10⁴",
        "HSIC gain, %",
        "Pearson gain, %",
        "paper's gains, % (HSIC, Pearson)",
    ]
    caption = (
        "Table 1: dependence of coverage on length (0: none), and per cent of Split's that is gone "
        "(mean, lowest to highest trial)"
    )
    return Table(caption, header, rows)


def _gains_of_paper(method: str) -> str:
    gains = PAPER_GAINS.get(method)
    return ", ".join(f"{gains[measure]:.2f}" for measure in MEASURES) if gains else "–"


def gain_claim(summary: Summary, method: str) -> Claim:
    """Whether the mean gains of a method are at least the paper's."""
    gains = {measure: gain(summary, method, measure) for measure in TO_REACH}
    return Claim(
        f"gains of {method} over Split at least the paper's, {TO_REACH_IN_WORDS}",
        " and ".join(map(_with_error, gains.values())),
        all(len(found) and found.mean() >= TO_REACH[key] for key, found in gains.items()),
    )


def _with_error(values: Floats) -> str:
    """Mean over trials, and its standard error where there are several."""
    n = len(values)
    if not n:
        return "none is defined"
    error = f" ± {values.std(ddof=1) / np.sqrt(n):.1f}" if n > 1 else ""
    return f"{values.mean():.1f}{error} %"


WITHIN = 0.03
SURE = 0.05  # a group in which chance alone fails more often cannot be judged


def named_places(summary: Summary) -> list[int]:
    """Places of the groups by race, sex and state."""
    return [place for place, name in enumerate(summary.groups) if name in NAMED]


def table_of_chance(summary: Summary) -> Table:
    """Each group's people, what chance does to so few, and the default's coverage with bounds."""
    people, outside = _chance(summary)
    coverage = summary.coverage[CROSS].mean(axis=0)
    low, high = _bounds_at_once(summary)
    rows = [
        [
            name,
            f"{summary.counts[:, g].mean():,.0f}",
            f"{people[g]:,.0f}",
            f"{outside[g]:.3f}",
            f"{coverage[g]:.3f}",
            f"{low[g]:.3f} to {high[g]:.3f}",
        ]
        for g, name in enumerate(summary.groups)
    ]
    header = [
        "",
        "people in a test part",
        "independent people in all trials",
        f"chance that a perfect rule misses {1 - summary.alpha:g} by more than {WITHIN:g}",
        f"coverage, {CROSS}",
        "95 % bounds for all groups at once",
    ]
    caption = (
        f"What chance alone does in each group, and bounds on the coverage of {CROSS} (mean over "
        "trials)"
    )
    return Table(caption, header, rows)


def _chance(summary: Summary) -> tuple[Floats, Floats]:
    people = independent_people(summary.counts, TEST_SHARE)
    return people, chance_outside(people, 1 - summary.alpha, WITHIN)


def _bounds_at_once(summary: Summary) -> tuple[FloatArray, FloatArray]:
    """Bounds on the default's coverage that hold in all groups together: Bonferroni's."""
    people, coverage = _chance(summary)[0], summary.coverage[CROSS].mean(axis=0)
    return clopper_pearson(coverage * people, people, 1 - SURE / len(people))


def claims(summary: Summary) -> list[Claim]:
    """What is to be reached, and whether it is."""
    named = named_places(summary)
    outside = _chance(summary)[1]
    large = [g for g in named if outside[g] <= SURE]
    unnamed = [g for g, name in enumerate(summary.groups) if name in (OVER_60, DOCTORATE)]
    near = f"within {WITHIN:g} of {1 - summary.alpha:g} on average over trials, {CROSS}"
    found = [_within(f"coverage of every race, sex and state {near}", summary, named)]
    if 0 < len(large) < len(named):
        too_few = [summary.groups[g] for g in named if g not in large]
        found.append(
            _within(
                "the same, for the groups large enough that a perfect rule would come that near "
                f"with probability {1 - SURE:g}: all but {', '.join(too_few)}",
                summary,
                large,
            )
        )
    if unnamed:
        found.append(
            _within(
                f"coverage of {' and '.join(f'“{summary.groups[g]}”' for g in unnamed)}, groups "
                f"that are not named, {near}",
                summary,
                unnamed,
            )
        )
    return [*found, *(gain_claim(summary, method) for method in (PUBLISHED, CROSS))]


def _within(text: str, summary: Summary, places: Sequence[int]) -> Claim:
    gaps, coverage = summary.gap(CROSS), summary.coverage[CROSS].mean(axis=0)
    low, high = _bounds_at_once(summary)
    off = [g for g in places if gaps[g] > WITHIN]
    worst = max(places, key=lambda g: gaps[g])
    measured = "; ".join(
        f"{summary.groups[g]} {coverage[g]:.3f}, 95 % bounds {low[g]:.3f} to {high[g]:.3f}"
        for g in off or [worst]
    )
    return Claim(text, f"{'too far' if off else 'furthest'}: {measured}", not off)


CROSS_ON_CQR = f"{CROSS}, on {CQR}"
LABEL_LETTERS = 26  # of a line under the figure: longer ones would take its room
SHOWN = [SPLIT, CQR, LOCAL, PUBLISHED, CROSS]


def report(records: list[Record]) -> Report:
    """Coverage by group, Table 1, and what was to be reached."""
    summary = summarise(records)
    return Report(
        title="Incomes in the 2018 American Community Survey (section 4.1, Table 1)",
        reading=_reading(summary),
        tables=[
            table_of_chance(summary),
            group_table(
                summary, "Coverage (mean length in $1,000) by group, mean over trials", digits=1
            ),
            overall_table(
                summary,
                "All people (mean, lowest to highest trial)",
                {
                    "coverage": "coverage",
                    "size": "length, $1,000",
                    "cut_at_zero": "share of intervals cut at zero",
                    "unbounded": "share of intervals without an upper end",
                },
                {"size": 1},
            ),
            table_one(summary),
        ],
        figures={
            "by-group": lambda: draw_by_group(
                replace(summary, groups=_with_counts(summary)),
                "mean length, \\$1,000",
                "(people in a test part)",
                SHOWN,
            )
        },
        captions={"by-group": "Coverage and mean length by race, sex, state, age and schooling."},
        lines=_lines(summary),
        claims=claims(summary),
        notes=notes(records),
        question=QUESTION.format(target=1 - summary.alpha),
    )


def _with_counts(summary: Summary) -> list[str]:
    counts = summary.counts.mean(axis=0)
    labels = [f"{name} ({n:,.0f})" for name, n in zip(summary.groups, counts, strict=True)]
    return [fill(label, LABEL_LETTERS) for label in labels]


def _reading(summary: Summary) -> list[str]:
    named = named_places(summary)

    def ends(method: str) -> str:
        coverage = summary.coverage[method].mean(axis=0)[named]
        return f"{coverage.min():.3f} and {coverage.max():.3f} with {method}"

    def in_all(group: str) -> str:
        g = summary.groups.index(group)
        return "; ".join(f"{summary.coverage[m][:, g].mean():.3f} with {m}" for m in three)

    three = (CROSS, PUBLISHED, SPLIT)
    gains = [
        f"{method} {' and '.join(gain_cell(summary, method, measure) for measure in MEASURES)}"
        for method in (PUBLISHED, CROSS, BINS)
    ]
    return [
        "Coverage of the races, sexes and states, mean over trials, lies between "
        f"{'; between '.join(map(ends, three))}.",
        *(
            f"Coverage of “{group}”, which is not named: {in_all(group)}."
            for group in _unnamed(summary)
        ),
        "Per cent of Split's dependence of coverage on length that is gone (below 0: more), "
        f"by HSIC and by Pearson: {'; '.join(gains)}. The paper's PLCP has {TO_REACH_IN_WORDS}.",
    ]


def _unnamed(summary: Summary) -> list[str]:
    return [group for group in (OVER_60, DOCTORATE) if group in summary.groups]


def _lines(summary: Summary) -> list[Line]:
    named, ours = named_places(summary), (PUBLISHED, CROSS)
    gaps = {m: np.abs(summary.coverage[m] - (1 - summary.alpha))[:, named] for m in ours}
    gap = {m: np.average(gaps[m], axis=1, weights=summary.counts[:, named]) for m in ours}
    lines = [
        Line(
            f"{name} gain over Split, %",
            f"{TO_REACH[measure]:.2f}",
            gain(summary, PUBLISHED, measure),
            gain(summary, CROSS, measure),
            digits=1,
        )
        for measure, name in MEASURES.items()
    ]
    quantity = (
        f"mean distance of coverage from {1 - summary.alpha:g} over races, sexes and states, "
        "weighted by people"
    )
    lines.append(Line(quantity, "“near-perfect”", gap[PUBLISHED], gap[CROSS]))
    for group in _unnamed(summary):
        published, default = (summary.coverage[m][:, summary.groups.index(group)] for m in ours)
        lines.append(Line(f"coverage, {group}", "not given", published, default))
    return lines


RARE = 100  # categories of fewer people share a column
N_BINS = 10


def run(settings: Settings, seed: int, data_dir: Path | None) -> dict[str, Any]:
    """One trial: another division into parts, and all methods on the same ones."""
    people, notes = read_people(settings, data_dir)
    names = large_enough(people)
    state, rule_state = (int(n) for n in np.random.SeedSequence(seed).generate_state(2))
    train, calibration, test = divide(people, state)
    who = groups_of(test.X)
    groups = {name: who[name] for name in names}
    linear = linear_model().fit(train.X, train.y)
    codes = on_codes(LinearRegression()).fit(train.X, train.y)
    models = conformal_models(settings, rule_state, train, linear)
    with one_thread(rule_state):
        sets = {name: _sets(model, calibration, test) for name, model in models.items()}
    learned = models[PUBLISHED].tail_rules_[0].group_sizes_
    return {
        "groups": {name: int(rows.sum()) for name, rows in groups.items()},
        "methods": judged(sets, train, test, groups),
        "about": {
            "notes": notes,
            "people": len(people.y),
            "r2": float(linear.score(test.X, test.y)),
            "r2_codes": float(codes.score(test.X, test.y)),
            "largest_learned_group": float(learned.max() / learned.sum()),
        },
    }


def linear_model() -> Pipeline:
    """Linear regression, of a column per category of a code that is no number."""
    categories = OneHotEncoder(
        min_frequency=RARE, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    names = make_column_selector(dtype_include="category")
    columns = make_column_transformer((categories, names), remainder="passthrough")
    return make_pipeline(columns, LinearRegression())


def on_codes(regressor: Any) -> Pipeline:
    """Return a regressor that takes every code for a number."""
    return make_pipeline(FunctionTransformer(codes_of), regressor)


def codes_of(X: Any) -> Any:
    """Return the table of codes as numbers."""
    return X.astype(float)


def conformal_models(
    settings: Settings, state: int, train: People, linear: Pipeline
) -> dict[str, ConformalRegressor]:
    """All methods, about a trained model, or (CQR) a trained band."""
    alpha = settings["alpha"]
    model, band = FrozenEstimator(linear), _band(alpha, state, train)
    edges = np.quantile(linear.predict(train.X), np.arange(1, N_BINS) / N_BINS)
    split, default = (
        SplitConformal(alpha),
        PLCP(alpha=alpha, calibration="cross", random_state=state),
    )
    bins = Mondrian(lambda X: np.searchsorted(edges, linear.predict(X)), alpha)
    near = LocalCP(alpha=alpha, effective_size=settings["n_near"], random_state=state)
    network = TorchPartition(mlp(200, 100), structure="softmax", epochs=settings["epochs"])
    published = as_published(network, settings["n_groups"], alpha, state)
    return {
        SPLIT: ConformalRegressor(model, threshold=split),
        CQR: ConformalRegressor(band, QuantileResidual(), split),
        LOCAL: ConformalRegressor(model, threshold=near, features=codes_of),
        BINS: ConformalRegressor(model, threshold=bins),
        PUBLISHED: ConformalRegressor(model, threshold=published, features=codes_of),
        CROSS: ConformalRegressor(model, threshold=default),
        CROSS_ON_CQR: ConformalRegressor(band, QuantileResidual(), default),
    }


def _band(alpha: float, state: int, train: People) -> QuantilePair:
    """Boosted quantiles at alpha / 2 and 1 - alpha / 2."""
    low, high = (
        on_codes(HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=state))
        for q in (alpha / 2, 1 - alpha / 2)
    )
    fitted = QuantilePair(low, high).fit(train.X, train.y)
    return QuantilePair(FrozenEstimator(fitted.lower_), FrozenEstimator(fitted.upper_))


def _sets(model: ConformalRegressor, calibration: People, test: People) -> Intervals:
    with warnings.catch_warnings():  # rare codes and small groups are expected here
        for expected in (CollapseWarning, InfiniteThresholdWarning, UnseenCategoryWarning):
            warnings.simplefilter("ignore", expected)
        return model.fit(calibration.X, calibration.y).predict_set(test.X)


def judged(
    sets: dict[str, Intervals], train: People, test: People, groups: dict[str, Any]
) -> dict[str, Any]:
    """Coverage, length in thousands of dollars, and dependence of the two."""
    covered = {name: intervals.contains(test.y) for name, intervals in sets.items()}
    # no income is negative, and hardly any is beyond those known: what is, has no length
    length = {name: given.clip(0, train.y.max()).size for name, given in sets.items()}
    return {
        name: outcome(
            covered[name],
            length[name] / 1000,
            groups,
            cut_at_zero=float((given.lower < 0).mean()),
            unbounded=float(np.isinf(given.upper).mean()),
            # the kernel of HSIC knows units: the mean of the labels, as in the code of CQR
            **dependence(covered[name], length[name] / train.y.mean()),
        )
        for name, given in sets.items()
    }


EXPERIMENTS = (
    Experiment(
        name="census",
        settings={"alpha": 0.1, "rows": None, "n_groups": 20, "epochs": "auto", "n_near": 500},
        quick={"alpha": 0.1, "rows": 3_000, "n_groups": 4, "epochs": 2, "n_near": 100},
        trials=10,
        run=run,
        report=report,
        files=census_files,
    ),
)
