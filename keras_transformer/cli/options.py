"""Options that several subcommands share, and the `Config` they make."""

import argparse
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from keras_transformer.config import Config, DecodingConfig
from keras_transformer.config.presets import resolved
from keras_transformer.config.validation import field_types
from keras_transformer.errors import InputError, shown
from keras_transformer.system.files import read_yaml
from keras_transformer.system.yaml_text import NotYaml, load_yaml

# What does the work.
Options: TypeAlias = "argparse.ArgumentParser | argparse._ArgumentGroup"
LOCAL, SPARK = "local", "spark"
# Those of the search that have an option of their own.
SEARCH_OPTIONS = ("beam_size", "length_penalty", "batch_size")
_EXAMPLES = {
    "data": "data.max_length=60",
    "model": "model.tied_embeddings=target",
}


def flag(name: str) -> str:
    """The option that sets an attribute of the parsed arguments."""
    return f"--{name.replace('_', '-')}"


def add_number(
    parser: Options,
    name: str,
    text: str,
    metavar: str = "N",
    type: Callable[[str], Any] = int,
    **options: Any,
) -> None:
    """An option that takes a number; `options` are `add_argument`'s."""
    parser.add_argument(name, metavar=metavar, type=type, help=text, **options)


def seconds(text: str) -> float:
    """A number that a clock can wait for, as an option's type."""
    number = float(text)
    if not abs(number) <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(
            f"takes a finite number of seconds. Received: {text}"
        )
    return number


def add_engine_options(parser: Options, spark: str) -> None:
    """What does the work, and where; `spark` says what Spark is for."""
    parser.add_argument(
        "--engine",
        choices=(LOCAL, SPARK),
        default=LOCAL,
        help=f"spark: {spark} (extra [spark]). Default: local, this process "
        "and its workers",
    )
    parser.add_argument(
        "--master",
        metavar="URL",
        help="Spark's cluster, such as spark://HOST:7077 or yarn (default: "
        "spark-submit's, or this machine's cores, local[*])",
    )


def check_engine_options(arguments: argparse.Namespace) -> None:
    """Refuses options that go with the other engine.

    Raises:
        InputError: names the option and what is accepted.
    """
    if arguments.master is not None and arguments.engine != SPARK:
        raise InputError("--master goes with --engine spark")
    if arguments.workers is not None and arguments.engine == SPARK:
        raise InputError(
            "--workers goes with --engine local; with Spark, --master local[N] "
            "or the cluster says how many"
        )


def is_given(value: object) -> bool:
    """Whether an option's value was given: 0 is, None, [] and False aren't."""
    return value is not None and value is not False and value != []


def add_run_option(parser: Options, **options: Any) -> None:
    """The folder of a run; `options` are `add_argument`'s."""
    parser.add_argument(
        "--run", metavar="FOLDER", help="a run's folder", **options
    )


def add_ensemble_option(parser: Options) -> None:
    """Other runs that translate together with a run."""
    parser.add_argument(
        "--ensemble",
        action="append",
        default=[],
        metavar="RUN",
        help="a run of the same prepared data that translates together with "
        "it, by the mean of their probabilities; may be repeated",
    )


def add_shortlist_option(parser: Options) -> None:
    """Pairs that suggest which tokens a search looks at."""
    parser.add_argument(
        "--shortlist",
        metavar="FILE",
        help="pairs, as prepare takes them: translations of a run are searched "
        "among tokens that these suggest, which is faster where its vocabulary "
        "is large",
    )


def add_model_options(
    parser: argparse.ArgumentParser,
) -> "argparse._MutuallyExclusiveGroup":
    """A run or an export; returns the group, of which one is required."""
    group = parser.add_mutually_exclusive_group(required=True)
    add_run_option(group)
    group.add_argument(
        "--saved-model",
        metavar="FOLDER",
        help="an export: a version, or the folder of versions (newest)",
    )
    return group


def add_pairs_option(parser: argparse.ArgumentParser) -> None:
    """Files of sentence pairs."""
    parser.add_argument(
        "--input",
        nargs="+",
        action="extend",
        required=True,
        metavar="FILE",
        help="TSV files or SOURCE,TARGET pairs of files",
    )


def add_json_option(
    parser: argparse.ArgumentParser, text: str = "one JSON object"
) -> None:
    """Output for programs."""
    parser.add_argument("--json", action="store_true", help=text)


def add_process_options(parser: argparse.ArgumentParser) -> None:
    """The processes that translate, and the threads of each."""
    add_number(
        parser,
        "--workers",
        "processes that translate; 1: this one. Default: as many as "
        "there are cores, 1 for little text or with a GPU",
    )
    add_number(
        parser,
        "--threads",
        "of each process (default: 1, the fastest with a worker a core)",
        default=1,
    )


def check_process_options(arguments: argparse.Namespace) -> None:
    """Refuses numbers of processes or threads below 1.

    Raises:
        InputError: names the option.
    """
    for name in ("workers", "threads"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise InputError(f"--{name} must be 1 or more. Received: {value}")


def add_config_options(
    parser: argparse.ArgumentParser, sections: Sequence[str], preset_help: str
) -> None:
    """`--preset`, `--config` and `--set`.

    Args:
        parser: `argparse` parser.
        sections: the sections that the command uses.
        preset_help: what `--preset` accepts.
    """
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
    # For hints, see `cli.main.Parser`.
    vars(parser)["config_keys"] = {
        key: section for section in sections for key in _types(section)
    }
    parser.add_argument_group("keys of --config and --set", "\n".join(keys))


def config_given(arguments: argparse.Namespace) -> bool:
    """Whether any of the options of `add_config_options` was used."""
    return bool(arguments.preset or arguments.config or arguments.set)


def config_file(arguments: argparse.Namespace) -> dict:
    """What the file of `--config` has, read once: it may be a pipe."""
    if not hasattr(arguments, "config_file"):
        path = arguments.config
        arguments.config_file = read_yaml(path) if path else {}
    return arguments.config_file


def resolve_config(
    arguments: argparse.Namespace,
    sections: Sequence[str],
    overrides: dict,
    default_preset: str | None = None,
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
    changes = []
    if arguments.config:
        changes.append((config_file(arguments), arguments.config))
    # Together, since two settings may only fit in company.
    values: dict[str, dict] = {}
    for setting in arguments.set:
        section, key, value = _setting(setting, sections)
        values.setdefault(section, {})[key] = value
    changes.append((values, "--set"))
    given = {
        section: {k: v for k, v in part.items() if v is not None}
        for section, part in overrides.items()
    }
    changes.append((given, "options"))
    return resolved(
        arguments.preset,
        changes,
        default=default_preset,
        taken_over=taken_over,
    )


def add_weights_option(parser: argparse.ArgumentParser) -> None:
    """Which of a run's weights are used."""
    parser.add_argument(
        "--weights",
        choices=("best", "last", "average"),
        help="best: by dev loss, or as training.best_by says (default); "
        "last: the newest epoch; average: the last training.average_epochs",
    )


def add_beam_size_option(parser: argparse.ArgumentParser) -> None:
    """The beam's size, default as the run was configured."""
    add_number(parser, "--beam-size", "1 is greedy", "K")


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """Options of the search, default as the run was configured."""
    add_beam_size_option(parser)
    add_number(parser, "--length-penalty", "0 is none", "A", float)
    add_number(parser, "--batch-size", "sentences at a time")
    parser.add_argument(
        "--decoding",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one value of the search, such as length_normalization=average; "
        "may be repeated",
    )
    keys = ", ".join(_types("decoding"))
    parser.add_argument_group("keys of --decoding", keys)


def decoding_config(
    config: Config, arguments: argparse.Namespace
) -> DecodingConfig:
    """The run's search with the options of `add_search_options` applied.

    Raises:
        InputError: an unknown key, or a value that isn't accepted.
    """
    values: dict[str, dict] = {}
    for setting in arguments.decoding:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(
                f"--decoding takes KEY=VALUE. Received: {shown(setting)}"
            )
        values[key] = _value("decoding", key, value, f"--decoding {key}")
    config = config.updated({"decoding": values}, "--decoding")
    given = {
        name: getattr(arguments, name)
        for name in SEARCH_OPTIONS
        if getattr(arguments, name) is not None
    }
    return config.updated({"decoding": given}, "options").decoding


def saved_batch_size(arguments: argparse.Namespace, default: int = 64) -> int:
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
            f"{' or '.join(sections)}. Received: {shown(text)}"
        )
    return section, key, _value(section, key, value, f"--set {name}")


def _value(section, key, text, where):
    if _types(section).get(key) is str:
        return text  # "no" is Norwegian, not false
    try:
        return load_yaml(text)
    except NotYaml:
        raise InputError(f"{where}: not a YAML value: {shown(text)}") from None


def _types(section):
    """The keys of a section and their types."""
    return field_types(type(getattr(Config(), section)))
