# The recovery benchmark: namespaces in which paths are cut and networks change, resolvers that meet the same at the
# same time, a client of each that asks for a new name every 100 ms, and the figures. Exit codes: 0 goals met, 1 one was
# missed, 3 usage.

import itertools
import os
import selectors
import shutil
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from recovery_peers import DNSCryptProxy, Ours, SmartDNS, Upstream

# The path that recovery_peers has set finds the module.
import paths
import wire
from networks import PROVIDER, SECOND_PROVIDER, Networks

PAUSE = 0.1  # between the questions of a client
PATIENCE = 5.0  # what a stub resolver waits
# The addresses in answers: of upstreams behind router a and b, and of their system resolvers.
UPSTREAM, SYSTEM = {"a": "192.0.2.91", "b": "192.0.2.92"}, {"a": "192.0.2.1", "b": "192.0.2.2"}

# The goals, in seconds, for the worst of the rounds.
MAX_WAIT, MAX_RETURN, MAX_FRESH = 1.0, 5.0, 1.0


@dataclass
class Asked:
    sent: float
    received: float = None
    # The address; None for a reply without one.
    address: str = None


class Clients(threading.Thread):
    """One client for each resolver. `asked` has their questions by the resolver's label."""

    def __init__(self, host, resolvers):
        super().__init__(daemon=True)
        self.asked = {resolver.label: [] for resolver in resolvers}
        self.ended = threading.Event()
        self.selector = selectors.DefaultSelector()
        for number, resolver in enumerate(resolvers):
            client = host.client(("127.0.0.1", resolver.port))
            self.selector.register(client.socket, selectors.EVENT_READ, (client, number, resolver.label))

    def run(self):
        due = time.monotonic()
        for number in itertools.count():
            if self.ended.is_set():
                break
            for key in list(self.selector.get_map().values()):
                client, place, label = key.data
                self.asked[label].append(Asked(time.monotonic()))
                self._try(lambda: client.send(
                    wire.query(f"n{number}-{place}.any.far.example", id=number & 0xFFFF, edns=wire.opt())))
            due += PAUSE
            while (left := due - time.monotonic()) > 0:
                self._receive(left)
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()

    def _receive(self, seconds):
        for key, _ in self.selector.select(seconds):
            client, _, label = key.data
            message = self._try(client.receive)
            if message is None:
                continue
            asked = self.asked[label][message.id]
            asked.received = time.monotonic()
            asked.address = next(iter(message.addresses), None) if message.rcode == 0 else None

    @staticmethod
    def _try(act):
        try:
            return act()
        except OSError:
            return None  # No listener: it counts as no reply.

    def finish(self):
        self.ended.set()
        self.join()


@dataclass
class Figures:
    """The figures of one resolver, a value for each round; infinite if it did not come before the end."""

    next_answer: list = field(default_factory=list)
    longest_gap: list = field(default_factory=list)
    # The longest wait of a client.
    longest_wait: list = field(default_factory=list)
    # The time until the upstream is used again, or until answers of the new network.
    turn: list = field(default_factory=list)
    failed: int = 0
    # The number of answers by the system resolver.
    substituted: int = 0
    asked: int = 0


def first(asked, since, addresses):
    """The seconds until the first reply to a later question with one of these addresses."""
    times = [each.received for each in asked if each.sent >= since and each.address in addresses]
    return min(times) - since if times else float("inf")


def longest_gap(asked, since, until, addresses):
    """The seconds without any good reply."""
    times = sorted(each.received for each in asked if each.address in addresses and since <= each.received <= until)
    marks = [since, *times, until]
    return max(later - earlier for earlier, later in zip(marks, marks[1:]))


def longest_wait(asked, since, until, addresses):
    waits = [each.received - each.sent if each.address in addresses else PATIENCE
             for each in asked if since <= each.sent < until]
    return min(PATIENCE, max(waits))


def failures(asked, since, until, addresses):
    those = [each for each in asked if since <= each.sent < until]
    good = [each for each in those if each.address in addresses and each.received - each.sent < PATIENCE]
    return len(those) - len(good), len(those)


class Bench:
    def __init__(self, rounds, seconds):
        self.rounds, self.seconds = rounds, seconds
        self.missed = False
        self.networks = Networks("ab")
        for letter, router in self.networks.routers.items():
            router.serve(self.networks)
            upstream = Upstream(
                router.internet, self.networks.authority, (PROVIDER, SECOND_PROVIDER), UPSTREAM[letter])
            self.networks.own(upstream).up()
        self.networks.host.join(self.networks["a"], "4")

    def peers(self, addresses):
        ports = itertools.count(5301)
        peers = [SmartDNS(self.networks, next(ports), addresses)]
        if DNSCryptProxy.is_installed():
            peers.append(DNSCryptProxy(self.networks, next(ports), addresses))
        return peers

    def ours(self, label, how, port, *groups):
        return Ours(label, how, self.networks, port, groups)

    def run(self, title, resolvers, play):
        """Runs a round. `play(number, settle)` returns the times (began, turned, ended), and the good replies before
        and after; `settle` waits."""
        progress(f"{title} ...")
        for resolver in resolvers:
            self.networks.own(resolver).launch()
        for resolver in resolvers:
            self.await_answer(resolver)
        figures = {resolver.label: Figures() for resolver in resolvers}
        clients = Clients(self.networks.host, resolvers)
        clients.start()
        try:
            for number in range(self.rounds):
                progress(f"{title}: round {number + 1} of {self.rounds} ...")
                time.sleep(self.seconds)
                moments = play(number)
                # The last questions may still be answered, as long as a client would wait.
                time.sleep(min(self.seconds, PATIENCE))
                for label, each in figures.items():
                    self.note(each, clients.asked[label], *moments)
        finally:
            clients.finish()
            for resolver in resolvers:
                resolver.close()
        progress("")
        self.report(title, resolvers, figures)
        return figures

    def await_answer(self, resolver):
        """A peer that is not set up correctly has no figures."""
        def answers():
            with self.networks.host.client(("127.0.0.1", resolver.port), timeout=0.5) as client:
                try:
                    return client.ask("ready.any.far.example").addresses
                except OSError:
                    return False
        paths.eventually(answers, what=f"{resolver.label} answers: {resolver.log[-500:]}")

    @staticmethod
    def note(figures, asked, began, turned, ended, good, turns_to):
        figures.next_answer.append(first(asked, began, good))
        figures.longest_gap.append(longest_gap(asked, began, ended, good))
        figures.longest_wait.append(longest_wait(asked, began, ended, good))
        if turned is not None:
            figures.turn.append(first(asked, turned, turns_to))
        failed, count = failures(asked, began, ended, good)
        figures.failed += failed
        figures.substituted += sum(
            each.address in SYSTEM.values() for each in asked if began <= each.sent < ended)
        figures.asked += count

    def report(self, title, resolvers, figures):
        print(f"\n{title}\nseconds, median and worst of {self.rounds}, and times the median of httpdnsd")
        headings = ("next answer", "longest gap", "longest wait", "turn")
        print(f"{'':16}" + "".join(f" {heading:>19}" for heading in headings) + f" {'failed':>8} {'system':>8}")
        base = figures[resolvers[0].label]
        for resolver in resolvers:
            each = figures[resolver.label]
            pairs = [(each.next_answer, base.next_answer), (each.longest_gap, base.longest_gap),
                     (each.longest_wait, base.longest_wait), (each.turn, base.turn)]
            columns = "".join(f" {shown(*pair):>19}" for pair in pairs)
            shares = "".join(f" {100 * count / max(1, each.asked):6.1f} %" for count in (each.failed, each.substituted))
            print(f"{resolver.label:16}{columns}{shares}")
        for resolver in resolvers:
            print(f"  {resolver.label}: {resolver.how}")

    def goal(self, text, values, limit, is_judged):
        worst = max(values)
        verdict = "ok" if worst <= limit else "MISSED"
        if not is_judged:
            verdict = "not judged"
        elif worst > limit:
            self.missed = True
        print(f"{text}, worst of {len(values)}: {worst:.2f} s (wanted <= {limit:g}): {verdict}")

    # MARK: what happens

    def one_of_two_is_cut(self):
        both = [PROVIDER, SECOND_PROVIDER]
        resolvers = [
            self.ours("httpdnsd", "one provider with two addresses, and the system resolver", 5300, both),
            self.ours("httpdnsd, two", "two providers, and the system resolver", 5299, *[[each] for each in both]),
            *self.peers(both)]

        def play(number):
            router, address = self.networks["a"], both[number % 2]
            router.cut(address)
            began = time.monotonic()
            time.sleep(self.seconds * 2)
            ended = time.monotonic()
            router.mend(address)
            return began, None, ended, {UPSTREAM["a"], SYSTEM["a"]}, set()
        return self.run("one of two upstreams is cut", resolvers, play)

    def the_only_one_is_cut(self):
        resolvers = [self.ours("httpdnsd", "one provider with one address, and the system resolver", 5300, [PROVIDER]),
                     *self.peers([PROVIDER])]

        def play(_):
            router = self.networks["a"]
            router.cut(PROVIDER)
            began = time.monotonic()
            time.sleep(self.seconds * 2)
            router.mend(PROVIDER)
            mended = time.monotonic()
            time.sleep(max(MAX_RETURN, self.seconds * 2))
            return began, mended, time.monotonic(), {UPSTREAM["a"], SYSTEM["a"]}, {UPSTREAM["a"]}
        return self.run("the only upstream is cut and comes back (turn: it is used again)", resolvers, play)

    def network_changes(self):
        resolvers = [self.ours("httpdnsd", "one provider with two addresses, and the network's system resolver", 5300,
                               [PROVIDER, SECOND_PROVIDER]), *self.peers([PROVIDER, SECOND_PROVIDER])]

        def play(number):
            to = "ba"[number % 2]
            has_route = self.networks.host.switch(self.networks[to], "4")
            time.sleep(self.seconds * 2)
            fresh = {UPSTREAM[to], SYSTEM[to]}
            return has_route, has_route, time.monotonic(), fresh, fresh
        return self.run("the network changes (turn: an answer of the new one)", resolvers, play)


def shown(values, base):
    if not values:
        return "-"
    def seconds(value):
        return "never" if value == float("inf") else f"{value:.2f}"
    median, ratio = statistics.median(values), statistics.median(base)
    times = "" if values is base or ratio == 0 or median == float("inf") else f" x{median / ratio:.1f}"
    return f"{seconds(median)} {seconds(max(values))}{times}"


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def versions():
    for command in (["smartdns", "-v"], ["dnscrypt-proxy", "-version"], [paths.binaries / "httpdnsd", "--version"]):
        if shutil.which(command[0]):
            said = subprocess.run(command, capture_output=True, text=True)
            name = "" if command[1] != "-version" else "dnscrypt-proxy "
            print(name + (said.stdout + said.stderr).strip().splitlines()[0])
        else:
            print(f"{command[0]} is not installed, and not measured")


def main(arguments):
    if arguments not in ([], ["--smoke"]):
        print("usage: recovery.py [--smoke]", file=sys.stderr)
        return 3
    if os.geteuid() != 0:
        print("bench: network namespaces need root", file=sys.stderr)
        return 1
    is_smoke = bool(arguments)
    bench = Bench(rounds=1, seconds=1.5) if is_smoke else Bench(rounds=6, seconds=3)
    try:
        versions()
        cut = bench.one_of_two_is_cut()
        alone = bench.the_only_one_is_cut()
        moved = bench.network_changes()
    finally:
        bench.networks.remove()
    print()
    for label, text in [("httpdnsd", "the provider has another address"), ("httpdnsd, two", "there is another provider")]:
        bench.goal(f"a path is cut, {text}, longest wait", cut[label].longest_wait, MAX_WAIT, not is_smoke)
    bench.goal("the only path is cut, longest wait", alone["httpdnsd"].longest_wait, MAX_WAIT, not is_smoke)
    bench.goal("the path is back, the provider is used", alone["httpdnsd"].turn, MAX_RETURN, not is_smoke)
    bench.goal("another network, first answer of it", moved["httpdnsd"].turn, MAX_FRESH, not is_smoke)
    return 1 if bench.missed else 0


sys.exit(main(sys.argv[1:]))
