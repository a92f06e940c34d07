"""Work done in advance, in a thread."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Make the next item in a thread while the caller works on this one; none may be None.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1) as worker:
        coming = worker.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = worker.submit(next, items, None)
            yield item
