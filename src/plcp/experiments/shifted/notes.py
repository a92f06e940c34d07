"""Words on RxRx1's protocol: what differs between RxRx1 and its stand-in, and what does not."""

from dataclasses import dataclass

from plcp.experiments.experiment import Record
from plcp.experiments.report import spread
from plcp.experiments.shifted.rules import CONDITIONAL


@dataclass(frozen=True)
class Wording:
    """What differs between RxRx1 and its stand-in: words."""

    title: str
    group: str
    groups: str
    paper: str
    notes: tuple[str, ...]


def shared_notes(records: list[Record], words: Wording) -> list[str]:
    """Return what holds for both: the choices that the paper leaves open, and the floor."""
    settings = records[0]["settings"]
    temperature = [record["results"]["about"]["temperature"] for record in records]
    level = 1 - settings["alpha"]
    notes = [
        "The temperature T of softmax(T f(x)) is fitted on the calibration rows by cross-entropy, "
        f"as in Gibbs et al.'s code (here {spread(temperature, 2)}); the paper does not say on "
        "which. One number fitted there perturbs exact validity a little, of all rules alike.",
        f"{CONDITIONAL}: half of the calibration rows fit an l2-penalised multinomial regression "
        f"of the {words.group} on the features, its penalty chosen by cross-validation; the others "
        "calibrate against its probabilities, not randomised. It may give thresholds below zero, "
        "which no score is, and thus empty sets; PLCP does not.",
        f"As published: softmax groups of one convolution and a linear layer, m = "
        f"{settings['n_groups']}, thresholds from the optimisation itself, groups drawn from h(x). "
        "The paper leaves the optimiser open; here a start at bins of the score and a term for "
        "equal shares keep groups alive.",
        f"The oracle is told the {words.group} of every row, and has one threshold for each.",
        "The likeliest label scores 0, so it is in every set but an empty one. Rows are easy where "
        f"it is right more often than {level:g}, as a classifier taught on the calibration rows "
        "tells, and hard elsewhere. Least coverage is that of sets that are never empty and hold "
        "for both: easy rows are covered as often as the likeliest label is right, hard ones at "
        f"{level:g}. One threshold for a whole {words.group} comes nearer to {level:g} there by "
        "missing more of the hard rows.",
    ]
    if "ties_broken" in records[0]["results"]:
        notes.append(
            "Ties broken at random: the likeliest label scores a uniform draw from (-1, 0] in "
            f"place of 0, once a row. Then easy rows can be covered at {level:g} too, by sets that "
            "are now and then empty; nothing changes for the other labels, nor for a threshold "
            "above zero, such as Split's."
        )
    return notes
