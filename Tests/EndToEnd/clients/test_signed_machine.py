# systemd-resolved with DNSSEC=yes on a booted machine behind the daemon: the names that it validates, and those that it
# refuses.

import machines
import paths
from cases import Case
from paths import eventually
from signing import SignedZones

SETTINGS = """
[server]
listen = ["127.0.0.1:53"]
[[provider]]
name = "closed"
dialect = "doh"
url = "http://127.0.0.1:9/dns-query"
[[nameserver]]
name = "zones"
servers = ["127.0.0.1:5354"]
names = ["example"]
[cache]
store = ""
[log]
recorder-directory = ""
"""

RESOLVED = """
[Resolve]
DNS=127.0.0.1
Domains=~.
DNSSEC=yes
LLMNR=no
"""


@machines.boots_machines
class Validated(Case):
    """nsd with signed zones, the daemon, and systemd-resolved, all on one machine."""

    expected_seconds = 60
    needs_release = True

    def setUp(self):
        zones = self.own(SignedZones())
        self.machine = machines.Machine((*machines.PROGRAM_PACKAGES, "nsd", "systemd-resolved"))
        self.addCleanup(self.machine.close)
        self.programs = (*self.programs, self.machine)
        self.machine.boot()
        self.machine.copy(paths.binaries / "httpdnsd", "/usr/sbin/httpdnsd")
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS)
        # The zones are signed outside; the machine has them on another port and in another directory.
        for file in zones.directory.glob("*.signed"):
            self.machine.copy(file, f"/zones/{file.name}")
        settings = (zones.directory / "nsd.conf").read_text().replace(str(zones.directory), "/zones")
        self.machine.write("/zones/nsd.conf", settings.replace(f"@{zones.port}", "@5354"))
        self.machine.write("/etc/dnssec-trust-anchors.d/example.positive", zones.anchor)
        self.machine.write("/etc/systemd/resolved.conf", RESOLVED)
        # The network leads nowhere. Without one, systemd-resolved sends no queries.
        self.machine.check("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "lan1")
        self.machine.check("ip", "address", "add", "192.0.2.2/24", "dev", "lan0")
        for end in ("lan0", "lan1"):
            self.machine.check("ip", "link", "set", end, "up")
        self.machine.check("systemctl", "stop", "nsd")
        self.machine.check("systemd-run", "--unit=zones", "nsd", "-d", "-c", "/zones/nsd.conf")
        self.machine.check("systemd-run", "--unit=daemon", "--setenv=SWIFT_BACKTRACE=enable=no", "httpdnsd")
        eventually(lambda: "RRSIG" in self.machine.run("dig", "+dnssec", "@127.0.0.1", "www.nsec.example").stdout,
                   what="the daemon answers")
        self.machine.check("systemctl", "restart", "systemd-resolved")

    def resolve(self, name, *options):
        ended = self.machine.run("resolvectl", "query", "--legend=yes", *options, name)
        return ended.stdout + ended.stderr

    def test_systemd_resolved_validates_behind_the_daemon(self):
        for name in ("www.nsec.example", "www.nsec3.example", "there.nsec.example", "any.wild.nsec3.example"):
            self.assertIn("authenticated: yes", self.resolve(name, "-4"), name)
        self.assertIn("authenticated: no", self.resolve("www.insecure.example", "-4"))
        for name in ("none.nsec.example", "none.nsec3.example"):
            self.assertIn("not found", self.resolve(name), name)
        self.assertRegex(self.resolve("www.bogus.example", "-4"), "DNSSEC validation failed")
        self.assertIn("authenticated: yes", self.resolve("big.nsec.example", "--type=TXT"))
