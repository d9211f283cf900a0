"""How translating is spread over processes, and whether XLA compiles it."""

from keras_transformer.errors import InputError
from keras_transformer.machine import has_gpu, usable_cores

# Fewer batches than this aren't worth the start of workers.
_WORTH_WORKERS = 2


def add_speed_options(parser):
    parser.add_argument(
        "--jit",
        choices=("on", "off", "auto"),
        default="auto",
        help="compile the search with XLA, seconds for each shape, kept on "
        "disk. auto (default): on a GPU; on a processor only single "
        "sentences (--batch-size 1), once there were very many",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes that translate; 1: this one. Default: as many as "
        "there are cores, 1 for little text or with a GPU",
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        default=1,
        help="of each process (default: 1, the fastest with a worker a core)",
    )


def check_speed_options(arguments):
    """Refuses numbers that aren't.

    Raises:
        InputError: which, and what is accepted.
    """
    for option in ("workers", "threads"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise InputError(f"--{option} must be 1 or more. Received: {value}")


def choose_workers(arguments, sentences: int, batch_size: int) -> int:
    """How many processes are to translate; 1: the one that asks.

    Args:
        arguments: parsed, with the options of `add_speed_options`.
        sentences: in the first window.
        batch_size: sentences translated together.
    """
    if arguments.workers is not None:
        return arguments.workers
    batches = -(-sentences // batch_size)
    if batches < _WORTH_WORKERS or has_gpu():
        return 1
    return min(usable_cores(), batches)
