"""Tables on disk, read and written in batches."""
