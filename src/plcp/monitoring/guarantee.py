"""What the alarms and bounds of a monitor hold, and when, in a sentence."""

from plcp.monitoring.watched import Watch


def monitor_guarantee(rate: float, watches: list[Watch]) -> str:
    """Sentence about alarms at a rate, exact if all watches are, and about bounds."""
    n = sum(1 + len(watch.groups) for watch in watches)
    which = "all rows" if n == 1 else f"{n} groups together, all rows among them"
    bounds = (
        f"Bounds on coverage hold for {which}, at all times at once, with probability "
        f"{1 - rate:g}, whatever drifts."
    )
    if all(watch.exact for watch in watches):
        return (
            f"The probability of any alarm, ever, is at most {rate:g}, for {which}, if rows are "
            "exchangeable with those that calibrated and no scores tie. Where some do misses are "
            "rarer, and alarms have kept to the rate wherever it was tried, which is no proof. "
            f"{bounds}"
        )
    return (
        f"Approximate: the probability of any alarm, ever, is about {rate:g}, for {which}, if rows "
        "are exchangeable with those that calibrated. Misses of thresholds that are not ranks "
        f"among held-out scores are only about as many as calibration foretells. {bounds}"
    )
