# Lists of names in rules (match-file): every format compared with its original program, and files that change.

import json
import os
import random
import re
import tempfile
import threading
import time
from pathlib import Path

import paths
import wire
from cases import Case, closed_provider
from dig import dig
from fakes import FakeNameserver, question, reply
from paths import eventually
from programs import Daemon, Dnsmasq, Nameserver, ctl
from test_process import httpdnsd

LISTED, OTHER = "203.0.113.1", "203.0.113.2"
SEED = 21
LABELS = ["a", "b", "ab", "x-1", "A_b", "B", "ads", "cdn0", "c", "d9"]
TOPS = ["example", "Com", "cn"]
# The number of questions in flight, which none of the programs drops.
WINDOW = 40


def random_name(generator):
    return ".".join([*generator.choices(LABELS, k=generator.randint(1, 5)), generator.choice(TOPS)])


def answering(address):
    """A nameserver that gives every name this address."""
    data = bytes(map(int, address.split(".")))
    return FakeNameserver(lambda query, _: [reply(query, [(question(query)[0], 1, 60, data)])])


def listed(address, names, timeout=5.0):
    """The names that have the address LISTED at a server. Every name has an answer."""
    found, waiting, rest = set(), {}, list(enumerate(names))
    with wire.Datagrams(address, timeout=timeout) as client:
        while rest or waiting:
            while rest and len(waiting) < WINDOW:
                number, name = rest.pop()
                client.send(wire.query(name, "A", id=number % 65536))
                waiting[number % 65536] = name
            message = client.receive()
            name = waiting.pop(message.id)
            if message.addresses == {LISTED}:
                found.add(name)
    return found


class Smartdns(Nameserver):
    """A smartdns that gives the names of a list one address and forwards all others."""

    def __init__(self, names, forward_to):
        super().__init__("smartdns")
        (self.directory / "smartdns.conf").write_text(
            f"bind {self.server}\nserver {forward_to}\nspeed-check-mode none\ncache-size 0\nforce-AAAA-SOA yes\n"
            f"log-level error\nlog-file {self.directory}/smartdns.log\n"
            f"domain-set -name list -type list -file {names}\naddress /domain-set:list/{LISTED}\n")

    def up(self):
        self.start("smartdns", "-f", "-x", "-p", "-", "-c", self.directory / "smartdns.conf")
        return self.wait_until_it_answers()


class Formats(Case):
    """The same list and the same questions for httpdnsd and for another program."""

    expected_seconds = 10

    def setUp(self):
        self.generator = random.Random(SEED)
        count, names = 100_000 if paths.is_full else 2_000, set()
        while len(names) < count:
            names.add(random_name(self.generator))
        self.names = sorted(names)
        self.here, self.elsewhere = answering(LISTED), answering(OTHER)
        for server in (self.here, self.elsewhere):
            self.addCleanup(server.close)

    def entries(self, count=60):
        return [random_name(self.generator) for _ in range(count)]

    def decided(self, lines):
        """The names that httpdnsd finds in a list. Other names get no data at once."""
        server = self.daemon([closed_provider()], system=[self.here.server])
        path = server.directory / "list"
        path.write_text("\n".join(lines) + "\n")
        path.chmod(0o644)
        server.sections = (
            f'[[rule]]\nmatch-file = ["{path}"]\nfamily = "both"\n'
            '[[rule]]\nmatch = ["."]\nfamily = "ipv6"\nresolver = "system"\n')
        server.config.write_text(server.settings())
        self.assertIn("reloaded", server.reload())
        return listed(server.address, self.names)

    def agree(self, lines, expected):
        self.assertTrue(0 < len(expected) < len(self.names), f"{len(expected)} of {len(self.names)}")
        found = self.decided(lines)
        self.assertEqual(sorted(expected - found)[:5], [], f"not listed, seed {SEED}")
        self.assertEqual(sorted(found - expected)[:5], [], f"listed, seed {SEED}")

    def dnsmasq(self, lines):
        host, port = self.elsewhere.server.split(":")
        server = self.own(Dnsmasq((host, port), lines=["dns-forward-max=1000", *lines])).up()
        return listed((server.host, server.port), self.names)

    def patterns(self):
        forms = ["{}", "{}", ".{}", "*.{}", "{}."]
        return [self.generator.choice(forms).format(name) for name in self.entries()]

    def test_dnsmasq_servers(self):
        target = self.here.server.replace(":", "#")
        patterns = self.patterns()
        lines = [f"server=/{pattern}/{target}" for pattern in patterns[:40]]
        lines += [f"server = /{one}/{two}/{target} # two" for one, two in zip(patterns[40:50], patterns[50:])]
        self.agree(lines, self.dnsmasq(["# a list", "", *lines]))

    def test_dnsmasq_addresses(self):
        lines = [f"address=/{pattern}/{LISTED}" for pattern in self.patterns()]
        self.agree(lines, self.dnsmasq(lines))

    def test_every_name(self):
        lines = [f"address=/#/{LISTED}"]
        self.assertEqual(self.dnsmasq(lines), set(self.names))
        self.assertEqual(self.decided(lines), set(self.names))

    def test_hosts(self):
        names = [name for name in self.names if self.generator.random() < 0.1]
        lines = ["# hosts", f"{LISTED}\t{names[0]}  {names[1]} # two"]
        lines += [f"{LISTED} {name}" for name in names[2:]]
        self.agree(lines, self.dnsmasq([f"addn-hosts={self.file(lines)}"]))

    def test_plain_names_as_smartdns_reads_them(self):
        lines = ["# a list", *self.entries()]
        server = self.own(Smartdns(self.file(lines), self.elsewhere.server)).up()
        self.agree(lines, listed((server.host, server.port), self.names))

    def test_v2fly(self):
        """The format follows its documentation, because no program of Debian reads these lists."""
        trees, exact = self.entries(40), [name for name in self.names if self.generator.random() < 0.05]
        lines = [f"domain:{name} @cn" for name in trees[:20]] + trees[20:] + [f"full:{name}:@ads" for name in exact]
        tails = tuple(name.lower() for name in trees)
        is_below = lambda name: any(name == tail or name.endswith("." + tail) for tail in tails)
        lower = {name.lower() for name in exact}
        self.agree(lines, {name for name in self.names if is_below(name.lower()) or name.lower() in lower})

    def file(self, lines):
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "names"
        path.write_text("\n".join(lines) + "\n")
        return path


class Changes(Case):
    expected_seconds = 5

    def setUp(self):
        self.here, self.elsewhere = answering(LISTED), self.lab()
        self.addCleanup(self.here.close)
        for name in ("a", "b", "c", "www.a", "x.b"):
            self.elsewhere.record(f"{name}.lab.example", "A", OTHER, ttl=600)

    def serve(self, text, **options):
        server = self.daemon([self.elsewhere.provider("json")], system=[self.here.server], **options)
        self.path = server.directory / "china.conf"
        self.write(text)
        self.use(server)
        return server

    def use(self, server):
        server.sections = (
            '[[rule]]\nmatch = ["z.example"]\nstale = false\n'
            f'[[rule]]\nmatch-file = ["{self.path}"]\nresolver = "system"\n')
        server.config.write_text(server.settings())
        self.assertIn("reloaded", server.reload())

    def write(self, text):
        """Replaces the file, as package managers do."""
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.chmod(0o644)
        new.rename(self.path)

    def gets(self, address, server, name):
        self.assertEqual({address}, dig(server, name, "A").data, name)

    def test_a_changed_file_moves_its_names_at_once_and_no_other_answer(self):
        server = self.serve("a.lab.example\n")
        self.gets(LISTED, server, "www.a.lab.example")
        self.gets(OTHER, server, "x.b.lab.example")
        self.gets(OTHER, server, "c.lab.example")
        asked = self.elsewhere.asked("c.lab.example")
        self.write("# moved\nserver=/b.lab.example/\n")
        server.wait_for("^httpdnsd: 1 name loaded from .*china.conf$")
        self.gets(OTHER, server, "www.a.lab.example")
        self.gets(LISTED, server, "x.b.lab.example")
        self.gets(OTHER, server, "c.lab.example")
        self.assertEqual(asked, self.elsewhere.asked("c.lab.example"), "still cached")
        # The file is written in place, as by an editor.
        since = len(server.log)
        self.path.write_text("a.lab.example\n")
        server.wait_for("^httpdnsd: 1 name loaded", since=since)
        self.gets(LISTED, server, "www.a.lab.example")

    def test_explain_names_rule_file_and_line(self):
        server = self.serve("# one\n\nserver=/a.lab.example/192.0.2.1\n192.0.2.1 b.lab.example\n")
        text = ctl(server, "explain", "www.a.lab.example").stdout
        self.assertIn(f"a.lab.example (rule 2, {self.path} line 3): resolver = system", text)
        self.assertIn("the system resolver, by a rule", text)
        self.assertIn(f"=b.lab.example (rule 2, {self.path} line 4)", ctl(server, "explain", "b.lab.example").stdout)
        self.assertIn("no rule matches", ctl(server, "explain", "x.b.lab.example").stdout)

    def test_a_bad_file_keeps_the_last_good_list_and_says_so(self):
        server = self.serve("a.lab.example\nb.lab.example\n")
        self.gets(LISTED, server, "a.lab.example")
        self.write("c.lab.example\nregexp:^ads\n")
        fault = f'{self.path}:2:1: found "regexp:"; allowed: '
        server.wait_for("^httpdnsd: .*china.conf not loaded, its last good list stays in force:\n  " + re.escape(fault))
        self.gets(LISTED, server, "b.lab.example")
        self.gets(OTHER, server, "c.lab.example")
        self.assertIn(f"{self.path} 2 names (as before a change: {fault}", ctl(server, "status").stdout)
        done = ctl(server, "reload")
        self.assertEqual(0, done.returncode)
        self.assertIn(f"settings reloaded; these lists stay as they were:\n{fault}", done.stdout)
        self.path.unlink()
        server.wait_for("china.conf: can't be read: ")
        self.gets(LISTED, server, "a.lab.example")
        self.write("c.lab.example\n")
        server.wait_for("^httpdnsd: 1 name loaded")
        self.gets(LISTED, server, "c.lab.example")
        self.assertNotIn("as before", ctl(server, "status").stdout)

    def test_a_list_read_by_a_refused_reload_is_in_force(self):
        server = self.serve("a.lab.example\n")
        self.gets(LISTED, server, "a.lab.example")
        self.gets(OTHER, server, "b.lab.example")
        server.sections += f'[[rule]]\nmatch-file = ["{server.directory}/missing.conf"]\nstale = false\n'
        server.config.write_text(server.settings())
        # The file stays open, so the kernel reports no end of the write, and only the reload reads the file.
        with open(self.path, "w") as list:
            list.write("b.lab.example\n")
            list.flush()
            self.assertIn("missing.conf: can't be read: ", server.reload())
            self.gets(LISTED, server, "b.lab.example")
            self.gets(OTHER, server, "a.lab.example")

    def test_a_bad_file_in_a_new_rule_refuses_the_reload_and_leaves_the_rule_without_names_at_a_start(self):
        server = self.serve("a.lab.example\n")
        good, self.path = self.path, server.directory / "missing.conf"
        server.sections = server.sections.replace(str(good), str(self.path))
        server.config.write_text(server.settings())
        done = ctl(server, "reload")
        self.assertEqual(1, done.returncode)
        self.assertIn(f"{self.path}: can't be read: ", done.stdout + done.stderr)
        self.gets(LISTED, server, "a.lab.example")
        self.write("a..b\n")
        self.assertIn(f'{self.path}:1:1: found "a..b"; allowed: ', server.reload())
        server.stop()
        since = len(server.log)
        server.up().wait_for(
            f"not loaded, and it has no names until it is repaired:\n  {re.escape(str(self.path))}:1:1: found \"a..b\"",
            since=since)
        self.gets(OTHER, server, "a.lab.example")
        self.assertIn(f"{self.path} 0 names (as before a change: {self.path}:1:1: ", ctl(server, "status").stdout)
        self.assertEqual(1, server.stats()["files"]["faulty"])
        self.write("a.lab.example\n")
        server.wait_for("^httpdnsd: 1 name loaded", since=since)
        self.gets(LISTED, server, "a.lab.example")
        self.assertEqual(0, server.stats()["files"]["faulty"])

    def test_a_start_takes_the_last_good_version_of_a_file_with_any_fault(self):
        server = self.own(Daemon([self.elsewhere.provider("json")], system=[self.here.server]))
        server.store = server.directory / "cache.db"
        server.up()
        self.path = server.directory / "china.conf"
        self.write("a.lab.example\n" + "".join(f"n{number}.example\n" for number in range(2000)))
        self.use(server)
        self.gets(LISTED, server, "a.lab.example")
        copies = Path(f"{server.store}.names")
        eventually(lambda: copies.is_dir() and [copy for copy in copies.iterdir() if "china" in copy.name],
                   what="the list is copied")
        good = self.path.read_bytes()
        faults = {
            "an odd line": lambda: self.path.write_bytes(good + "i❤.example\n".encode()),
            "not there": self.path.unlink,
            "not to be read": lambda: (self.path.write_bytes(good), self.path.chmod(0)),
            "a directory": lambda: (self.path.unlink(), self.path.mkdir()),
            "a FIFO": lambda: (self.path.rmdir(), os.mkfifo(self.path)),
            "not UTF-8": lambda: (self.path.unlink(), self.path.write_bytes(b"\xff\xfe.example\n")),
            "NUL": lambda: self.path.write_bytes(good + b"\0\0\n"),
            "a very long line": lambda: self.path.write_bytes(b"x" * 100_000),
        }
        for fault, make in faults.items():
            with self.subTest(fault):
                server.stop()
                make()
                checked = httpdnsd("--check", "--config", server.config)
                self.assertEqual(0, checked.returncode, checked.stderr)
                self.assertIn(f"httpdnsd: warning: {self.path}", checked.stderr)
                self.assertIn(f"{self.path}: the daemon starts with 2001 names of it", checked.stderr)
                since = len(server.log)
                server.up().wait_for("china.conf not loaded, its last good list stays in force:\n  ", since=since)
                self.gets(LISTED, server, "a.lab.example")
                self.assertIn(f"{self.path} 2,001 names (as before a change: ", ctl(server, "status").stdout)
                self.assertIn("does without a file as it is now", ctl(server, "doctor").stdout)
        server.stop()
        self.path.write_text("b.lab.example\n")
        self.path.chmod(0o644)
        server.up()
        self.gets(LISTED, server, "b.lab.example")

    def test_a_start_survives_faults_in_all_other_files_with_names(self):
        server = self.own(Daemon([self.elsewhere.provider("json")], system=[self.here.server]))
        server.store = server.directory / "cache.db"
        folder = server.directory / "files"
        folder.mkdir()
        hosts, leases, names = folder / "hosts.d", folder / "leases", folder / "names"
        hosts.mkdir()
        (hosts / "one").write_text("192.0.2.1 one.lan\n")
        leases.write_text("9999999999 52:54:00:aa:bb:01 192.0.2.2 two *\n")
        names.write_text("a.lab.example\n")
        server.providers[0] |= {"names-file": str(names)}
        # The account answers no client: only names with a rule go to a provider, and no rule names it.
        server.providers.append({**closed_provider("dnspod-https"), "name": "spare", "account": "1",
                                 "key-file": str(folder / "missing"), "service-nodes": False})
        server.sections = '[[rule]]\nmatch = ["lab.example"]\nresolver = "json"\n'
        settings = server.settings

        def with_files():
            return (f'only-listed = true\nlocal-zone = "lan"\nhosts-directory = "{hosts}"\n'
                    f'lease-files = "{leases}"\n') + settings()

        server.settings = with_files
        server.up()
        self.assertIn("spare: key-file", server.log)
        self.gets("192.0.2.1", server, "one.lan")
        self.gets("192.0.2.2", server, "two.lan")
        copies = Path(f"{server.store}.names")
        eventually(lambda: copies.is_dir() and len(list(copies.iterdir())) >= 4, what="all files are copied")
        server.stop()
        for path in (hosts, leases, names):
            path.rename(path.with_suffix(".away"))
        server.up()
        self.gets("192.0.2.1", server, "one.lan")
        self.gets("192.0.2.2", server, "two.lan")
        status = json.loads(ctl(server, "--json", "status").stdout)
        faulty = [entry["path"] for entry in status["lists"] + status["local_names"] if entry.get("fault")]
        self.assertEqual([str(names), str(hosts), str(leases)], faulty)
        self.assertIn("spare: key-file", status["unused_accounts"][0])
        self.assertEqual(4, server.stats()["files"]["faulty"])
        self.assertIn("settings reloaded", server.reload())

    def test_no_query_is_lost_while_a_long_list_is_read(self):
        count = 120_000 if paths.is_full else 20_000
        server = self.serve("a.lab.example\n")
        ended, lost, slowest = threading.Event(), [], [0.0]

        def ask():
            number = 0
            with wire.Datagrams(server.address) as client:
                while not ended.is_set():
                    begun = time.monotonic()
                    name = f"n{number}.a.lab.example" if number % 2 else "c.lab.example"
                    client.send(wire.query(name, "A", id=number % 65536))
                    try:
                        client.receive()
                    except OSError:
                        lost.append(name)
                    slowest[0] = max(slowest[0], time.monotonic() - begun)
                    number += 1

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for turn in range(1, 4):
                since = len(server.log)
                names = (f"server=/t{turn}-{number}.example/192.0.2.1\n" for number in range(count))
                self.write("a.lab.example\n" + "".join(names))
                server.wait_for(f"^httpdnsd: {count + 1} names loaded", since=since)
        finally:
            ended.set()
            thread.join()
        self.assertEqual([], lost)
        self.assertLess(slowest[0], 2.0)
        self.assertIn(f"line {count + 1})", ctl(server, "explain", f"x.t3-{count - 1}.example").stdout)
