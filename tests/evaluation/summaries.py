"""Summaries to render: a report on two methods, an audit of one, and a hostile one."""

import copy
import math

from scipy.stats import binom

TARGET, CONFIDENCE = 0.9, 0.95


def cell(hits, n, size=None, of=1):
    """A cell whose intervals are of the right kind, if not by the library's own law."""
    low, high = bounds(hits, n, 1 - CONFIDENCE)
    low_all, high_all = bounds(hits, n, (1 - CONFIDENCE) / of)
    above, short = low_all >= TARGET, high_all < TARGET
    return {
        "n": n,
        "hits": hits,
        "coverage": hits / n if n else None,
        "low": low,
        "high": high,
        "low_all": low_all,
        "high_all": high_all,
        "size": size,
        "verdict": "above" if above else "below" if short else "on target",
    }


def bounds(hits, n, miss):
    if not n:
        return 0.0, 1.0
    low, high = binom.ppf([miss / 2, 1 - miss / 2], n, hits / n) / n
    return float(low), float(high)


def group(name, n, cells, **other):
    share = other.pop("share", n / 20_000)
    known = {"name": name, "rule": None, "n": n, "share": share, "threshold": None, "special": []}
    return known | other | {"cells": cells}


def report():
    """Eight groups, three named columns, two methods."""
    return {
        "format": "plcp report 1",
        "kind": "report",
        "title": "Coverage of model.plcp on test.parquet",
        "subtitle": "Intervals for PINCP at 90 %, 20,000 rows",
        "alpha": 0.1,
        "target": TARGET,
        "confidence": CONFIDENCE,
        "n_rows": 20_000,
        "size_name": "length",
        "methods": ["Split", "PLCP"],
        "headline": {
            "finding": "Split fails 4 of 19 groups; PLCP fails none of them.",
            "fails": "A group fails if its coverage is below 90 %, beyond chance.",
            "guarantee": "Coverage is at least 0.9 in each learned group.",
        },
        "failed": {
            "count": 4,
            "about": "Shown: those that Split fails, lowest coverage first; 1 more below.",
            "groups": [
                {key: _learned(i)[key] for key in ("name", "rule", "n", "cells")} for i in (7, 6, 5)
            ],
        },
        "guarantee": "Coverage is at least 0.9 in each learned group. On average over sets.",
        "overall": {
            "Split": cell(17_980, 20_000, 139_529.7),
            "PLCP": cell(18_021, 20_000, 146_326.2),
        },
        "learned": {
            "about": "Groups of like uncertainty, learned from the calibration rows, by threshold.",
            "groups": [_learned(i) for i in range(8)],
        },
        "named": [
            _named("SEX", ["female", "male"], 9_000),
            _named("RAC1P", ["1 White alone", "2 Black alone", "6 Asian alone", "8 other"], 3_000),
            _named("AGEP", ["17–24", "25–38", "39–47", "48–60", "61–94"], 4_000),
        ],
        "explanation": {
            "fidelity": 0.7312,
            "chance": 0.205,
            "order": 0.918,
            "kinds": [
                {"rule": "SCHL ≤ 19", "n": 900, "share": 0.45, "groups": [0, 1, 2, 3]},
                {
                    "rule": "SCHL ≥ 20 and AGEP ≤ 45",
                    "n": 700,
                    "share": 0.35,
                    "groups": [3, 5, 4],
                },
                {
                    "rule": "SCHL ≥ 20 and AGEP > 45",
                    "n": 400,
                    "share": 0.2,
                    "groups": [6],
                },
            ],
            "importance": [
                {"feature": "SCHL", "value": 0.412, "error": 0.011},
                {"feature": "AGEP", "value": 0.233, "error": 0.009},
                {"feature": "WKHP", "value": 0.108, "error": 0.007},
                {"feature": "OCCP", "value": 0.051, "error": 0.012},
                {"feature": "POBP", "value": -0.002, "error": 0.003},
            ],
            "sensitive": [
                {
                    "column": "SEX",
                    "dependence": 0.112,
                    "text": "women are 61 % of group 1 and 31 % of group 8",
                },
                {"column": "RAC1P", "dependence": 0.021, "text": "hardly any difference"},
            ],
        },
        "lengths": {
            "edges": [25_000.0 * i for i in range(21)],
            "counts": {
                "Split": [0] * 5 + [20_000] + [0] * 14,
                "PLCP": [0, *(4300 >> (i // 3) for i in range(19))],
            },
            "note": "Two sets longer than 500,000 are counted in the last bar.",
        },
        "choice": {
            "about": "Mean pinball loss on a fifth of the rows held out.",
            "points": [
                {"n_groups": m, "loss": 0.082 + 0.05 / m + 0.0003 * m}
                for m in (1, 2, 4, 6, 7, 8, 12, 16, 32)
            ],
            "chosen": 8,
        },
        "provenance": [
            {"name": "data", "value": "test.parquet, SHA-256 " + "9f86d081884c7d65" * 4},
            {"name": "model", "value": "model.plcp"},
            {"name": "plcp", "value": "0.1.0"},
            {"name": "seed", "value": "0"},
            {"name": "options", "value": "method plcp, alpha 0.1, by SEX,RAC1P,AGEP:5"},
        ],
        "notes": ["12 rows without an outcome were left out."],
    }


RULES = [
    "AGEP ≤ 24 and SCHL ≤ 19",
    "AGEP ≤ 31 and WKHP ≤ 37",
    "AGEP > 24 and SCHL ≤ 16",
    "SCHL in 17–20 and WKHP ≤ 42",
    "SCHL = 21 and AGEP ≤ 35",
    "SCHL in 21–22 and AGEP > 35",
    "SCHL ≥ 22 and WKHP > 45",
    "SCHL ≥ 23 and AGEP > 45",
]


def _learned(i):
    n = [4100, 3600, 3200, 2900, 2400, 1800, 1188, 812][i]
    split = [0.991, 0.977, 0.955, 0.921, 0.884, 0.82, 0.741, 0.612][i]
    plcp = [0.904, 0.906, 0.9, 0.899, 0.903, 0.898, 0.905, 0.887][i]
    threshold = 18_000.0 * 1.4**i
    return group(
        f"group {i + 1}: {RULES[i]}" if i == 3 else f"group {i + 1}",
        n,
        {
            "Split": cell(round(split * n), n, 139_529.7, of=8),
            "PLCP": cell(round(plcp * n), n, 2 * threshold, of=8),
        },
        rule=RULES[i],
        precision=0.5 + 0.06 * i,
        recall=0.9 - 0.05 * i,
        threshold=threshold,
        special=[
            f"AGEP is {23 + 4 * i} in the median, 42 elsewhere",
            f"{10 + 9 * i} % have a bachelor's degree, 34 % elsewhere",
        ],
    )


def _named(column, names, n):
    groups = [
        group(
            name,
            n - 700 * i,
            {
                "Split": cell(round((0.96 - 0.03 * i) * (n - 700 * i)), n - 700 * i, 139_529.7),
                "PLCP": cell(round((0.907 - 0.004 * i) * (n - 700 * i)), n - 700 * i, 1e5 + i),
            },
        )
        for i, name in enumerate(names)
    ]
    return {"column": column, "about": f"Values of {column}.", "groups": groups}


def audit():
    """One method, no sizes, no guarantee: the least that a summary can have."""
    found = {
        "name": "hours ≤ 20 and age > 61",
        "rule": "hours ≤ 20 and age > 61",
        "n": 412,
        "share": 0.0824,
        "threshold": None,
        "special": [],
        "cells": {"audited": cell(300, 412, of=2)},
    }
    rest = found | {"name": "all others", "rule": None, "n": 4588, "share": 0.9176}
    return report() | {
        "kind": "audit",
        "title": "Audit of intervals.csv",
        "subtitle": "",
        "n_rows": 10_000,
        "size_name": None,
        "methods": ["audited"],
        "failed": {
            "count": 1,
            "about": "Shown: those that fail, lowest coverage first.",
            "groups": [found],
        },
        "headline": {
            "finding": "1 of 2 groups fails.",
            "fails": "A group fails if its coverage is below 90 %, beyond chance.",
            "guarantee": None,
        },
        "guarantee": None,
        "overall": {"audited": cell(8_950, 10_000)},
        "learned": {
            "about": "Found on one half of the rows, measured on the other.",
            "groups": [found, rest | {"cells": {"audited": cell(4_180, 4_588, of=2)}}],
        },
        "named": [],
        "explanation": None,
        "lengths": None,
        "choice": None,
        "notes": [],
    }


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "{{7*7}}{% raw %}",
    "</script><script>alert(2)</script>",
    "<!-- <script>",
    "]]>&lt;b&gt;&#60;",
    "long " * 60,
    "unbroken" * 38,
    "مرحبا بالعالم ‮evil",
    "👩‍🔬🏳️‍🌈",
    "",
    "\n\t\x00\x0b\u2028",
    "javascript:alert(1)",
    "\udce9",
]


def hostile():
    """Names that would break out, values at the edge, and two hundred groups."""
    names = [HOSTILE[i % len(HOSTILE)] for i in range(200)]
    summary = copy.deepcopy(report())
    methods = summary["methods"] = ["<b>Split</b>", '"PLCP" onload=alert(3) ' * 8]
    sizes = ["inf", None, -0.0, 1e-300, 1e300]
    several = [
        group(
            name,
            i,
            {m: cell(i // 2, i, sizes[i % len(sizes)], of=200) for m in methods},
            rule=HOSTILE[-i % len(HOSTILE)],
            threshold=sizes[i % len(sizes)],
            special=HOSTILE[:3] if i < 9 else [],
        )
        for i, name in enumerate(names)
    ]
    summary["overall"] = {m: cell(0, 0, "inf") for m in methods}
    summary["learned"] = {"about": HOSTILE[0], "groups": several[:40]}
    summary["named"] = [
        {"column": name, "about": name, "groups": several if i == 0 else several[:3]}
        for i, name in enumerate(HOSTILE[:6])
    ] + [{"column": "nothing", "about": "", "groups": []}]
    summary["lengths"] = {
        "edges": [0.0, 1.0, "inf"],
        "counts": {methods[0]: [0, 0], methods[1]: [3, 0]},
        "note": HOSTILE[1],
    }
    summary["choice"] = {
        "about": HOSTILE[1],
        "points": [{"n_groups": 1, "loss": 0.0}],
        "chosen": 1,
    }
    summary["explanation"] = {
        "fidelity": 1.0,
        "importance": [{"feature": name, "value": 0.0, "error": None} for name in HOSTILE],
        "sensitive": [{"column": n, "dependence": math.pi, "text": n} for n in HOSTILE],
    }
    summary["provenance"] = [{"name": name, "value": name} for name in HOSTILE]
    summary |= {"notes": HOSTILE, "title": HOSTILE[4], "subtitle": HOSTILE[0]}
    summary["failed"] = {"count": 190, "about": HOSTILE[1], "groups": several[10:15]}
    summary["headline"] = {"finding": HOSTILE[4], "fails": HOSTILE[0], "guarantee": HOSTILE[4]}
    summary["guarantee"] = HOSTILE[1]
    return summary
