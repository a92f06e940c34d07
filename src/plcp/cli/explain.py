"""``plcp explain``: the learned groups as rules."""

from plcp.cli.options import Json, Model
from plcp.cli.telling import print_json, telling


def explain(model: Model, as_json: Json = False) -> None:
    """Tell the learned groups of a model as rules in the words of the data.

    Example: plcp explain income.plcp
    """
    with telling():
        from plcp.explain import Explanation
        from plcp.tabular import load_manifest

        manifest = load_manifest(model)
        told = manifest["explanation"]
        if told is None:
            raise ValueError(
                f"{model} has no groups to explain: the method {manifest['method']} learns none"
            )
        if as_json:
            print_json(told)
        else:
            print(Explanation.from_dict(told).to_text())
