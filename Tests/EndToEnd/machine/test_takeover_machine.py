# The command `httpdnsctl system` on booted machines, with the real managers of resolv.conf: used, restored, killed at
# its steps (with --full at every one), and restored by the restore unit after the daemon has failed for good.

import json

import machines
import paths
from cases import Case
from paths import eventually
from programs import NSD
from takeover import changing_calls, killed, walk, without_children

SETTINGS = """
[server]
listen = ["127.0.0.1:53", "[::1]:53"]
[[provider]]
name = "closed"
dialect = "json"
url = "http://127.0.0.1:9/resolve"
[cache]
store = ""
[log]
recorder-directory = ""
"""

# The former nameservers of a machine: no server listens there, so that queries fail at once.
FORMER, OTHER = "127.0.0.9", "127.0.0.10"
KNOWN, SEEN = "known.to.the.daemon.example", "192.0.2.99"


@machines.boots_machines
class Kept:
    """The tests of each kind of machine. The classes below add `Case`, because this one alone is no test."""

    # The package, the name of the kind, and the least number of calls at which httpdnsctl is killed.
    package, keeper, calls = "", "", 10
    # Whether a takeover runs a program of the manager.
    tells = True
    expected_seconds = 120

    def setUp(self):
        self.machine = machines.Machine((*machines.PROGRAM_PACKAGES, "strace", *self.package.split()))
        self.addCleanup(self.machine.close)
        self.machine.boot()
        for program, at in (("httpdnsd", "/usr/sbin"), ("httpdnsctl", "/usr/bin")):
            self.machine.copy(paths.binaries / program, f"{at}/{program}")
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS)
        for unit in ("httpdnsd.service", "httpdnsd-restore.service"):
            self.machine.copy(paths.ROOT / "etc/systemd" / unit, f"/etc/systemd/system/{unit}")
        self.machine.check("systemctl", "add-wants", "multi-user.target", "httpdnsd-restore.service")
        self.machine.copy(paths.ROOT / "etc/sysusers.d/httpdnsd.conf", "/usr/lib/sysusers.d/httpdnsd.conf")
        self.machine.check("systemd-sysusers", "httpdnsd.conf")
        self.machine.write("/etc/hosts", f"127.0.0.1 localhost\n{SEEN} {KNOWN}\n")
        # Names come from nameservers alone, so that each answer shows its source.
        nsswitch = self.machine.read("/etc/nsswitch.conf").decode()
        self.machine.write("/etc/nsswitch.conf", "\n".join(
            "hosts: dns" if line.startswith("hosts:") else line for line in nsswitch.splitlines()) + "\n")
        self.connect()
        self.machine.check("systemctl", "daemon-reload")
        self.machine.check("systemctl", "start", "httpdnsd")
        self.prepare()
        answering = '"answering":["127.0.0.1","::1"]'
        eventually(lambda: answering in self.system("status", "--json").stdout, what="it answers")
        self.before = walk(self.machine)

    def connect(self):
        """Adds a network that leads nowhere. Without one, systemd-resolved sends no queries."""
        self.machine.check("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "lan1")
        self.machine.check("ip", "address", "add", "192.0.2.2/24", "dev", "lan0")
        for end in ("lan0", "lan1"):
            self.machine.check("ip", "link", "set", end, "up")

    def prepare(self):
        """Sets up the machine's former state."""

    def system(self, *words):
        return self.machine.run("httpdnsctl", "system", *words)

    def check(self, *words):
        return self.machine.check("httpdnsctl", "system", *words)

    def asked(self, name):
        return self.machine.run("getent", "hosts", name).stdout.split()[:1]

    def assertBefore(self, what=""):
        """Checks the files against the former state; the manager of resolv.conf may need a moment to write them."""
        eventually(lambda: self.before == walk(self.machine), 10, f"{what}: as before: {self.difference()}", every=0.2)

    def difference(self):
        return sorted(set(self.before.splitlines()) ^ set(walk(self.machine).splitlines()))

    def test_used_and_given_back(self):
        self.assertEqual([], self.asked(KNOWN))
        self.check("use")
        self.assertEqual([SEEN], self.asked(KNOWN))
        status = json.loads(self.check("status", "--json"))
        self.assertEqual((self.keeper, "complete", True), (
            status["keeper"], status["record"], status["leads_to_daemon"]))
        self.disturb()
        self.assertEqual([SEEN], self.asked(KNOWN), "who keeps resolv.conf has heard news")
        self.check("restore")
        self.assertBefore("given back")
        self.assertEqual([], self.asked(KNOWN))

    def disturb(self):
        """Causes the manager of resolv.conf to write again."""

    def test_used_after_a_start(self):
        self.machine.check("systemctl", "enable", "--now", "httpdnsd.service")
        self.before = walk(self.machine)
        self.check("use")
        self.machine.reboot()
        self.connect()
        eventually(lambda: self.asked(KNOWN) == [SEEN], what="names come from the daemon")
        self.check("restore")

    def test_killed_at_every_step(self):
        ended, calls = changing_calls(self.machine, "httpdnsctl", "system", "use")
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertGreater(len(calls), self.calls)
        self.check("restore")
        self.assertBefore("before it is killed")
        for call, number in self.some(calls):
            code = killed(self.machine, call, number, "httpdnsctl", "system", "use")
            self.assertEqual(-9, code, f"use, {call} number {number}")
            self.check("restore")
            self.assertBefore(f"use, killed at {call} number {number}")
        self.check("use")
        ended, calls = changing_calls(self.machine, "httpdnsctl", "system", "restore")
        self.assertEqual(0, ended.returncode, ended.stderr)
        for call, number in self.some(calls):
            self.check("use")
            code = killed(self.machine, call, number, "httpdnsctl", "system", "restore")
            self.assertEqual(-9, code, f"restore, {call} number {number}")
            self.check("restore")
            self.assertBefore(f"restore, killed at {call} number {number}")

    def test_a_keeper_that_cannot_be_told(self):
        ended = without_children(self.machine, "httpdnsctl", "system", "use")
        if self.tells:
            self.assertEqual(1, ended.returncode, ended.stdout)
            self.assertIn("ended with 137", ended.stderr)
            self.assertBefore("what was told is killed")
        else:
            self.assertEqual(0, ended.returncode, ended.stderr)

    def some(self, calls):
        """All calls in the full run; else a third of them."""
        return calls if paths.is_full else calls[::3]

    def test_a_daemon_that_stays_dead_gives_back(self):
        former = ("nsenter", "--target", str(self.machine.pid), "--net")
        self.own(NSD(host=FORMER, port=53, prefix=former)).run()
        eventually(lambda: "203.0.113.77" in self.machine.run(
            "dig", f"@{FORMER}", "+time=1", "+tries=1", "only.system.example").stdout, what="nsd answers")
        self.check("use")
        self.assertEqual([SEEN], self.asked(KNOWN))
        # A daemon that another program than systemd has ended is only started again.
        before = self.main_process()
        self.machine.check("kill", "-TERM", before)
        eventually(lambda: self.main_process() not in (before, "0"), what="it is started again", every=0.1)
        eventually(lambda: self.asked(KNOWN) == [SEEN], what="names come from the daemon", every=0.2)
        self.machine.check("sh", "-c", "echo broken >/usr/sbin/httpdnsd.new; chmod 755 /usr/sbin/httpdnsd.new; "
                           "mv /usr/sbin/httpdnsd.new /usr/sbin/httpdnsd")
        self.machine.check("systemctl", "kill", "--signal=KILL", "httpdnsd")
        eventually(lambda: self.asked("only.system.example") == ["203.0.113.77"], 15, "the guard gives back", every=0.2)
        self.assertBefore("the guard has given back")

    def test_a_stop_gives_back_and_a_restart_keeps(self):
        self.check("use")
        for _ in range(3):
            self.machine.check("systemctl", "restart", "httpdnsd")
            eventually(lambda: self.restored_at() != "0", what="the restore unit has looked", every=0.1)
            self.assertEqual([SEEN], self.asked(KNOWN))
        self.machine.check("systemctl", "stop", "httpdnsd")
        self.assertBefore("stopped")
        self.machine.check("systemctl", "start", "httpdnsd")
        self.assertEqual([], self.asked(KNOWN), "what was given back stays so")

    def test_one_that_is_disabled_is_not_used_after_the_next_start(self):
        self.machine.check("systemctl", "disable", "httpdnsd.service")
        self.check("use")
        self.machine.reboot()
        # The manager's list may differ after a boot, so the files are not compared.
        eventually(lambda: json.loads(self.system("status", "--json").stdout)["record"] == "none",
                   what="the former resolver is restored", every=0.2)

    def restored_at(self):
        return self.machine.check("systemctl", "show", "--value", "--property=ExecMainExitTimestampMonotonic",
                                  "httpdnsd-restore.service").strip()

    def main_process(self):
        return self.machine.check("systemctl", "show", "--value", "--property=MainPID", "httpdnsd").strip()


class Resolved(Kept, Case):
    package, keeper = "systemd-resolved", "systemd-resolved"

    def prepare(self):
        # The setting ReadEtcHosts=no keeps resolved from answering for the daemon; it has a nameserver of its own.
        self.machine.check("sh", "-c", f"printf 'ReadEtcHosts=no\\nDNS={FORMER}\\n' >>/etc/systemd/resolved.conf")
        self.machine.check("systemctl", "restart", "systemd-resolved")

    def disturb(self):
        self.machine.check("systemctl", "restart", "systemd-resolved")


class ResolvedUplinks(Resolved):
    """Programs ask resolved's nameservers themselves."""

    def prepare(self):
        super().prepare()
        self.machine.check("ln", "-sf", "../run/systemd/resolve/resolv.conf", "/etc/resolv.conf")


class NetworkManager(Kept, Case):
    package, keeper = "network-manager", "NetworkManager"

    def connect(self):
        """NetworkManager adds the network itself."""

    def prepare(self):
        self.machine.check("nmcli", "connection", "add", "save", "no", "type", "veth", "con-name", "lan",
                           "ifname", "lan0", "peer", "lan1", "ip4", "192.0.2.2/24")
        self.tell(FORMER, "/etc/resolv.conf")

    def tell(self, server, path):
        self.machine.check("nmcli", "connection", "modify", "--temporary", "lan", "ipv4.dns", server)
        self.machine.check("nmcli", "connection", "up", "lan")
        eventually(lambda: server.encode() in self.machine.read(path), what="NetworkManager has written")

    def disturb(self):
        self.tell(OTHER, "/run/NetworkManager/resolv.conf")
        self.tell(FORMER, "/run/NetworkManager/resolv.conf")


class Resolvconf(Kept, Case):
    package, keeper, tells = "resolvconf", "resolvconf", False

    def prepare(self):
        self.tell(FORMER)

    def tell(self, server):
        self.machine.check("sh", "-c", f"echo nameserver {server} | resolvconf -a lan0")

    def disturb(self):
        self.tell(OTHER)
        self.tell(FORMER)


class Openresolv(Resolvconf):
    package, keeper, tells = "openresolv", "openresolv", True
    calls = 15
