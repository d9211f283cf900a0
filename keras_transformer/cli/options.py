"""Options that several subcommands share, and the `Config` they make."""

import dataclasses
import typing

import yaml

from keras_transformer.config import Config
from keras_transformer.errors import InputError
from keras_transformer.files import read_yaml
from keras_transformer.presets import PRESETS, preset

# Those of the search that have an option of their own.
SEARCH_OPTIONS = ("beam_size", "length_penalty", "batch_size")
_EXAMPLES = {
    "data": "data.max_length=60",
    "model": "model.tied_embeddings=target",
}


def add_config_options(parser, sections, preset_help=None):
    """`--config` and `--set`, and `--preset` where there is a choice.

    Args:
        parser: `argparse` parser.
        sections: the sections that the command uses.
        preset_help: what `--preset` accepts; None leaves it out.
    """
    parser.set_defaults(preset=None)
    if preset_help:
        parser.add_argument(
            "--preset", metavar="NAME", help=f"a recipe: {preset_help}"
        )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="YAML file with any of the keys below",
    )
    parser.add_argument(
        "--set",
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        help=f"one value, such as {_EXAMPLES[sections[0]]}; may be repeated",
    )
    keys = [f"{section}: {', '.join(_types(section))}" for section in sections]
    parser.add_argument_group("keys of --config and --set", "\n".join(keys))


def config_given(arguments) -> bool:
    """Whether any of the options of `add_config_options` was used."""
    return bool(arguments.preset or arguments.config or arguments.set)


def resolve_config(
    arguments,
    sections,
    overrides: dict,
    default_preset=None,
    taken_over: dict | None = None,
) -> Config:
    """Preset, then file, then `--set`, then an option's own values.

    Args:
        arguments: parsed, with the options of `add_config_options`.
        sections: those that the command uses; `--set` takes no others.
        overrides: `{section: {key: value or None}}`; None leaves as is.
        default_preset: where none is named; None: the fields' defaults.
        taken_over: `{section: {key: value}}` from elsewhere, in place of
            what neither the named preset nor an option says.

    Raises:
        InputError: an unknown preset, key, or a value that isn't accepted.
    """
    name = arguments.preset or default_preset
    config = preset(name) if name else Config()
    named = PRESETS[arguments.preset] if arguments.preset else {}
    taken_over = {
        section: {
            k: v for k, v in part.items() if k not in named.get(section, {})
        }
        for section, part in (taken_over or {}).items()
    }
    config = config.updated(taken_over, "settings that were taken over")
    if arguments.config:
        config = config.updated(read_yaml(arguments.config), arguments.config)
    # Together, since two settings may only fit in company.
    values = {}
    for setting in arguments.set:
        section, key, value = _setting(setting, sections)
        values.setdefault(section, {})[key] = value
    config = config.updated(values, "--set")
    given = {
        section: {k: v for k, v in part.items() if v is not None}
        for section, part in overrides.items()
    }
    return config.updated(given, "options")


def add_section_option(parser, section, text):
    """`--SECTION KEY=VALUE`, for commands that take one section only.

    Args:
        parser: `argparse` parser.
        section: its name.
        text: what it is, for the help.
    """
    parser.add_argument(
        f"--{section}",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help=f"{text}; may be repeated",
    )
    keys = ", ".join(_types(section))
    parser.add_argument_group(f"keys of --{section}", keys)


def section_values(arguments, section) -> dict:
    """The keys and values that `--SECTION` was given.

    Raises:
        InputError: it isn't KEY=VALUE, or the value isn't YAML.
    """
    values = {}
    for setting in getattr(arguments, section):
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(
                f"--{section} takes KEY=VALUE. Received: {setting!r}"
            )
        values[key] = _value(section, key, value, f"--{section} {key}")
    return values


def add_weights_option(parser):
    """Which of a run's weights are used."""
    parser.add_argument(
        "--weights",
        choices=("best", "last", "average"),
        help="best: by dev loss, or as training.best_by says (default); "
        "last: the newest epoch; average: the last training.average_epochs",
    )


def add_search_options(parser):
    """Options of the search, default as the run was configured."""
    parser.add_argument(
        "--beam-size", type=int, metavar="K", help="1 is greedy"
    )
    parser.add_argument(
        "--length-penalty", type=float, metavar="A", help="0 is none"
    )
    parser.add_argument(
        "--batch-size", type=int, metavar="N", help="sentences at a time"
    )
    add_section_option(
        parser,
        "decoding",
        "one value of the search, such as length_normalization=average",
    )


def decoding_config(config, arguments):
    """The run's search with the options applied."""
    values = section_values(arguments, "decoding")
    config = config.updated({"decoding": values}, "--decoding")
    given = {
        name: getattr(arguments, name)
        for name in SEARCH_OPTIONS
        if getattr(arguments, name) is not None
    }
    return config.updated({"decoding": given}, "options").decoding


def saved_batch_size(arguments, default: int = 64) -> int:
    """Sentences at a time with an export, which has no setting of its own.

    Args:
        arguments: parsed, with the options of `add_search_options`.
        default: if there is no --batch-size.

    Raises:
        InputError: fewer than 1.
    """
    batch_size = arguments.batch_size
    if batch_size is None:
        return default
    if batch_size < 1:
        raise InputError(
            f"--batch-size must be 1 or more. Received: {batch_size}"
        )
    return batch_size


def _setting(text, sections):
    name, equals, value = text.partition("=")
    section, dot, key = name.partition(".")
    if not (equals and dot and section in sections):
        raise InputError(
            "--set takes SECTION.KEY=VALUE, here with section "
            f"{' or '.join(sections)}. Received: {text!r}"
        )
    return section, key, _value(section, key, value, f"--set {name}")


def _value(section, key, text, where):
    if _types(section).get(key) is str:
        return text  # "no" is Norwegian, not false
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"{where}: not a YAML value: {text!r}") from None


def _types(section):
    """The keys of a section and their types."""
    fields = {field.name: field for field in dataclasses.fields(Config)}
    return typing.get_type_hints(fields[section].type)
