"""Coverage of rules that draw, by rows served one by one and in one batch, over fits and seeds.

One rule is fitted at each seed. If every call drew the same numbers, coverage row by row would
spread between seeds more than that of the same rows in one batch.
"""

import argparse
import warnings
from typing import Any

import numpy as np
from benchmarks.shared import save
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from plcp import (
    PLCP,
    RLCP,
    ConditionalCalibration,
    ConformalClassifier,
    CumulativeProbability,
    PosteriorConformal,
    SoftmaxPartition,
    SplitConformal,
)

N_CAL, N_NEW, ALPHA = 400, 600, 0.1
RULES = {
    "RLCP": RLCP(),
    "PosteriorConformal": PosteriorConformal(),
    "PLCP, sampled groups": PLCP(SoftmaxPartition(), 4, calibration="split", assignment="sample"),
    "ConditionalCalibration, randomised": ConditionalCalibration(randomized=True),
}


class Fixed(ClassifierMixin, BaseEstimator):
    """The same probabilities of three labels for every row."""

    classes_ = np.arange(3)

    def fit(self, X: Any, y: Any) -> "Fixed":
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile([0.5, 0.3, 0.2], (len(X), 1))


def cover(rule: Any, seed: int) -> dict[str, float]:
    """Coverage of new rows by a rule fitted at this seed, one by one and at once."""
    rng = np.random.default_rng([seed, 0])
    X = rng.normal(size=(N_CAL + N_NEW, 3))
    scores = (1.5 + np.sin(X[:, 0])) * rng.exponential(size=len(X))
    rule.set_params(random_state=seed).fit(X[:N_CAL], scores[:N_CAL])
    new, of_new = X[N_CAL:], scores[N_CAL:]
    alone = np.concatenate([rule.predict(row[None]) for row in new])
    return {
        "one by one": float(np.mean(of_new <= alone)),
        "batch": float(np.mean(of_new <= rule.predict(new))),
    }


def cover_labels(seed: int) -> dict[str, float]:
    """Coverage by sets of randomised cumulative probability."""
    rng = np.random.default_rng([seed, 1])
    X, y = rng.normal(size=(N_CAL + N_NEW, 1)), rng.choice(3, N_CAL + N_NEW, p=[0.5, 0.3, 0.2])
    score = CumulativeProbability("random", random_state=seed)
    model = ConformalClassifier(FrozenEstimator(Fixed()), score, SplitConformal(ALPHA))
    model.fit(X[:N_CAL], y[:N_CAL])
    new, labels = X[N_CAL:], y[N_CAL:]
    rows = zip(new, labels, strict=True)
    alone = [model.predict_set(row[None]).contains([label])[0] for row, label in rows]
    batch = model.predict_set(new).contains(labels)
    return {"one by one": float(np.mean(alone)), "batch": float(np.mean(batch))}


def summary(name: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Mean of coverage with its standard error, and its spread between seeds."""
    found: dict[str, Any] = {"rule": name, "seeds": len(runs)}
    for way in ("one by one", "batch"):
        values = np.array([run[way] for run in runs])
        found[way] = {
            "mean": round(float(values.mean()), 4),
            "standard error": round(float(values.std(ddof=1) / np.sqrt(len(values))), 4),
            "spread": round(float(values.std(ddof=1)), 4),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    results = [summary(name, [cover(rule, s) for s in seeds]) for name, rule in RULES.items()]
    results.append(summary("CumulativeProbability, random", [cover_labels(s) for s in seeds]))
    for record in results:
        print(record)
    save("accuracy/served_rows", "coverage", results)


if __name__ == "__main__":
    main()
