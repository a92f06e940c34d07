"""Fitted rules on Spark."""
