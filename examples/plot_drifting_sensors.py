"""
Drifting sensors: does it still hold?
=====================================

A guarantee of coverage holds as long as new rows are like those that calibrated. Sensors age,
customers change, and it may not hold next month. A *monitor* takes rows as their true values become
known, and reports which group of rows has begun to be missed more often, since when, and how strong
the evidence is. You may read it after every row: the probability of ever raising a false alarm
stays below a rate that you choose.

This page needs the extras ``plot`` and ``frames`` (:doc:`/start/install`).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge

from plcp import PLCP, ConformalRegressor
from plcp.metrics import coverage_by_group
from plcp.monitoring import Monitor

# %%
# Gas sensors, young and old
# --------------------------
# A model estimates the concentration of a gas from the reading of a sensor and the temperature. The
# true concentration comes from a laboratory, one day later. Old sensors are noisier than young
# ones. After a heat wave on day 40 the sensors older than six years become noisier still. The data
# are simulated, so that we know what the monitor should find.

HEAT_WAVE = 40
FEATURES = ["reading", "temperature", "age"]


def measure(n, seed, damaged=False):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"temperature": rng.normal(20, 5, n), "age": rng.uniform(0, 10, n)})
    table["concentration"] = rng.uniform(10, 50, n)
    noise = 1 + 0.3 * table["age"]
    if damaged:
        noise *= np.where(table["age"] > 6, 1.4, 1)
    table["reading"] = (
        table["concentration"] + 0.2 * table["temperature"] + noise * rng.normal(size=n)
    )
    return table


train, cal = measure(3_000, seed=0), measure(3_000, seed=1)
days = [measure(150, seed=100 + day, damaged=day >= HEAT_WAVE) for day in range(80)]

fitted = Ridge().fit(train[FEATURES], train["concentration"])
rule = PLCP(n_groups=3, calibration="split", random_state=0)
model = ConformalRegressor(FrozenEstimator(fitted), threshold=rule)
model.fit(cal[FEATURES], cal["concentration"])
print(model.guarantee_)

# %%
# The rule was given no groups. It has learned groups that are young, middle-aged and old:

ages = cal["age"].groupby(model.groups(cal[FEATURES])).describe()[["min", "50%", "max"]]
print(ages.round(1))

# %%
# One update per day
# ------------------
# ``rate`` is the probability of any false alarm, ever, over all groups together. Between two days
# the monitor can be a text of a few kilobytes in a file or a database: ``to_json`` writes its whole
# state, and ``from_json`` continues exactly where it stopped.

monitor = model.monitor(rate=0.05)
history, alarm_day = [], None
for number, day in enumerate(days):
    monitor.update(day[FEATURES], day["concentration"], at=f"day {number}")
    state = monitor.to_json()  # write it to a file, and read it tomorrow
    monitor = Monitor.from_json(model, state)

    report = monitor.report()
    history.append([group.evidence for group in report.groups])
    if report.drifting and alarm_day is None:
        alarm_day = number
        print(f"first alarm on day {number}: {report.drifting}")
print(f"{len(state):,} characters of state after {monitor.n_rows_:,} rows\n")

# %%
# The report names the groups that drift, with the row and the day since which they most likely
# do, and the coverage since then. "All rows" drift as well, because old sensors are among them.

print(monitor.report())

# %%
# Evidence over time
# ------------------
# Evidence compares how likely the misses are under a drift and under none. It stays near 1 while
# nothing changes, and grows exponentially after a change. The alarm is raised where it crosses the
# line: the number of groups divided by the rate.

new = pd.concat(days, keys=range(len(days)), names=["day"]).reset_index("day")
groups = model.groups(new[FEATURES])
covered = model.predict_set(new[FEATURES]).contains(new["concentration"])
weekly = pd.Series(covered).groupby([groups, new["day"].to_numpy() // 5 * 5 + 2]).mean()

NAMES = ["young sensors", "middle-aged", "old sensors"]
COLORS = ["#6e6e6e", "#1f6fb4", "#b85c00"]
figure, axes = plt.subplots(2, 1, figsize=(9, 6.2), sharex=True)
figure.subplots_adjust(left=0.09, right=0.84, hspace=0.3, top=0.87, bottom=0.09)
evidence = np.array(history)[:, 1:]  # the first is that of all rows
for group, color in enumerate(COLORS):
    width = 2.5 if group == 2 else 1.5
    axes[0].plot(weekly[group], color=color, linewidth=width, marker="os^"[group], markersize=4)
    axes[1].semilogy(evidence[:, group], color=color, linewidth=width)
for ax, ends in zip(axes, [[0.935, 0.885, 0.77], [8, 0.6, 1e9]], strict=True):
    for name, color, end in zip(NAMES, COLORS, ends, strict=True):
        ax.text(80.5, end, name, color=color, va="center", fontweight="bold")
    ax.axvline(HEAT_WAVE, color="black", linewidth=1, linestyle=":")
    ax.set(xlim=(0, 80))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].axhline(0.9, color="black", linewidth=1)
axes[0].text(79, 0.83, "target 90 %", ha="right")
axes[0].text(HEAT_WAVE - 0.7, 0.62, "heat wave", ha="right")
axes[0].set(ylim=(0.6, 1), title="coverage in each group, five days at a time")
bar = len(report.groups) / report.rate
axes[1].axhline(bar, color="black", linewidth=1)
axes[1].text(1, bar * 1.5, "alarm above this line", va="bottom")
axes[1].set(ylim=(0.1, 1e10), title="evidence of a drift, each day (how many times as likely)")
axes[1].set_xlabel("day")
axes[1].annotate(
    f"alarm on day {alarm_day}",
    (alarm_day, evidence[alarm_day, 2]),
    (alarm_day - 4, 3e6),
    ha="right",
    arrowprops={"arrowstyle": "->"},
)
figure.suptitle("Old sensors drift after the heat wave; the others do not")
plt.show()

# %%
# Calibrate again
# ---------------
# The rows since the drift began are already labelled. The same model, calibrated on the first half
# of them, covers each group of the other half again. A new monitor watches the new rule.

drift = next(group.drift for group in monitor.report().groups[::-1] if group.drift is not None)
recent = new[drift.since_row :]
half = len(recent) // 2
again = ConformalRegressor(FrozenEstimator(fitted), threshold=rule)
again.fit(recent[:half][FEATURES], recent[:half]["concentration"])

rest = recent[half:]
kinds = np.array(NAMES)[model.groups(rest[FEATURES])]
for name, each in {"before": model, "calibrated again": again}.items():
    sets = each.predict_set(rest[FEATURES])
    print(name, coverage_by_group(sets.contains(rest["concentration"]), kinds, sets.size), sep="\n")

print(again.monitor().update(rest[FEATURES], rest["concentration"]).report())

# %%
# What alarms mean
# ----------------
# With ``calibration="split"`` the law of the misses is known exactly while nothing drifts, chance
# in the calibration included, and the false-alarm rate is a theorem. Other rules are monitored in
# the same way, approximately; ``guarantee_`` of the monitor says which is the case.

print(monitor.guarantee_)

# %%
# Real sensors that drift over three years are a download away:
# :func:`plcp.datasets.fetch_gas_drift`, and ``plcp reproduce gas-drift`` compares methods on them.
