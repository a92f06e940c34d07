"""What a metric returns."""

import numpy as np

from plcp.metrics import Measure


def test_a_measure_tells_itself():
    table = {"group": np.array(["a", "b"]), "n": np.array([1, 2])}
    measure = Measure("MSCE", 0.25, 0.2, 0.3, 0.9, 0.03, exact=False, meaning="x", table=table)
    assert str(measure) == "MSCE: 0.25, 90 % interval [0.2, 0.3]"
    assert measure.to_dict() == {
        "name": "MSCE",
        "estimate": 0.25,
        "low": 0.2,
        "high": 0.3,
        "confidence": 0.9,
        "standard_error": 0.03,
        "exact": False,
        "meaning": "x",
        "table": {"group": ["a", "b"], "n": [1, 2]},
    }
    assert measure.to_pandas().to_dict("list") == measure.to_dict()["table"]
