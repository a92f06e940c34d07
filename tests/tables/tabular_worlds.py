"""Tables as users have them: features of every kind, predictions, outcomes."""

import datetime as dt

import numpy as np
import pyarrow as pa

from plcp.tables import choose_roles

TASKS = {
    "regression": {"target": "y", "prediction": "yhat"},
    "quantiles": {"target": "y", "lower": "lo", "upper": "hi"},
    "classes": {"target": "label", "probabilities": "p_*"},
    "scores": {"score": "s"},
}
LABELS = ["maybe", "no", "yes"]


def make_table(task="regression", n=300, seed=0, many=0):
    """Rows of one task; with ``many``, a column of that many categories."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 500, n)]
    columns = {
        "x": pa.array(x, mask=rng.uniform(size=n) < 0.05),
        "sex": pa.array(rng.choice(["f", "m"], n).tolist()),
        "member": pa.array((x > 0.5).tolist()),
        "day": pa.array(days),
        "w": pa.array(rng.integers(1, 4, n).astype(float)),
    }
    if many:
        codes = np.arange(n) % many
        columns["town"] = pa.array([f"town {code}" for code in codes])
    y = x + rng.normal(size=n) * np.exp(x / 2)
    if task == "regression":
        columns |= {"y": pa.array(y), "yhat": pa.array(x)}
    elif task == "quantiles":
        columns |= {"y": pa.array(y), "lo": pa.array(x - 2), "hi": pa.array(x + 2)}
    elif task == "scores":
        columns |= {"s": pa.array(np.abs(y - x))}
    else:
        probabilities = rng.dirichlet([1.0, 1.0, 1.0], n)
        drawn = [int(rng.choice(3, p=row)) for row in probabilities]
        columns["label"] = pa.array([LABELS[code] for code in drawn])
        columns |= {f"p_{name}": pa.array(probabilities[:, i]) for i, name in enumerate(LABELS)}
    return pa.table(columns)


def roles_of(table, task, **options):
    """Roles of such a table."""
    return choose_roles(table.column_names, **TASKS[task], **options)


def batch_of(table):
    """All rows of a table in one batch."""
    return table.combine_chunks().to_batches()[0]
