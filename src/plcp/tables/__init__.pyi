from .application import (
    Applier as Applier,
    serve as serve,
)
from .calibration import (
    calibrate as calibrate,
    calibrate_file as calibrate_file,
)
from .columns import (
    codes_as_text as codes_as_text,
    to_frame as to_frame,
)
from .model import (
    TabularModel as TabularModel,
    describe_features as describe_features,
    load_manifest as load_manifest,
    load_model as load_model,
    save_model as save_model,
)
from .report import (
    Examined as Examined,
    examine as examine,
    summarise_model as summarise_model,
)
from .roles import (
    METHODS as METHODS,
    CalibrationOptions as CalibrationOptions,
    ColumnOptions as ColumnOptions,
    CsvOptions as CsvOptions,
    Roles as Roles,
    choose_roles as choose_roles,
)
