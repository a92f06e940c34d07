"""Whether an answer is right, and whether a refusal is a sentence of ours."""

import re
import traceback
from pathlib import Path

import numpy as np
from hostile_essence import essence
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

import plcp
from plcp.exceptions import InfiniteThresholdWarning, ProgramError
from plcp.onnx import NotExportableError

OURS = str(Path(plcp.__file__).parent)
ANSWERED, LAWFUL, REFUSED = "as the clean value", "as a law says", "refused in words"
RIGHT = (ANSWERED, LAWFUL, REFUSED)
UNDECIDED = "nothing says whether it is right"
REMEDIES = re.compile(
    "use |give |pass |drop|mend|rename|must |should|needs|required|reshape|at least|expect"
    "|not supported|encode|rescale|convert|cannot be used to seed|imputer|one dimension"
    "|look for|no row counts|report|divide|leave (them|it) out|export its|serve it|define it|name "
    "|copy it|make the folder|is the path right|did you mean|its columns are|turn them|call 'fit'"
    "|put the label|fit PLCP|draw along",
    re.IGNORECASE,
)
PLAIN = (ValueError, TypeError, InvalidParameterError, ProgramError, NotExportableError)
PLAIN += (NotFittedError, FileNotFoundError, IsADirectoryError)
# whose own sentences name what is wrong, and what to do
SENTENCES = {
    "check_array": "shapes, sparse data, complex numbers",
    "_assert_all_finite_element_wise": "NaN and infinity",
    "_check_feature_names": "other columns",
    "_check_n_features": "another number of columns",
    "check_consistent_length": "lengths that differ",
    "column_or_1d": "a y of two columns",
    "_check_sample_weight": "weights of another shape, or negative",
    "check_random_state": "what is no seed",
    "check_classification_targets": "labels that are measurements",
    "_ensure_no_complex_data": "complex numbers",
    "_ensure_sparse_format": "sparse data",
    "_num_samples": "what has no rows",
    "check_is_fitted": "what is not fitted",
    "validate_parameter_constraints": "options of scikit-learn's estimators",
}


def judged(error, words):
    """REFUSED, or what is wrong with an error."""
    if type(error) not in PLAIN:
        return f"no plain refusal: {told(error)}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    is_known = frame.name in SENTENCES or frame.filename.endswith("_mt19937.pyx")
    if not frame.filename.startswith(OURS) and not is_known:
        return f"raised deep inside: {told(error)}"
    if not re.search(words, str(error)):
        return f"not the words {words!r}: {told(error)}"
    return REFUSED if REMEDIES.search(str(error)) else f"no remedy: {told(error)}"


def told(error):
    """Error and place."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
    return f"{type(error).__name__}: {str(error)[:300]} ({place})"


def fault_of(answer, said, warns):
    """What is wrong with an answer by itself: NaN, a muttering, an infinity without a word."""
    categories = [warning.category for warning in said]
    for warning in said:
        if issubclass(warning.category, RuntimeWarning | DeprecationWarning | FutureWarning):
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            return f"muttered: {warning.category.__name__} {warning.message} ({place})"
    if warns is not None and not any(issubclass(category, warns) for category in categories):
        return f"not said: {warns.__name__}"
    arrays = [array for array in essence(answer) if array.dtype.kind == "f"]
    if any(np.isnan(array).any() for array in arrays):
        return "NaN in the answer"
    warned = any(issubclass(category, InfiniteThresholdWarning) for category in categories)
    if isinstance(answer, np.ndarray) and not warned and any(np.isinf(a).any() for a in arrays):
        return "infinite without a word"
    return None
