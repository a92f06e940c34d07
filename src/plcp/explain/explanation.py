"""What is known of learned groups, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from plcp.explain.importance import Importance
from plcp.explain.profile import Difference
from plcp.explain.sensitive import Sensitive
from plcp.explain.surrogate import Kind


class GroupExplanation(NamedTuple):
    """One learned group: its rule, how good the rule is on rows held out, and what is special.

    ``rule`` is empty where no short rule finds the group better than chance. ``precision`` is the
    share of the rule's rows that are in the group, to be read beside the group's own ``share``;
    ``recall`` the share of the group's rows that the rule holds for.
    """

    group: int
    name: str
    rule: str
    precision: float
    recall: float
    n: int
    share: float
    profile: tuple[Difference, ...]


@dataclass(frozen=True)
class Explanation:
    """Learned groups in the words of the data; made by `explain_groups`.

    Attributes
    ----------
    groups : tuple of GroupExplanation
        By rising threshold.
    kinds : tuple of Kind
        A few rules that part all rows, from those with small thresholds to those with large ones,
        and the groups each of them lies in.
    fidelity, chance : float
        Share of rows whose group is the commonest of their kind, on rows held out; and the share of
        the largest group.
    order : float
        Rank correlation of a row's group with the mean group of its kind, on rows held out.
    importance : tuple of Importance
        Columns that move rows between groups when shuffled, the one that moves them most first.
    sensitive : tuple of Sensitive
        Named columns beside the groups.
    """

    groups: tuple[GroupExplanation, ...]
    kinds: tuple[Kind, ...]
    fidelity: float
    chance: float
    order: float
    importance: tuple[Importance, ...]
    sensitive: tuple[Sensitive, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and text."""
        return {
            "fidelity": self.fidelity,
            "chance": self.chance,
            "order": self.order,
            "groups": [
                one._asdict() | {"profile": [told._asdict() for told in one.profile]}
                for one in self.groups
            ],
            "kinds": [one._asdict() | {"groups": list(one.groups)} for one in self.kinds],
            "importance": [one._asdict() for one in self.importance],
            "sensitive": [
                one._asdict()
                | {
                    "values": list(one.values),
                    "overall": list(one.overall),
                    "shares": [list(row) for row in one.shares],
                }
                for one in self.sensitive
            ],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read back what ``to_dict`` gave."""
        return cls(
            groups=tuple(
                GroupExplanation(
                    **{**one, "profile": tuple(Difference(**told) for told in one["profile"])}
                )
                for one in plain["groups"]
            ),
            kinds=tuple(Kind(**{**one, "groups": tuple(one["groups"])}) for one in plain["kinds"]),
            fidelity=plain["fidelity"],
            chance=plain["chance"],
            order=plain["order"],
            importance=tuple(Importance(**one) for one in plain["importance"]),
            sensitive=tuple(
                Sensitive(
                    **{
                        **one,
                        "values": tuple(one["values"]),
                        "overall": tuple(one["overall"]),
                        "shares": tuple(map(tuple, one["shares"])),
                    }
                )
                for one in plain["sensitive"]
            ),
        )

    def to_text(self) -> str:
        """Lines of at most 100 columns."""
        from plcp.explain.printing import to_text

        return to_text(self)

    def _repr_markdown_(self) -> str:
        from plcp.explain.printing import to_markdown

        return to_markdown(self)

    def __str__(self) -> str:
        return self.to_text()
