"""Translates training data with a teacher, for a student to learn from.

Reads prepared data, and writes prepared data: the same sources, tokenizers and
dev set, with the translations as targets. A smaller or faster model learns more
from them than from human translations (Kim and Rush 2016). If the command is
killed, run it again to resume.

example:
  keras-transformer distill --teacher runs/en-zh --data data/en-zh \\
      --out data/en-zh-distilled
  keras-transformer train --data data/en-zh-distilled --preset tatoeba \\
      --set model.num_decoder_layers=2 --from runs/en-zh --out runs/en-zh-fast
"""

import argparse
import functools

from keras_transformer.api.runs import run_config
from keras_transformer.cli.console import Stages, load_tensorflow, say
from keras_transformer.cli.options import (
    add_ensemble_option,
    add_options,
    add_process_options,
    add_search_options,
    add_weights_option,
    decoding_config,
    integer,
)
from keras_transformer.cli.prepare import describe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(
        parser,
        {
            "--teacher RUN": "a trained run",
            "--data FOLDER": "prepared data",
            "--out FOLDER": "new folder",
        },
        required=True,
    )
    add_ensemble_option(parser)
    count = (
        "so many translations of each source, at most --beam-size (default: 1)"
    )
    add_options(parser, {"--n-best N": count}, type=int, default=1)
    mix = (
        "how often an epoch has original pairs and translated ones, each "
        "weight as prepare has it: 0.5 takes half of the pairs, 2 each of them "
        "two times (default: 0:1, translations alone)"
    )
    add_options(parser, {"--mix ORIGINAL:TRANSLATED": mix}, default="0:1")
    add_weights_option(parser)
    add_search_options(parser)
    add_process_options(parser)
    retries = (
        "how often sentences whose translation failed are tried again "
        "(default: %(default)s)"
    )
    add_options(parser, {"--retries N": retries}, type=integer(0), default=2)


def run(arguments: argparse.Namespace) -> None:
    decoding = decoding_config(run_config(arguments.teacher), arguments)
    load = functools.partial(load_tensorflow, sentences=decoding.batch_size)
    load()
    from keras_transformer.translation.distillation import distill

    with Stages("sentences") as stages:
        prepared = distill(
            arguments.teacher,
            arguments.data,
            arguments.out,
            n_best=arguments.n_best,
            mix=arguments.mix,
            weights=arguments.weights,
            decoding=decoding,
            workers=arguments.workers,
            threads=arguments.threads or 1,
            retries=arguments.retries,
            progress=stages,
            tell=say,
            load=load,
            ensemble=arguments.ensemble,
        )
    describe(prepared, arguments.out)
