"""Servers that answer as a test tells them to."""

import concurrent.futures
import contextlib
import http.server
import itertools
import json
import threading
import time

import grpc
from tensorflow_serving.apis import predict_pb2


def good(request):
    """An answer that repeats the texts."""
    return 200, {"outputs": {"text": request["inputs"]["text"]}}


def _following(steps):
    return itertools.chain(steps, itertools.repeat(steps[-1]))


class ScriptedRest:
    """HTTP, a step of the script for each request; the last one stays.

    Args:
        steps: each a function from the request's JSON to a status and a
            JSON value, and headers if there are any.

    Attributes:
        requests: what came, with the time of `time.monotonic`.
        connections: how many were made.
        url: of the server.
    """

    def __init__(self, *steps):
        self.requests, self.connections = [], 0
        lock = threading.Lock()
        following = _following(steps)
        script = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                with lock:
                    script.connections += 1

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                request = json.loads(self.rfile.read(length))
                with lock:
                    script.requests.append((request, time.monotonic()))
                    step = next(following)
                answer = step(request)
                if answer is None:
                    self.close_connection = True
                    return
                status, value, *headers = answer
                self.send_response(status)
                body = value
                if not isinstance(value, bytes):
                    body = json.dumps(value).encode()
                self.send_header("Content-Length", str(len(body)))
                for name, text in headers:
                    self.send_header(name, text)
                self.end_headers()
                # Who waits no longer has hung up.
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Handler
        )
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=[0.01], daemon=True
        )
        self._thread.start()

    def close(self):
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()


class ScriptedGrpc:
    """gRPC, likewise.

    Args:
        steps: each a status code and trailing metadata, or None for a good
            answer.

    Attributes:
        requests, url: see `ScriptedRest`.
    """

    def __init__(self, *steps):
        self.requests = []
        following = _following(steps)

        def predict(request, context):
            self.requests.append((request, time.monotonic()))
            step = next(following)
            if step is not None:
                code, *metadata = step
                context.set_trailing_metadata(metadata)
                context.abort(code, "as scripted")
            response = predict_pb2.PredictResponse()
            response.outputs["text"].CopyFrom(request.inputs["text"])
            return response

        handler = grpc.unary_unary_rpc_method_handler(
            predict,
            predict_pb2.PredictRequest.FromString,
            predict_pb2.PredictResponse.SerializeToString,
        )
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(
                    "tensorflow.serving.PredictionService", {"Predict": handler}
                )
            ]
        )
        port = self._server.add_insecure_port("127.0.0.1:0")
        self.url = f"grpc://127.0.0.1:{port}"
        self._server.start()

    def close(self):
        """Stops listening."""
        self._server.stop(0).wait()
