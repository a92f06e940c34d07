"""Words on RxRx1's protocol: what differs between RxRx1 and its stand-in, and what does not."""

from dataclasses import dataclass

from plcp.experiments.experiment import Record
from plcp.experiments.methods import TWO_KINDS_OF_NETWORK
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
        f"{words.question} Sets of labels are to hold the true one for {level:g} of the rows of "
        f"each such {words.group}. A random half of these rows calibrates, the other half tests. "
        f"Nobody but the {ORACLE} is told which {words.group} a row is from. Split has one "
        f"threshold for all; {CONDITIONAL} first learns to tell {words.groups} apart, and then "
        f"calibrates against its own guesses. {TWO_KINDS_OF_NETWORK}"
    )


def shared_notes(records: list[Record], words: Wording) -> list[str]:
    """Return what holds for both: the choices that the paper leaves open, and the floor."""
    settings = records[0]["settings"]
    temperature = [record["results"]["about"]["temperature"] for record in records]
    level = 1 - settings["alpha"]
    notes = [
        "The score of a label is the probability of all labels likelier than it. Probabilities "
        "are softmax(T f(x)), with a scale T, an inverse temperature, fitted on the calibration "
        f"rows by cross-entropy, as in Gibbs et al.'s code (here {spread(temperature, 2)}); the "
        "paper does not say on which rows. As these rows calibrate too, no rule is exactly valid, "
        "but one fitted number changes little.",
        f"{CONDITIONAL}: half of the calibration rows fit an l2-penalised multinomial regression "
        f"of the {words.group} on the features, its penalty chosen by cross-validation; the others "
        "calibrate against its probabilities, not randomised. With the paper's score, which is "
        "never negative, it may still give thresholds below zero, and thus empty sets.",
        f"As published: h(x) is the softmax of one convolution and a linear layer, with m = "
        f"{settings['n_groups']} groups, thresholds come from the optimisation itself, and the "
        "group of a row is drawn from h(x). The paper leaves the optimiser open; so that "
        "one group does not swallow all, the network here starts by telling bins of the score, and "
        "a term favours equal shares.",
        f"The oracle is told the {words.group} of every row, and has one threshold for each.",
        "The likeliest label scores 0, so it is in every set but an empty one. A row is easy if a "
        "classifier taught on the calibration rows expects its likeliest label to be right more "
        f"often than {level:g}, and hard otherwise. The lowest coverage is that of sets that are "
        f"never empty and cover {level:g} of the hard rows: of the easy rows, they cover at least "
        f"those whose likeliest label is right. Where it is above {level:g}, a rule without empty "
        f"sets that covers {level:g} of the {words.group} covers fewer than {level:g} of its hard "
        "rows.",
    ]
    if "ties_broken" in records[0]["results"]:
        notes.append(
            "Ties broken at random: the likeliest label scores a uniform draw from (−1, 0] in "
            f"place of 0, one draw a row. Then a rule can cover {level:g} of the easy rows too, by "
            "leaving some sets empty. Nothing changes for the other labels, nor where a "
            "threshold is zero or more."
        )
    return notes
