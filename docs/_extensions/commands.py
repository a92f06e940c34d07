"""Directive ``commands``: sections about the commands of plcp, drawn from what typer knows of them.

``--help`` and this page so never differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from plcp.cli.commands import app

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

VALUES = {str: "text", int: "number", float: "number", list[float]: "number", Path: "path"}


class Commands(SphinxDirective):
    """One section per panel of ``plcp --help``, in its order, and in it one per command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        text = "\n".join(sections())
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def sections() -> Iterator[str]:
    """Lines of Markdown."""
    program = get_command(app)
    panels: dict[str, list[Any]] = {}
    for command in program.commands.values():
        panels.setdefault(command.rich_help_panel, []).append(command)
    for panel, commands in panels.items():
        yield from (f"## {panel}", "")
        for command in commands:
            yield from (f"### plcp {command.name}", "")
            yield from described(command)


def described(command: Any) -> Iterator[str]:
    """Yield the help of a command, its usage and example, then arguments and options."""
    text, _, example = command.help.partition("Example: ")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    yield from (marked(text), "", "```console", f"$ {example.strip()}", "```", "")
    named = " ".join(one.metavar or one.name.upper() for one in arguments)
    needed = [f"{one.opts[0]} {value_of(one)}" for one in options if one.required]
    usage = " ".join(["plcp", command.name, named, *needed, "[OPTIONS]"])
    yield from (
        f"Usage: ``{' '.join(usage.split())}``",
        "",
        f"```{{program}} plcp {command.name}",
        "```",
        "",
    )
    for one in (*arguments, *options):
        value = value_of(one)
        names = [one.metavar or one.name.upper()] if one in arguments else [*one.opts]
        signature = ", ".join(f"{name} {value}".rstrip() for name in names)
        yield from (f"```{{option}} {signature}", meaning(one), "```", "")
    if command.epilog:
        for part in command.epilog.split("\n\n"):
            name, _, what = part.partition(": ")
            yield f"- `{name}`: {marked(what)}"
        yield ""


def value_of(option: Any) -> str:
    """Return what an option takes, in angle brackets; nothing for a flag and for arguments."""
    if option.param_type_name == "argument" or getattr(option, "is_flag", False):
        return ""
    return f"<{(option.metavar or VALUES[option.type_descriptor.annotation]).lower()}>"


def meaning(option: Any) -> str:
    """Return the help of an option, and its default."""
    default = option.show_default if isinstance(option.show_default, str) else option.default
    hidden = default is None or default is False or option.required
    more = "" if hidden else f" Default: `{default}`."
    return marked(option.help) + more


def marked(text: str) -> str:
    """Return plain text as Markdown, with options as code."""
    escaped = re.sub(r"([*_<|])", r"\\\1", text.strip())
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", escaped)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
