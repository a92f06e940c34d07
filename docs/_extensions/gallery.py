"""The order of the tutorials: from the question, by ways to answer it, to what is behind it."""

from pathlib import Path

ORDER = (
    "plot_who_is_failed",
    "plot_groups_in_words",
    "plot_known_and_learned_groups",
    "plot_images",
    "plot_many_labels",
    "plot_drifting_sensors",
    "plot_several_alphas",
    "plot_sample_weights",
    "plot_other_libraries",
    "plot_save_and_serve",
    "service",
    "plot_dask",
    "spark_udf",
    "plot_compare_methods",
    "plot_displays",
    "plot_diagnostics",
    "plot_conditional_coverage",
    "plot_theory",
)


class Reading:
    """Key that sorts files in this order, those that it does not name last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Return the place of a file."""
        stem = Path(name).stem
        return (ORDER.index(stem) if stem in ORDER else len(ORDER)), stem

    def __repr__(self) -> str:  # Sphinx compares it with that of the last build
        return f"Reading({ORDER})"
