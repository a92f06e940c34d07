"""One model, several miscoverage rates: a set for each, nested."""

import numpy as np
import pyarrow as pa
import pytest
from tabular_worlds import TASKS, batch_of, make_table, roles_of

from plcp.tables import Applier, calibrate, load_model, save_model

ALPHAS = [0.1, 0.05, 0.4]


@pytest.mark.parametrize("task", TASKS)
def test_each_rate_gets_the_sets_it_would_get_alone(task, tmp_path):
    table, new = make_table(task, 300), batch_of(make_table(task, 40, 1))
    roles = roles_of(table, task)
    model = calibrate(table, roles, method="split", alpha=ALPHAS)
    save_model(model, tmp_path / "m.plcp")
    out = Applier(load_model(tmp_path / "m.plcp")).apply(new)
    for alpha in ALPHAS:
        alone = Applier(calibrate(table, roles, method="split", alpha=alpha)).apply(new)
        for name in alone.schema.names[new.num_columns :]:
            ours = name if alpha == ALPHAS[0] else f"{name}_{alpha:g}"
            assert out[ours].equals(alone[name])


def test_learned_sets_are_nested_and_the_groups_are_those_of_the_first():
    table, new = make_table("regression", 300), batch_of(make_table("regression", 200, 1))
    roles = roles_of(table, "regression")
    model = calibrate(table, roles, groups=2, alpha=ALPHAS, explain=False)
    alone = calibrate(table, roles, groups=2, alpha=ALPHAS[0], explain=False)
    out = Applier(model).apply(new)
    assert out["group"].equals(Applier(alone).apply(new)["group"])
    assert model.alpha == ALPHAS[0]
    for low, high in (("", "_0.05"), ("_0.4", "")):
        assert (out[f"lower{high}"].to_numpy() <= out[f"lower{low}"].to_numpy()).all()
        assert (out[f"upper{low}"].to_numpy() <= out[f"upper{high}"].to_numpy()).all()


def test_a_rate_that_needs_more_rows_is_named():
    table = make_table("regression", 30)
    model = calibrate(table, roles_of(table, "regression"), method="split", alpha=[0.1, 0.001])
    (note,) = model.notes
    assert note.startswith("alpha = 0.001: ")
    assert np.isinf(Applier(model).apply(batch_of(table))["threshold_0.001"].to_numpy()).all()


@pytest.mark.parametrize("alpha", [[0.1, 0.1], [0.1, 1.5], []])
def test_wrong_rates_are_refused(alpha):
    table = pa.table({"s": [1.0, 2.0]})
    with pytest.raises(ValueError, match="alpha"):
        calibrate(table, roles_of(table, "scores"), method="split", alpha=alpha)
