"""Options that several subcommands share, and the `Config` they set."""

import argparse
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from keras_transformer.config import Config, DecodingConfig
from keras_transformer.config.presets import AUTO, PRESETS, settings_of
from keras_transformer.config.validation import field_types
from keras_transformer.errors import InputError, shown
from keras_transformer.system.yaml_text import NotYaml, load_yaml

Options: TypeAlias = "argparse.ArgumentParser | argparse._ArgumentGroup"
LOCAL, SPARK = "local", "spark"  # values of --engine
# For an option that takes several values, and may be repeated.
SEVERAL: dict[str, Any] = {"nargs": "+", "action": "extend"}
# Keys of the configuration that have an option of their own.
_OWN = {
    "source_language": "code such as en; may be left out where files have it "
    "in their names, as train.en-de.tsv has",
    "target_language": "the same",
    "source_tokenizer": "sentencepiece, word, character, space, mixed "
    "(characters of Chinese and Japanese, else sentencepiece), or auto "
    "(default): mixed or sentencepiece, by language",
    "target_tokenizer": "the same",
    "markup": "keep (default): tags and placeholders are text; symbols: the "
    "model learns to put them where they belong, and loses none",
    "term_share": "share of the sources in which terms are annotated, such as "
    "0.2; needs --markup symbols (default: 0)",
    "epochs": "passes over the data",
    "beam_size": "1 is greedy",
    "batch_size": "sentences at a time",
    "sentences": "split: each sentence of a line by itself (default, but not "
    "in evaluate); keep: the line as a whole",
}
_EXAMPLES = {
    "data": "data.max_length=60",
    "decoding": "decoding.length_penalty=0.6",
    "model": "model.tied_embeddings=target",
}


def flag(name: str) -> str:
    """The option that sets an attribute of the parsed arguments."""
    return f"--{name.replace('_', '-')}"


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """An option's type: an integer within bounds."""

    def convert(text):
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(
                f"must be {least} or more. Received: {text}"
            )
        if most is not None and number > most:
            raise argparse.ArgumentTypeError(
                f"must be {most} or less. Received: {text}"
            )
        return number

    convert.__name__ = "integer"  # Argparse's messages name it.
    return convert


def add_options(
    parser: Options, texts: Mapping[str, str], **options: Any
) -> None:
    """Adds options as a user types them: "--input FILE", or a flag, "--json".

    Args:
        parser: receives the options.
        texts: help by option.
        options: of `add_argument`, for all options that take a value.
    """
    for typed, text in texts.items():
        name, _, metavar = typed.partition(" ")
        given = {**options, "metavar": metavar} if metavar else options
        given = given or {"action": "store_true"}
        parser.add_argument(name, help=text, **given)


def seconds(text: str) -> float:
    """A number that a clock can wait for, as an option's type."""
    number = float(text)
    if not abs(number) <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(
            f"takes a finite number of seconds. Received: {text}"
        )
    return number


def add_engine_options(parser: Options, spark: str) -> None:
    """Adds engine and cluster; `spark` is the help on Spark."""
    parser.add_argument(
        "--engine",
        choices=(LOCAL, SPARK),
        default=LOCAL,
        help=f"spark: {spark} (extra [spark]). Default: local, this process "
        "and its workers",
    )
    cluster = (
        "Spark's cluster, such as spark://HOST:7077 or yarn (default: "
        "spark-submit's, or this machine's cores, local[*])"
    )
    add_options(parser, {"--master URL": cluster})


def check_engine_options(arguments: argparse.Namespace) -> None:
    """Refuses options of the other engine.

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
    """True if an option was given: 0 counts, None, [] and False don't."""
    return value is not None and value is not False and value != []


def add_run_option(parser: Options, **options: Any) -> None:
    """Adds the folder of a run; `options` are for `add_argument`."""
    add_options(parser, {"--run FOLDER": "a run's folder"}, **options)


def add_ensemble_option(parser: Options) -> None:
    """Adds other runs that translate together with a run."""
    text = (
        "a run of the same prepared data that translates together with it, by "
        "the mean of their probabilities; may be repeated"
    )
    add_options(parser, {"--ensemble RUN": text}, action="append", default=[])


def add_shortlist_option(parser: Options) -> None:
    """Adds pairs that suggest the tokens of a search."""
    text = (
        "pairs, as prepare takes them: translations of a run are searched "
        "among tokens that these suggest, which is faster where its vocabulary "
        "is large"
    )
    add_options(parser, {"--shortlist FILE": text})


def add_model_options(
    parser: argparse.ArgumentParser,
) -> "argparse._MutuallyExclusiveGroup":
    """Adds a run or an export; returns the group, of which one is required."""
    group = parser.add_mutually_exclusive_group(required=True)
    add_run_option(group)
    text = "an export: a version, or the folder of versions (newest)"
    add_options(group, {"--saved-model FOLDER": text})
    return group


def add_pairs_option(parser: argparse.ArgumentParser) -> None:
    """Adds files of sentence pairs."""
    text = "TSV files or SOURCE,TARGET pairs of files"
    add_options(parser, {"--input FILE": text}, required=True, **SEVERAL)


def add_json_option(
    parser: argparse.ArgumentParser, text: str = "one JSON object"
) -> None:
    """Adds output for programs."""
    add_options(parser, {"--json": text})


def add_process_options(parser: argparse.ArgumentParser) -> None:
    """Adds the number of processes that translate, and their threads."""
    add_options(
        parser,
        {
            "--workers N": "processes that translate; 1: this one. Default: as "
            "many as there are cores, 1 for little text or with a GPU",
            "--threads N": "of each process (default: 1, the fastest with a "
            "worker a core)",
        },
        type=integer(1),
    )


def add_settings(
    parser: argparse.ArgumentParser,
    sections: Sequence[str],
    own: Sequence[str] = (),
) -> None:
    """Adds `--set SECTION.KEY=VALUE`, and separate options for some keys.

    Args:
        parser: `argparse` parser.
        sections: of the configuration, which the command uses.
        own: keys that have their own option, such as --beam-size.
    """
    parser.set_defaults(set=[])
    for section in sections:
        for key, kind in _types(section).items():
            if key in own:
                parser.add_argument(
                    flag(key),
                    action=_Setting,
                    const=f"{section}.{key}",
                    metavar={str: "NAME", int: "N", float: "SHARE"}.get(
                        kind, "HOW"
                    ),
                    help=_OWN[key],
                )
    text = f"one value, such as {_EXAMPLES[sections[0]]}; may be repeated"
    add_options(parser, {"--set SECTION.KEY=VALUE": text}, action=_Setting)
    keys = [f"{section}: {', '.join(_types(section))}" for section in sections]
    parser.add_argument_group("keys of --set", "\n".join(keys))


class _Setting(argparse.Action):
    """Collects settings in `set`: pairs of an option and SECTION.KEY=VALUE."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options):
        options["default"] = argparse.SUPPRESS
        super().__init__(option_strings, dest, **options)

    def __call__(self, parser, namespace, values, option_string=None):
        text = values if self.const is None else f"{self.const}={values}"
        namespace.set = [*namespace.set, (option_string, text)]


def settings(
    arguments: argparse.Namespace, sections: Sequence[str]
) -> dict[str, dict]:
    """The values of `--set` and of the options for single keys; the last wins.

    Args:
        arguments: parsed, with the options of `add_settings`.
        sections: that the command uses; `--set` takes no others.

    Returns:
        `{section: {key: value}}`.

    Raises:
        InputError: one isn't SECTION.KEY=VALUE, or not YAML.
    """
    values: dict[str, dict] = {}
    for option, text in arguments.set:
        name, equals, value = text.partition("=")
        section, dot, key = name.partition(".")
        if not (equals and dot and section in sections):
            raise InputError(
                "--set takes SECTION.KEY=VALUE, here with section "
                f"{' or '.join(sections)}. Received: {shown(text)}"
            )
        if _types(section).get(key) is not str:  # "no" is Norwegian, not false
            try:
                value = load_yaml(value)
            except NotYaml:
                raise InputError(
                    f"{option}: {name}: not a YAML value: {shown(value)}"
                ) from None
        values.setdefault(section, {})[key] = value
    return values


def setting_options(arguments: argparse.Namespace) -> str:
    """The options by which settings were given, for messages."""
    return ", ".join(dict.fromkeys(option for option, _ in arguments.set))


def add_config_options(
    parser: argparse.ArgumentParser,
    sections: Sequence[str],
    own: Sequence[str],
    auto: str,
) -> None:
    """Adds `--preset`, `--config`, and the options of `add_settings`.

    Args:
        parser, sections, own: see `add_settings`.
        auto: the help on "auto".
    """
    recipes = ", ".join(PRESETS)
    texts = {
        "--preset NAME": f"a recipe: {recipes}, or {AUTO} (default): {auto}",
        "--config FILE": "YAML file with any of the keys below",
    }
    add_options(parser, texts)
    add_settings(parser, sections, own)


def config_changes(
    arguments: argparse.Namespace, sections: Sequence[str]
) -> list[tuple[dict, str]]:
    """The changes to a preset: those of the file, then the settings.

    Args:
        arguments: parsed, with the options of `add_config_options`.
        sections: that the command uses; `--set` takes no others.

    Returns:
        pairs of `{section: {key: value}}` and its origin.

    Raises:
        InputError: a setting isn't SECTION.KEY=VALUE, or a file isn't YAML.
    """
    # All settings at once, as some are only valid together.
    own = settings(arguments, sections), setting_options(arguments)
    return [*settings_of(arguments.config), own]


def add_placeholder_option(parser: Options, why: str) -> None:
    """Adds regular expressions of a user's own marks."""
    text = (
        "what is markup, too, beside tags, entities, %%s, {name}, addresses "
        f"and the like, such as '~(?=\\w)'; may be repeated; {why}"
    )
    add_options(
        parser, {"--placeholder REGEX": text}, action="append", default=[]
    )


def add_weights_option(parser: argparse.ArgumentParser) -> None:
    """Adds the choice of a run's weights."""
    parser.add_argument(
        "--weights",
        choices=("best", "last", "average"),
        help="best: by dev loss, or as training.best_by says (default); "
        "last: the newest epoch; average: the last training.average_epochs",
    )


def add_search_options(
    parser: argparse.ArgumentParser, own: Sequence[str] = ()
) -> None:
    """Adds options of the search, by default as the run was configured.

    Args:
        parser: `argparse` parser.
        own: further keys that have their own option.
    """
    add_settings(parser, ("decoding",), ("beam_size", "batch_size", *own))


def decoding_config(
    config: Config, arguments: argparse.Namespace
) -> DecodingConfig:
    """The run's search with the options of `add_search_options` applied.

    Raises:
        InputError: an unknown key, or a value that isn't accepted.
    """
    values = settings(arguments, ("decoding",))
    return config.updated(values, setting_options(arguments)).decoding


def fixed_search(
    arguments: argparse.Namespace, batch_size: int = 64
) -> tuple[int, bool]:
    """The batch size of an export or a server, and whether to search greedily.

    Args:
        arguments: parsed, with the options of `add_search_options`.
        batch_size: if none is given.

    Raises:
        InputError: another setting, or a beam size above 1.
    """
    values = settings(arguments, ("decoding",)).get("decoding", {})
    for key, value in values.items():
        if key != "batch_size" and (key, value) != ("beam_size", 1):
            raise InputError(
                f"{setting_options(arguments)}: decoding.{key} was fixed when "
                "the model was exported. Accepted: --batch-size, "
                "--beam-size 1 (its greedy signature)"
            )
    values = {"decoding": {"batch_size": batch_size, **values}}
    decoding = Config().updated(values, setting_options(arguments)).decoding
    return decoding.batch_size, decoding.beam_size == 1


def _types(section):
    """The keys of a section and their types."""
    return field_types(type(getattr(Config(), section)))
