# System nameservers that are the daemon itself, that query it in turn, or that query wrong servers. They use port 53 in
# a network namespace of the test's own, because resolv.conf names addresses only.

import re
import shutil
import tempfile
import time
from pathlib import Path

from cases import Case, closed_provider
from dig import Dug
from namespace import Namespace
from paths import eventually
from programs import NSD, Daemon, Dnsmasq, ctl

US, OTHER, REAL = "127.0.0.1", "127.0.0.2", "127.0.0.3"
LOOPS = r"forwards queries back to this daemon; not used"
# A question goes to a server twice at most, and may come back as often; the same holds for a check, twice a minute.
MOST_PER_QUESTION, MOST_OF_CHECKS = 3, 12


class Machine(Case):
    """A namespace with programs on port 53 of several addresses; providers never answer, so that the system must."""

    def setUp(self):
        self.inside = Namespace()
        self.addCleanup(self.inside.remove)
        self.resolv_conf = self.inside.files / "resolv.conf"

    def server(self, host=US, resolv_conf=None, prefix=None):
        """A daemon with a resolv.conf of its own, or with the one of the namespace."""
        sections = f'[system-resolver]\nresolv-conf = "{resolv_conf}"\n' if resolv_conf else ""
        server = self.own(Daemon(
            [closed_provider()], system="resolv.conf", host=host, prefix=prefix or self.inside.prefix,
            sections=sections))
        server.port = 53
        server.listen = [f"{host}:53"]
        return server

    def real(self):
        nsd = self.own(NSD(host=REAL, port=53, prefix=self.inside.prefix)).run()
        eventually(lambda: "NOERROR" in self.dig(REAL, "text.lab.example").text, what="nsd answers")
        return nsd

    def dig(self, host, name, kind="TXT"):
        said = self.inside.run("dig", f"@{host}", "+time=6", "+tries=1", name, kind).stdout
        return Dug(said, 0.0)

    def file(self, name, text):
        directory = Path(tempfile.mkdtemp())
        directory.chmod(0o755)
        self.addCleanup(shutil.rmtree, directory, True)
        (directory / name).write_text(text)
        return directory / name

    def assertNoStorm(self, *servers, asked):
        """Checks that each daemon received the clients' questions and only a few copies of them."""
        for server in servers:
            stats = server.stats()
            self.assertLessEqual(stats["queries"]["total"], asked * MOST_PER_QUESTION + MOST_OF_CHECKS)
            self.assertLessEqual(stats["system"]["requests"], asked)
            self.assertSums(stats)

    def count(self, server, pattern):
        return len(re.findall(pattern, server.log))


class Ourselves(Machine):
    expected_seconds = 4

    def test_ourselves_as_the_only_nameserver(self):
        server = self.server().up()
        notice = r"system resolver: none; not used: 127\.0\.0\.1:53 \(an address of this daemon\)"
        server.wait_for(notice)
        for number in range(5):
            began = time.monotonic()
            self.assertEqual("SERVFAIL", self.dig(US, f"n{number}.example").status)
            self.assertLess(time.monotonic() - began, 3, "nothing is waited for")
        self.assertEqual(5, server.stats()["queries"]["total"], "nothing comes back")
        self.assertEqual([], server.stats()["system"]["servers"])
        self.resolv_conf.write_text("# the same again\nnameserver 127.0.0.1\n")
        server.reload()
        self.assertEqual(1, self.count(server, notice))

    def test_the_real_nameservers_appear_go_and_come(self):
        self.real()
        server = self.server().up()
        self.resolv_conf.write_text(f"nameserver {US}\nnameserver {REAL}\n")
        server.wait_for(rf"system resolver: {REAL}:53; not used: {US}:53")
        self.assertEqual({'"from nsd"'}, self.dig(US, "text.lab.example").data)
        self.resolv_conf.write_text(f"nameserver {US}\n")
        eventually(lambda: server.stats()["system"]["servers"] == [])


class EachOther(Machine):
    expected_seconds = 6

    def test_two_daemons_that_point_at_each_other(self):
        theirs = self.file("resolv.conf", f"nameserver {US}\n")
        self.resolv_conf.write_text(f"nameserver {OTHER}\n")
        one, two = self.server(), self.server(OTHER, theirs)
        one.up()
        two.up()
        both = (one, two)
        eventually(lambda: any(server.stats()["system"]["servers"] == [] for server in both), what="one sees the loop")
        for number in range(10):
            for host in (US, OTHER):
                self.assertEqual("SERVFAIL", self.dig(host, f"n{number}.example").status)
        self.assertNoStorm(*both, asked=20)
        self.assertGreaterEqual(sum(self.count(server, LOOPS) for server in both), 1)
        for server in both:
            self.assertLessEqual(self.count(server, LOOPS), 1)

    def test_one_that_is_mended_is_asked_again(self):
        self.real()
        theirs = self.file("resolv.conf", f"nameserver {US}\n")
        one = self.server().up()
        two = self.server(OTHER, theirs).up()
        self.resolv_conf.write_text(f"nameserver {OTHER}\n")
        # Only one of them is sure to detect the loop: a server that the other one leaves out no longer forwards.
        eventually(lambda: self.count(one, LOOPS) + self.count(two, LOOPS) > 0)
        self.resolv_conf.write_text(f"nameserver {REAL}\n")
        eventually(lambda: one.stats()["system"]["servers"] == [f"{REAL}:53"])
        theirs.write_text(f"nameserver {US}\nnameserver 127.0.0.9\n")
        eventually(lambda: f"{US}:53" in two.stats()["system"]["servers"])
        self.assertEqual({'"from nsd"'}, self.dig(OTHER, "text.lab.example").data)
        self.assertEqual(self.count(two, LOOPS), self.count(two, "no longer forwards queries back to this daemon"))
        self.assertNoStorm(one, two, asked=4)


class InBetween(Machine):
    expected_seconds = 12

    def forwarder(self, forward_to):
        resolv_file = self.file("upstream.conf", f"nameserver {forward_to}\n")
        forwarder = self.own(Dnsmasq(resolv_file=resolv_file, host=OTHER, port=53, prefix=self.inside.prefix)).up()
        self.resolv_conf.write_text(f"nameserver {OTHER}\n")
        return forwarder, resolv_file

    def test_a_dnsmasq_that_asks_us(self):
        self.forwarder(US)
        server = self.server().up()
        server.wait_for(f"nameserver {OTHER}:53 {LOOPS}")
        for number in range(10):
            self.assertEqual("SERVFAIL", self.dig(US, f"n{number}.example").status)
        system = server.stats()["system"]
        self.assertEqual(([], [f"{OTHER}:53"]), (system["servers"], system["looping"]))
        self.assertIn(f"system     none (forwarding loop: {OTHER}:53)", ctl(server, "status").stdout)
        self.assertNoStorm(server, asked=10)
        self.assertEqual(1, self.count(server, LOOPS))

    def test_a_dnsmasq_that_begins_to_ask_us(self):
        self.real()
        forwarder, resolv_file = self.forwarder(REAL)
        server = self.server().up()
        self.assertEqual({'"from nsd"'}, self.dig(US, "text.lab.example").data)
        self.assertEqual([f"{OTHER}:53"], server.stats()["system"]["servers"])
        resolv_file.write_text(f"nameserver {US}\n")
        forwarder.wait_for(f"using nameserver {US}#53")
        asked = 1
        while not self.count(server, LOOPS) and asked < 10:
            self.assertEqual("SERVFAIL", self.dig(US, f"n{asked}.example").status)
            asked += 1
        server.wait_for(f"nameserver {OTHER}:53 {LOOPS}")
        for number in range(10):
            self.assertEqual("SERVFAIL", self.dig(US, f"m{number}.example").status)
        self.assertNoStorm(server, asked=asked + 10)
        self.assertEqual(1, self.count(server, LOOPS))


class Copies(Machine):
    """The files of network tools in /run, in a mount namespace that has a /run of its own."""

    expected_seconds = 5

    def setUp(self):
        super().setUp()
        self.run_files = self.file("unused", "").parent
        mounted = 'mount --bind "$0" /run && exec "$@"'
        self.prefix = (*self.inside.prefix, "unshare", "--mount", "sh", "-c", mounted, str(self.run_files))

    def write(self, path, text):
        path = self.run_files / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assertAsks(self, server, address, source):
        server.wait_for(rf"system resolver: {address}:53, from {source}(;|$)")
        eventually(lambda: server.stats()["system"]["servers"] == [f"{address}:53"])
        self.assertEqual({'"from nsd"'}, self.dig(US, "text.lab.example").data)

    def test_systemd_resolved_in_between(self):
        """The stub is in resolv.conf, and the daemon is one of resolved's servers."""
        self.real()
        self.write("systemd/resolve/resolv.conf", f"nameserver {US}\nnameserver {REAL}\nsearch lan.example\n")
        self.resolv_conf.write_text("nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n")
        server = self.server(prefix=self.prefix).up()
        self.assertAsks(server, REAL, "/run/systemd/resolve/resolv.conf")
        self.assertNoStorm(server, asked=1)

    def test_the_tools_files_are_found_when_they_come(self):
        self.real()
        server = self.server(prefix=self.prefix).up()
        server.wait_for("system resolver: none")
        self.write("resolvconf/interface/eth0.dhclient", f"nameserver {REAL}\n")
        self.assertAsks(server, REAL, "/run/resolvconf/interface/")
        self.write("dhcpcd/hook-state/resolv.conf/eth0.dhcp", f"# made by dhcpcd\nnameserver {REAL}\n")
        self.assertAsks(server, REAL, "/run/dhcpcd/hook-state/resolv.conf/")
        self.write("NetworkManager/resolv.conf", f"nameserver {REAL}\n")
        self.assertAsks(server, REAL, "/run/NetworkManager/resolv.conf")
        self.resolv_conf.write_text(f"nameserver {REAL}\n")
        server.wait_for(rf"system resolver: {REAL}:53\n")

    def test_a_file_that_cannot_be_read_changes_nothing_and_is_told_once(self):
        self.real()
        self.resolv_conf.write_text(f"nameserver {REAL}\n")
        server = self.server().up()
        self.resolv_conf.write_bytes(b"#" * 100_000)
        server.wait_for("/etc/resolv.conf can't be read")
        self.resolv_conf.write_bytes(b"#" * 100_001)
        server.reload()
        self.assertEqual([f"{REAL}:53"], server.stats()["system"]["servers"])
        self.assertEqual(1, self.count(server, "can't be read"))
