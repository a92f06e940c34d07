"""The file of finished trials: one JSON line each, safe against interruption and company."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plcp.experiments.experiment import Record


class Ledger:
    """Records of trials in a file that only ever grows, one JSON line each.

    What a killed run left unfinished at the end is cut off when the file is opened for writing.
    Records of other settings stay where they are, unread.
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
        *lines, end = self.path.read_bytes().split(b"\n")
        for number, line in enumerate([*lines, end] if _record(end) else lines, 1):
            record = _record(line)
            if record is None:
                raise ValueError(
                    f"line {number} of {self.path} is no record of a trial: mend or remove it, and "
                    "its trial is run again"
                )
            yield record

    def append(self, record: Record) -> None:
        """Write a record to disk, wholly, before this returns."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        with self.path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other runs from writing to the file, and see that it ends with a line."""
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
            self._end_with_a_line()
            yield
        finally:
            lock.release()

    def _end_with_a_line(self) -> None:
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        start = content.rfind(b"\n") + 1
        if _record(content[start:]):  # whole: an editor took its newline
            with self.path.open("ab") as file:
                file.write(b"\n")
        else:
            os.truncate(self.path, start)


def _record(line: bytes) -> Record | None:
    """Return the record of a line; None if it is cut short, or something else."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(found, dict) and {"seed", "settings", "results"} <= found.keys()
    return found if whole else None


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: tuples as lists, keys as texts."""
    return json.loads(json.dumps(value, allow_nan=False))
