"""The report of an experiment: tables, figures, claims and sentences, and the page they make."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plcp.experiments.methods import CROSS, PUBLISHED, SPLIT
from plcp.metrics import hsic, size_correlation

Numbers = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """A caption, a header and rows of texts.

    Attributes
    ----------
    caption : str
        What it shows.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        The cells.

    Examples
    --------
    >>> from plcp.experiments import Table
    >>> table = Table("Sizes", ["method", "size"], [["Split", "1.9"]])
    >>> print(table.to_markdown().splitlines()[0])
    **Sizes**
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_markdown(self) -> str:
        """Return the table as Markdown.

        Examples
        --------
        >>> from plcp.experiments import Table
        >>> print(Table("Sizes", ["method", "size"], [["Split", "1.9"]]).to_markdown())
        **Sizes**
        <BLANKLINE>
        | method | size |
        | --- | --- |
        | Split | 1.9 |
        """
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join([f"**{self.caption}**", "", *("| " + " | ".join(r) + " |" for r in lines)])


@dataclass(frozen=True)
class Line:
    """A quantity of the paper beside ours: one value per trial as published, and by default.

    Attributes
    ----------
    quantity, paper : str
        What is compared, and what the paper says of it.
    published, default : sequence of float
        One value per trial, of the method as published and of the default.
    digits : int
        Decimals that are shown.

    Examples
    --------
    >>> from plcp.experiments import Line
    >>> Line("coverage, x < 0", paper="0.9", published=[0.902], default=[0.9]).quantity
    'coverage, x < 0'
    """

    quantity: str
    paper: str
    published: Numbers
    default: Numbers
    digits: int = 3


@dataclass(frozen=True)
class Claim:
    """Something to reach, what was measured, and whether that reaches it.

    Attributes
    ----------
    text, measured : str
        What was to be reached, and what was.
    holds : bool
        Whether it was reached.

    Examples
    --------
    >>> from plcp.experiments import Claim
    >>> Claim("coverage in each group within 0.02 of 0.9", "0.004 at most", holds=True).holds
    True
    """

    text: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Report:
    """All that is shown of an experiment.

    Attributes
    ----------
    title : str
    reading : sequence of str
        Sentences made from the numbers.
    tables : sequence of Table
    figures : dict
        Functions that draw and return a matplotlib ``Figure``, by name; the first is the main one.
    lines : sequence of Line
        The paper's figures beside ours.
    claims : sequence of Claim
    notes : sequence of str
        Where this run differs from the paper, or what the paper leaves open.
    question : str
        What the data are, what the methods are to reach, and what each is given.
    captions : dict
        What a figure shows, by its name.
    quick : bool
        Whether it is of small settings; the page then states it.

    Examples
    --------
    >>> from plcp.experiments import Report
    >>> Report("A trial", reading=["All is well."], tables=[], figures={}).notes
    ()
    """

    title: str
    reading: Sequence[str]
    tables: Sequence[Table]
    figures: dict[str, Callable[[], Any]]
    lines: Sequence[Line] = field(default=())
    claims: Sequence[Claim] = field(default=())
    notes: Sequence[str] = field(default=())
    question: str = ""
    captions: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False


def spread(values: Numbers, digits: int = 3) -> str:
    """Mean over trials, and from where to where the trials lie, if there are several.

    Examples
    --------
    >>> spread([0.88, 0.92])
    '0.900 (0.880 to 0.920)'
    >>> spread([0.9])
    '0.900'
    """
    all_trials = np.asarray(values, dtype=float)
    mean, low, high = all_trials.mean(), all_trials.min(), all_trials.max()
    ends = f" ({low:.{digits}f} to {high:.{digits}f})" if len(all_trials) > 1 else ""
    return f"{mean:.{digits}f}{ends}"


Settings = dict[str, Any]
Record = dict[str, Any]


def no_files(data_dir: Path | None) -> dict[str, str]:
    """Generated data: nothing is read."""
    return {}


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper, as pure functions of its settings, a seed and a data directory.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    settings, quick : dict
        All that a trial depends on but seed and data, as JSON values: the paper's, and small ones
        that take seconds. Records of different settings are never mixed.
    trials : int
        How many trials the paper, or our committed results, have.
    run : callable
        ``run(settings, seed, data_dir)`` gives the results of one trial as JSON values.
    report : callable
        ``report(records)`` gives tables, figures and sentences; each record has ``settings``,
        ``seed``, ``results``, ``versions`` and ``seconds``.
    files : callable
        ``files(data_dir)`` gives the names and SHA-256 of the files that are read, and raises where
        they are missing, before any work is done. It becomes part of the settings.

    Examples
    --------
    >>> from plcp.experiments import Experiment, find_experiment
    >>> toy = find_experiment("toy")
    >>> isinstance(toy, Experiment), toy.name, toy.trials
    (True, 'toy', 20)
    """

    name: str
    settings: Settings
    quick: Settings
    trials: int
    run: Callable[[Settings, int, Path | None], dict[str, Any]]
    report: Callable[[list[Record]], Report]
    files: Callable[[Path | None], dict[str, str]] = no_files


Floats = NDArray[np.float64]


def outcome(
    covered: ArrayLike, size: ArrayLike, groups: Mapping[str, ArrayLike], **numbers: float
) -> dict[str, Any]:
    """Coverage and mean size of sets, overall and in each group, as JSON values."""
    hits, sizes = np.asarray(covered, dtype=bool), np.asarray(size, dtype=float)
    rows = [np.asarray(mask, dtype=bool) for mask in groups.values()]
    return {
        "coverage": [float(hits[mask].mean()) for mask in rows],
        "size": [float(sizes[mask].mean()) for mask in rows],
        "overall": {
            "coverage": float(hits.mean()),
            "size": float(sizes.mean()),
            **{name: float(value) for name, value in numbers.items()},
        },
    }


@dataclass(frozen=True)
class Summary:
    """All trials: of each method, arrays (trials, groups) and numbers (trials,) of the whole."""

    groups: list[str]
    counts: Floats
    coverage: dict[str, Floats]
    size: dict[str, Floats]
    overall: dict[str, dict[str, Floats]]
    alpha: float

    @property
    def methods(self) -> list[str]:
        """Names, in the order they ran."""
        return list(self.coverage)

    def gap(self, method: str) -> Floats:
        """How far each group's mean coverage over trials is from 1 - alpha."""
        return np.abs(self.coverage[method].mean(axis=0) - (1 - self.alpha))


def summarise(records: Sequence[dict[str, Any]]) -> Summary:
    """All trials, whose results are ``{"groups": {name: rows}, "methods": {name: outcome}}``."""
    results = [record["results"] for record in records]
    methods = results[0]["methods"]
    return Summary(
        groups=list(results[0]["groups"]),
        counts=np.array([list(result["groups"].values()) for result in results], dtype=float),
        coverage={m: _stack(results, m, "coverage") for m in methods},
        size={m: _stack(results, m, "size") for m in methods},
        overall={
            m: {
                key: np.array([result["methods"][m]["overall"][key] for result in results])
                for key in methods[m]["overall"]
            }
            for m in methods
        },
        alpha=records[0]["settings"]["alpha"],
    )


def _stack(results: list[dict[str, Any]], method: str, key: str) -> Floats:
    return np.array([result["methods"][method][key] for result in results], dtype=float)


def group_table(summary: Summary, caption: str, digits: int = 3) -> Table:
    """Mean coverage (and size) of each method in each group, over trials."""
    rows = [
        [
            group,
            *(
                f"{summary.coverage[method][:, g].mean():.3f} "
                f"({summary.size[method][:, g].mean():,.{digits}f})"
                for method in summary.methods
            ),
        ]
        for g, group in enumerate(summary.groups)
    ]
    return Table(caption, ["", *summary.methods], rows)


def overall_table(
    summary: Summary,
    caption: str,
    columns: Mapping[str, str],
    digits: int | Mapping[str, int] = 3,
) -> Table:
    """Numbers of the whole test set, mean and range over trials; ``columns``: key → heading.

    ``digits`` may name some of the keys; the others have three.
    """
    shown = dict.fromkeys(columns, digits) if isinstance(digits, int) else digits
    rows = [
        [method, *(spread(summary.overall[method][key], shown.get(key, 3)) for key in columns)]
        for method in summary.methods
    ]
    return Table(caption, ["", *columns.values()], rows)


MEASURES = {"hsic": "HSIC", "pearson": "Pearson"}
MEASURES_NOTE = (
    "Pearson is the correlation of a set's size and of whether it covers. HSIC, which sees any "
    "dependence, is trace(KHLH) / (n − 1)² with kernels exp(−(a − b)²), without a square root; the "
    "paper leaves open which it takes. A gain is 100 (1 − |method| / |Split|)."
)


def swapped_labels_note(data: str, hsic: float, pearson: float) -> str:
    """Tables 1 and 2 of the paper carry each other's label: the gains of ``data`` by the labels."""
    return (
        "In the paper's LaTeX source, the tables captioned “MNIST” and “2018 US Census” carry each "
        f"other's labels. The captions are followed here; by the labels, the paper's gains on "
        f"{data} would be {hsic} % in HSIC and {pearson} % in Pearson."
    )


def dependence(covered: NDArray[np.bool_], size: ArrayLike) -> dict[str, float]:
    """HSIC and correlation of size and coverage; zero where one of them is the same everywhere.

    Examples
    --------
    >>> found = dependence(np.array([True, True, False, True]), np.array([1, 1, 2, 3]))
    >>> {name: round(value, 3) for name, value in found.items()}
    {'hsic': 0.065, 'pearson': -0.174}
    """
    constant = np.ptp(size) == 0 or covered.all() or not covered.any()
    return {
        "hsic": float(hsic(covered, size)),
        "pearson": 0.0 if constant else float(size_correlation(covered, size)),
    }


def gain(summary: Summary, method: str, measure: str) -> Floats:
    """Per cent of Split's dependence that a method removes, in each trial where Split has any."""
    own, split = (np.abs(summary.overall[name][measure]) for name in (method, SPLIT))
    known = split > 0
    return np.asarray(100 * (1 - own[known] / split[known]))


def gain_cell(summary: Summary, method: str, measure: str) -> str:
    """Return the gain as a text: mean and range over trials, a dash where Split has nothing."""
    found = gain(summary, method, measure)
    return spread(found, 0) if len(found) else "–"


# a colour and a mark, the same in every figure
STYLES = {
    SPLIT: ("#7f7f7f", "o"),
    PUBLISHED: ("#e08214", "D"),
    CROSS: ("#1f6fb4", "^"),
    "BatchGCP": ("#4d9a52", "s"),
    "Conditional Calibration": ("#8c510a", "P"),
    "CQR": ("#9970ab", "v"),
    "LocalCP": ("#c51b7d", "X"),
    "oracle": ("#35978f", "p"),
}
UNKNOWN = ("#8b1a1a", "h")
CROWDED = 48  # points that a panel of half the width can show apart
LEGEND_LETTERS = 110  # names that fit in one line of the legend, with their marks


def draw_by_group(
    summary: Summary,
    size_label: str,
    group_label: str = "",
    methods: list[str] | None = None,
    log_size: bool = False,
) -> Any:
    """Coverage and mean size in each group: the mean over trials, and a bar over all of them."""
    from matplotlib.figure import Figure

    shown = methods or summary.methods
    stacked = len(summary.groups) * len(shown) > CROWDED
    figure = Figure(figsize=(12, 8) if stacked else (12, 4.8), layout="constrained")
    coverage, size = figure.subplots(*((2, 1) if stacked else (1, 2)), sharex=stacked)
    for place, method in enumerate(shown):
        shift = (place - (len(shown) - 1) / 2) * 0.76 / len(shown)
        color, marker = STYLES.get(method, UNKNOWN)
        style = {"color": color, "marker": marker}
        _points(coverage, summary.coverage[method], shift, method, style)
        _points(size, summary.size[method], shift, method, style)
    coverage.axhline(1 - summary.alpha, color="black", linewidth=1.2, linestyle="--", zorder=1)
    coverage.set_ylabel("coverage", fontsize=13)
    size.set_ylabel(size_label, fontsize=13)
    if log_size:
        size.set_yscale("log")
    else:
        sizes = [summary.size[method] for method in shown]
        if min(map(np.min, sizes)) < max(map(np.max, sizes)) / 2:  # zero fits without loss
            size.set_ylim(bottom=0)
    for axes in (coverage, size):
        _name_groups(axes, summary.groups)
    for axes in (size,) if stacked else (coverage, size):
        axes.set_xlabel(group_label, fontsize=13)
    _legend(figure, coverage, len(summary.counts))
    return figure


def tidy(axes: Any) -> None:
    """Text to be read from the back row, and no frame but the two axes."""
    axes.tick_params(labelsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def _points(axes: Any, values: Floats, shift: float, label: str, style: dict[str, Any]) -> None:
    middle = values.mean(axis=0)
    bars = np.abs(np.array([values.min(axis=0), values.max(axis=0)]) - middle)
    places = np.arange(values.shape[1]) + shift
    axes.errorbar(
        places, middle, bars, label=label, linestyle="none", markersize=5.5, elinewidth=1.6, **style
    )


def _name_groups(axes: Any, groups: list[str]) -> None:
    width = max(len(line) for group in groups for line in group.split("\n"))
    slanted = len(groups) * width > 60 and width > 2
    axes.set_xticks(
        range(len(groups)),
        groups,
        **({"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}),
    )
    axes.set_xlim(-0.5, len(groups) - 0.5)
    for place in range(1, len(groups), 2):
        axes.axvspan(place - 0.5, place + 0.5, color="black", alpha=0.045, linewidth=0, zorder=0)
    axes.grid(axis="y", linewidth=0.5, alpha=0.6)
    tidy(axes)


def _legend(figure: Any, axes: Any, trials: int) -> None:
    """Names of the methods above all, in as few lines as their letters allow."""
    handles, labels = axes.get_legend_handles_labels()
    lines = -(-sum(len(label) + 6 for label in labels) // LEGEND_LETTERS)
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=-(-len(labels) // lines),
        frameon=False,
        fontsize=12,
        title=f"mean of {trials} trials, bars from the lowest to the highest"
        if trials > 1
        else None,
        title_fontsize=11,
    )


def write_page(name: str, report: Report, records: Sequence[Record], out: Path) -> list[Path]:
    """Write ``name.md``, ``name.json`` and the figures into a directory; the files' paths."""
    out.mkdir(parents=True, exist_ok=True)
    page, numbers = out / f"{name}.md", out / f"{name}.json"
    page.write_text(to_markdown(name, report, records), encoding="utf-8", newline="\n")
    content = json.dumps(to_dict(name, report, records), indent=1) + "\n"
    numbers.write_text(content, encoding="utf-8", newline="\n")
    drawn = [
        path
        for title, draw in report.figures.items()
        for path in save_figure(draw(), out / file_stem(name, report, title))
    ]
    return [page, numbers, *drawn]


def file_stem(name: str, report: Report, title: str) -> str:
    """Name of a figure's files: the first has the experiment's."""
    return name if title == next(iter(report.figures)) else f"{name}-{title}"


def save_figure(figure: Any, stem: Path) -> list[Path]:
    """Save a figure as SVG and PNG; the same figure gives the same SVG."""
    import matplotlib

    paths = [stem.with_name(stem.name + ending) for ending in (".svg", ".png")]
    with matplotlib.rc_context({"svg.hashsalt": "plcp", "svg.fonttype": "path"}):
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=150)
    return paths


def to_markdown(name: str, report: Report, records: Sequence[Record]) -> str:
    """Return the page as Markdown: what came out first, then the details."""
    figures = [_figure(name, report, title) for title in report.figures]
    tables = [table.to_markdown() for table in report.tables]
    notes = _bullets("Notes", report.notes)
    parts = [report.question, *_result(report), *figures, *tables, notes]
    shown = [f"# {_title(report)}", *filter(None, parts), _origin(name, report, records)]
    return "\n\n".join(shown) + "\n"


def _figure(name: str, report: Report, title: str) -> str:
    caption = report.captions.get(title, "")
    image = f"![{caption or _title(report)}]({file_stem(name, report, title)}.svg)"
    return f"{image}\n\n*{caption}*" if caption else image


def to_text(report: Report) -> str:
    """Return what a terminal shows: what came out, and what to know of it."""
    parts = [_title(report), *_result(report), _bullets("Notes", report.notes)]
    return "\n\n".join(filter(None, parts))


def _result(report: Report) -> list[str]:
    """The reading, the paper's figures beside ours, and what was reached: those that there are."""
    compared = comparison({"": report.lines}).to_markdown() if report.lines else ""
    claims = [
        f"{'reached' if claim.holds else '**not reached**'}: {claim.text} ({claim.measured})"
        for claim in report.claims
    ]
    reached = _bullets("Aims, and whether they were reached", claims)
    return [part for part in (" ".join(report.reading), compared, reached) if part]


def _bullets(caption: str, items: Sequence[str]) -> str:
    return "\n".join([f"**{caption}**", "", *(f"- {item}" for item in items)]) if items else ""


def _title(report: Report) -> str:
    quick = " (a quick run: small settings, not the paper's)" if report.quick else ""
    return report.title + quick


def comparison(lines: Mapping[str, Sequence[Line]], *first: str) -> Table:
    """The paper's figures beside ours: lines by what stands in the columns headed ``first``."""
    rows = [
        [*([label] if first else []), line.quantity, line.paper]
        + [
            spread(values, line.digits) if len(values) else "–"
            for values in (line.published, line.default)
        ]
        for label, own in lines.items()
        for line in own
    ]
    header = [*first, "", "paper", PUBLISHED, CROSS]
    return Table("The paper's numbers and ours: mean over trials (lowest to highest)", header, rows)


def _origin(name: str, report: Report, records: Sequence[Record]) -> str:
    """How many trials, of what software, and how long they took."""
    seconds = np.array([record["seconds"] for record in records])
    known = [f"{key} {value}" for key, value in _common(records, "versions").items()]
    n, first, last = len(records), records[0]["seed"], records[-1]["seed"]
    trials = f"one trial, seed {first}" if n == 1 else f"{n} trials, seeds {first} to {last}"
    return (
        f"{trials}, {np.median(seconds):.0f} s each (median) on one thread; "
        f"{', '.join(known)}. `{_command(name, report, records)}`; one line per trial in "
        f"[{name}.jsonl]({name}.jsonl)."
    )


def _command(name: str, report: Report, records: Sequence[Record]) -> str:
    first = records[0]["seed"]
    seed, quick = f" --seed {first}" if first else "", " --quick" if report.quick else ""
    return f"plcp reproduce {name.removesuffix('-quick')} --trials {len(records)}{seed}{quick}"


def _common(records: Sequence[Record], key: str) -> dict[str, str]:
    """What all records have, and all the values where they differ."""
    names = dict.fromkeys(name for record in records for name in record[key])
    return {
        name: " and ".join(dict.fromkeys(str(record[key].get(name)) for record in records))
        for name in names
    }


def to_dict(name: str, report: Report, records: Sequence[Record]) -> dict[str, Any]:
    """Return the page as JSON values."""
    return {
        "name": name,
        "title": _title(report),
        "question": report.question,
        "reading": list(report.reading),
        "settings": records[0]["settings"],
        "seeds": [record["seed"] for record in records],
        "versions": _common(records, "versions"),
        "lines": [
            vars(line) | {"published": _rounded(line.published), "default": _rounded(line.default)}
            for line in report.lines
        ],
        "tables": [vars(table) for table in report.tables],
        "claims": [vars(claim) for claim in report.claims],
        "notes": list(report.notes),
    }


def _rounded(values: Numbers) -> list[float]:
    """Ten digits: the last of sixteen depend on the processor."""
    return [float(f"{value:.10g}") for value in values]
