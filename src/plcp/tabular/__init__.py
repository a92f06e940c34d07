"""Thresholds for a table whose columns have roles: calibrate, apply, and the file in between."""
