"""Coverage of each group as labels come in, and whether it still holds."""
