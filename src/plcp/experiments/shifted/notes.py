"""Words on RxRx1's protocol: what differs between RxRx1 and its stand-in, and what does not."""

from dataclasses import dataclass

from plcp.experiments.experiment import Record
from plcp.experiments.methods import TWO_KINDS
from plcp.experiments.report import spread
from plcp.experiments.shifted.rules import CONDITIONAL, ORACLE


@dataclass(frozen=True)
class Wording:
    """What differs between RxRx1 and its stand-in: words."""

    title: str
    question: str
    group: str
    groups: str
    paper: str
    notes: tuple[str, ...]


def asked(words: Wording, level: float) -> str:
    """Return what is asked of the rules, and who is told what."""
    return (
        f"{words.question} Sets of labels are to hold the true one of {level:g} of the rows of "
        f"each such {words.group}. Half of these rows, at random, calibrate, the others test. "
        f"Nobody but the {ORACLE} is told which {words.group} a row is from. Split has one "
        f"threshold for all; {CONDITIONAL} first learns to tell {words.groups} apart, and then "
        f"calibrates against its own guesses. {TWO_KINDS}"
    )


def shared_notes(records: list[Record], words: Wording) -> list[str]:
    """Return what holds for both: the choices that the paper leaves open, and the floor."""
    settings = records[0]["settings"]
    temperature = [record["results"]["about"]["temperature"] for record in records]
    level = 1 - settings["alpha"]
    notes = [
        "The score of a label is the probability of all labels likelier than it. Probabilities "
        "are softmax(T f(x)), with a temperature T that is fitted on the calibration rows by "
        f"cross-entropy, as in Gibbs et al.'s code (here {spread(temperature, 2)}); the paper does "
        "not say on which rows. One number fitted there perturbs exact validity a little, of all "
        "rules alike.",
        f"{CONDITIONAL}: half of the calibration rows fit an l2-penalised multinomial regression "
        f"of the {words.group} on the features, its penalty chosen by cross-validation; the others "
        "calibrate against its probabilities, not randomised. With the paper's score, which is "
        "never negative, it may still give thresholds below zero, and thus empty sets; PLCP does "
        "not.",
        f"As published: h(x) is the softmax of one convolution and a linear layer, with m = "
        f"{settings['n_groups']} groups, thresholds come from the optimisation itself, and the "
        "group of a row is drawn from h(x). The paper leaves the optimiser open; here a start at "
        "bins of the score and a term for equal shares keep groups alive.",
        f"The oracle is told the {words.group} of every row, and has one threshold for each.",
        "The likeliest label scores 0, so it is in every set but an empty one. Rows are easy where "
        f"it is right more often than {level:g}, as a classifier taught on the calibration rows "
        "tells, and hard elsewhere. Least coverage is that of sets that are never empty and that "
        f"cover {level:g} of the hard rows: of the easy rows they cover at least those whose "
        f"likeliest label is right. So a rule without empty sets that covers {level:g} of a "
        f"{words.group} with easy rows covers fewer than {level:g} of its hard ones.",
    ]
    if "ties_broken" in records[0]["results"]:
        notes.append(
            "Ties broken at random: the likeliest label scores a uniform draw from (−1, 0] in "
            f"place of 0, one draw a row. Then {level:g} of the easy rows can be covered too, by "
            "sets that are now and then empty. Nothing changes for the other labels, nor where a "
            "threshold is zero or more."
        )
    return notes
