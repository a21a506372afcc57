"""The commands and options of `dunnage`, for the generators of manual pages and completion.

The command line itself tells them: the C++ part by `dunnage --commands`, and the Python part by its
argparse parsers. api/settings.toml adds which values the settings take.
"""
import argparse
import dataclasses
import importlib
import json
import pathlib
import re
import subprocess
import sys
import typing

import settings as setting_table

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The modules with the parsers of the sub-commands that are written in Python.
PARSERS = {"bench": "dunnage.bench.options", "report": "dunnage.report.__main__", "tune": "dunnage.tune.options"}
NO, MAY, MUST = "no", "may", "must"  # whether an option takes a value


@dataclasses.dataclass
class Option:
    """An option, or a word without a name if `names` is empty."""

    names: typing.List[str]
    help: str
    value: str = NO
    placeholder: str = ""
    choices: typing.List[str] = dataclasses.field(default_factory=list)
    file: bool = False  # whether the value is a path


@dataclasses.dataclass
class Command:
    """A command, with its sub-commands."""

    name: str
    summary: str
    options: typing.List[Option]
    description: str = ""
    footer: str = ""
    tail: bool = False  # whether the words of another command follow
    commands: typing.List["Command"] = dataclasses.field(default_factory=list)


def experiments():
    """Returns the names that `dunnage bench` knows."""
    stems = (path.stem for path in (ROOT / "bench" / "experiments").glob("*.toml"))
    return sorted({re.sub(r"_(host|device)$", "", stem).replace("_", "-") for stem in stems})


def _plain_option(given):
    choices = re.search(r"\{(.*)\}", given["type"])
    name = given["positional"] or (given["names"] or [""])[-1].lstrip("-")
    value = MUST if given["takes_value"] else NO
    return Option(given["names"], given["help"], value, name.upper() if value == MUST else "",
                  choices[1].split(",") if choices else [])


def _with_setting(option, settings):
    """Returns the option of `run` with the values of its setting."""
    setting = settings.get("DUNNAGE_" + option.names[-1].lstrip("-").upper().replace("-", "_"))
    if not setting:
        return option
    option.value = MAY if setting.get("bare") else MUST
    option.choices = setting.get("values", ["on", "off"] if setting["type"] == "flag" else [])
    option.file = setting["type"] in ("path", "output")
    option.placeholder = {"flag": "on|off", "size": "BYTES", "count": "NUMBER", "path": "FILE", "output": "FILE"}.get(
        setting["type"], "|".join(option.choices) or "TEXT")
    return option


def _argparse_option(action):
    value = MUST if action.nargs is None else NO
    choices = [str(choice) for choice in action.choices or []]
    placeholder = action.metavar or "|".join(choices) or action.dest.upper()
    names = list(action.option_strings)
    if not names:
        value = MUST
    if not names and action.dest == "name":
        choices = experiments()
    return Option(names, (action.help or "") % {"default": action.default}, value,
                  placeholder if value == MUST else "", choices, action.type is pathlib.Path)


def _in_python(command):
    sys.path.insert(0, str(ROOT / "python"))
    parser = importlib.import_module(PARSERS[command.name]).parser()
    command.description = parser.description or ""
    command.options = [_argparse_option(action) for action in parser._actions]
    command.summary = re.sub(r"; .*`.*", "", command.summary)  # where to find its help
    return command


def _command(given, settings):
    command = Command(given["name"], given["help"], [_plain_option(option) for option in given["options"]],
                      footer=given["footer"])
    command.commands = [_command(one, settings) for one in given["commands"]]
    if command.name in PARSERS:
        return _in_python(command)
    if command.name == "run":
        command.options = [_with_setting(option, settings) for option in command.options]
        command.tail = True
    return command


def read(tool):
    """Returns the command `dunnage` and the list of settings. `tool` is the built command."""
    settings = setting_table.load(ROOT / "api" / "settings.toml")
    shown = subprocess.run([tool, "--commands"], capture_output=True, text=True, check=True).stdout
    return _command(json.loads(shown), {setting["name"]: setting for setting in settings}), settings


def arguments(description):
    """Reads the command line of a generator: the built command, and the folder to write into."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", help="the built command dunnage")
    parser.add_argument("folder", type=pathlib.Path, help="the folder share/ of the build")
    return parser.parse_args()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
