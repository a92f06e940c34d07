"""How ``PLCP`` learns a partition and calibrates its groups."""
