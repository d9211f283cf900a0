"""Converts a model of OPUS-MT, Marian, M2M100, NLLB or OpenNMT-tf to a run.

MODEL is a name on Hugging Face's hub, if huggingface_hub is installed, or
a folder: one of Hugging Face's, with config.json,
model.safetensors or pytorch_model.bin (or shards of them), vocab.json,
source.spm and target.spm; or Marian's own, with decoder.yml, model.npz,
vocab.yml and both .spm files; or one of Hugging Face's with M2M100, SMaLL-100
or NLLB, with sentencepiece.bpe.model; or OpenNMT-tf's, with the
YAML file of its settings, vocabularies and a checkpoint. The run can be used
like a trained one: translate, evaluate, score, prepare --tokenizers, train
--from with --preset finetune, export.

example:
  keras-transformer import Helsinki-NLP/opus-mt-en-de --out runs/en-de
  keras-transformer import opus-mt-en-zh --out runs/en-zh \\
      --source-prefix '>>cmn_Hans<<'
"""

import argparse

from keras_transformer.cli.console import load_tensorflow, say, table
from keras_transformer.cli.options import add_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    model = "the folder of its files, or its name on Hugging Face's hub"
    parser.add_argument("folder", metavar="MODEL", help=model)
    add_options(parser, {"--out FOLDER": "the run's folder"}, required=True)
    parser.add_argument(
        "--positions",
        choices=("tensor2tensor", "sinusoidal"),
        default="tensor2tensor",
        help="tensor2tensor: as Marian computes, which trained the model "
        "(default); sinusoidal: as transformers does, for a model that was "
        "trained further there",
    )
    as_said = "default: as the folder says"
    languages = ("--source-language CODE", "--target-language CODE")
    add_options(parser, dict.fromkeys(languages, as_said))
    prefix = (
        "language code before each source that has none, such as >>cmn_Hans<<"
    )
    add_options(parser, {"--source-prefix CODE": prefix}, type=str, default="")
    parser.add_argument(
        "--punctuation",
        choices=("auto", "none", "moses"),
        default="auto",
        help="moses: quotes and dashes as Moses' normalize-punctuation.perl "
        "makes them; auto: if the folder's preprocess.sh does (default)",
    )


def run(arguments: argparse.Namespace) -> None:
    load_tensorflow()
    from keras_transformer.importing.run import import_run

    run = import_run(
        arguments.folder,
        arguments.out,
        positions=arguments.positions,
        source_language=arguments.source_language,
        target_language=arguments.target_language,
        source_prefix=arguments.source_prefix,
        punctuation=arguments.punctuation,
    )
    print(table([*_rows(run, arguments.out)]))
    codes = run.source_tokenizer.language_codes()
    if codes and not run.manifest["imported"]["source_prefix"]:
        say(
            "warning: a model of several languages needs a code before each "
            f"source. Try --source-prefix '{codes[0]}', or the one of your "
            "target language"
        )


def _rows(run, out):
    imported, model = run.manifest["imported"], run.config.model
    data = run.config.data
    yield "from", f"{imported['from']}, {imported['kind']}"
    yield "license", _license(imported)
    yield (
        "model",
        f"{model.num_encoder_layers} + {model.num_decoder_layers} layers, "
        f"width {model.d_model}, {model.positions} positions",
    )
    yield "tokens", f"{run.source_tokenizer.vocabulary_size:,}"
    yield "languages", f"{data.source_language} to {data.target_language}"
    codes = run.source_tokenizer.language_codes()
    if codes:
        prefix = imported["source_prefix"] or "none: each source needs one"
        if imported["target_prefix"]:
            prefix += f", target {imported['target_prefix']}"
        yield "codes", f"{' '.join(codes[:20])}; prefix {prefix}"
    if imported["unread"]:
        yield "passed over", f"config.json: {', '.join(imported['unread'])}"
    yield "written", str(out)


def _license(imported):
    said = imported["license"]
    if said is None and imported["kind"].endswith("NLLB"):
        return "not said; Meta's NLLB is under CC-BY-NC: not for commercial use"
    if said and "-nc" in said.lower():
        return f"{said}: not for commercial use"
    return said or "not said"
