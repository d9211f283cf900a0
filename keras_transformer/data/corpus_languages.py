"""Languages of a corpus: by configuration, by file names, and by scripts."""

import dataclasses
import itertools
import pathlib
import re
from collections.abc import Sequence

from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaning import unmarked
from keras_transformer.data.corpus import CorpusFile, Pair, file_pairs
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.selection import without_tags
from keras_transformer.errors import InputError
from keras_transformer.languages import (
    fraction_in_scripts,
    same_language,
    scripts_of_language,
)

# Matches train.en-de.tsv, en-de.tsv.gz, news_en-de.tsv and en-pt_BR.tsv.
_TAG = "[a-z]{2,3}(?:[-_](?:[A-Z]{2}|[A-Z][a-z]{3}))?"
_PAIR = re.compile(
    rf"(?:^|[._-])(?:([a-z]{{2,3}})-)?({_TAG})-({_TAG})(?=[._]|$)"
)
_LOOKED_AT = 1000  # pairs of a corpus whose scripts are compared


def with_languages(
    config: DataConfig, corpora: Sequence[WeightedCorpus]
) -> DataConfig:
    """Completes the languages of a configuration.

    Missing ones are taken from languages that a file such as .tmx declares, or
    from file names: `train.en-de.tsv`, or `train.en` and `train.de`, if all
    agree.

    Args:
        config: of the data.
        corpora: the training corpora.

    Raises:
        InputError: a language can't be determined.
    """
    said = config.source_language, config.target_language
    if all(said) or not corpora:
        return config
    first, *others = (_named(corpus.file) or said for corpus in corpora)
    agree = all(map(_same, itertools.repeat(first), others))
    source, target = (
        mine or theirs for mine, theirs in zip(said, first, strict=True)
    )
    if not (agree and _same(said, first) and source and target):
        raise InputError(_unsaid(config, [corpus.file for corpus in corpora]))
    return dataclasses.replace(
        config, source_language=source, target_language=target
    )


def _same(some, others):
    """True unless two pairs of languages differ on a side that both have."""
    sides = zip(some, others, strict=True)
    return all(not (a and b) or same_language(a, b) for a, b in sides)


def _named(file: CorpusFile) -> tuple[str, str] | None:
    """The two languages that a corpus file or its names declare, or None."""
    source, target = file.said_languages()
    if source and target:
        return source, target
    names = [path.name for path in file.paths]
    if len(names) == 2:
        stems = [
            name.lower().removesuffix(".gz").removesuffix(".xz")
            for name in names
        ]
        source, target = (pathlib.PurePath(n).suffix[1:] for n in stems)
    elif found := _PAIR.findall(names[0]):
        before, source, target = found[-1]
        # In en-pt-br, "br" may be Brazil or Breton.
        if scripts_of_language(before):
            return None
    else:
        return None
    known = all(map(scripts_of_language, (source, target)))
    return (source, target) if known and source != target else None


def language_hint(file: CorpusFile, config: DataConfig) -> str | None:
    """A warning about a corpus in the scripts of other languages, or None.

    Args:
        file: of the corpus.
        config: has the languages.
    """
    pairs = file_pairs(file, long=[])
    hint = script_hint(
        list(itertools.islice(pairs, _LOOKED_AT)), config
    ) or _swapped_by_name(file, config)
    if not hint:
        return None
    return (
        f"{file}: {hint}. Try another language code, or the columns the other "
        "way round"
    )


def script_hint(pairs: Sequence[Pair], config: DataConfig) -> str | None:
    """Describes columns that are mostly in the scripts of other languages.

    Args:
        pairs: some of a corpus, as read.
        config: has the languages.

    Returns:
        half a sentence; None if both columns match their languages, or the
        scripts aren't known.
    """
    languages = config.source_language, config.target_language
    scripts = [scripts_of_language(language) for language in languages]
    columns = {
        "sources": [unmarked(without_tags(source)) for source, _ in pairs],
        "targets": [unmarked(target) for _, target in pairs],
    }
    fits = list(map(_mostly_in, columns.values(), scripts))
    if all(scripts) and fits.count(None) == 1:
        # One column has no letters, for example line numbers.
        fits = list(map(bool, fits))
    if False not in fits:
        return None
    crossed = map(_mostly_in, columns.values(), reversed(scripts))
    if True not in fits and all(crossed):
        return f"the columns are swapped: {languages[1]} comes first"
    index = fits.index(False)
    return (
        f"most {list(columns)[index]} are not in a script of "
        f"{languages[index]} ({', '.join(sorted(scripts[index]))})"
    )


def _mostly_in(texts, scripts):
    """True if most texts are in some scripts; None if unknown."""
    fractions = [fraction_in_scripts(text, scripts) for text in texts]
    known = [fraction for fraction in fractions if fraction is not None]
    if not known or not scripts:
        return None
    return sum(fraction >= 0.5 for fraction in known) * 2 > len(known)


def _swapped_by_name(file, config):
    """Half a sentence if a file's name has the languages in reverse, or None.

    Only for lines of text, whose columns don't declare languages.
    """
    languages = config.source_language, config.target_language
    if any(file.said_languages()) or _same(languages, languages[::-1]):
        return None
    named = _named(file)
    if not named or not _same(named, languages[::-1]):
        return None
    return f"by its name the columns are swapped: {named[0]} comes first"


def _unsaid(config, files):
    """The error message for languages that can't be determined."""
    missing = [
        side
        for side in ("source", "target")
        if not getattr(config, f"{side}_language")
    ]
    options = " and ".join(f"--{side}-language" for side in missing)
    values = ", ".join(f'{side}_language="..."' for side in missing)
    return (
        f"the {' and the '.join(missing)} language must be named. Accepted: "
        f"{options} with a code such as en ({values} in Python), or a file "
        "name such as train.en-de.tsv"
    )


def share_script(config: DataConfig) -> bool:
    """True if both languages share a script that puts spaces between words."""
    scripts = map(
        scripts_of_language, (config.source_language, config.target_language)
    )
    kinds = {config.source_kind, config.target_kind}
    return bool(frozenset.intersection(*scripts)) and kinds == {"sentencepiece"}
