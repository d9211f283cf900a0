"""Options that several subcommands share, and the `Config` they make."""

import yaml

from keras_transformer.config import Config, read_yaml
from keras_transformer.errors import InputError
from keras_transformer.presets import PRESETS, preset


def add_config_options(parser, sections: str):
    """`--preset`, `--config` and `--set`.

    Args:
        parser: `argparse` parser.
        sections: the sections that the command uses, for the help.
    """
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help=f"start from a named recipe: {', '.join(PRESETS)}",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"YAML file with sections {sections}; overrides the preset",
    )
    parser.add_argument(
        "--set",
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        help="one value, overrides the file; may be repeated",
    )


def config_given(arguments) -> bool:
    """Whether any of the options of `add_config_options` was used."""
    return bool(arguments.preset or arguments.config or arguments.set)


def resolve_config(arguments, overrides: dict | None = None) -> Config:
    """Preset, then file, then `--set`, then an option's own values.

    Args:
        arguments: parsed, with the options of `add_config_options`.
        overrides: `{section: {key: value or None}}`; None leaves as is.

    Raises:
        InputError: an unknown preset, key, or a value that isn't accepted.
    """
    config = preset(arguments.preset) if arguments.preset else Config()
    if arguments.config:
        config = config.updated(read_yaml(arguments.config), arguments.config)
    # Together, since two settings may only fit in company.
    values = {}
    for setting in arguments.set:
        section, key, value = _setting(setting)
        values.setdefault(section, {})[key] = value
    config = config.updated(values, "--set")
    given = {
        section: {k: v for k, v in part.items() if v is not None}
        for section, part in (overrides or {}).items()
    }
    return config.updated(given, "options")


def _setting(text):
    name, equals, value = text.partition("=")
    section, dot, key = name.partition(".")
    if not (equals and dot):
        raise InputError(f"--set takes SECTION.KEY=VALUE. Received: {text!r}")
    try:
        return section, key, yaml.safe_load(value)
    except yaml.YAMLError:
        raise InputError(f"--set {name}: not a YAML value: {value!r}") from None
