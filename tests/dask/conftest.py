"""Two worker processes for all tests on Dask, and the rules that all must bear the same faults."""

import logging

import pytest
from dask_rules import RULES
from distributed import Client, LocalCluster


def pytest_generate_tests(metafunc):
    """Run a test that asks for a ``rule_on`` once for each rule."""
    if "rule_on" in metafunc.fixturenames:
        metafunc.parametrize("rule_on", RULES)


@pytest.fixture(scope="session")
def client():
    """Return the client of two processes; it is not the default one."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit="1GB",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client_of_threads():
    """Return the client of a cluster that lives in this process."""
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["no client", "threads", "processes"])
def any_client(request):
    """Return each kind of engine in turn."""
    if request.param == "no client":
        return None
    return request.getfixturevalue(
        {"threads": "client_of_threads", "processes": "client"}[request.param]
    )
