from .comparing import (
    compare_methods as compare_methods,
)
from .display import (
    MethodsDisplay as MethodsDisplay,
)
from .result import (
    ComparedMethod as ComparedMethod,
    MethodComparison as MethodComparison,
)
from .roster import (
    ROSTER as ROSTER,
    Entry as Entry,
)
from .tables import (
    compare_table as compare_table,
)
