"""All kinds of values, in the order in which they are asked."""

from plcp.storage import (
    arrays,
    arrow,
    containers,
    decision_trees,
    estimators,
    functions,
    light,
    networks,
    objects,
)
from plcp.storage.kinds import Kind

MODULES = (
    containers,
    arrays,
    functions,
    light,
    arrow,
    networks,
    decision_trees,
    estimators,
    objects,
)
KINDS: tuple[Kind, ...] = tuple(kind for module in MODULES for kind in module.KINDS)
