"""Data: simulated with known noise, so that coverage can be computed, and the paper's own."""

from plcp.datasets.bundled import load_bikes, load_wages
from plcp.datasets.census import RACES, SEXES, STATES, Census, census_files, fetch_census
from plcp.datasets.gas import GasDrift, fetch_gas_drift, gas_drift_files
from plcp.datasets.mnist import BlurredDigits, fetch_blurred_mnist, mnist_files, read_idx
from plcp.datasets.rxrx1 import CellImages, CellOutputs, CellSites, fetch_rxrx1, rxrx1_files
from plcp.datasets.synthetic import ScoreTask, make_nonlinear, make_synthetic, make_toy

__all__ = [
    "RACES",
    "SEXES",
    "STATES",
    "BlurredDigits",
    "CellImages",
    "CellOutputs",
    "CellSites",
    "Census",
    "GasDrift",
    "ScoreTask",
    "census_files",
    "fetch_blurred_mnist",
    "fetch_census",
    "fetch_gas_drift",
    "fetch_rxrx1",
    "gas_drift_files",
    "load_bikes",
    "load_wages",
    "make_nonlinear",
    "make_synthetic",
    "make_toy",
    "mnist_files",
    "read_idx",
    "rxrx1_files",
]
