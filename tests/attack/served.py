"""A server under attack: a process, its log read, its memory watched."""

import collections
import pathlib
import re
import signal
import threading
import time

import grpc
import pytest

from tests.cli.conftest import start
from tests.serving.asking import ONE, PREDICT, ask, free_ports

_LINES = 50  # of the log's end, for a message


class Served:
    """`keras-transformer serve` on free ports of this machine.

    Args:
        options: of the command.
        reading: whether its log is read; see `read`.
        ports: of REST and of gRPC; any that are free if omitted.
        limits: of `tests.cli.conftest.start`.

    Attributes:
        rest_port, port: of REST and of gRPC.
        process: `subprocess.Popen`.
        log: its last lines.
    """

    def __init__(self, *options, reading: bool = True, ports=(), **limits):
        self.rest_port, self.port = ports or free_ports(2)
        self._bugs = []
        self.log = collections.deque(maxlen=_LINES)
        self._read = threading.Event()
        self._started = threading.Event()
        self.process = start(
            *("serve", "--engine", "embedded", *options),
            *("--rest_api_port", self.rest_port, "--port", self.port),
            **limits,
        )
        self._read.set()
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()
        if not self._started.wait(120):
            self.process.kill()
            pytest.fail(f"not started: {list(self.log)}")
        if not reading:
            self._read.clear()

    def _follow(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n")[:400])
            if "Traceback" in line:
                self._bugs.append(line)
            if line.startswith("gRPC on"):
                self._started.set()
            self._read.wait()
        self._started.set()

    def read(self, reading: bool):
        """Whether somebody reads the server's log from now on."""
        self._read.set() if reading else self._read.clear()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.rest_port}"

    def channel(self) -> grpc.Channel:
        """A gRPC channel to it; not of those that share a connection."""
        return grpc.insecure_channel(
            f"127.0.0.1:{self.port}",
            options=[("grpc.use_local_subchannel_pool", 1)],
        )

    def memory(self, peak: bool = True) -> int | None:
        """MiB that the process has had at its peak, or has now."""
        name = "VmHWM" if peak else "VmRSS"
        path = pathlib.Path(f"/proc/{self.process.pid}/status")
        if not path.exists():
            return None
        return int(re.search(rf"{name}:\s+(\d+)", path.read_text())[1]) // 1024

    def check(self, seconds: float = 5.0):
        """Asserts that it lives, answers in time, and has logged no bug."""
        assert self.process.poll() is None, list(self.log)
        began = time.monotonic()
        answer = ask(self.host, PREDICT, ONE, timeout=seconds)
        assert (answer.status, answer.body) == (200, b'{"predictions": ["A"]}')
        assert time.monotonic() - began < seconds
        self.check_log()

    def check_log(self):
        """Asserts that it has logged no traceback since the last look."""
        bugs, self._bugs = self._bugs, []
        assert not bugs, "\n".join(self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._read.set()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(10)
            self.process.stdout.close()
            self.process.stderr.close()
