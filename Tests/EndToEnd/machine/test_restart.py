# Restarts of the service on a booted machine, without httpdnsd.socket: systemd holds the sockets between two processes
# of the daemon, and closes them when the service has ended.

import json
import re

import paths
from cases import Case
from machines import PROGRAM_PACKAGES, Machine, boots_machines
from paths import eventually

NAMES = 300
RATE, SECONDS = 500, 4

SETTINGS = """
[server]
listen = [{listen}]
[[provider]]
name = "lab"
dialect = "json"
url = "http://127.0.0.1:8080/p/lab/resolve"
"""
HOME, OTHER = "127.0.0.1", "127.0.0.2"

# Queries for a name without an entry in the cache would hide a loss: dnsperf repeats no query.
ZONE = "$ORIGIN lab.example.\n$TTL 3600\n@ SOA ns1 hostmaster 1 7200 900 1209600 30\n" + "".join(
    f"name{number} A 192.0.2.{number % 250 + 1}\n" for number in range(NAMES))


@boots_machines
class Restarts(Case):
    expected_seconds = 60
    needs_release = True

    @classmethod
    def setUpClass(cls):
        machine = cls.machine = cls.share(Machine((*PROGRAM_PACKAGES, "dnsperf"))).boot()
        for program, at in (("httpdnsd", "/usr/sbin"), ("httpdnsctl", "/usr/bin"), ("httpdns-lab", "/opt")):
            machine.copy(paths.binaries / program, f"{at}/{program}")
        for unit in ("httpdnsd.service", "httpdnsd-restore.service"):
            machine.copy(paths.ROOT / "etc/systemd" / unit, f"/etc/systemd/system/{unit}")
        machine.copy(paths.ROOT / "etc/sysusers.d/httpdnsd.conf", "/usr/lib/sysusers.d/httpdnsd.conf")
        machine.check("systemd-sysusers", "httpdnsd.conf")
        machine.check("systemctl", "daemon-reload")
        machine.write("/opt/lab.zone", ZONE)
        machine.write("/opt/queries", "".join(f"name{number}.lab.example A\n" for number in range(NAMES)))
        machine.check("systemd-run", "--unit=lab", "/opt/httpdns-lab", "--zone", "/opt/lab.zone", "--http",
                      "127.0.0.1:8080", "--control", "127.0.0.1:8081")

    def setUp(self):
        self.set_listen(HOME)
        self.machine.run("systemctl", "reset-failed", "httpdnsd")
        self.machine.check("systemctl", "start", "httpdnsd")
        self.addCleanup(self.machine.run, "systemctl", "stop", "httpdnsd")

    def set_listen(self, *addresses):
        listen = ", ".join(f'"{address}:53"' for address in addresses)
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS.format(listen=listen))

    def load(self, transport):
        """Queries at a constant rate for all names in turn, from now on. A query is lost after 3 s."""
        return self.machine.begin(
            "dnsperf", "-s", HOME, "-d", "/opt/queries", "-m", transport, "-c", "4", "-q", "5000", "-Q", RATE, "-l",
            SECONDS, "-t", "3")

    def asked(self):
        return json.loads(self.machine.check("httpdnsctl", "stats", "--json"))["cache"]

    def under_load(self, *actions):
        """Runs the commands while clients ask, and returns how many queries were lost over each transport."""
        loads = {transport: self.load(transport) for transport in ("udp", "tcp")}
        for command in actions:
            before = self.process()
            eventually(lambda: self.asked()["hits"] > RATE // 2, what="clients ask")
            self.machine.check(*command)
            eventually(lambda: self.process() not in ("0", before) and self.property("ActiveState") == "active",
                       what="the next process serves", every=0.05)
        said = {transport: load.communicate(timeout=paths.PATIENCE)[0] for transport, load in loads.items()}
        for transport, text in said.items():
            # On a busy machine dnsperf sends fewer.
            self.assertGreater(self.number("sent", text), SECONDS * RATE // 2, text)
        return {transport: self.number("lost", text) for transport, text in said.items()}

    @staticmethod
    def number(what, text):
        found = re.search(rf"Queries {what}: +(\d+)", text)
        return int(found[1]) if found else text

    def property(self, name):
        return self.machine.check("systemctl", "show", "--value", f"--property={name}", "httpdnsd").strip()

    def process(self):
        return self.property("MainPID")

    def listening(self):
        """The addresses with sockets at port 53, by `ss`."""
        return set(re.findall(r" (\S+):53 ", self.machine.check("ss", "--udp", "--tcp", "--listening", "--numeric")))

    def test_a_restart_loses_no_query_and_keeps_the_cache(self):
        self.machine.check("dnsperf", "-s", HOME, "-d", "/opt/queries", "-n", "1")
        restart = ("systemctl", "restart", "httpdnsd")
        self.assertEqual({"udp": 0, "tcp": 0}, self.under_load(restart, restart))
        asked = self.asked()
        self.assertLessEqual(asked["misses"], 0.01 * asked["hits"])
        self.assertRegex(self.machine.journal("--unit=httpdnsd"),
                         rf"sockets of the former process: {HOME}:53, 4 TCP connections in use")
        # No thread has started before the capability was given up.
        status = self.machine.check("sh", "-c", f"cat /proc/{self.process()}/task/*/status")
        self.assertEqual({"0000000000000000"}, set(re.findall(r"CapEff:\s+(\S+)", status)))

    def test_a_crash_keeps_what_waits_in_the_sockets(self):
        # The daemon had read some; they are lost with it. 150 are asked until the restart, after RestartSec=. A busy
        # machine may need seconds to end a process, in which more are asked than wait.
        lost = []
        while len(lost) < 3 and min(lost, default=RATE) >= 32:
            lost.append(self.under_load(("systemctl", "kill", "--signal=KILL", "httpdnsd"))["udp"])
        self.assertLess(min(lost), 32, lost)

    def test_sockets_follow_the_settings(self):
        self.assertEqual({HOME}, self.listening())
        threads = int(self.machine.check("nproc"))
        self.assertEqual(str(1 + threads), self.property("NFileDescriptorStore"))
        for listen, present in (([HOME, OTHER], {HOME, OTHER}), ([OTHER], {OTHER}), (["0.0.0.0"], {"0.0.0.0"}),
                                ([HOME], {HOME})):
            with self.subTest(listen):
                self.set_listen(*listen)
                # The settings must allow clients of a wildcard address.
                if listen == ["0.0.0.0"]:
                    self.machine.check("sed", "-i", 's/^listen.*/&\\nallow = ["127.0.0.0\\/8", "192.0.2.0\\/24"]/',
                                       "/etc/httpdnsd/httpdnsd.toml")
                self.machine.check("systemctl", "restart", "httpdnsd")
                self.machine.check("systemctl", "reload", "httpdnsd")
                eventually(lambda: self.listening() == present, 2, "no other address is bound")
                self.assertEqual(str(len(listen) * (1 + threads)), self.property("NFileDescriptorStore"))
                asked = HOME if listen == ["0.0.0.0"] else listen[-1]
                self.assertIn("192.0.2.8", self.machine.check("dig", f"@{asked}", "+short", "name7.lab.example"))

    def test_a_stop_closes_the_port(self):
        self.machine.check("systemctl", "stop", "httpdnsd")
        eventually(lambda: self.listening() == set(), 2, "the port is closed")
        self.assertEqual("0", self.property("NFileDescriptorStore"))
        self.assertIn("connection refused", self.machine.run("dig", f"@{HOME}", "name7.lab.example").stdout)

    def test_a_start_that_is_refused_closes_the_port(self):
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", "nonsense = 1\n")
        self.assertNotEqual(0, self.machine.run("systemctl", "restart", "httpdnsd").returncode)
        eventually(lambda: self.listening() == set(), 1, "the port is closed")
        eventually(lambda: self.property("NFileDescriptorStore") == "0", 2, "no connection is kept")
