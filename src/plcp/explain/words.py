"""Shares and group numbers as people write them."""

from collections.abc import Iterable

MOST_DECIMALS = 6


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in percent; 0 and 100 are said only of shares that are exactly so.

    Examples
    --------
    >>> percent(0.614), percent(0.0031), percent(0.9996), percent(0.9, 1), percent(1.0, 1)
    ('61 %', '0.3 %', '99.96 %', '90.0 %', '100 %')
    """
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    for places in range(decimals, decimals + MOST_DECIMALS):
        text = f"{100 * share:.{places}f}"
        if 0 < float(text) < 100:
            break
    return f"{text} %"


def runs(numbers: Iterable[int]) -> str:
    """Return numbers of groups in their order, neighbours together.

    Examples
    --------
    >>> runs([3, 2, 4]), runs([0, 2]), runs([5])
    ('2–4', '0, 2', '5')
    """
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in found)
