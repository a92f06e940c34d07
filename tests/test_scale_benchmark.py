"""The benchmark of scale: its rows, its laws, its pages, and that every part of it runs."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import scale  # noqa: E402
import scale_asked  # noqa: E402
import scale_data  # noqa: E402
import scale_jobs  # noqa: E402
import scale_laws  # noqa: E402
import scale_page  # noqa: E402
import scale_plan  # noqa: E402
import scale_rules  # noqa: E402
import scale_words  # noqa: E402


def test_tables_are_drawn_from_the_records():
    results = scale_page.load()
    written = (scale_page.FOLDER / "scale.md").read_text(encoding="utf-8")
    assert written == scale_page.results_page(results)
    assert (scale_page.FOLDER / "scale.png").exists() == bool(results)


def test_numbers_of_the_guide_are_drawn_from_the_records():
    text = scale_page.PAGE.read_text(encoding="utf-8")
    assert text == scale_page.guide(text, scale_page.load())
    assert text.count("<!-- /") == 6


def test_tables_say_what_thresholds_were_compared_with(monkeypatch):
    """Other folds, other thresholds: none in memory could be those of the rule on Dask."""
    learned = {"default": [1.0], "linear": [2.0]}

    class Fitted(dict):
        def fit(self, X, y):
            return self

        def to_local(self):
            return self

    def rule(name):
        on_dask, in_memory = Fitted(threshold=learned[name]), Fitted(threshold=[0.5])
        return scale_rules.RULES[name]._replace(
            on_dask=lambda: on_dask, in_memory=lambda: in_memory
        )

    monkeypatch.setattr(scale_jobs, "RULES", {name: rule(name) for name in learned})
    monkeypatch.setattr(scale_jobs, "levels", lambda rule: rule["threshold"])
    monkeypatch.setattr(scale_jobs, "asked", lambda *_, **__: {})
    for name, thresholds in (("default", [0.5]), ("linear", learned["linear"])):
        found = scale_jobs.memory(name, 100, 1, 1)
        assert found["thresholds"] == thresholds
        told = "in memory" if thresholds == [0.5] else "by the same rule without a cluster"
        run = {"rule": name, "rows": 100, "same_thresholds": True, "same_predictions": True}
        ((what, *_), _) = scale_asked.asked_of_memory([{**run, "msce_ratio": 1.0}])
        assert what.endswith(f"thresholds on a cluster and {told}")


def test_rows_are_the_same_however_they_are_cut(monkeypatch):
    monkeypatch.setattr(scale_data, "UNIT", 50)
    X, y = scale_data.whole(320)
    for together in (1, 3, 7):
        parts = scale_data.collections(320, together)
        assert parts[1].npartitions == -(-7 // together)
        assert np.array_equal(parts[0].compute(scheduler="sync"), X)
        assert np.array_equal(parts[1].compute(scheduler="sync"), y)
    assert len(np.unique(X)) == X.size  # no unit repeats another


def test_no_two_collections_share_keys():
    one, other = (set(scale_data.collections(100)[0].__dask_graph__()) for _ in range(2))
    assert not one & other


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_growth_of_a_power_is_its_exponent(exponent):
    rows = [10, 100, 3000]
    found = scale_laws.growth(rows, [7 * n**exponent for n in rows])
    assert found == pytest.approx((exponent, exponent))


def test_the_worst_step_is_the_steepest():
    assert scale_laws.growth([1, 10, 100], [1, 1, 100]).worst_step == pytest.approx(2)


@pytest.mark.parametrize(("fixed", "per_row"), [(3.0, 2e-6), (0.0, 1.0), (5.0, 0.0)])
def test_fixed_cost_and_cost_of_a_row_are_told_apart(fixed, per_row):
    rows = [10**6, 10**7, 3 * 10**7]
    law = scale_laws.spread(rows, [fixed + per_row * n / scale_laws.WORKERS for n in rows])
    assert law == pytest.approx((fixed, per_row), abs=1e-9)
    assert law.at(10**9, 100) == pytest.approx(fixed + per_row * 10**7, abs=1e-2)


def test_the_plan_adds_blocks_to_peaks_and_tasks_to_times():
    """Laws of 100 MB and 20 bytes a row, of blocks of 250,000 rows with forty tasks each."""
    sizes = [10**6, 10**7, 3 * 10**7]
    runs = [
        {
            "rule": "split",
            "rows": n,
            "blocks": n // 250_000,
            "tasks": 40 * n // 250_000,
            "fit_seconds": 1e-6 * n,
            "worker_megabytes": [100 + 20e-6 * n / scale_laws.WORKERS],
        }
        for n in sizes
    ]
    assert scale_plan.peak_megabytes(runs, 10**8, 10) == pytest.approx(100 + 200)
    larger = 3 * 3_750_000 * 8 * 21 / 1e6  # three blocks of 4,000,000 rows of 21 numbers
    assert scale_plan.peak_megabytes(runs, 10**10, 1000) == pytest.approx(100 + 200 + larger)
    assert scale_plan.scheduler_seconds(runs, 10**10) == pytest.approx(2_500 * 40 / 1000)
    header, _, *rows = scale_plan.plan(runs).splitlines()
    assert [len(row.split("|")) for row in rows] == [len(header.split("|"))] * 8
    assert "| 4,000,000 rows, 672 MB |" in rows[-1]


@pytest.mark.parametrize(
    ("n", "told"), [(100_000, "10^5"), (30_000_000, "3·10^7"), (10**11, "10^11")]
)
def test_rows_as_people_write_them(n, told):
    assert scale_words.power(n) == told


@pytest.mark.parametrize(
    ("value", "told"), [(0.5, "0.50 s"), (90, "90.0 s"), (120, "2.0 min"), (5 * 86_400, "5.0 days")]
)
def test_seconds_as_people_write_them(value, told):
    assert scale_words.seconds(value) == told


@pytest.fixture(scope="module")
def client():
    """Workers that are threads of this process."""
    with scale_jobs.local_cluster(processes=False) as found:
        yield found


def here(client):
    """Return measurements in this process: a new one for each would take longer than the tests."""

    def measured(job, **options):
        return json.loads(json.dumps(scale_jobs.run(job, client, **options)))

    return measured


def test_every_part_runs_and_is_drawn(tmp_path, client, monkeypatch):
    monkeypatch.setattr(scale, "measured", here(client))
    monkeypatch.setattr(scale, "ONCE", 0)
    monkeypatch.setattr(scale, "RIVALS", {})  # which the tests do without
    monkeypatch.setattr(scale, "RULES", {rule: scale.RULES[rule] for rule in ("linear", "split")})
    tiny = scale.Sizes((1_000, 2_000), (1_000,), {"linear": 2_000}, 1_000, {600: 5}, 100)
    monkeypatch.setattr(scale, "QUICK", tiny)
    scale.main(["--quick", "--out", str(tmp_path / "new")])
    results = scale_page.load(tmp_path / "new")
    assert list(results) == list(scale.PARTS)
    page = (tmp_path / "new" / "scale.md").read_text(encoding="utf-8")
    assert scale_page.NOT_YET not in page
    assert "nan" not in page
    assert (tmp_path / "new" / "scale.png").stat().st_size > 0
    text = scale_page.PAGE.read_text(encoding="utf-8")
    assert scale_page.NOT_YET not in scale_page.guide(text, results)


def test_a_part_alone_leaves_the_others_as_they_are(tmp_path, client, monkeypatch):
    monkeypatch.setattr(scale, "measured", here(client))
    monkeypatch.setattr(scale, "RULES", {"split": scale.RULES["split"]})
    before = {"provenance": {}, "results": ["as it was"]}
    (tmp_path / "scale.json").write_text(json.dumps({"other": before}), encoding="utf-8")
    monkeypatch.setattr(scale, "draw", lambda folder: None)
    scale.main(["--quick", "--part", "fit", "--out", str(tmp_path)])
    results = scale_page.load(tmp_path)
    assert results["other"] == before
    assert [run["rows"] for run in results["fit"]["results"]] == list(scale.QUICK.fit)
    assert results["fit"]["provenance"]["cores"] > 0


def test_a_measurement_in_a_process_of_its_own():
    found = scale.measured("fit", rule="split", rows=3_000, repeats=2, points=100)
    assert found["passes"] == 1  # scores are kept, and everything else is counting
    assert len(found["all_seconds"]) == 2
    assert found["fit_seconds"] == min(found["all_seconds"])
    assert len(found["worker_megabytes"]) == scale_laws.WORKERS
    assert all(mb > 10 for mb in found["worker_megabytes"])
    _, scores = scale_data.whole(3_000)
    assert found["thresholds"] == [np.sort(scores)[int(np.ceil(0.9 * 3_001)) - 1]]


def test_a_measurement_that_fails_says_why():
    with pytest.raises(RuntimeError, match="no such rule"):
        scale.measured("rival", rule="no such rule", rows=10, points=1, few=1)
