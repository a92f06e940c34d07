"""Quantile regression seen from its dual: exact solutions, and how a new point moves them."""
