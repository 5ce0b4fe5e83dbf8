# The upgrade benchmark: a booted machine with httpdnsd as a service, which is restarted while clients ask over UDP or
# TCP, and the figures. Exit codes: 0 goals met, 1 one was missed, 3 usage.

import json
import random
import re
import sys
import threading
import time

# The path that upgrade.bash has set finds the modules.
import paths
from machines import PROGRAM_PACKAGES, UNBOOTABLE, Machine

RATE, NAMES, SECONDS, ROUNDS = 5000, 10_000, 12, 3
NEW = 100  # one query of so many is for a new name
RESTART_AT = 5  # seconds after the begin of the load
PERIODS = range(-3, 4)  # seconds before and after the restart of which the hit share is shown
# How much smaller the hit share of the first second may be: what chance makes of 5,000 queries.
MAX_LOST, MAX_SHARE_LOSS = 0, 0.01

SETTINGS = """
server.listen = ["127.0.0.1:53"]
system-resolver.servers = []
probe.enabled = false
[[provider]]
name = "instant"
dialect = "json"
url = "http://lab.example:{port}/resolve"
addresses = ["127.0.0.1"]
"""


class Bench:
    def __init__(self, rate, names, seconds):
        self.rate, self.names, self.seconds = rate, names, seconds
        machine = self.machine = Machine((*PROGRAM_PACKAGES, "dnsperf")).boot()
        for program, at in (("httpdnsd", "/usr/sbin"), ("httpdnsctl", "/usr/bin")):
            machine.copy(paths.binaries / program, f"{at}/{program}")
        machine.copy(paths.ROOT / ".build/bench/instant-upstream", "/opt/instant-upstream")
        for unit in ("httpdnsd.service", "httpdnsd-restore.service"):
            machine.copy(paths.ROOT / "etc/systemd" / unit, f"/etc/systemd/system/{unit}")
        machine.copy(paths.ROOT / "etc/sysusers.d/httpdnsd.conf", "/usr/lib/sysusers.d/httpdnsd.conf")
        machine.check("systemd-sysusers", "httpdnsd.conf")
        machine.check("systemctl", "daemon-reload")
        machine.check("systemd-run", "--unit=upstream", "--property=StandardOutput=file:/run/upstream",
                      "/opt/instant-upstream")
        port = paths.eventually(lambda: machine.read("/run/upstream").split()[1:], what="the upstream runs")[0].decode()
        machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS.format(port=port))
        machine.write("/opt/fill", "".join(f"name{number}.example A\n" for number in range(names)))
        machine.check("systemctl", "start", "httpdnsd")
        machine.check("dnsperf", "-s", "127.0.0.1", "-d", "/opt/fill", "-n", "1", "-Q", "5000")

    def queries(self, seed):
        """The lines of dnsperf's data file: most of them for the names in the cache, the others for a new name each."""
        chance = random.Random(seed)
        for number in range(self.rate * (self.seconds + 1)):
            is_new = number % NEW == 0
            yield f"new{seed}x{number}.example A\n" if is_new else f"name{chance.randrange(self.names)}.example A\n"

    def sample(self, began, samples, ended):
        """Appends time, hits and misses of the daemon every 0.1 s; the counts begin anew with each process."""
        while not ended.wait(0.1):
            said = self.machine.run("httpdnsctl", "stats", "--json")
            if said.returncode == 0:
                cache = json.loads(said.stdout)["cache"]
                samples.append((time.monotonic() - began, cache["hits"], cache["misses"]))

    def run(self, transport, seed):
        """Returns sent and lost queries, the longest latency and the duration of the restart in ms, and the hit shares
        by second from the restart on."""
        machine = self.machine
        machine.write("/opt/load", "".join(self.queries(seed)))
        load = machine.begin(
            "dnsperf", "-s", "127.0.0.1", "-d", "/opt/load", "-m", transport, "-c", "8", "-q", 2 * self.rate, "-Q",
            self.rate, "-l", self.seconds, "-t", "5")
        samples, ended = [], threading.Event()
        time.sleep(RESTART_AT - 4)
        began = time.monotonic()
        sampling = threading.Thread(target=self.sample, args=(began, samples, ended))
        sampling.start()
        time.sleep(4)
        restarted = time.monotonic()
        machine.check("systemctl", "restart", "httpdnsd")
        took = time.monotonic() - restarted
        said = load.communicate()[0]
        ended.set()
        sampling.join()
        sent, lost = (int(re.search(rf"Queries {word}: +(\d+)", said)[1]) for word in ("sent", "lost"))
        longest = float(re.search(r"Average Latency \(s\): .* max ([\d.]+)\)", said)[1])
        return sent, lost, longest * 1000, took * 1000, shares(samples, restarted - began)


def shares(samples, restarted):
    """The hit share of each second of PERIODS; that from 0 on is the first one of the new process."""
    change = next(place for place in range(1, len(samples)) if samples[place][1] < samples[place - 1][1])
    processes = (samples[:change], [(restarted, 0, 0), *samples[change:]])

    def counts(at):
        process = processes[1 if at >= 0 else 0]
        return [sample for sample in process if sample[0] <= restarted + at or sample is process[0]][-1][1:]

    result = {}
    for second in PERIODS:
        # The last second before the restart ends with the last sample of the former process.
        end = processes[0][-1][1:] if second == -1 else counts(second + 1)
        hits, misses = (late - early for early, late in zip(counts(second), end))
        result[second] = hits / max(1, hits + misses)
    return result


def main():
    if sys.argv[1:] not in ([], ["--smoke"]):
        print("usage: upgrade.py [--smoke]", file=sys.stderr)
        return 3
    is_smoke = len(sys.argv) > 1
    if is_smoke and UNBOOTABLE:
        print(f"upgrade: {UNBOOTABLE}; not run", file=sys.stderr)
        return 0
    bench = Bench(500, 500, 9) if is_smoke else Bench(RATE, NAMES, SECONDS)
    missed = False
    try:
        print(f"{bench.rate} queries per second for {bench.names} names; hit share by second, the restart at 0")
        print(f"{'':5} {'sent':>7} {'lost':>5} {'restart, ms':>12} {'longest, ms':>12} ",
              *(f"{second:>7}" for second in PERIODS))
        for place in range(2 if is_smoke else 2 * ROUNDS):
            transport = ("udp", "tcp")[place % 2]
            sent, lost, longest, took, share = bench.run(transport, place)
            print(f"{transport:5} {sent:7} {lost:5} {took:12.0f} {longest:12.0f} ",
                  *(f"{share[second]:7.4f}" for second in PERIODS), flush=True)
            missed |= lost > MAX_LOST or share[0] < share[-1] - MAX_SHARE_LOSS
    finally:
        bench.machine.close()
    return 1 if missed and not is_smoke else 0


if __name__ == "__main__":
    sys.exit(main())
