"""Open-loop load: requests at random moments, however late the answers are.

A latency counts from the moment at which the request was to be sent, so that
a server that is late isn't asked less.
"""

import asyncio
import json
import random
import time

_TIMEOUT = 60


def poisson_load(host: str, path: str, texts, rate, seconds, seed=0) -> dict:
    """Sends requests of a sentence each over REST.

    Args:
        host: `host:port`.
        path: of predict.
        texts: sentences to draw from.
        rate: requests a second.
        seconds: how long.
        seed: of moments and sentences.

    Returns:
        `latencies`, seconds, in the order of the moments; `failed`, how many
        weren't answered with 200; `late`, the 99th percentile of how much
        later than planned a request was sent, seconds.
    """
    draw = random.Random(seed)
    plan, moment = [], 0.0
    while (moment := moment + draw.expovariate(rate)) < seconds:
        body = json.dumps({"instances": [draw.choice(texts)]}).encode()
        plan.append((moment, body))
    return asyncio.run(_send_all(host, path, plan))


async def _send_all(host, path, plan):
    connections, late = [], []
    began = time.perf_counter() + 0.1
    tasks = []
    for moment, body in plan:
        wait = began + moment - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        late.append(time.perf_counter() - began - moment)
        send = _send(host, path, body, began + moment, connections)
        tasks.append(asyncio.create_task(send))
    latencies = await asyncio.gather(*tasks)
    for _, writer in connections:
        writer.close()
    late.sort()
    answered = [latency for latency in latencies if latency is not None]
    return {
        "latencies": answered,
        "failed": len(latencies) - len(answered),
        "late": late[len(late) * 99 // 100] if late else 0.0,
    }


async def _send(host, path, body, planned, idle):
    """The latency of one request; None: it wasn't answered well."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            answer = await _ask(host, head.encode() + body, idle)
    except (OSError, TimeoutError, EOFError, ValueError):
        return None
    if not answer.startswith(b"HTTP/1.1 200 "):
        return None
    return time.perf_counter() - planned


async def _ask(host, message, idle):
    """The head of the answer, over an idle connection or a new one."""
    while idle:
        try:
            return await _exchange(idle.pop(), message, idle)
        except (ConnectionError, asyncio.IncompleteReadError):
            # A server closes what was idle for long.
            continue
    name, _, port = host.rpartition(":")
    connection = await asyncio.open_connection(name, int(port))
    return await _exchange(connection, message, idle)


async def _exchange(connection, message, idle):
    reader, writer = connection
    try:
        writer.write(message)
        answer = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(_header(answer, b"content-length")))
    except BaseException:
        writer.close()
        raise
    idle.append(connection)
    return answer


def _header(answer, name):
    for line in answer.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value
    raise ValueError(f"no {name.decode()}")
