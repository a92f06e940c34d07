"""Rules fitted to data frames: columns by name, text as text, gaps as anything unseen."""

import json

import numpy as np
import pandas as pd
import pytest
from served import Served, assert_served

from plcp import PLCP, Mondrian, OrderedPartition, TreePartition
from plcp.onnx import NotExportableError, export
from plcp.regressors import LinearQuantile, StackedQuantile


def people(rng, n, n_jobs):
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "job": [f"job {i}" for i in rng.integers(0, n_jobs, n)],
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "grade": pd.Categorical(rng.choice([1, 2, 3], n)),
            "member": rng.random(n) < 0.5,
            "nothing": np.full(n, np.nan),
        }
    )
    frame.loc[rng.random(n) < 0.05, "age"] = np.nan
    frame.loc[rng.random(n) < 0.05, "job"] = None
    noise = 1.0 + frame["job"].str.len().fillna(0) + (frame["age"] > 50)
    return frame, np.abs(rng.normal(size=n)) * noise.to_numpy()


def mixed():
    """The default rule, with as few folds as can be."""
    return PLCP(
        OrderedPartition(StackedQuantile(n_repeats=1)),
        n_groups=3,
        cv=2,
        calibration="cross",
        random_state=0,
    )


@pytest.mark.filterwarnings("ignore::plcp.UnseenCategoryWarning")
@pytest.mark.parametrize("n_jobs", [4, 40, 300])  # beyond 20 means stand for them, 254 are rare
def test_the_default_rule_reads_text_dates_and_gaps(n_jobs, rng):
    frame, scores = people(rng, 800, n_jobs)
    rule = mixed().fit(frame, scores)
    new, _ = people(rng, 400, 2 * n_jobs)  # half of the jobs were never seen
    served = assert_served(rule, new)
    assert {*served.inputs} == {*frame.columns}
    assert json.loads(served.graph.metadata_props[-1].value) == list(frame.columns)


def test_every_member_of_the_default_regressor_is_served(rng):
    frame, scores = people(rng, 800, 40)
    rule = mixed().fit(frame, scores)
    regressor = rule.partition_.regressor_
    assert len(regressor.members_) == 3
    for weights in (*np.eye(4), np.full(4, 0.25)):
        regressor.weights_ = weights
        assert_served(rule, frame)


@pytest.mark.filterwarnings("ignore::plcp.UnseenCategoryWarning")
def test_leaves_of_a_tree_are_served_by_each_fold_with_its_own_categories(rng):
    frame, scores = people(rng, 600, 30)
    rule = PLCP(TreePartition(min_samples_leaf=20), n_groups=4, calibration="cross", random_state=0)
    assert_served(rule.fit(frame, scores), people(rng, 400, 60)[0])


def test_numbers_of_a_frame_are_one_table_in_the_order_of_fit(rng):
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["b", "a", "c"])
    rule = PLCP(OrderedPartition(LinearQuantile()), n_groups=2, calibration="cross", random_state=0)
    rule.fit(frame, rng.exponential(size=300))
    served = assert_served(rule, frame)
    assert served.inputs == ["X"]


@pytest.mark.filterwarnings("ignore::plcp.InfiniteThresholdWarning")
@pytest.mark.parametrize("column", ["job", "age"])
def test_mondrian_reads_its_column_alone(column, rng):
    frame, scores = people(rng, 600, 4)
    frame = frame.fillna({"age": 30.0, "job": "none"})
    rule = Mondrian(column).fit(frame, scores)
    new, _ = people(rng, 100, 8)
    served = assert_served(rule, new.fillna({"age": 30.0, "job": "none"}))
    assert served.inputs == [column]


def test_a_column_named_as_an_output_is_refused_by_name(rng):
    frame, scores = people(rng, 300, 4)
    rule = mixed().fit(frame.rename(columns={"job": "group"}), scores)
    with pytest.raises(NotExportableError, match=r"column 'group' cannot be exported.* rename"):
        export(rule)


def test_text_that_only_the_default_regressor_reads_is_refused_elsewhere(rng):
    frame, scores = people(rng, 300, 4)
    rule = mixed().fit(frame[["age", "job"]], scores)
    rule.partition_.regressor_.members = [LinearQuantile()]  # as if these read the frame as it is
    with pytest.raises(NotExportableError, match=r"the columns \['job'\] hold text"):
        Served(rule)


def test_columns_beside_text_need_names(rng):
    frame, scores = people(rng, 300, 4)
    rule = mixed().fit(frame[["age", "job"]].set_axis([0, 1], axis=1), scores)
    with pytest.raises(NotExportableError, match="have no names; name them by text"):
        export(rule)


@pytest.mark.parametrize("labels", [["u", "v"], [1, 2], [True, False]])
def test_labels_of_objects_are_text_or_numbers(labels, rng):
    column = pd.Series(rng.choice(labels, 300).tolist(), dtype=object)
    frame = pd.DataFrame({"kind": column, "other": "text"})
    rule = Mondrian("kind", alpha=[0.1, 0.3]).fit(frame, rng.exponential(size=300))
    served = Served(rule)
    given = column.to_numpy() if labels == ["u", "v"] else column.to_numpy(dtype=float)
    found = served.session.run(["threshold"], {"kind": given[:, None]})
    np.testing.assert_array_equal(found[0], rule.predict(frame))


@pytest.mark.parametrize("labels", [[2**53, 2**53 + 1], pd.to_datetime(["2020", "2021"])])
def test_labels_that_doubles_cannot_hold_are_refused(labels, rng):
    frame = pd.DataFrame({"kind": pd.Series(labels).repeat(150)})
    rule = Mondrian("kind").fit(frame, rng.exponential(size=300))
    with pytest.raises(NotExportableError, match="give labels of text"):
        export(rule)
