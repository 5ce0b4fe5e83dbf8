# The fleet benchmark with a peer: unbound with cachedb, whose instances share their cache by Redis. Usage:
# fleet_peers.py UNBOUND [--smoke]. Debian's unbound has no cachedb with Redis; build one from its source:
# ./configure --enable-cachedb --with-libhiredis. Both have the same number of instances, names, TTLs and queries, and an
# upstream that takes as long.

import heapq
import selectors
import signal
import socket
import statistics
import struct
import sys
import threading
import time

from fleet import Bench, Clients, PROVIDER_MILLISECONDS, Size, percentile, progress

from fleets import Redis
from paths import free_port
from programs import Nameserver

FULL = Size(members=10, names=2000, rate=50, seconds=60, ttls=(5, 60), misses=0)
SMOKE = Size(members=2, names=40, rate=20, seconds=5, ttls=(3, 6), misses=0)


class Authority:
    """An authority that answers A questions for the names of a benchmark over UDP, each after the provider's time."""

    def __init__(self, ttls):
        self.ttls, self.asked = ttls, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.ends = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        selector, due = selectors.DefaultSelector(), []
        selector.register(self.socket, selectors.EVENT_READ)
        while not self.ends:
            wait = max(0, due[0][0] - time.monotonic()) if due else 0.1
            if selector.select(wait):
                packet, client = self.socket.recvfrom(4096)
                heapq.heappush(due, (time.monotonic() + PROVIDER_MILLISECONDS / 1000, packet, client))
            while due and due[0][0] <= time.monotonic():
                _, packet, client = heapq.heappop(due)
                self.socket.sendto(self._reply(packet), client)

    def _reply(self, packet):
        label = packet[13:13 + packet[12]].decode().lower()
        self.asked.append(label)
        end = packet.index(0, 12) + 5
        ttl = self.ttls[int(label[1:])] if label[1:].isdigit() and int(label[1:]) < len(self.ttls) else 60
        is_address = packet[end - 4:end - 2] == b"\0\1"
        answer = b"\xc0\x0c" + struct.pack(">HHIH4B", 1, 1, ttl, 4, 192, 0, 2, 60) if is_address else b""
        return packet[:2] + struct.pack(">5H", 0x8180, 1, int(is_address), 0, 0) + packet[12:end] + answer

    def close(self):
        self.ends = True
        self.thread.join()
        self.socket.close()


class Unbound(Nameserver):
    def __init__(self, program, upstream, redis_port):
        super().__init__("unbound")
        self.program = program
        (self.directory / "unbound.conf").write_text(f"""
server:
    interface: {self.host}@{self.port}
    do-daemonize: no
    chroot: ""
    username: ""
    directory: "{self.directory}"
    pidfile: ""
    use-syslog: no
    num-threads: 1
    do-not-query-localhost: no
    prefetch: yes
    module-config: "cachedb iterator"
forward-zone:
    name: "."
    forward-addr: 127.0.0.1@{upstream}
cachedb:
    backend: "redis"
    redis-server-host: 127.0.0.1
    redis-server-port: {redis_port}
    redis-expire-records: yes
remote-control:
    control-enable: no
""")

    @property
    def address(self):
        return self.host, self.port

    def run(self):
        self.start(self.program, "-d", "-c", self.directory / "unbound.conf")
        return self


class Comparison(Bench):
    def redis(self):
        # The port is for unbound, which cannot use a UNIX socket.
        self.port = free_port()
        return self.own(Redis("--port", self.port)).up(prefix=("chrt", "--rr", "10"))

    def measure(self, label, daemons, asked, redis):
        """Measures the peer. `asked` returns the number of upstream requests, for all names or for one label."""
        before = asked(None)
        clients, lost = self.play(daemons)
        requests = asked(None) - before
        p50, p99 = percentile(clients.milliseconds, 50), percentile(clients.milliseconds, 99)
        stampedes = [self.stampede_of(daemons, asked, f"s{number}{label}") for number in range(5)]
        redis.signal(signal.SIGSTOP)
        clients = Clients(daemons[:1])
        for number in range(20):
            clients.ask(0, f"stopped{number}{label}.lab.example")
            end = time.monotonic() + 2
            while clients.waiting and time.monotonic() < end:
                clients.receive(0.01)
        unanswered = clients.finish(within=5)
        redis.signal(signal.SIGCONT)
        took = clients.milliseconds or [float("inf")]
        print(f"{label:9} {requests:9} {requests / self.lifetimes():8.2f} {p50:7.2f} {p99:7.2f} {lost:5} "
              f"{statistics.median(stampedes):9.0f} {statistics.median(took):13.1f} {max(took):8.1f} {unanswered:5}",
              flush=True)

    def stampede_of(self, daemons, asked, name):
        clients = Clients(daemons)
        for member in range(len(daemons)):
            clients.ask(member, f"{name}.lab.example")
        clients.finish(within=3)
        return asked(name)


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--smoke"]):
        print("usage: fleet_peers.py UNBOUND [--smoke]", file=sys.stderr)
        return 3
    bench = Comparison(SMOKE if arguments[1:] else FULL)
    authority = Authority(bench.ttls)
    try:
        for prefix in ("s", "stopped"):
            for number in range(20):
                bench.lab.record(f"{prefix}{number}httpdnsd.lab.example", "A", "192.0.2.61", ttl=60)
        print(f"{bench.size.members} instances each, {len(bench.schedule)} queries in {bench.size.seconds} s\n"
              f"{'':9} {'requests':>9} {'per TTL':>8} {'p50 ms':>7} {'p99 ms':>7} {'lost':>5} {'stampede':>9} "
              f"{'stopped: p50':>13} {'most':>8} {'lost':>5}")
        redis = bench.redis()
        daemons = bench.daemons(bench.size.members, redis)
        bench.measure("httpdnsd", daemons, lambda label: (
            bench.lab.asked(f"{label}.lab.example") if label else bench.lab.requests()["total"]), redis)
        for daemon in daemons:
            daemon.kill()
        redis = bench.redis()
        peers = []
        for number in range(bench.size.members):
            progress(f"starting {number + 1} ...")
            peers.append(bench.own(Unbound(arguments[0], authority.port, bench.port)).run().wait_until_it_answers())
        authority.asked.clear()
        bench.measure("unbound", peers, lambda label: (
            authority.asked.count(label) if label else len(authority.asked)), redis)
    finally:
        bench.close()
        authority.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
