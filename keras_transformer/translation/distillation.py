"""Distillation: a teacher's translations as a student's training data.

A model learns more easily from a larger model's translations than from human
ones, which are less consistent (Kim and Rush 2016, Sequence-Level Knowledge
Distillation).
"""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
from collections.abc import Callable, Sequence

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import SIDES
from keras_transformer.data.batching import report_damaged_shards
from keras_transformer.data.distilled import (
    DISTILLED,
    DistilledData,
    distilled_manifest,
    parse_mix,
    write_sources,
)
from keras_transformer.data.prepared import MANIFEST, PreparedData
from keras_transformer.errors import InputError
from keras_transformer.languages import same_language
from keras_transformer.system.checksums import checksum, digest
from keras_transformer.system.files import check_free, new_folder, write_json
from keras_transformer.system.locks import locked
from keras_transformer.system.machine import set_threads
from keras_transformer.system.remote import RemotePath, any_path
from keras_transformer.training.run import Run
from keras_transformer.translation.bulk import LocalAttempt, finish
from keras_transformer.translation.ensemble import check_same_tokens
from keras_transformer.translation.request import (
    KEEP,
    Translation,
    TranslationRequest,
)
from keras_transformer.translation.shard_folder import (
    ShardFolder,
    open_folder,
    remove_shards,
)
from keras_transformer.translation.shard_manifest import BulkJob
from keras_transformer.translation.texts import check_n_best
from keras_transformer.translation.trained_run import TrainedRun
from keras_transformer.translation.workers import (
    RunTranslatorFactory,
    choose_workers,
    open_translator,
)
from keras_transformer.version import __version__

# Batches that are sorted by length together and form a shard, the work that is
# lost when a process is killed.
_BATCHES_A_SHARD = 16
_MOST_SHARDS = 10_000
_TRANSLATIONS = "translations"  # the shards' output, which is never joined
_DISTILLS = (
    "distills there. Accepted: another --out, or the same command when that "
    "process has ended"
)


def distill(
    teacher: Run | str | os.PathLike,
    data: PreparedData | str | os.PathLike,
    out: str | os.PathLike,
    *,
    n_best: int = 1,
    mix: str = "0:1",
    weights: str | None = None,
    decoding: DecodingConfig | None = None,
    workers: int | None = None,
    threads: int = 1,
    retries: int = 2,
    progress: Callable[[str, int, int | None], None] | None = None,
    tell: Callable[[str], None] | None = None,
    load: Callable[[], None] | None = None,
    ensemble: Sequence[str | os.PathLike] | str | os.PathLike = (),
) -> PreparedData:
    """Translates the training sources of prepared data with a teacher.

    Writes prepared data with the same tokenizers, dev set and settings, whose
    training targets are the translations. They are kept in the folder
    `OUT.distilling` meanwhile. If the process is killed, repeat the call: it
    resumes with the sources that have no translation yet, and finally writes
    the same bytes.

    Drops and counts sources that are too long for the teacher, translations
    that are empty or unfinished or that `data.max_length` and
    `data.max_length_ratio` refuse, and, with `data.remove_duplicates`, equal
    translations of a source.

    Args:
        teacher: a run, or its folder, of the data's languages and tags. Its
            tokenizers may differ from the data's.
        data: the prepared data, or its folder.
        out: the target path, a folder that doesn't exist or is empty.
        n_best: translations of each source, the best of the beam.
        mix: how often an epoch contains the original and the translated
            pairs, ORIGINAL:TRANSLATED.
        weights: of the teacher: "best", "last" or "average"; None: its
            current choice.
        decoding: the search; None: the teacher's.
        workers: processes that translate, 1: the calling one; None: one per
            core if there are enough sentences, and 1 with a GPU.
        threads: of each worker.
        retries: how often a failed shard is tried again.
        progress: called with (stage, done, total or None), in sentences.
        tell: called with lines of information for the user.
        load: called in each process before TensorFlow is used; picklable.
        ensemble: folders of runs that translate together with the teacher, by
            the mean of their probabilities (Freitag et al. 2017); empty: the
            teacher's current ones.

    Returns:
        The distilled data. In its manifest, `distilled` describes the teacher,
        the data and the settings, `report` the kept and dropped pairs, as for
        `prepare`.

    Raises:
        InputError: `out` is taken or can't be written, data or teacher are
            damaged, the teacher is untrained, of other languages or tags, has
            no symbols although the data has, or was loaded with a shortlist,
            placeholders or markup, `n_best` exceeds the beam size, the work
            folder is of other arguments, or no pair is left.
    """
    progress = progress or (lambda stage, done, total: None)
    tell = tell or (lambda line: None)
    if isinstance(any_path(out), RemotePath):
        raise InputError(f"{out}: an address. Accepted: a local folder")
    out = pathlib.Path(os.path.realpath(out))
    if workers == 1:
        set_threads(threads)
    run = TrainedRun.of(teacher).translating_by(weights, decoding, ensemble)
    # Workers load the teacher from its folder, without these settings.
    for name in ("shortlist", "placeholders", "markup"):
        if getattr(run, name):
            raise InputError(
                f"{run.folder}: was loaded with {name}. Accepted: a teacher "
                "that is loaded without, or its folder"
            )
    job = _Job(
        data if isinstance(data, PreparedData) else PreparedData.load(data),
        run,
        run.weights,
        run.decoding,
        n_best,
        parse_mix(mix),
        threads,
        tuple(map(Run.load, run.ensemble)),
    )
    job.check()
    work = out.with_name(f"{out.name}.distilling")
    if job.is_done(out, work):
        tell(f"{out} was written already")
        job.remove(work)
        return PreparedData.load(out)
    check_free(out)
    job.prepared.verify()
    work.mkdir(parents=True, exist_ok=True)
    with (
        locked(work / "lock", work, _DISTILLS),
        report_damaged_shards(job.prepared),
        _open(job, work) as folder,
    ):
        _translate(job, folder, workers, retries, progress, tell, load)
        _write(job, folder, out, progress)
    job.remove(work)
    return PreparedData.load(out)


@dataclasses.dataclass(frozen=True)
class _Job:
    """The inputs that determine distilled data; see `distill`."""

    prepared: PreparedData
    run: Run
    weights: str
    decoding: DecodingConfig | None
    n_best: int
    mix: tuple[float, float]
    threads: int
    others: tuple[Run, ...] = ()

    @property
    def search(self) -> DecodingConfig:
        return self.decoding or self.run.config.decoding

    @property
    def sources(self) -> int:
        """The number of training sources."""
        return sum(self.prepared.shard_sizes("train"))

    @property
    def window(self) -> int:
        """Sentences that are sorted by length together."""
        return _BATCHES_A_SHARD * self.search.batch_size

    @functools.cached_property
    def factory(self) -> RunTranslatorFactory:
        # The data has symbols in place of its markup already.
        markup = KEEP if self.prepared.config.symbols else None
        request = TranslationRequest(n_best=self.n_best, markup=markup)
        return RunTranslatorFactory(
            str(self.run.folder),
            self.weights,
            # A line of the training data is a sentence, whatever it contains.
            dataclasses.replace(self.search, sentences="keep"),
            request,
            ensemble=tuple(str(run.folder) for run in self.others),
        )

    @functools.cached_property
    def model(self) -> str:
        """The fingerprint of the teacher."""
        return self.factory.fingerprint()

    @functools.cached_property
    def data(self) -> str:
        """A digest of the training split."""
        split = self.prepared.manifest["splits"]["train"]
        return digest(json.dumps(split, sort_keys=True).encode())

    @property
    def file_name(self) -> str:
        """Name of the file of sources, which differs between data."""
        return f"sources-{self.data[:16]}.txt"

    def remove(self, work: pathlib.Path) -> None:
        """Removes the files in the work folder, and the folder if empty."""
        with contextlib.suppress(OSError):
            remove_shards(work / f"{_TRANSLATIONS}.shards")
            for path in work.glob(f"sources-{'[0-9a-f]' * 16}.txt"):
                path.unlink()
            work.rmdir()

    def check(self):
        """Refuses arguments that don't fit together."""
        for run in (self.run, *self.others):
            run.check_weights(self.weights)
        check_same_tokens(self.run, self.others)
        theirs, ours = self.run.config.data, self.prepared.config
        for side in SIDES:
            key = f"{side}_language"
            languages = [getattr(config, key) for config in (theirs, ours)]
            if not same_language(*languages):
                raise InputError(
                    f"{self.run.folder}: its {side} language is {languages[0]},"
                    f" that of {self.prepared.path} is {languages[1]}. "
                    "Accepted: a teacher of the data's languages"
                )
        # Finds damaged tokenizers now rather than after hours.
        _ = self.prepared.source_tokenizer, self.prepared.target_tokenizer
        known = self.run.source_tokenizer.tags
        unknown = [tag for tag in ours.source_tags if tag not in known]
        if unknown:
            raise InputError(
                f"{self.run.folder}: has no tag {' '.join(unknown)}, which "
                f"{self.prepared.path} has. Accepted: a teacher of the data's "
                "tags"
            )
        both = self.run.source_tokenizer, self.run.target_tokenizer
        if ours.symbols and None in [side.first_symbol for side in both]:
            raise InputError(
                f"{self.run.folder}: has no symbols for markup, which "
                f"{self.prepared.path} has. Accepted: a teacher of data that "
                "was prepared with --markup symbols"
            )
        check_n_best(self.n_best, self.search, "the n-best")

    def describe(self) -> dict:
        """The manifest's description of the job."""
        others = [self._description(run) for run in self.others]
        return {
            "teacher": {
                **self._description(self.run),
                "weights": self.weights,
                "fingerprint": self.model,
                **({"ensemble": others} if others else {}),
            },
            "data": {
                "folder": str(self.prepared.path),
                "fingerprint": self.prepared.fingerprint,
                "train_sha256": self.data,
            },
            "n_best": self.n_best,
            "mix": dict(zip(("original", "translated"), self.mix, strict=True)),
            "decoding": dataclasses.asdict(self.search),
        }

    def _description(self, run):
        return {
            "run": str(run.folder),
            "id": run.id,
            "sha256": checksum(run.weights_path(self.weights)),
        }

    def is_done(self, out: pathlib.Path, work: pathlib.Path) -> bool:
        """True if a process was killed after it had written `out`."""
        if not (work.is_dir() and (out / MANIFEST).is_file()):
            return False
        described = PreparedData.load(out).manifest.get(DISTILLED)
        own = json.loads(json.dumps(self.describe()))
        return isinstance(described, dict) and described | own == described


def _open(job, work) -> ShardFolder:
    """Opens or creates the folder of the translations."""
    sources = work / job.file_name
    # Written again, as an existing file may be damaged. The job is resumed if
    # the content is the same.
    write_sources(job.prepared, sources)
    return open_folder(
        BulkJob(
            str(sources),
            None,
            str(work / _TRANSLATIONS),
            min(-(-job.sources // job.window), _MOST_SHARDS),
            job.search.batch_size,
            job.window,
            job.model,
            {
                **dataclasses.asdict(job.search),
                "data": job.data,
                "n_best": job.n_best,
                "threads": job.threads,
                "version": __version__,
            },
        )
    )


def _translate(job, folder, workers, retries, progress, tell, load):
    """Translates the remaining sources."""
    total, done = job.sources, folder.finished_lines()
    if done:
        tell(f"{done} of {total} sentences were translated already")
    progress("translating", done, total)
    count = choose_workers(workers, total - done, job.search.batch_size)
    numbers = range(len(folder.shards))
    with LocalAttempt(
        folder,
        lambda: open_translator(job.factory, count, job.threads, load),
        _format,
        lambda line: None,
        lambda done: progress("translating", done, total),
    ) as attempt:
        end = functools.partial(folder.discard_damaged, numbers)
        finish(folder, numbers, attempt, retries, tell, end)


def _write(job, folder, out, progress):
    """Writes the distilled data."""
    prepared = job.prepared
    distilled = DistilledData(
        prepared,
        functools.partial(_translations, folder),
        job.n_best,
        job.mix,
        progress,
    )
    with new_folder(out) as temporary:
        parts = distilled.write(temporary)
        described = job.describe()
        described["translations"] = {
            "sentences": job.sources,
            "sha256": folder.checksum(),
        }
        write_json(
            temporary / MANIFEST, distilled_manifest(prepared, parts, described)
        )


def _format(translation: Translation, number: int) -> str:
    """A source's translations as they are stored, the best first.

    An empty list if the source was truncated, else without unfinished ones.
    """
    texts = [
        hypothesis.text
        for hypothesis in translation.hypotheses
        if hypothesis.finished is not False and not translation.truncated
    ]
    return json.dumps(texts, ensure_ascii=False) + "\n"


def _translations(folder, begin, end) -> list[list[str]]:
    """The stored translations of the sources from one index to another."""
    translations = []
    for shard in folder.shards:
        first, last = shard.line, shard.line + shard.lines
        if first >= end or last <= begin:
            continue
        lines = folder.shard_path(shard.number).read_text("utf-8").split("\n")
        texts = [json.loads(line) for line in lines[:-1]]
        translations += texts[max(0, begin - first) : end - first]
    return translations
