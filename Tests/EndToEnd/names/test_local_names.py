# Local names: a directory of hosts files and lease files of DHCP servers, both changed while the daemon runs, and local
# zones, whose names reach no upstream. Dnsmasq reads the same hosts files.

import ipaddress
import json
import os
import random
import re
import subprocess
import time

import paths
import wire
from cases import Case, closed_provider, rule
from dig import dig
from fakes import FakeNameserver, question, reply
from paths import eventually
from programs import Dnsmasq, ctl

ELSEWHERE = "203.0.113.9"
SEED = 2104


def answering(log):
    """A nameserver that knows every name and records the questions."""
    def respond(query, _):
        name, type = question(query)
        log.append(name.lower())
        data = {1: bytes(map(int, ELSEWHERE.split("."))), 12: wire.name("elsewhere.example")}.get(type)
        return [reply(query, [(name, type, 60, data)] if data else [])]
    return FakeNameserver(respond)


class Stand(Case):
    """A daemon with a directory of hosts files and a lease file, and two upstreams that record their questions."""

    expected_seconds = 4

    def setUp(self):
        self.asked, self.asked_of_corp = [], []
        self.elsewhere, self.corp = answering(self.asked), answering(self.asked_of_corp)
        for server in (self.elsewhere, self.corp):
            self.addCleanup(server.close)

    def serve(self, hosts=None, leases=None, zone='"lan"', more="", corp=()):
        self.server = self.daemon([closed_provider()], system=[self.elsewhere.server])
        self.hosts = self.server.directory / "hosts.d"
        self.leases = self.server.directory / "dnsmasq.leases"
        self.hosts.mkdir()
        self.hosts.chmod(0o755)
        for name, text in (hosts or {}).items():
            self.write(self.hosts / name, text)
        if leases is not None:
            self.write(self.leases, leases)
        self.use(zone, more, corp)
        return self.server

    def use(self, zone='"lan"', more="", corp=()):
        top = f'local-zone = {zone}\nhosts-directory = "{self.hosts}"\nlease-files = ["{self.leases}"]\n'
        corp_names = ", ".join(f'"{name}"' for name in corp)
        corp_table = (
            f'[[nameserver]]\nname = "corp"\nservers = ["{self.corp.server}"]\nnames = [{corp_names}]\n'
            if corp else "")
        self.server.sections = more + corp_table + rule(".", stale="false")
        self.server.config.write_text(top + self.server.settings())
        self.assertIn("reloaded", self.server.reload())

    def write(self, path, text):
        """Writes by rename, as package managers and odhcpd do."""
        new = path.parent / f".{path.name}.new"
        new.write_text(text)
        new.chmod(0o644)
        new.rename(path)

    def ask(self, name, type="A"):
        with wire.Datagrams(self.server.address) as client:
            return client.ask(name, type, edns=wire.opt())

    def outcome(self, name, type="A"):
        """The addresses and PTR targets, or the response code."""
        message = self.ask(name, type)
        targets = {wire.read_name(message.packet, message.packet.index(data))[0]
                   for _, kind, _, _, data in message.answers if kind == 12}
        return message.addresses or targets or ("nodata" if message.rcode == 0 else message.rcode)

    def becomes(self, expected, name, type="A"):
        eventually(lambda: self.outcome(name, type) == expected, paths.PATIENCE, f"{name} {type} {expected}")

    def lease(self, name, address, seconds=600, client="52:54:00:aa:bb:01"):
        return f"{int(time.time()) + seconds} {client} {address} {name} 01:{client}\n"


class HostsDirectory(Stand):
    def test_files_come_change_and_go(self):
        self.serve({"a": "192.0.2.1 a.lan\n", "b": "192.0.2.2 b.lan also-b\n"})
        self.assertEqual({"192.0.2.1"}, self.outcome("a.lan"))
        self.assertEqual({"192.0.2.2"}, self.outcome("also-b"))
        self.write(self.hosts / "c", "192.0.2.3 c.lan a.lan\n")
        self.becomes({"192.0.2.3"}, "c.lan")
        self.assertEqual({"192.0.2.1", "192.0.2.3"}, self.outcome("a.lan"))
        (self.hosts / "b").write_text("192.0.2.22 b.lan\n")
        self.becomes({"192.0.2.22"}, "b.lan")
        (self.hosts / "a").unlink()
        self.becomes({"192.0.2.3"}, "a.lan")
        (self.hosts / "c").rename(self.hosts / "c~")
        self.becomes(wire.NXDOMAIN, "c.lan")
        self.server.wait_for("^httpdnsd: 1 name loaded from .*hosts.d$")

    def test_hidden_files_and_what_editors_leave_behind_are_passed_over(self):
        self.serve({"a": "192.0.2.1 a.lan\n", ".b.swp": "192.0.2.2 b.lan\n", "c~": "192.0.2.3 c.lan\n",
                    "#d#": "192.0.2.4 d.lan\n"})
        (self.hosts / "e").mkdir()
        self.assertEqual({"192.0.2.1"}, self.outcome("a.lan"))
        for name in ("b", "c", "d"):
            self.assertEqual(wire.NXDOMAIN, self.outcome(f"{name}.lan"))

    def test_a_link_to_a_file_elsewhere_is_watched_too(self):
        self.serve({"a": "192.0.2.1 a.lan\n"})
        target = self.server.directory / "target"
        self.write(target, "192.0.2.5 linked.lan\n")
        (self.hosts / "link").symlink_to(target)
        self.becomes({"192.0.2.5"}, "linked.lan")
        self.write(target, "192.0.2.6 linked.lan\n")
        self.becomes({"192.0.2.6"}, "linked.lan")

    def test_bad_lines_are_named_and_a_bad_file_keeps_its_names(self):
        self.serve({"good": "192.0.2.1 a.lan\n"}, leases="")
        self.write(self.hosts / "good", "192.0.2.1 a.lan\nnonsense here\n192.0.2.7 new.lan b..lan\n192.0.2.8\n")
        self.becomes({"192.0.2.7"}, "new.lan")
        place = re.escape(f"{self.hosts}/good")
        self.server.wait_for(f"hosts.d has lines that are ignored:\n  {place}:2:1: no IP address where one belongs\n"
                             f"  {place}:3:1: a word that is no domain name\n  {place}:4:1: an address without a name")
        self.assertIn("hosts.d 2 names, 3 lines ignored", ctl(self.server, "status").stdout)
        self.write(self.hosts / "good", "\x7fELF\x01\x02 binary\n")
        self.server.wait_for(
            "hosts.d is not in force as it is now; its earlier names are:\n  .*good:1:1: 1 line, none of which")
        self.assertEqual({"192.0.2.7"}, self.outcome("new.lan"))
        self.write(self.hosts / "good", "192.0.2.9 new.lan\n")
        self.becomes({"192.0.2.9"}, "new.lan")
        self.assertNotIn("as before", ctl(self.server, "status").stdout)

    def test_a_name_that_is_cached_is_answered_from_its_new_file_at_once(self):
        self.serve({})
        self.assertEqual({ELSEWHERE}, self.outcome("www.example"))
        self.write(self.hosts / "a", "192.0.2.1 www.example\n")
        self.becomes({"192.0.2.1"}, "www.example")
        self.assertEqual({"www.example"}, self.outcome("1.2.0.192.in-addr.arpa", "PTR"))
        (self.hosts / "a").unlink()
        self.becomes({ELSEWHERE}, "www.example")

    def test_random_files_are_read_as_by_dnsmasq(self):
        generator = random.Random(SEED)
        labels = ["a", "b", "C", "x-1", "a_b", "nas", "tv"]
        names = [".".join(generator.choices(labels, k=generator.randint(1, 3)) + ["lan"]) for _ in range(60)]
        addresses = [f"{prefix}{number}" for prefix in ("192.0.2.", "fd00:7::") for number in range(1, 30)]
        lines = []
        for _ in range(120):
            form = generator.choice(["{0} {1}", "{0}\t{1}  {2}", " {0} {1} # {2}", "{0} {1}#{2}", "# {0} {1}", "{1} {0}",
                                     "{0}", "", "{0} {1} {2} {1}"])
            lines.append(form.format(generator.choice(addresses), *generator.choices(names, k=2)))
        self.serve({"random": "\n".join(lines) + "\n"})
        host, port = self.elsewhere.server.split(":")
        other = self.own(Dnsmasq((host, port), lines=["local=/lan/", f"addn-hosts={self.hosts}/random"])).up()
        questions = [(name, type) for name in {*names, *(f"x{name}" for name in names)} for type in ("A", "AAAA")]
        questions += [(ipaddress.ip_address(address).reverse_pointer, "PTR") for address in addresses]
        counts = {"found": 0, "empty": 0}
        for name, type in questions:
            with wire.Datagrams((other.host, other.port)) as client:
                theirs = client.ask(name, type)
            ours = self.ask(name, type)
            data = [sorted(record[4].lower() for record in message.answers) for message in (ours, theirs)]
            if type == "PTR" and not [record for record in ours.answers if b"elsewhere" in record[4]]:
                # Dnsmasq forwards no PTR query for an address that it knows, so only the names are compared.
                data = [sorted(wire.read_name(message.packet, message.packet.index(record[4]))[0].lower()
                               for record in message.answers) for message in (ours, theirs)]
            self.assertEqual(data[1], data[0], f"{name} {type}, seed {SEED}")
            counts["found" if data[0] else "empty"] += 1
            if not data[0]:
                self.assertEqual(theirs.rcode, ours.rcode, f"{name} {type}, seed {SEED}")
        self.assertTrue(all(counts.values()), counts)


class LeaseFiles(Stand):
    def test_a_lease_is_answered_until_it_ends(self):
        self.serve({}, self.lease("tv", "192.168.7.20") + self.lease("brief", "192.168.7.21", seconds=3))
        self.assertEqual({"192.168.7.20"}, self.outcome("tv.lan"))
        self.assertEqual({"192.168.7.20"}, self.outcome("TV"))
        self.assertEqual({"tv.lan"}, self.outcome("20.7.168.192.in-addr.arpa", "PTR"))
        self.assertEqual("nodata", self.outcome("tv.lan", "AAAA"))
        self.assertLessEqual(self.ask("brief.lan").answers[0][3], 3)
        self.assertEqual(10, self.ask("tv.lan").answers[0][3])
        self.becomes(wire.NXDOMAIN, "brief.lan")
        self.assertEqual({"192.168.7.20"}, self.outcome("tv.lan"))

    def test_a_file_that_its_server_keeps_open_is_read_again(self):
        """The file is written in place and never closed, as by dnsmasq."""
        self.serve({}, self.lease("tv", "192.168.7.20"))
        self.assertEqual({"192.168.7.20"}, self.outcome("tv.lan"))
        with open(self.leases, "r+") as file:
            for number in range(3):
                file.seek(0)
                file.truncate()
                file.write(self.lease(f"new{number}", f"192.168.7.3{number}"))
                file.flush()
                os.fsync(file.fileno())
                self.becomes({f"192.168.7.3{number}"}, f"new{number}.lan")
                self.assertEqual(wire.NXDOMAIN, self.outcome("tv.lan"))

    def test_dhcpd_and_odhcpd(self):
        end = time.gmtime(time.time() + 600)
        record = ('lease 192.168.7.40 {{\n  starts 4 2026/11/26 10:00:00;\n  ends {0};\n  binding state {1};\n'
                  '  hardware ethernet 52:54:00:aa:bb:01;\n  client-hostname "{2}";\n}}\n')
        date = time.strftime("%w %Y/%m/%d %H:%M:%S", end)
        head = "# dhcpd.leases(5)\nauthoring-byte-order little-endian;\n\n"
        self.serve({}, head + record.format(date, "active", "old"))
        self.assertEqual({"192.168.7.40"}, self.outcome("old.lan"))
        with open(self.leases, "a") as file:
            file.write(record.format(date, "active", "fresh"))
            file.flush()
            self.becomes({"192.168.7.40"}, "fresh.lan")
            self.assertEqual(wire.NXDOMAIN, self.outcome("old.lan"))
            file.write(record.format(date, "free", "fresh"))
            file.flush()
            self.becomes(wire.NXDOMAIN, "fresh.lan")
        until = int(time.time()) + 600
        self.write(
            self.leases, f"# br-lan 525400aabb01 ipv4 phone {until} c0a80715 32 192.168.7.50/32\n"
            f"192.168.7.50\tphone.lan\tphone\n# br-lan 0001 1a phone {until} 20 128 fd00:7::50/128\n")
        self.becomes({"192.168.7.50"}, "phone.lan")
        self.assertEqual({"fd00:7::50"}, self.outcome("phone.lan", "AAAA"))

    def test_hostile_names_take_nothing(self):
        names = ["www.bank.example", "nas", "wpad", "localhost", "-x", "lan", "a" * 70, "com", "bank.example", "x\\046y"]
        self.serve(
            {"a": "192.0.2.1 nas.lan\n192.0.2.2 www.bank.example\n"},
            "".join(self.lease(name, f"192.168.7.{100 + number}") for number, name in enumerate(names)))
        for name, expected in (
                ("www.bank.example", {"192.0.2.2"}), ("bank.example", {ELSEWHERE}), ("nas.lan", {"192.0.2.1"}),
                ("wpad.lan", wire.NXDOMAIN), ("localhost", {"127.0.0.1"}), ("lan", "nodata"),
                ("www.com", {ELSEWHERE}), ("www.lan", {"192.168.7.100"})):
            self.assertEqual(expected, self.outcome(name), name)
        # The hosts file has the name, so the client's address does not lead to it.
        self.assertEqual({"elsewhere.example"}, self.outcome("101.7.168.192.in-addr.arpa", "PTR"))
        self.assertRegex(ctl(self.server, "status").stdout, r"dnsmasq.leases \d names?, 5 names refused")

    def test_a_missing_file_is_said_and_read_when_it_comes(self):
        self.serve({})
        self.server.wait_for("dnsmasq.leases: can't be read: .*No such file.*; make it a file that user")
        self.assertEqual(wire.NXDOMAIN, self.outcome("tv.lan"))
        self.write(self.leases, self.lease("tv", "192.168.7.20"))
        self.becomes({"192.168.7.20"}, "tv.lan")
        self.write(self.leases, "[not leases]\n")
        self.server.wait_for("dnsmasq.leases:1:1: not a lease file; allowed: one of dnsmasq, ISC dhcpd or odhcpd")
        self.assertEqual({"192.168.7.20"}, self.outcome("tv.lan"), "its last good contents")
        secret = self.leases.with_name(".secret")
        secret.write_text(self.lease("tv", "192.168.7.99"))
        secret.chmod(0)
        secret.rename(self.leases)
        self.server.wait_for("dnsmasq.leases: can't be read: open: Permission denied")
        self.assertEqual({"192.168.7.20"}, self.outcome("tv.lan"))
        local = json.loads(ctl(self.server, "--json", "status").stdout)["local_names"]
        self.assertEqual(
            [(str(self.leases), 1, True), (str(self.hosts), 0, False)],
            [(entry["path"], entry["names"], "fault" in entry) for entry in local])

    def test_a_flood_of_leases_is_bounded_and_delays_nobody(self):
        count = 1_000_000 if paths.is_full else 100_000
        self.serve({}, self.lease("tv", "192.168.7.20"))
        end = int(time.time()) + 600
        lines = (f"{end} 52:54:00:aa:bb:01 10.{n >> 16}.{n >> 8 & 255}.{n & 255} h{n} *\n" for n in range(count))
        self.write(self.leases, self.lease("tv", "192.168.7.20") + "".join(lines))
        slowest = 0.0
        wanted = "more leases than are kept" if count < 900_000 else "more leases than are kept|more than 64 MiB"
        deadline = time.monotonic() + paths.PATIENCE
        while not re.search(wanted, self.server.log):
            self.assertLess(time.monotonic(), deadline)
            begun = time.monotonic()
            self.assertEqual({"192.168.7.20"}, self.outcome("tv.lan"))
            slowest = max(slowest, time.monotonic() - begun)
        self.assertLess(slowest, 1.0)
        self.assertEqual({"192.168.7.20"}, self.outcome("tv.lan"))
        self.assertEqual(wire.NXDOMAIN, self.outcome(f"h{count - 1}.lan"))


class LocalZone(Stand):
    def test_nothing_of_it_leaves(self):
        """All names of the zone fail, although rules for shorter names would send them out."""
        self.serve(
            {"a": "192.168.7.2 nas.lan a.b.lan\n"}, self.lease("tv", "192.168.7.20"), corp=["example", "corp.lan"],
            more='[prefetch]\nnames = ["x.lan", "www.other.test"]\nkeep = ["kept.lan"]\n'
                 + rule("n", "other", resolver='"system"'))
        generator = random.Random(SEED)
        for _ in range(200):
            labels = generator.choices(["nas", "tv", "a", "b", "x", "LAN", "corp0", "_tcp"], k=generator.randint(1, 3))
            name = ".".join(labels)
            self.ask(name + ".lan", generator.choice(["A", "AAAA", "MX", "TXT", "NS", "SOA", "PTR"]))
        self.assertEqual({ELSEWHERE}, self.outcome("wiki.corp.lan"), "a rule below the zone")
        self.assertEqual({ELSEWHERE}, self.outcome("www.other"))
        self.assertEqual([], [name for name in self.asked if name.endswith("lan")])
        self.assertEqual({"wiki.corp.lan"}, {name for name in self.asked_of_corp if name.endswith("lan")})

    def test_its_answers(self):
        self.serve({"a": "192.168.7.2 nas.lan a.b.lan\n"})
        for name, type, expected in (
                ("nas.lan", "A", {"192.168.7.2"}), ("nas.lan", "AAAA", "nodata"), ("nas.lan", "MX", "nodata"),
                ("b.lan", "A", "nodata"), ("lan", "NS", "nodata"), ("x.lan", "A", wire.NXDOMAIN),
                ("x.nas.lan", "TXT", wire.NXDOMAIN), ("nas.lan.example", "A", {ELSEWHERE})):
            self.assertEqual(expected, self.outcome(name, type), f"{name} {type}")
        message = self.ask("x.lan")
        self.assertEqual([("lan", 6, 1, 10)], [record[:4] for record in message.authority])
        self.assertEqual(["SOA"], dig(self.server, "lan", "SOA").types)

    def test_a_zone_that_a_reload_brings_hides_what_was_cached(self):
        self.serve({}, zone="[]")
        self.assertEqual({ELSEWHERE}, self.outcome("x.lan"))
        self.use('["lan", "home.example"]')
        self.assertEqual(wire.NXDOMAIN, self.outcome("x.lan"))
        self.assertEqual(wire.NXDOMAIN, self.outcome("x.home.example"))
        self.use("[]")
        self.assertEqual({ELSEWHERE}, self.outcome("x.lan"))
        self.server.stop()
        # The store has the answer from the time without the zone.
        top = 'local-zone = "lan"\n'
        self.server.sections = ""
        settings = self.server.settings
        self.server.settings = lambda: top + settings()
        self.server.up()
        for _ in range(20):
            self.assertEqual(wire.NXDOMAIN, self.outcome("x.lan"))
            time.sleep(0.02)

    def test_a_reload_that_is_refused_leaves_the_names_between(self):
        self.serve(hosts={"a": "192.168.7.21 nas.attic.lan\n"})
        self.assertEqual("nodata", self.outcome("attic.lan"))
        text = self.server.config.read_text()
        missing = rule("x.lab.example", stale="false").replace(
            'match = ["x.lab.example"]', f'match-file = ["{self.server.directory}/missing"]')
        self.server.config.write_text(text.replace('local-zone = "lan"', 'local-zone = "office"') + missing)
        self.assertIn("old ones stay in force", self.server.reload())
        self.becomes("nodata", "attic.lan")
        # The refused reload still reads the files' present contents.
        self.write(self.hosts / "a", "192.168.7.22 nas.cellar.lan\n")
        self.becomes("nodata", "cellar.lan")

    def test_explain_names_file_line_and_lease(self):
        self.serve({"a": "# one\n192.168.7.2 nas.lan\n"}, "\n" + self.lease("tv", "192.168.7.20"))
        explained = lambda name: ctl(self.server, "explain", name).stdout
        self.assertIn(f"answered by the daemon: {self.hosts}/a line 2", explained("nas.lan"))
        self.assertRegex(explained("tv.lan"), rf"DHCP lease for .* more, {re.escape(str(self.leases))} line 2")
        self.assertIn('no local name; local-zone = "lan"', explained("x.lan"))
        self.assertIn("special-use name", explained("x.invalid"))

    def test_check_says_what_is_wrong_and_where(self):
        self.serve({"a": "nonsense\n192.0.2.1 a.lan\n"})
        command = [paths.binaries / "httpdnsd", "--check", "--config", self.server.config]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=paths.PATIENCE)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(f"warning: {self.hosts}/a:1:1: no IP address where one belongs", done.stderr)
        self.assertIn(f"warning: {self.leases}: can't be read: ", done.stderr)
        self.server.config.write_text(
            'local-zone = ["lan", "lan"]\nhosts-directory = "hosts"\nlease-files = 7\n' + self.server.settings()
            + rule("lan", resolver='"system"'))
        output = self.server.reload()
        for part in (
                ':1:22: local-zone: found "lan" for the second time; allowed: each once',
                ':2:19: hosts-directory: found "hosts"; allowed: an absolute path',
                ":3:15: lease-files: found 7; allowed: an absolute path",
                'rule.match: found "lan", which local-zone keeps on this machine; allowed: names below it'):
            self.assertIn(part, output)
