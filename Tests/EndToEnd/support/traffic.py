# Clients that ask without pause, in a process of their own, so that a pause of the tests does not look like one of the
# daemon. The program's arguments are a server's address, a rate per second, a seed, a file for the results, and names.
# It asks for A of random names until SIGTERM, waits for the questions in flight, and ends.

import random
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import wire
from programs import Program

# The time-out of a stub resolver by resolv.conf(5).
PATIENCE = 5.0


@dataclass(frozen=True)
class Asked:
    """A question and its result, with times by time.monotonic(), which all processes share."""

    sent: float
    latency: float
    # The response code; None if no reply came in time.
    rcode: int
    address: str
    ttl: int
    name: str

    @property
    def received(self):
        return self.sent + self.latency


def percentile(values, share):
    """The percentile by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Traffic(Program):
    """Clients on the host that ask port 53 of its loopback."""

    def __init__(self, host, names, rate=200, seed=1):
        super().__init__("traffic")
        self.host = host
        self.arguments = ["127.0.0.1", rate, seed, self.directory / "asked", *names]

    def up(self):
        self.start(sys.executable, Path(__file__).resolve(), *self.arguments, prefix=self.host.prefix)
        self.wait_for("^asking$")
        return self

    def asked(self, since=0.0):
        """The known results of the questions that were sent since then, in the order of their replies."""
        # The file comes with the first reply.
        path = self.directory / "asked"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [each for each in map(_read, lines) if each.sent >= since]

    def finish(self):
        """Ends the clients; returns the results of all questions."""
        self.signal(signal.SIGTERM)
        self.process.wait(2 * PATIENCE)
        if self.process.returncode != 0:
            raise AssertionError(f"the clients ended with {self.process.returncode}:\n{self.log}")
        return self.asked()


def _read(line):
    sent, latency, rcode, address, ttl, name = line.split(" ")
    return Asked(float(sent), float(latency), int(rcode) if rcode != "-" else None, address, int(ttl), name)


def main(address, rate, seed, file, *names):
    pick = random.Random(int(seed))
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    client.connect((address, 53))
    client.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(client, selectors.EVENT_READ)
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    under_way = {}
    number, pause = 0, 1 / float(rate)
    print("asking", flush=True)
    with open(file, "w", buffering=1) as log:
        due = time.monotonic()
        while not ended or under_way:
            now = time.monotonic()
            if not ended and now >= due:
                number = (number + 1) & 0xFFFF
                name = pick.choice(names)
                under_way[number] = (time.monotonic(), name)
                client.send(wire.query(name, id=number, edns=wire.opt()))
                due += pause
            # The oldest question is the first one in the dictionary.
            while under_way and now - next(iter(under_way.values()))[0] > PATIENCE:
                sent, name = under_way.pop(next(iter(under_way)))
                print(sent, PATIENCE, "-", "-", 0, name, file=log)
            wait = due - time.monotonic() if not ended else 0.1
            for _ in selector.select(max(wait, 0)):
                packet = client.recv(4096)
                came = time.monotonic()
                message = wire.Message(packet)
                if message.id not in under_way:
                    continue
                sent, name = under_way.pop(message.id)
                addresses = sorted(message.addresses)
                ttl = message.answers[0][3] if message.answers else 0
                print(sent, came - sent, message.rcode, addresses[0] if addresses else "-", ttl, name, file=log)


if __name__ == "__main__":
    main(*sys.argv[1:])
