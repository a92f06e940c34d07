"""One cluster of two processes and one of threads for all tests on Dask."""

import logging

import pytest
from dask_cases import RULES
from distributed import Client, LocalCluster

import dask

# A cluster gives up a worker that has not come back this long after any of its deaths, even if it
# came back in between and died again: on a busy machine that is the middle of a later test.
NEVER = "1 day"


@pytest.fixture(scope="session")
def client():
    """Return the client of two processes; it is not the default one."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": NEVER}),
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
    """Return the client of a cluster in this process."""
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


@pytest.fixture(params=[None, "client_of_threads", "client"])
def any_client(request):
    """Return no client, and the client of each cluster."""
    return request.param and request.getfixturevalue(request.param)


@pytest.fixture(params=RULES)
def rule_on(request):
    """Return each rule, as a function of its client."""
    return RULES[request.param]
