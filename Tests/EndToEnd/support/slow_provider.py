# A provider for DNS over HTTPS that never answers some names, is late with others, and answers some only over a second
# connection; all have one address. It speaks HTTP/1.1 and keeps connections open. Run as a program, it prints its port,
# and shows its counts at /counts.

import asyncio
import base64
import json
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).parent))

import fakes  # noqa: E402
import wire  # noqa: E402

# The seconds until an answer.
USUAL, LATE = 0.04, 2.0
ADDRESS = bytes((192, 0, 2, 7))
# The connection of the first request for each name.
first_connections = {}
counts = {"requests": 0, "connections": 0, "hung": 0, "late": 0}


def name_of(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1").lower())
        at += 1 + query[at]
    return ".".join(labels)


async def read_query(reader):
    """The DNS message of one request, or a path that is asked for instead."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, target = head.split(" ")[:2]
    fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    body = await reader.readexactly(int(fields.get("content-length", 0)))
    if method == "POST":
        return body
    text = parse_qs(urlsplit(target).query).get("dns", [""])[0]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)) if text else target


async def serve(reader, writer):
    counts["connections"] += 1
    try:
        while True:
            query = await read_query(reader)
            if isinstance(query, str):
                kind, body = "application/json", json.dumps(counts).encode()
            else:
                counts["requests"] += 1
                name = name_of(query)
                is_first = first_connections.setdefault(name, writer) is writer if "first" in name else False
                if "hung" in name or is_first:
                    counts["hung"] += 1
                    # The read ends when the client closes the connection.
                    await reader.read()
                    return
                counts["late"] += "late" in name
                await asyncio.sleep(LATE if "late" in name else USUAL)
                kind, body = "application/dns-message", fakes.reply(query, [(name, 1, 60, ADDRESS)])
            writer.write(
                f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print("port", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
