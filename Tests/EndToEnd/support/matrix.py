# The fault matrix: everything that can go wrong with a provider, in every dialect. A cell is one daemon's answer to one
# fresh name when its first choice, which has worked so far, fails in one way and its second, 100 ms away, works. As a
# program, all of it.

import concurrent.futures
import contextlib
import itertools
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import hostile
from certificates import Authority
from lab import KINDS, Lab
from paths import eventually
from programs import Daemon
from tls_server import Front
from wire import NOERROR, Datagrams, ask_all

# The working provider's address for every name; any other address in an answer or in the cache is wrong.
TRUTH = "192.0.2.99"
# The longest wait: the hedge is sent after 0.8 s at the latest, and a second is left for its answer.
PATIENCE = 1.8
# The limit of memory growth: malloc keeps pages after the first faults.
MOST_GROWTH = 4 << 20


@dataclass(frozen=True)
class Fault:
    """A fault of the lab, or of `turn(stand, switch)` at the port that leads to the lab."""

    # The kinds of failure that it may be counted as; "": not as a failure.
    counted: tuple
    lab: str = None
    value: object = None
    retry_after: str = None
    turn: object = None
    is_secure: bool = False
    # Whether the other provider overtakes it before it is known to have failed. Later background questions find that
    # out, when it is no longer preferred.
    is_silent: bool = False
    # The dialects in which this is no fault; below, its kinds of failure in dialects that differ.
    spares: object = lambda kind: False
    exceptions: dict = field(default_factory=dict)

    def counted_as(self, kind):
        return self.exceptions.get(kind, self.counted)


def _has_no_tls(kind):
    return not KINDS[kind].vendor


def _secure(counted, talk):
    """A fault in which another server has the port from the next handshake on."""
    return Fault(
        (counted,), is_secure=True, spares=_has_no_tls, turn=lambda stand, switch: switch.turn(talk(stand)))


# A status may also mean a refused key or time.
REFUSED = ("status", "account")
# The dialects of Tencent, in which an empty reply is valid.
SAYS_NOTHING = {kind: ("",) for kind in KINDS if kind.startswith("dnspod")}

FAULTS = {
    "refused": Fault(("refused",), turn=lambda stand, switch: switch.shut()),
    "syn-drop": Fault(("unacknowledged",), is_silent=True, turn=lambda stand, switch: switch.fill()),
    "tls-alert": _secure("tls", lambda stand: hostile.alert),
    "expired": _secure("tls", lambda stand: hostile.presenting(stand.files(days=-1))),
    "wrong-certificate": _secure("tls", lambda stand: hostile.presenting(stand.files("other.test"))),
    "slow-first-byte": Fault(("timeout",), "delay", 10_000, is_silent=True),
    "stall": Fault(("timeout",), "stall", is_silent=True),
    "early-end": Fault(("reset",), "early"),
    "reset": Fault(("reset",), "reset"),
    "403": Fault(REFUSED, "status", 403),
    "429": Fault(("throttled",), "status", 429),
    "429-retry-after": Fault(("throttled",), "status", 429, "7"),
    "500": Fault(("status",), "status", 500),
    "302": Fault(("redirected",), "redirect"),
    # If an empty reply is proof, it is the answer.
    "valid-but-empty": Fault(("",), "nothing", spares=lambda kind: KINDS[kind].says_missing),
    "empty-body": Fault(("garbage",), "empty", exceptions=SAYS_NOTHING),
    "garbage": Fault(("garbage",), "garbage"),
    # Baidu's replies leave out names without addresses.
    "wrong-name": Fault(
        ("garbage",), "wrong-name", spares=lambda kind: not KINDS[kind].repeats_name, exceptions={"baidu": ("",)}),
    "huge-body": Fault(("garbage",), "huge"),
    "gzip-bomb": Fault(("garbage",), "gzip-bomb"),
    "truncated-gzip": Fault(("garbage",), "truncated-gzip"),
    "endless-chunks": Fault(("garbage",), "endless-chunks"),
    "h2-goaway": _secure("reset", lambda stand: hostile.http2(stand.files(), hostile.going_away)),
    "h2-reset": _secure("reset", lambda stand: hostile.http2(stand.files(), hostile.reset)),
    "h2-reset-in-body": _secure("reset", lambda stand: hostile.http2(stand.files(), hostile.reset_in_body)),
}


@dataclass
class Cell:
    kind: str
    fault: str
    seconds: float = 0.0
    counted: dict = field(default_factory=dict)
    # The problems of the cell.
    problems: tuple = ()
    is_spared: bool = False

    @property
    def text(self):
        if self.is_spared:
            return "-"
        kinds = "+".join(sorted(self.counted)) or "not counted"
        return f"{self.seconds * 1000:.0f} ms {kinds}" + (" !" if self.problems else "")


class Stand(contextlib.ExitStack):
    """One daemon for all faults of one dialect, with the servers that they need."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="e2e-matrix-")))
        folder.chmod(0o755)
        self.authority = Authority(folder)
        self.lab = self._run(Lab())
        # The first fault that needs the front starts it.
        self.front = None
        self.good = self.lab.provider("json", "good", idle="1s")
        self.lab.fault("delay", provider="good", value=100)
        self.daemon = self._run(Daemon([self.good]))
        # The warm-up lets everything grow that grows with use, before the first measurement.
        ask_all(self.daemon, [(f"warm-{number}.any.lab.example", "A") for number in range(100)])
        self.before = self._footprint()

    def _run(self, program):
        self.callback(program.close)
        return program.up()

    def files(self, name=None, days=2):
        """A certificate for this name, or for the vendor's."""
        return self.authority.certificate(name or KINDS[self.kind].vendor, days=days)

    def _ask(self, name):
        """The reply and the seconds until it came."""
        with Datagrams(self.daemon.address) as client:
            began = time.monotonic()
            reply = client.ask(name, "A")
            return reply, time.monotonic() - began

    def cell(self, name):
        fault = FAULTS[name]
        if fault.spares(self.kind):
            return Cell(self.kind, name, is_spared=True)
        with contextlib.ExitStack() as own:
            bad, switch = self._first_choice(fault, name, own)
            if fault.lab:
                self.lab.fault(fault.lab, provider=bad, value=fault.value, retry_after=fault.retry_after)
            else:
                fault.turn(self, switch)
            owner = f"{name}.{self.kind}.any.lab.example"
            reply, seconds = self._ask(owner)
            cell = Cell(self.kind, name, seconds)
            if fault.is_silent:
                cell.seconds = max(cell.seconds, self._ask_until_counted(bad, owner))
            expected = fault.counted_as(self.kind)
            cell.counted = self._counted(bad, expected)
            cell.problems = tuple(self._problems(cell, reply, owner, expected))
            self._use([self.good])
            return cell

    def _first_choice(self, fault, name, own):
        """The name of a working provider that is asked first, and the switch of its port, if the fault needs one. Each
        fault gets a new provider, because no failure counts against it yet. If the first try over a new connection is
        so slow that the other provider is preferred, the next attempt takes another one."""
        switch = None if fault.lab else self._switch(fault, own)
        for attempt in range(10):
            provider = self._provider(fault, f"bad-{name}-{attempt}", switch)
            self._use([provider, self.good])
            if self._is_first(provider["name"]):
                return provider["name"], switch
        raise AssertionError(f"{self.kind}: another provider is preferred before {name}")

    def _switch(self, fault, own):
        if fault.is_secure and self.front is None:
            self.front = self._run(Front(self.lab, self.authority, [self.kind]))
        port = self.front.ports[self.kind] if fault.is_secure else int(self.lab.http.split(":")[1])
        switch = hostile.Switch(("127.0.0.1", port))
        own.callback(switch.close)
        return switch

    def _provider(self, fault, name, switch):
        if fault.is_secure:
            trusted = {"ca-file": str(self.authority.ca_file)}
            return self.lab.secure_provider(self.kind, switch.port, name, idle="1s", **trusted)
        settings = self.lab.provider(self.kind, name, idle="1s")
        if switch:
            settings["url"] = settings["url"].replace(self.lab.http, f"127.0.0.1:{switch.port}")
        return settings

    def _is_first(self, name):
        """Whether it alone is asked for one of the first questions."""
        for number in range(5):
            before, asked = self._requests("good"), self._requests(name)
            self._ask(f"first-{number}.{name}.any.lab.example")
            if self._requests(name) > asked and self._requests("good") == before:
                return True
        return False

    def _requests(self, name):
        return self._stats(name)["requests"]

    def _stats(self, name):
        return next(entry for entry in self.daemon.stats()["providers"] if entry["name"] == name)

    def _use(self, providers):
        self.daemon.providers = providers
        self.daemon.config.write_text(self.daemon.settings())
        said = self.daemon.reload()
        if "old ones stay" in said:
            raise AssertionError(said)

    def _ask_until_counted(self, name, owner):
        """Asks until the failure is counted; returns the longest wait. Billed accounts are measured in the background
        every 10 s."""
        slowest = 0.0
        deadline = time.monotonic() + 25
        for number in itertools.count():
            if self.daemon.failures(name) or time.monotonic() > deadline:
                return slowest
            slowest = max(slowest, self._ask(f"n{number}.{owner}")[1])
            if number > 20:
                # A cache that grows with every question would hide a leak.
                time.sleep(0.1)

    def _counted(self, name, expected):
        """The failures by kind. They may be counted a moment after the answer."""
        deadline = time.monotonic() + (0.1 if "" in expected else 1)
        while True:
            counted = self.daemon.failures(name)
            if counted or time.monotonic() > deadline:
                return counted
            time.sleep(0.01)

    def _problems(self, cell, reply, owner, expected):
        if (reply.rcode, reply.addresses) != (NOERROR, {TRUTH}):
            yield f"answer {reply.rcode} {reply.addresses or ''}"
        if cell.seconds > PATIENCE:
            yield f"after {cell.seconds:.2f} s"
        if not (set(cell.counted) <= set(expected) and (cell.counted or "" in expected)):
            yield f"counted as {cell.counted}"
        kept = [line for line in self.daemon.ask_control("cache dump").splitlines() if f"; {owner} A " in line]
        if kept and not all(f" IN A {TRUTH} ;" in line for line in kept):
            yield f"kept {kept}"

    # MARK: what is left behind

    def _footprint(self):
        return self.daemon.stats()["process"]["open_fds"], self.daemon.own_bytes()

    def leftovers(self):
        """The problems of the whole row, after all connections had time to close."""
        descriptors, memory = self.before
        problems = []
        # Connections are idle for a second and then closed.
        if not _soon(lambda: self._stats("good")["connections"]["open"] == 0):
            problems.append(f"{self._stats('good')['connections']['open']} connections")
        if not _soon(lambda: self._footprint()[0] <= descriptors):
            problems.append(f"{self._footprint()[0]} descriptors, {descriptors} before")
        growth = self._footprint()[1] - memory
        if growth > MOST_GROWTH:
            problems.append(f"{growth >> 10} KiB more memory")
        return problems, growth


def _soon(condition):
    try:
        return eventually(condition, within=8)
    except AssertionError:
        return False


def run(kind, faults=tuple(FAULTS), tell=lambda cell: None):
    """Runs the faults of one dialect; returns the cells, and (problems, bytes) of the remaining resources."""
    with Stand(kind) as stand:
        cells = []
        for fault in faults:
            cells.append(stand.cell(fault))
            tell(cells[-1])
        return cells, stand.leftovers()


def _row(kind):
    cells, (problems, growth) = run(kind, tell=lambda cell: print(
        f"{cell.kind:16} {cell.fault:18} {cell.text} {', '.join(cell.problems)}", file=sys.stderr, flush=True))
    return kind, cells, problems, growth


def main(kinds):
    """Prints the table; returns the number of cells and rows with problems."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(_row, kinds))
    print("| fault |", " | ".join(kind for kind, *_ in rows), "|")
    print("|---" * (len(rows) + 1) + "|")
    for number, fault in enumerate(FAULTS):
        print(f"| {fault} |", " | ".join(cells[number].text for _, cells, *_ in rows), "|")
    print("| left behind |", " | ".join("; ".join(left) or f"{growth >> 10} KiB" for *_, left, growth in rows), "|")
    problems = [(cell.kind, cell.fault, text) for _, cells, *_ in rows for cell in cells for text in cell.problems]
    problems += [(kind, "left behind", problem) for kind, _, left, _ in rows for problem in left]
    for kind, fault, problem in problems:
        print(f"{kind}, {fault}: {problem}")
    return len(problems)


if __name__ == "__main__":
    unknown = [kind for kind in sys.argv[1:] if kind not in KINDS]
    if unknown:
        sys.exit(f"matrix: no dialect {', '.join(unknown)}; there are {', '.join(KINDS)}")
    sys.exit(1 if main(sys.argv[1:] or list(KINDS)) else 0)
