"""Figures as a reader sees them; shares and their bounds are worded as at the terminal."""

# A verdict is told by a sign and its word, never by its colour alone.
SIGNS = {"in keeping": "✓", "above": "▲", "falls short": "▼", "too few rows": "○"}


def count(n: int) -> str:
    """Rows, with thousands apart.

    Examples
    --------
    >>> count(107128)
    '107,128'
    """
    return f"{n:,}"


def thousandths(value: float) -> str:
    """Three digits after the point, for what lies between zero and one.

    Examples
    --------
    >>> thousandths(0.85417), thousandths(-0.0001)
    ('0.854', '0.000')
    """
    return f"{value:z.3f}".replace("-", "−")


def signed(verdict: str) -> str:
    """A verdict with its sign.

    Examples
    --------
    >>> signed("in keeping")
    '✓ in keeping'
    """
    return f"{SIGNS[verdict]} {verdict}"


WORDS = (count, signed, thousandths)  # what templates may say
