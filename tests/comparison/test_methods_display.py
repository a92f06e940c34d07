"""The picture of a comparison."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from sklearn.linear_model import LinearRegression

from plcp import compare_methods
from plcp.comparison import MethodsDisplay
from plcp.datasets import make_toy


@pytest.fixture(scope="module")
def found():
    task = make_toy(600, random_state=0)
    return compare_methods(task.X, task.y, LinearRegression(), ["split", "local", "rectified"])


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_points_are_the_estimates_and_the_best_is_at_the_top(found):
    display = found.plot()
    assert display.figure_ is display.axes_[0].figure
    for metric, points in display.points_.items():
        scale = 100 if metric == "conditional error" else 1
        for point, record in zip(points, found.records, strict=True):
            estimate = record[metric.replace(" ", "_")]
            shown = np.nan if np.isinf(estimate) else scale * estimate
            np.testing.assert_allclose(point.get_xdata(), [shown])
    errors = [point.get_xdata()[0] for point in display.points_["conditional error"]]
    assert errors == sorted(errors)
    names = [text.get_text() for text in display.axes_[0].get_yticklabels()]
    assert names == [record["method"] for record in found.records]
    [bold] = [t for t in display.axes_[0].get_yticklabels() if t.get_fontweight() == "bold"]
    assert bold.get_text() == found.recommended


def test_axes_of_the_user_are_drawn_on(found):
    figure, axes = plt.subplots(1, 3)
    display = MethodsDisplay(comparison=found).plot(axes, point_kwargs={"ms": 9})
    assert display.figure_ is figure
    assert display.points_["size"][0].get_markersize() == 9
    assert len(plt.get_fignums()) == 1
    with pytest.raises(ValueError, match="3 axes are needed, got 1"):
        found.plot(axes[0])
