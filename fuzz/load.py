"""Ten minutes of damaged files for ``plcp.load``, led by the coverage of its own code.

    pip install -c constraints.txt atheris
    python fuzz/load.py [--seconds 600]

Half of the inputs are changed as bytes by libFuzzer, half by what the bytes mean (``damage.py``).
Ends with an error, and keeps the input beside this file, at the first crash, at an input that takes
longer than 30 seconds, at more than 1 GB of memory, and at any error that is no sentence of ours.
"""

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from random import Random

import atheris
from damage import damaged

READERS = ("plcp.storage",)

with atheris.instrument_imports(include=READERS):
    for name in ("plcp.storage.files",):  # by name, or they would come when asked for
        import_module(name)
    from opening import opened, seeds


SECONDS_AN_INPUT, MEGABYTES, MOST_BYTES = 30, 1024, 2**18


def changed(content: bytes, most_bytes: int, seed: int) -> bytes:
    """Return the next input."""
    if Random(seed).random() < 0.5:
        return atheris.Mutate(content, most_bytes)
    return damaged(content, seed)[:most_bytes]


def main() -> None:
    """Fuzz for a while; libFuzzer prints what it does, and ends the process itself."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=600)
    seconds = parser.parse_args().seconds
    folder = Path(tempfile.mkdtemp())
    corpus = folder / "corpus"
    corpus.mkdir()
    for name, content in seeds().items():
        (corpus / name).write_bytes(content)
    path = folder / "model.plcp"
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={SECONDS_AN_INPUT}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-max_len={MOST_BYTES}",
        f"-artifact_prefix={Path(__file__).parent}/",
        "-print_final_stats=1",
    ]
    atheris.Setup(
        [sys.argv[0], *options, str(corpus)],
        lambda content: opened(path, content),
        custom_mutator=changed,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
