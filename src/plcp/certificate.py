"""A certificate of coverage that a person can hand on."""
