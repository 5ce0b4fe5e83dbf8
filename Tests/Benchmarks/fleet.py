# The fleet benchmark: daemons with one provider and one Redis, clients that ask all of them for Zipf-distributed names,
# and the provider's requests. Exit codes: 0 goals met, 1 one was missed, 3 usage.

import bisect
import itertools
import math
import random
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "EndToEnd" / "support"))

import paths  # noqa: E402 (found by the path above)
import wire  # noqa: E402
from fleets import Member, Redis  # noqa: E402
from lab import Lab  # noqa: E402
from programs import Daemon  # noqa: E402

PROVIDER_MILLISECONDS = 20


@dataclass(frozen=True)
class Size:
    members: int
    names: int
    # The rate of one member's client, per second.
    rate: int
    seconds: int
    ttls: tuple
    misses: int
    # Smaller numbers of members, which show the cost of one more.
    steps: tuple = ()
    starts: int = 1


FULL = Size(members=50, names=2000, rate=20, seconds=120, ttls=(5, 60), misses=5000, steps=(1, 10), starts=7)
SMOKE = Size(members=4, names=40, rate=20, seconds=6, ttls=(3, 6), misses=200, steps=(1,))
# The length of a step.
STEP_SECONDS = 30

# The goals.
MAX_PER_TTL, MAX_STAMPEDE, MAX_AFTER_KILL, MAX_LATER, MAX_P50, MAX_P99, MAX_FLUSH = 1.10, 1, 2, 10, 0.3, 2.0, 100
MIN_NEWCOMER = 0.95
MAX_LATER_START, MAX_MICROSECONDS = 1, 15


class Clients:
    """One client for each daemon. Replies are received while questions are sent."""

    def __init__(self, daemons):
        self.selector = selectors.DefaultSelector()
        self.sockets = []
        self.waiting, self.milliseconds, self.failed = {}, [], 0
        self.of_member = [[] for _ in daemons]
        self.ids = itertools.count()
        for daemon in daemons:
            client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            client.setblocking(False)
            client.connect(daemon.address)
            self.sockets.append(client)
            self.selector.register(client, selectors.EVENT_READ)

    def ask(self, member, name):
        id = next(self.ids) & 0xFFFF
        self.waiting[member, id] = time.perf_counter()
        try:
            self.sockets[member].send(wire.query(name, id=id))
        except ConnectionRefusedError:
            del self.waiting[member, id]

    def receive(self, seconds):
        for key, _ in self.selector.select(max(0, seconds)):
            member = self.sockets.index(key.fileobj)
            while True:
                try:
                    packet = key.fileobj.recv(4096)
                except (BlockingIOError, ConnectionRefusedError):
                    break
                began = self.waiting.pop((member, int.from_bytes(packet[:2], "big")), None)
                if began is not None:
                    self.milliseconds.append((time.perf_counter() - began) * 1000)
                    self.of_member[member].append(self.milliseconds[-1])
                    self.failed += packet[3] & 15 != 0

    def finish(self, within=5):
        end = time.monotonic() + within
        while self.waiting and time.monotonic() < end:
            self.receive(0.05)
        lost = len(self.waiting)
        for client in self.sockets:
            client.close()
        return lost


class Bench:
    def __init__(self, size):
        self.size, self.missed = size, False
        self.random = random.Random(22)
        self.programs = []
        self.lab = self.own(Lab()).up()
        self.ttls = [self.random.randint(*size.ttls) for _ in range(size.names)]
        for number, ttl in enumerate(self.ttls):
            self.lab.record(self.name(number), "A", "192.0.2.60", ttl=ttl)
        self.lab.fault("delay", provider="json", value=PROVIDER_MILLISECONDS)
        self.weights = list(itertools.accumulate(1 / rank for rank in range(1, size.names + 1)))
        self.schedule = self.plan(size.members, size.seconds)

    def plan(self, members, seconds):
        """The schedule: times, members and names."""
        rate = members * self.size.rate
        return [(turn / rate, self.random.randrange(members), self.any_name()) for turn in range(rate * seconds)]

    def any_name(self):
        return bisect.bisect_left(self.weights, self.random.random() * self.weights[-1])

    @staticmethod
    def name(number):
        return f"n{number}.lab.example"

    def own(self, program):
        self.programs.append(program)
        return program

    def redis(self):
        # Redis has a real-time priority, as on a machine of its own: here 50 daemons share two processors.
        return self.own(Redis()).up(prefix=("chrt", "--rr", "10"))

    def close(self):
        for program in reversed(self.programs):
            program.kill()
            program.close()

    def daemon(self, redis):
        providers = [self.lab.provider("json")]
        options = {"server": "threads = 1\n", "sections": "[probe]\nenabled = false\n"}
        if redis:
            daemon = Member(providers, redis.server, read_timeout=None, **options)
        else:
            daemon = Daemon(providers, **options)
        daemon.expected_exit = -9
        return self.own(daemon).up()

    def daemons(self, count, redis):
        daemons = []
        for number in range(count):
            progress(f"starting {number + 1} of {count} ...")
            daemons.append(self.daemon(redis))
        if redis:
            for daemon in daemons:
                paths.eventually(lambda: daemon.is_sharing, what="Redis is used")
        return daemons

    def lifetimes(self):
        """The number of TTLs from the first query for each name to the end, summed over all names."""
        first = {}
        for at, _, name in self.schedule:
            first.setdefault(name, at)
        return sum(math.ceil((self.size.seconds - at) / self.ttls[name]) for name, at in first.items())

    def play(self, daemons, schedule=None):
        clients, schedule = Clients(daemons), schedule or self.schedule
        began = time.monotonic()
        for at, member, name in schedule:
            while (left := began + at - time.monotonic()) > 0:
                clients.receive(left)
            clients.ask(member, self.name(name))
            if len(clients.milliseconds) % 1000 == 0:
                progress(f"{len(clients.milliseconds)} of {len(schedule)} answers ...")
        lost = clients.finish()
        return clients, lost

    def goal(self, text, value, limit, is_judged=True):
        verdict = "ok" if value <= limit else "MISSED"
        if not is_judged:
            verdict = "not judged"
        elif value > limit:
            self.missed = True
        print(f"{text}: {value:.2f} (wanted <= {limit:g}): {verdict}", flush=True)

    # MARK: parts

    def sharing(self, is_judged):
        lifetimes = self.lifetimes()
        print(f"{self.size.members} daemons, {self.size.names} names, {len(self.schedule)} queries in "
              f"{self.size.seconds} s; {lifetimes} TTLs of names pass\n")
        print(f"{'':10} {'requests':>9} {'per TTL':>8} {'p50 ms':>7} {'p99 ms':>7} {'failed':>7} {'lost':>5}")
        for label in ("alone", "fleet"):
            redis = self.redis() if label == "fleet" else None
            daemons = self.daemons(self.size.members, redis)
            before = self.lab.requests()["total"]
            counters = Counters(redis) if redis else None
            clients, lost = self.play(daemons)
            requests = self.lab.requests()["total"] - before
            row = counters.row(self.size.members, self.size.seconds, requests) if redis else None
            p50, p99 = percentile(clients.milliseconds, 50), percentile(clients.milliseconds, 99)
            print(f"{label:10} {requests:9} {requests / lifetimes:8.2f} {p50:7.2f} {p99:7.2f} {clients.failed:7} {lost:5}")
            if redis:
                self.report(redis, daemons)
                self.newcomer(redis, daemons[0], is_judged)
                self.flush(daemons, is_judged)
                self.stampede(redis, daemons, is_judged)
                self.goal("requests per name and TTL", requests / lifetimes, MAX_PER_TTL, is_judged)
            for daemon in daemons:
                daemon.kill()
            if redis:
                redis.kill()
                self.growth(row)

    def report(self, redis, daemons):
        sums = {}
        for daemon in daemons:
            for key, value in daemon.figures.items():
                if isinstance(value, int):
                    sums[key] = sums.get(key, 0) + value
        print("           " + ", ".join(f"{key} {value}" for key, value in sums.items()))
        seconds = redis.info("used_cpu_user") + redis.info("used_cpu_sys")
        print(f"           redis: {redis.info('total_commands_processed'):.0f} commands, {seconds:.1f} s CPU, "
              f"{redis.info('used_memory_peak') / 1e6:.1f} MB at most, "
              f"{(redis.info('total_net_input_bytes') + redis.info('total_net_output_bytes')) / 1e6:.1f} MB moved\n")

    def newcomer(self, redis, peer, is_judged):
        """Sends queries of the same kind to a new member and an old one at the same time. Answers without a request to
        the provider are quick."""
        [new] = self.daemons(1, redis)
        rate, seconds = 2 * self.size.rate, min(20, self.size.seconds)
        clients, _ = self.play(
            [peer, new], [(turn / rate, turn % 2, self.any_name()) for turn in range(rate * seconds)])
        new.kill()
        shares = []
        for took in clients.of_member:
            after = took[len(took) // 2:]
            shares.append(sum(each < PROVIDER_MILLISECONDS / 2 for each in after) / len(after))
        print(f"quick answers of a member {shares[0]:.3f}, of a new one after {seconds / 2:g} s {shares[1]:.3f}")
        lacking = 1 - shares[1] / shares[0]
        self.goal("share of quick answers that a new member lacks", lacking, 1 - MIN_NEWCOMER, is_judged)

    def first_answers(self, is_judged):
        """The latency of the first answer after the start, with and without a fleet, in turn."""
        redis, firsts = self.redis(), {True: [], False: []}
        for number in range(self.size.starts * 2):
            has_fleet = number % 2 == 0
            name = f"first{number}.lab.example"
            self.lab.record(name, "A", "192.0.2.62", ttl=600)
            daemon = self.daemon(redis if has_fleet else None)
            began = time.perf_counter()
            self.address(daemon, name)
            firsts[has_fleet].append((time.perf_counter() - began) * 1000)
            daemon.kill()
        with_fleet, alone = (statistics.median(firsts[key]) for key in (True, False))
        print(f"first answer after the start, median of {self.size.starts}: alone {alone:.2f} ms, "
              f"in a fleet {with_fleet:.2f} ms")
        self.goal("the first answer in a fleet over one alone, ms", with_fleet - alone, MAX_LATER_START, is_judged)

    def growth(self, last):
        """The cost of one more member. `last` is the row of the whole fleet."""
        rows = []
        for members in self.size.steps:
            redis = self.redis()
            daemons = self.daemons(members, redis)
            seconds = min(self.size.seconds, STEP_SECONDS)
            before, counters = self.lab.requests()["total"], Counters(redis)
            self.play(daemons, self.plan(members, seconds))
            rows.append(counters.row(members, seconds, self.lab.requests()["total"] - before))
            for daemon in daemons:
                daemon.kill()
            redis.kill()
        rows.append(last)
        print(f"\n{'daemons':>8} {'requests/s':>11} {'calls/s':>8} {'Redis CPU %':>12} {'KB/s':>7} {'MB':>5}")
        for row in rows:
            print(f"{row.members:8} {row.requests:11.1f} {row.calls:8.0f} {row.cpu * 100:12.2f} "
                  f"{row.bytes / 1000:7.0f} {row.memory / 1e6:5.1f}")
        most = sum(1 / ttl for ttl in self.ttls)
        calls, micros, size = last.calls / last.members, last.cpu / last.calls * 1e6, last.bytes / last.calls
        many = 10_000
        print(f"A fleet of n daemons like these: at most {most:.0f} requests/s (each name once per TTL), "
              f"{calls:.1f} n calls/s, {calls * micros / 1e6 * 100:.3f} n % of a processor ({micros:.0f} us a call), "
              f"{calls * size / 1000:.2f} n KB/s.\nn = {many:,}: {calls * many:,.0f} calls/s, "
              f"{calls * micros * many / 1e6:.1f} processors, {calls * size * many / 1e6:.0f} MB/s.")

    def flush(self, daemons, is_judged):
        name = "flushed.lab.example"
        self.lab.record(name, "A", "192.0.2.63", ttl=600)
        took = []
        for number in range(64, 74):
            for daemon in daemons:
                self.address(daemon, name)
            self.lab.record(name, "A", f"192.0.2.{number}", ttl=600)
            began = time.perf_counter()
            daemons[0].ask_control(f"flush --fleet {name}")
            left = list(daemons)
            while left:
                late = [daemon for daemon in left if self.address(daemon, name) != f"192.0.2.{number}"]
                took += [(time.perf_counter() - began) * 1000] * (len(left) - len(late))
                left = late
        self.goal("a flush of the fleet is everywhere, p99, ms", percentile(took, 99), MAX_FLUSH, is_judged)

    @staticmethod
    def address(daemon, name):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(paths.PATIENCE)
            client.connect(daemon.address)
            client.send(wire.query(name))
            return socket.inet_ntoa(client.recv(4096)[-4:])

    def stampede(self, redis, daemons, is_judged):
        self.lab.fault("delay", provider="json", value=PROVIDER_MILLISECONDS)
        for kills in (False, True):
            counts, later = [], []
            for number in range(10 if not kills else 1):
                name = f"stampede{number}{'k' if kills else ''}.lab.example"
                self.lab.record(name, "A", "192.0.2.61", ttl=60)
                clients = Clients(daemons)
                leases = [daemon.figures["leases"] for daemon in daemons] if kills else []
                began = time.perf_counter()
                for member in range(len(daemons)):
                    clients.ask(member, name)
                took = time.perf_counter() - began
                if kills:
                    time.sleep(0.008)
                    owner = next((each for each, before in zip(daemons, leases)
                                  if each.figures["leases"] > before), daemons[0])
                    owner.kill()
                clients.finish(within=3)
                counts.append(self.lab.asked(name))
                later.append(percentile(clients.milliseconds, 99) - PROVIDER_MILLISECONDS)
            what = "the owner of the lease is killed" if kills else f"{len(daemons)} daemons within {took * 1000:.0f} ms"
            self.goal(f"stampede, {what}, requests, worst of {len(counts)}", max(counts),
                      MAX_AFTER_KILL if kills else MAX_STAMPEDE, is_judged)
            if not kills:
                self.goal("stampede, p99 over the provider's p50, ms", statistics.median(later), MAX_LATER, is_judged)

    def hits_in_redis(self, is_judged):
        redis = self.redis()
        writer, reader = self.daemons(2, redis)
        names = [f"h{number}.lab.example" for number in range(self.size.misses)]
        self.lab.fault("none", provider="json")
        progress("writing names ...")
        for name in names:
            self.lab.record(name, "A", "192.0.2.62", ttl=600)
        queries = writer.directory / "queries"
        queries.write_text("".join(f"{name} A\n" for name in names))
        dnsperf(writer, queries, 1000)
        paths.eventually(lambda: len(redis.entries()) >= len(names), within=20, what="all names are in Redis")
        # The same measurement for a daemon that asks the provider.
        alone = self.daemons(1, None)[0]
        used = {}
        for daemon in (reader, alone):
            before = cpu_microseconds(daemon)
            took = dnsperf(daemon, queries, 1000)
            used[daemon] = (cpu_microseconds(daemon) - before) / len(names)
            if daemon is reader:
                from_redis = took
        before = cpu_microseconds(reader)
        hits = dnsperf(reader, queries, 1000)
        cached = (cpu_microseconds(reader) - before) / len(names)
        print(f"\n{len(names)} names of another member at 1,000 a second: {reader.figures['answers']} from Redis, "
              f"p50 {percentile(from_redis, 50):.2f} ms, p99 {percentile(from_redis, 99):.2f} ms; "
              f"then from the cache: p50 {percentile(hits, 50):.2f} ms\nCPU of each: {used[reader]:.0f} us from Redis, "
              f"{used[alone]:.0f} us from the provider, {cached:.0f} us from the cache")
        self.goal("a hit in Redis, p50 over one in the cache, ms",
                  percentile(from_redis, 50) - percentile(hits, 50), MAX_P50, is_judged)
        self.goal("a hit in Redis, p99, ms", percentile(from_redis, 99), MAX_P99, is_judged)
        self.goal("a hit in Redis, CPU over one in the cache, us", used[reader] - cached, MAX_MICROSECONDS, is_judged)


@dataclass(frozen=True)
class Row:
    """The figures of a fleet, per second; `cpu` in seconds, `memory` in bytes at most."""

    members: int
    requests: float
    calls: float
    cpu: float
    bytes: float
    memory: float


class Counters:
    """The counters of Redis from now on."""

    def __init__(self, redis):
        self.redis = redis
        self.before = self._read()

    def _read(self):
        read = self.redis.info
        calls = sum(float(re.search("calls=([0-9]+)", line).group(1))
                    for line in self.redis.command("info", "commandstats").decode().splitlines()
                    if line.startswith("cmdstat_evalsha:"))
        return (calls, read("used_cpu_user") + read("used_cpu_sys"),
                read("total_net_input_bytes") + read("total_net_output_bytes"))

    def row(self, members, seconds, requests):
        calls, cpu, size = (now - before for now, before in zip(self._read(), self.before))
        return Row(members, requests / seconds, calls / seconds, cpu / seconds, size / seconds,
                   self.redis.info("used_memory_peak"))


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))] if values else float("inf")


def dnsperf(daemon, queries, rate):
    """The milliseconds of each query."""
    done = subprocess.run(
        ["dnsperf", "-s", daemon.host, "-p", str(daemon.port), "-d", str(queries), "-Q", str(rate), "-n", "1", "-v",
         "-T", "1", "-c", "1"], capture_output=True, text=True, timeout=120, check=True)
    return [float(line.split()[-1]) * 1000 for line in done.stdout.splitlines() if line.startswith("> NOERROR")]


def cpu_microseconds(daemon):
    """The processor time of all its threads."""
    tasks = Path(f"/proc/{daemon.process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1000


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main(arguments):
    if arguments not in ([], ["--smoke"]):
        print("usage: fleet.py [--smoke]", file=sys.stderr)
        return 3
    is_smoke = bool(arguments)
    bench = Bench(SMOKE if is_smoke else FULL)
    try:
        bench.sharing(not is_smoke)
        bench.hits_in_redis(not is_smoke)
        bench.first_answers(not is_smoke)
    finally:
        bench.close()
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
