"""Mixed load at capacity, for an hour, on a server that nobody treats well.

    python -m tests.attack.mixed_load --minutes 60

Clients of REST and gRPC ask without a pause. Meanwhile versions come and go,
some of them damaged; clients send half of a request, or don't read their
answer; and who reads the server's log stops for a while, again and again. Every
answer is compared with what it has to be: the text in capitals, after the mark
of a version that was there. Refusals of a full server (429 and 503, and gRPC's
codes for them) are counted, all else is a fault. The server's memory is looked
at each second, and has to be flat after a sixth of the time, ten minutes of an
hour; a run of less than six minutes says nothing of it.
"""

import argparse
import collections
import itertools
import json
import pathlib
import random
import shutil
import statistics
import tempfile
import threading
import time

from keras_transformer.serving import (
    Backoff,
    Client,
    OverloadedError,
    UnavailableError,
)
from tests.attack.served import Served
from tests.fake_models import write_version
from tests.serving.asking import connect, post

NAME = "tests/attack/mixed_load.py"
MODEL = "toy"
# Seconds: between two versions, of a pause of who reads the log, and within
# which an answer has to come, on a machine that is full.
SWAP, PAUSE, LONGEST = 10.0, 30.0, 30.0
# Growth of the memory that counts as flat, and minutes from which on it is
# looked at: before, a server still takes what it needs.
FLAT, SETTLES = 0.05, 6


class Load:
    """What all threads of the load share.

    Attributes:
        counts: of answers by kind.
        faults: the first lines about what was wrong.
        worst: the longest wait for an answer, seconds.
        marks: of the versions that there have been.
    """

    def __init__(self, server: Served):
        self.server = server
        self.stop = threading.Event()
        self.counts = collections.Counter()
        self.faults = []
        self.worst = 0.0
        self.marks = set()
        self._lock = threading.Lock()

    def answered(self, kind: str, seconds: float):
        """Counts an answer."""
        with self._lock:
            self.counts[kind] += 1
            self.worst = max(self.worst, seconds)
        if seconds > LONGEST:
            self.fault(f"{kind} took {seconds:.1f} s")

    def fault(self, text: str):
        """Notes what must not be."""
        with self._lock:
            self.counts["faults"] += 1
            if len(self.faults) < 20:
                self.faults.append(text[:400])

    def is_right(self, texts, translations) -> bool:
        """Whether each is a text in capitals, after one version's mark."""
        return any(
            translations == [mark + text.upper() for text in texts]
            for mark in list(self.marks)
        )

    def run(self, work):
        """Calls `work(chance)` again and again, until it is over."""
        chance = random.Random(threading.get_ident())
        while not self.stop.is_set():
            try:
                work(chance)
            except Exception as error:
                self.fault(f"{work.__name__}: {type(error).__name__}: {error}")
                self.stop.wait(0.1)


def texts_of(chance):
    """Some texts, mostly one."""
    words = ("tea", "station", "where", "狗", "")
    count = chance.choice([1, 1, 1, 2, 8, 64])
    return [
        " ".join(chance.choices(words, k=chance.randint(0, 12)))
        for _ in range(count)
    ]


def client(load: Load, url: str):
    """Asks over REST or gRPC, and never twice."""
    scheme = url.partition(":")[0]
    options = {
        "batch_size": 64,
        "timeout": LONGEST,
        "backoff": Backoff(0, 0, 0),
    }
    with Client(url, MODEL, **options) as one:

        def ask(chance):
            texts = texts_of(chance)
            began = time.monotonic()
            try:
                found = one.predict({"text": texts})["translation"]
            except (OverloadedError, UnavailableError) as error:
                if scheme == "http" and error.status is None:
                    raise  # There was no answer.
                load.answered("refused", time.monotonic() - began)
                return
            load.answered(scheme, time.monotonic() - began)
            if not load.is_right(texts, found):
                load.fault(f"{scheme}: wrong for {texts}: {found}")

        load.run(ask)


def slow_client(load: Load):
    """Sends half of a request, or doesn't read its answer, and goes."""

    def slow(chance):
        sent = post(json.dumps({"instances": ["tea"] * 500}).encode())
        head = sent.index(b"{")
        with connect(load.server) as one:
            one.sendall(sent[: chance.choice([9, head, None])])
            load.counts["slow clients"] += 1
            load.stop.wait(chance.uniform(0, 15))

    load.run(slow)


def swap_versions(load: Load, base: pathlib.Path, spare: pathlib.Path):
    """Publishes versions, every third of them damaged, and removes old ones."""
    good = 1
    for number in itertools.count(2):
        if load.stop.wait(SWAP):
            return
        folder = spare / str(number)
        if number % 3 == 0:
            shutil.copytree(base / str(good), folder)
            graph = folder / "saved_model.pb"
            graph.write_bytes(graph.read_bytes()[:-100])
            load.counts["damaged versions"] += 1
            folder.rename(base / str(number))
            if load.stop.wait(SWAP):
                return
            shutil.rmtree(base / str(number))
            continue
        write_version(spare, number, mark=f"{number} ")
        load.marks.add(f"{number} ")
        folder.rename(base / str(number))
        load.counts["versions"] += 1
        # The one before goes when this one has surely been loaded.
        load.stop.wait(SWAP)
        shutil.rmtree(base / str(good))
        good = number


def pause_log(load: Load):
    """Stops reading the server's log for a while, again and again."""
    while not load.stop.wait(PAUSE):
        load.server.read(False)
        load.counts["pauses of the log's reader"] += 1
        load.stop.wait(PAUSE)
        load.server.read(True)


def measure(minutes: float, clients: int) -> dict:
    """Runs the load; the report."""
    with tempfile.TemporaryDirectory() as scratch:
        base, spare = (pathlib.Path(scratch) / n for n in (MODEL, "spare"))
        base.mkdir()
        spare.mkdir()
        write_version(base, 1, mark="1 ")
        options = ("--model_base_path", base, "--enable_batching")
        with Served(*options) as server:
            load = Load(server)
            load.marks.add("1 ")
            memory = _run(load, minutes, clients, base, spare)
            alive = server.process.poll() is None
            server.check_log()
    if not alive:
        load.fault("the server has ended")
    begin, end = _settled(memory)
    if minutes >= SETTLES and end > (1 + FLAT) * begin:
        load.fault(f"memory grew from {begin} to {end} MiB")
    return {
        "minutes": minutes,
        "counts": dict(load.counts),
        "worst": round(load.worst, 2),
        "memory": [begin, end],
        "faults": load.faults,
    }


def _run(load, minutes, clients, base, spare):
    """Runs all threads for so long; the memory, each second."""
    rest, rpc = load.server.host, f"127.0.0.1:{load.server.port}"
    work = [(client, f"http://{rest}"), (client, f"grpc://{rpc}")] * clients
    work += [(slow_client,)] * 4
    work += [(swap_versions, base, spare), (pause_log,)]
    threads = [
        threading.Thread(target=target, args=(load, *arguments))
        for target, *arguments in work
    ]
    for thread in threads:
        thread.start()
    memory = []
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end and load.server.process.poll() is None:
        memory.append(load.server.memory(peak=False))
        time.sleep(1)
    load.stop.set()
    for thread in threads:
        thread.join(2 * LONGEST)
    return memory


def _settled(memory):
    """MiB after a sixth of the time, and at its end: medians of a tenth."""
    width = max(1, len(memory) // 10)
    begin = len(memory) // 6
    return [
        round(statistics.median(part))
        for part in (memory[begin : begin + width], memory[-width:])
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog=NAME,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--minutes", type=float, default=60.0)
    add("--clients", type=int, default=8, help="of REST and gRPC, each")
    options = parser.parse_args()
    report = measure(options.minutes, options.clients)
    print(json.dumps(report, indent=2))
    return bool(report["faults"])


if __name__ == "__main__":
    raise SystemExit(main())
