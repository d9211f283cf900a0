"""What the terminal or the log shows of a training."""

from keras_transformer.cli.console import Closing, Progress, say


class TrainingProgress(Closing):
    """A `training.fit.Observer` that shows a bar for each epoch.

    Args:
        training: `TrainingConfig` of the run.
    """

    def __init__(self, training):
        self._training = training
        self._epochs = training.epochs
        self._progress = None
        self._total = None

    def start(self, model, batches):
        self._total = batches.batches_per_epoch
        say(
            f"{model.count_params():,} parameters, {self._total} steps an "
            f"epoch, {batches.padding_share():.1%} padding"
        )
        updates = self._total * self._epochs // self._training.accumulate_steps
        if updates < self._training.warmup_steps:
            say(
                f"{updates:,} updates end within the warm-up of "
                f"{self._training.warmup_steps:,}, at a small part of the "
                "learning rate. Try more epochs, smaller batches, or a smaller "
                "training.warmup_steps"
            )

    def vectors(self, side, found):
        say(f"{side} embeddings: vectors found for {found:.1%} of the tokens")

    def step(self, epoch, batch, logs):
        if self._progress is None:
            title = f"epoch {epoch}/{self._epochs}"
            self._progress = Progress(title, self._total, "steps")
        self._progress.update(batch, _short(logs))

    def epoch(self, epoch, logs):
        self.close()
        dev = "".join(
            f" {name.removeprefix('val_')}={logs[name]:.4g}"
            for name in logs
            if name.startswith("val_")
        )
        say(
            f"epoch {epoch}/{self._epochs} {_short(logs)} "
            f"{logs['seconds']:.0f} s" + (f"; dev{dev}" if dev else "")
        )

    def close(self):
        if self._progress is not None:
            self._progress.close()
            self._progress = None


def _short(logs):
    return (
        f"cross-entropy={logs['cross_entropy']:.4f} "
        f"accuracy={logs['token_accuracy']:.3f} "
        f"rate={logs['learning_rate']:.2e} "
        f"{logs['tokens_per_second']:.0f} target tokens/s"
    )
