"""Learned groups in the words of the data."""
