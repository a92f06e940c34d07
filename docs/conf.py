"""Build of the documentation: `make docs` writes it to docs/_build/html."""

from __future__ import annotations

import importlib
import inspect
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plcp

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

os.environ.setdefault("TQDM_DISABLE", "1")  # no progress bars in the output of examples
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

project = "plcp"
author = copyright = "The plcp developers"
version = release = plcp.__version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
extensions = [
    "commands",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "results/*.json*"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # types of parameters hold straight quotes

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "smartquotes"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
default_role = "py:obj"
python_maximum_signature_line_length = 80
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# Names of other packages that pages refer to, with the addresses of their pages: no network needed
intersphinx_mapping = {
    name: (address, f"inventories/{name}.inv")
    for name, address in {
        "sklearn": "https://scikit-learn.org/stable/",
        "numpy": "https://numpy.org/doc/stable/",
        "pandas": "https://pandas.pydata.org/docs/",
        "torch": "https://docs.pytorch.org/docs/stable/",
    }.items()
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "tutorials",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery.Reading",
    "default_thumb_file": str(Path(__file__).parent / "_static" / "tutorial.svg"),
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("plcp",),
    "reference_url": {"plcp": None},
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 5,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"plcp {release}"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_domain_indices = False
html_theme_options = {
    "logo": {"text": f"plcp {release}"},
    "github_url": "https://github.com/plcp-developers/plcp",
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "use_edit_page_button": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}

linkcheck_ignore = [r"https?://.*"]  # addresses of the web are checked where there is one
suppress_warnings = ["config.cache"]


def documented_here(
    _app: Sphinx, _what: str, name: str, member: Any, skip: bool, _options: Any
) -> bool | None:
    """Leave out members that plcp inherits from another package, and fields of tuples."""
    function = getattr(member, "fget", member)
    function = inspect.unwrap(getattr(function, "__func__", function))
    module = getattr(function, "__module__", None)
    if skip or name == "__call__":
        return None
    return None if module is not None and module.startswith("plcp") else True


def resolve_alias(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Node
) -> nodes.Node | None:
    """Find the page of a name that is written with another of its modules, or with none."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    domain = env.get_domain("py")
    module, _, name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
        target = f"{found.__module__}.{found.__qualname__}"
    except (AttributeError, ImportError, ValueError):
        names = [key for key in domain.objects if key.endswith(f".{target}")]
        if len({domain.objects[key].docname for key in names}) == 1:
            target = min(names, key=len)
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, node["reftype"], target, node, text
    )


def trim_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Leave of MathJax what pages load: a third of it."""
    folder = Path(app.outdir, "_static", "mathjax")
    languages = folder / "sre" / "mathmaps"
    kept = ("a11y", "input", "output", "sre", "tex-chtml.js", "ui")
    spare = [path for path in folder.glob("*") if path.name not in kept]
    spare += [path for path in languages.glob("*") if path.stem not in ("base", "en")]
    spare += [folder / "output" / "svg", folder / "input" / "mml"]
    for path in spare if error is None else []:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("build-finished", trim_mathjax, priority=900)  # once MathJax is copied
    app.connect("autodoc-skip-member", documented_here)
    app.connect("missing-reference", resolve_alias)
