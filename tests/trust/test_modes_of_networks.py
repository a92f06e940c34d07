"""A network asked by several threads is never in training while one of them waits for an answer."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from torch import nn

from estimators import CASES
from plcp.partitions.torch import embed

MOMENT = 0.3  # seconds to wait for a thread that must not come
TIMEOUT = 1800  # seconds to wait for one that must


class Meeting(nn.Module):
    """Doubles its rows in training; the first question ends in the middle of the second."""

    def __init__(self):
        super().__init__()
        self.first_came, self.second_came, self.first_left = Event(), Event(), Event()
        self.asked = 0

    def forward(self, x):
        self.asked += 1
        if self.asked == 1:
            self.first_came.set()
            self.second_came.wait(MOMENT)
        else:
            self.second_came.set()
            self.first_left.wait(TIMEOUT)
        return x * (2 if self.training else 1)


def test_a_network_in_training_answers_all_as_if_it_were_not():
    network, X = Meeting().train(), np.ones((3, 2))

    def first():
        found = embed(network, X)
        network.first_left.set()
        return found

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(first)]
        assert network.first_came.wait(TIMEOUT)
        answers.append(pool.submit(embed, network, X))
        for each in answers:
            np.testing.assert_array_equal(each.result(), X)
    assert network.training  # as its owner left it


@pytest.mark.parametrize("name", ["network, softmax", "network quantile"])
def test_a_fitted_network_is_not_in_training(name, rows):
    fitted = CASES[name].fit(rows)
    assert not any(part.training for part in fitted.network_.modules())
