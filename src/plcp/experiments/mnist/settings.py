"""Settings of the blurred digits: the paper's, and small ones."""

from plcp.experiments.experiment import Record, Settings

PAPERS: Settings = {
    "alpha": 0.1,
    "sigmas": [0, 1, 2, 3, 4],
    "n_train": 35_000,
    "n_calibration": 15_000,
    "n_test": 10_000,
    "channels": [16, 32, 32],
    "predictor_epochs": 2,
    "n_groups": 8,
    "epochs": "auto",
}
QUICK: Settings = {
    "alpha": 0.1,
    "sigmas": [0, 1, 2, 3, 4],
    "n_train": 600,
    "n_calibration": 600,
    "n_test": 500,
    "channels": [4, 8, 8],
    "predictor_epochs": 30,
    "n_groups": 4,
    "epochs": 2,
}


def are_papers(record: Record) -> bool:
    """Whether a trial had the paper's settings: small ones prove nothing about the paper."""
    return all(record["settings"][key] == value for key, value in PAPERS.items())
