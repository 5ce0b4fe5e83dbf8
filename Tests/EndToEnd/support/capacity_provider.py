# A provider that answers every name after the time that the name says, over HTTP/1.1 or HTTP/2: `n7-150-500.example` in
# 150 to 500 ms, a name with `hang` never. Shares no code with the daemon. Run as a program, it prints its port. Its
# arguments: the dialect, the usual milliseconds, the most connections that it keeps, and for HTTP/2 the certificate, its
# key and the streams that it allows.

import asyncio
import json
import random
import re
import socket
import ssl
import struct
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).parent))

import fakes  # noqa: E402
import http2  # noqa: E402
import wire  # noqa: E402
from slow_provider import name_of, read_query  # noqa: E402

TEXT, ADDRESS = "192.0.2.7", bytes((192, 0, 2, 7))
SECONDS = re.compile(r"-(\d+)-(\d+)\.")
# The counts of the provider, and the schedule of its usual latency: pairs of a start in seconds and a latency.
counts = {"requests": 0, "open": 0, "most": 0, "refused": 0}
usual = [(0.0, 0.02)]
began = time.monotonic()


async def pause(name):
    found = SECONDS.search(name)
    if "hang" in name:
        await asyncio.Event().wait()
    if found:
        return await asyncio.sleep(random.uniform(int(found[1]), int(found[2])) / 1000)
    elapsed = time.monotonic() - began
    await asyncio.sleep([seconds for since, seconds in usual if since <= elapsed][-1])


def own_page(target):
    """The control page: returns the counts, or sets a new schedule that begins now, as /usual?0=0.012&5=0.3."""
    global began, usual
    fields = parse_qs(urlsplit(target).query)
    if target.startswith("/usual"):
        began, usual = time.monotonic(), sorted((float(since), float(value[0])) for since, value in fields.items())
    return "application/json", json.dumps(counts).encode()


async def answer(query):
    """Type and body of the reply to a DNS message, or to the target of a GET request of `json` or `dnspod`."""
    if isinstance(query, bytes):
        name = name_of(query)
        await pause(name)
        return "application/dns-message", fakes.reply(query, [(name, 1, 60, ADDRESS)])
    fields = parse_qs(urlsplit(query).query)
    if "dn" in fields:
        await pause(fields["dn"][0])
        return "text/html", f"{TEXT},60".encode()
    name, type = fields["name"][0], fields.get("type", ["A"])[0]
    await pause(name)
    answers = [{"name": name, "type": 1, "TTL": 60, "data": TEXT}] if type in ("A", "1") else []
    question = {"name": name, "type": 1 if answers else 28}
    body = {"Status": 0, "TC": False, "RD": True, "RA": True, "AD": False, "CD": False, "Question": [question]}
    return "application/json", json.dumps({**body, **({"Answer": answers} if answers else {})}).encode()


class Server:
    def __init__(self, most):
        self.most = most

    async def serve(self, reader, writer):
        if counts["open"] >= self.most:
            counts["refused"] += 1
            return writer.transport.abort()
        counts["open"] += 1
        counts["most"] = max(counts["most"], counts["open"])
        try:
            await self.talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            counts["open"] -= 1
            writer.close()

    async def talk(self, reader, writer):
        """HTTP/1.1: one request after the other. A client that goes ends the wait for a name that hangs."""
        while True:
            query = await read_query(reader)
            if isinstance(query, str) and query.startswith(("/counts", "/usual")):
                kind, body = own_page(query)
            else:
                counts["requests"] += 1
                replied = asyncio.ensure_future(answer(query))
                while not replied.done():
                    await asyncio.wait([replied], timeout=0.2)
                    if reader.at_eof() or reader.exception():
                        return replied.cancel()
                kind, body = replied.result()
            writer.write(
                f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()


class HTTP2Server(Server):
    def __init__(self, most, streams):
        super().__init__(most)
        self.streams = streams

    async def talk(self, reader, writer):
        await reader.readexactly(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        writer.write(http2.settings(max_streams=self.streams))
        bodies, tasks = {}, {}
        try:
            while True:
                head = await reader.readexactly(9)
                length, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
                stream = struct.unpack("!I", head[5:])[0] & 0x7FFFFFFF
                payload = await reader.readexactly(length)
                if kind == http2.SETTINGS and not flags & http2.ACK:
                    writer.write(http2.frame(http2.SETTINGS, http2.ACK))
                elif kind == http2.PING and not flags & http2.ACK:
                    writer.write(http2.frame(http2.PING, http2.ACK, 0, payload))
                elif kind == http2.RESET and stream in tasks:
                    tasks.pop(stream).cancel()
                elif kind == http2.DATA:
                    bodies[stream] = bodies.get(stream, b"") + payload
                    if length:
                        writer.write(http2.frame(http2.WINDOW, 0, 0, struct.pack("!I", length)))
                    if flags & http2.END_STREAM:
                        counts["requests"] += 1
                        tasks[stream] = asyncio.ensure_future(
                            self.reply(writer, tasks, stream, bodies.pop(stream)))
        finally:
            for task in tasks.values():
                task.cancel()

    @staticmethod
    async def reply(writer, tasks, stream, query):
        _, body = await answer(query)
        tasks.pop(stream, None)
        fields = http2.OK + http2.TYPE + http2.content_length(len(body))
        writer.write(http2.frame(http2.HEADERS, http2.END_HEADERS, stream, fields)
                     + http2.frame(http2.DATA, http2.END_STREAM, stream, body))


async def main(dialect, milliseconds, most, certificate=None, key=None, streams=100):
    global usual
    usual = [(0.0, int(milliseconds) / 1000)]
    server, context = Server(int(most)), None
    if certificate:
        server = HTTP2Server(int(most), int(streams))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2"])
        # The server for control pages has no TLS.
        control = await asyncio.start_server(Server(16).serve, "127.0.0.1", 0)
        print("control", control.sockets[0].getsockname()[1], flush=True)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=4096, ssl=context)
    print("port", listener.sockets[0].getsockname()[1], flush=True)
    await listener.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
