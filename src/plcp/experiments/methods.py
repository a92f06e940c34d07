"""Methods that every experiment compares, by the names that records and figures have for them."""

from typing import Any

from plcp.partitions.base import Partition
from plcp.thresholds import PLCP

SPLIT, PUBLISHED, CROSS = "Split", "PLCP, as published", "PLCP, cross"
TWO_KINDS = (
    f'“{PUBLISHED}” is the paper\'s Algorithm 1; “{CROSS}” is `PLCP(calibration="cross")`: it '
    "learns how uncertain each x is, cuts that scale into ordered groups, and calibrates each of "
    "them on rows that it was not fitted to."
)
TWO_KINDS_OF_NETWORK = (
    f"“{PUBLISHED}” is the paper's Algorithm 1, kept from collapsing into one group as the notes "
    f"explain; “{CROSS}”, an option of this library, learns how uncertain each x is, cuts that "
    "scale into ordered groups, and calibrates each of them on rows that it was not fitted to."
)
LOCALCP_NOTE = (
    "LocalCP is Guan's (2023), whose weights are not random; the paper cites Hore and Barber "
    "(2023), who randomise them."
)


def as_published(partition: Partition, n_groups: int, alpha: float, random_state: Any) -> PLCP:
    """Algorithm 1 on a class of partitions: thresholds of the optimisation itself, groups drawn."""
    return PLCP(
        partition,
        n_groups,
        alpha,
        calibration="joint",
        assignment="sample",
        random_state=random_state,
    )
