"""Thresholds for a table whose columns have roles: calibrate, apply, and the file in between."""

from plcp.tabular.applying import Applier
from plcp.tabular.arrow import codes_as_text
from plcp.tabular.calibration import calibrate
from plcp.tabular.examining import Examined, examine
from plcp.tabular.frames import to_frame
from plcp.tabular.larger import calibrate_file
from plcp.tabular.methods import METHODS
from plcp.tabular.model import TabularModel, describe_features
from plcp.tabular.roles import Roles, choose_roles
from plcp.tabular.serving import check_served, serve
from plcp.tabular.storage import load_manifest, load_model, save_model

__all__ = [
    "METHODS",
    "Applier",
    "Examined",
    "Roles",
    "TabularModel",
    "calibrate",
    "calibrate_file",
    "check_served",
    "choose_roles",
    "codes_as_text",
    "describe_features",
    "examine",
    "load_manifest",
    "load_model",
    "save_model",
    "serve",
    "to_frame",
]
