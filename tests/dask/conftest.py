"""Two worker processes for all tests on Dask, and the rules that all must bear the same faults."""

import logging

import pytest
from dask_rules import RULES
from distributed import Client, LocalCluster

import dask

ENGINES = ("no client", "threads", "processes")
# A cluster gives up a worker that has not come back this long after any of its deaths, even if it
# came back in between and died again: on a busy machine that is the middle of a later test.
NEVER = "1 day"


def pytest_generate_tests(metafunc):
    """Run a test once for each ``rule_on`` or ``any_client`` that it asks for.

    Of tests that ask for both, the first rule runs on every engine and the others, which
    the same code serves with blocks, without a client.
    """
    asked = {"rule_on", "any_client"} & {*metafunc.fixturenames}
    if asked == {"rule_on", "any_client"}:
        pairs = [(RULES[0], engine) for engine in ENGINES]
        pairs += [(rule, "no client") for rule in RULES[1:]]
        named = [pytest.param(*rule.values, e, id=f"{rule.id}-{e}") for rule, e in pairs]
        metafunc.parametrize(("rule_on", "any_client"), named, indirect=["any_client"])
    elif "rule_on" in asked:
        metafunc.parametrize("rule_on", RULES)
    elif asked:
        metafunc.parametrize("any_client", ENGINES, indirect=True)


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


@pytest.fixture
def any_client(request):
    """Return each kind of engine in turn."""
    if request.param == "no client":
        return None
    return request.getfixturevalue(
        {"threads": "client_of_threads", "processes": "client"}[request.param]
    )
