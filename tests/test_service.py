"""The service of the examples answers a real HTTP client as the model does."""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import plcp

SERVICE = Path(__file__).parent.parent / "examples" / "service.py"


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 60, 900), "job": rng.choice(["a", "b"], 900)})
    X["hours"] = rng.uniform(0, 40, 900)
    y = X["age"] * rng.exponential(1 + (X["job"] == "b"))
    coded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job"]), ("passthrough", ["hours"])
    )
    trained = make_pipeline(coded, LinearRegression())
    by_job = plcp.Mondrian("job")
    return plcp.ConformalRegressor(trained, threshold=by_job, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def address(model, tmp_path_factory):
    """A server in a process of its own, on a free port, stopped in the end."""
    path = tmp_path_factory.mktemp("service") / "model.plcp"
    plcp.save(model, path)
    command = [sys.executable, SERVICE, path, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        found, log = None, ""
        while found is None:
            line = server.stderr.readline()
            assert line, f"the server has stopped:\n{log}"
            log += line
            found = re.search(r"running on (http://127\.0\.0\.1:\d+)", line)
        yield found[1]
        server.terminate()


def post(address, rows):
    data = json.dumps(rows).encode()
    request = Request(f"{address}/interval", data, {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def refusal(address, rows):
    with pytest.raises(HTTPError) as error:
        post(address, rows)
    assert error.value.code == 422
    return json.load(error.value)["detail"]


ROWS = [
    {"age": 30.5, "job": "b", "hours": 8},
    {"hours": 0, "job": "a", "age": 55},  # the order of the columns does not matter
    {"age": None, "job": "b", "hours": 1},
    {"job": "b", "hours": 1},
    {"age": 41, "job": "of no calibration row", "hours": 2.5},
]


def test_intervals_are_those_of_the_model(model, address):
    table = pd.DataFrame(ROWS, columns=["age", "job", "hours"])
    answers = post(address, ROWS)
    ends = [[answer["lower"], answer["upper"]] for answer in answers]
    with pytest.warns(plcp.exceptions.InfiniteThresholdWarning):
        expected = model.predict_interval(table).tolist()
    assert ends[:-1] == expected[:-1]
    assert (ends[-1], expected[-1]) == ([None, None], [-np.inf, np.inf])
    assert [answer["prediction"] for answer in answers] == model.predict(table).tolist()


def test_about_states_columns_and_guarantee(model, address):
    with urlopen(f"{address}/about", timeout=60) as answer:
        about = json.load(answer)
    assert about == {"columns": ["age", "job", "hours"], "guarantee": str(model.guarantee_)}


def test_bad_requests_are_refused_and_the_server_goes_on(address):
    assert "unknown columns ['name']" in refusal(address, [{"age": 30, "name": "x"}])
    assert "'many'" in refusal(address, [{"age": 30, "job": "a", "hours": "many"}])
    assert "NaN" in refusal(address, [{"age": 30, "job": "a", "hours": None}])
    assert refusal(address, [])
    assert len(post(address, ROWS[:1])) == 1
