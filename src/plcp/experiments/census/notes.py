"""Words on the census: what is asked, what the paper leaves open, and how to read the tables."""

from collections.abc import Sequence

import numpy as np

from plcp.experiments.census.people import DOCTORATE, GROUPS, LEAST_PEOPLE
from plcp.experiments.dependence import MEASURES_NOTE, swapped_labels_note
from plcp.experiments.experiment import Record, Settings
from plcp.experiments.methods import LOCALCP_NOTE, TWO_KINDS_OF_NETWORK

BINS = "ten bins of f(x)"
QUESTION = (
    "Intervals for the income of people at work in five states, f(x) ± q(x) around a linear "
    "regression f, are to cover {level:g} of each race, sex and state, and of groups that "
    "nobody named, such as people over 60. No method is told which groups will be looked at. Split "
    "has one q for all people. CQR takes a band between two learned quantiles of income in place "
    "of f(x) ± q. LocalCP weighs people by how like x they are. “ten bins of f(x)” has one q for "
    f"each tenth of the predictions. {TWO_KINDS_OF_NETWORK}"
)


def _left_out(records: Sequence[Record]) -> list[str]:
    """Say which groups this run has too few people of."""
    missing = [name for name in GROUPS if name not in records[0]["results"]["groups"]]
    few = (
        f"Not shown, since this run has fewer than {LEAST_PEOPLE} people of each: "
        f"{', '.join(missing)}."
    )
    return [few] if missing else []


def _people_used(settings: Settings, n: int) -> str:
    share = "all" if settings["rows"] is None else "the first"
    return f"This run uses {share} {n:,} people of the file, divided anew in each trial."


def notes(records: Sequence[Record]) -> list[str]:
    """Return what is to be known beside the numbers."""
    about = [record["results"]["about"] for record in records]
    settings = records[0]["settings"]
    r2, r2_codes = (np.mean([one[key] for one in about]) for key in ("r2", "r2_codes"))
    largest = max(one["largest_learned_group"] for one in about)
    return [
        " ".join([*about[0]["notes"], _people_used(settings, about[0]["people"])]),
        "The paper does not say how its linear regression takes codes such as occupation. Here "
        f"every level has a column (R² {r2:.3f}; levels of fewer than 100 people share one); codes "
        f"taken for numbers, as folktables gives them, have R² {r2_codes:.3f}. The network, the "
        "kernel and CQR's trees see codes as numbers, PLCP by default the table as it is.",
        f"As published: h(x) is the softmax of a network of 200 and 100 ReLU units, with m = "
        f"{settings['n_groups']} groups (the paper does not say how many), thresholds come from "
        "the rows that taught it, and the group of a person is drawn from h(x). To keep one group "
        "from taking all rows, the network is first taught to tell bins of the score apart, and a "
        "term of the loss favours groups of equal size (the largest group of any trial has "
        f"{largest:.0%} of the rows).",
        "CQR's band: boosted trees for the 5 and 95 % quantiles, fitted on the training rows.",
        f"{LOCALCP_NOTE} Weights are a Gaussian kernel on standardised codes, with "
        f"{settings['n_near']} effective neighbours; where too few are near, the set is unbounded.",
        "Lengths are those of intervals cut to possible incomes, from 0 to the largest of the "
        "training rows; coverage is that of the whole interval.",
        "Where everybody is covered alike, coverage does not depend on length, the size of a set. "
        f"{MEASURES_NOTE} HSIC depends on the unit of length: here it is the mean income, as CQR's "
        "authors scale labels.",
        "Cut so, Split's length depends on the prediction alone, so that the dependence to get "
        f"rid of in Table 1 is one of coverage on f(x). “{BINS}” knows the prediction and nothing "
        "else of a person: its gains, beside its coverage by group, show how much a gain says. Not "
        "cut, Split's lengths are all equal, and no gain is defined.",
        swapped_labels_note("the census", 73.36, 86.08),
        f"“Native American” joins RAC1P 3 to 5, as the Census Bureau does; “{DOCTORATE}” is "
        "SCHL 23 or 24.",
        "A person missed in one trial tends to be missed in the others, so that more trials are "
        "not as good as more people. “Independent people” is the number of people, each tested "
        "once, whose coverage would vary as much as the mean over trials does if a person missed "
        "once were always missed. Bounds are Clopper and Pearson's for that number, with "
        "Bonferroni's correction, so that they hold in all groups at once.",
        *_left_out(records),
    ]
