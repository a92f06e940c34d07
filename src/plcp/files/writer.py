"""What writes a table, batch by batch."""

from abc import ABC, abstractmethod

import pyarrow as pa


class TableWriter(ABC):
    """Writes a table to a file."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left, and the end of the file."""
