"""All kinds of values, in the order in which they are tried."""

from plcp.storage import (
    arrays,
    arrow,
    containers,
    decision_trees,
    extensions,
    functions,
    lightgbm as light,
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
    extensions,
    objects,
)
KINDS: tuple[Kind, ...] = tuple(kind for module in MODULES for kind in module.KINDS)
