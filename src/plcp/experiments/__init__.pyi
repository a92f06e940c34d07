from .catalogue import (
    NAMES as NAMES,
    find_experiment as find_experiment,
)
from .report import (
    Claim as Claim,
    Experiment as Experiment,
    Line as Line,
    Report as Report,
    Table as Table,
)
from .runner import (
    Reproduction as Reproduction,
    reproduce as reproduce,
)
