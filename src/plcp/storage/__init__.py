"""Models in files: written whole, read without running code."""
