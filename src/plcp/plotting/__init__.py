"""Pictures of coverage, length and thresholds, in the manner of scikit-learn's Displays."""
