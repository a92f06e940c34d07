"""The page to show: drawn and rendered from a summary, computing nothing."""
