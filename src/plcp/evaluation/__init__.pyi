from .auditing import (
    audit as audit,
    learn_failures as learn_failures,
)
from .certificate import (
    Certificate as Certificate,
    GroupBounds as GroupBounds,
    certify as certify,
)
from .columns import (
    choose_features as choose_features,
)
from .groups import (
    Described as Described,
    GroupList as GroupList,
    model_groups as model_groups,
)
from .html import (
    render_page as render_page,
    write_page as write_page,
)
from .outcome import (
    Outcome as Outcome,
)
from .roles import (
    By as By,
    parse_by as parse_by,
)
from .summary import (
    choice_of as choice_of,
    summarise as summarise,
    violations as violations,
)
from .text import (
    to_text as to_text,
)
