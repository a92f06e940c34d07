"""Learned groups in the hands of other packages."""
