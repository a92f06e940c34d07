"""The file of finished trials: one JSON line each, safe against interruption and company."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Ledger:
    """Records of trials in a file that only ever grows, one JSON line each.

    A line is complete once its newline is on disk; what a killed run left unfinished is cut off
    when the file is opened for writing. Records of other settings stay where they are, unread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def of(self, settings: dict[str, Any]) -> dict[int, Record]:
        """Records of these settings by seed; the first, should a seed be there twice."""
        wanted = plain(settings)
        own: dict[int, Record] = {}
        for record in self:
            if record["settings"] == wanted:
                own.setdefault(record["seed"], record)
        return own

    def __iter__(self) -> Iterator[Record]:
        if not self.path.exists():
            return
        lines = self.path.read_bytes().split(b"\n")[:-1]  # the last is unfinished, or empty
        for number, line in enumerate(lines, 1):
            try:
                yield json.loads(line)
            except ValueError:
                raise ValueError(
                    f"line {number} of {self.path} is no JSON: mend or remove it, and its trial "
                    "is run again"
                ) from None

    def append(self, record: Record) -> None:
        """Write a record to disk, wholly, before this returns."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        with self.path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other runs from writing to the file, and cut an unfinished line off."""
        from filelock import FileLock, Timeout

        self.path.parent.mkdir(parents=True, exist_ok=True)
        # a file of its own: locking would empty the records; the system frees it if we are killed
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise RuntimeError(
                f"another run is writing to {self.path}: wait for it, or choose another directory"
            ) from None
        try:
            self._cut_unfinished()
            yield
        finally:
            lock.release()

    def _cut_unfinished(self) -> None:
        if self.path.exists():
            content = self.path.read_bytes()
            os.truncate(self.path, content.rfind(b"\n") + 1)


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: tuples as lists, keys as texts."""
    return json.loads(json.dumps(value, allow_nan=False))
