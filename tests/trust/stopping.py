"""Stop what runs: by a signal after some time, by a kill, or for want of room on a disk."""

import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

# saves two models in turn, until it is ended
SAVING = """
import sys
import plcp
path, *sources = sys.argv[1:]
models = [plcp.load(source) for source in sources]
print("ready", flush=True)
while True:
    for model in models:
        plcp.save(model, path)
"""


def stopped_after(seconds, action):
    """Whether Ctrl-C, pressed after a while, stopped an action; else it was over before."""
    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        action()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    return False


def seconds_of(action):
    """How long an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def killed_while_saving(path, sources, seconds):
    """Save models of two files to a third in a process of its own, and kill it after a while."""
    command = [sys.executable, "-c", SAVING, path, *sources]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as saving:
        assert saving.stdout.readline() == "ready\n"
        time.sleep(seconds)
        saving.kill()


@contextmanager
def room_for(n_bytes):
    """The system lets no file grow further, as on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, ignored)
