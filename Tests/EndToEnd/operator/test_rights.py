# The rights of users on the control socket, and malformed requests.

import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import paths
from cases import Case
from dig import dig
from lab import Lab
from paths import eventually
from programs import Daemon, ctl

NOBODY = 65534
READING = (
    "status", "stats", "cache ls", "cache get www.lab.example", "cache dump", "providers", "network", "network history",
    "network names", "verdicts", "evidence", "whois 192.0.2.10", "top", "help", "help flush",
    "explain www.lab.example", "query www.lab.example", "inflight", "recorder dump", "stats --prometheus",
)
ENDLESS = ("watch", "stats --watch")
RESERVED = (
    "flush --all", "flush www.lab.example", "prefetch www.lab.example", "httpdns off", "httpdns on", "verify www.lab.example",
    "providers reset", "providers test json", "log debug", "log debug --for 1s", "reload",
    "query www.lab.example --no-cache", "query www.lab.example --provider json", "watch --clients",
    "recorder dump --clients", "network names --write",
)


class Nobody(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.server = cls.share(Daemon([cls.provider.provider("json")])).up()
        dig(cls.server, "www.lab.example", "A")
        # User 65534 may run the copy, wherever the build is.
        cls.client = shutil.copy(paths.binaries / "httpdnsctl", cls.server.directory)

    def as_nobody(self, line, *options):
        return subprocess.run(
            [self.client, "--socket", self.server.control, *options, *line.split()], user=NOBODY, group=NOBODY,
            extra_groups=[], capture_output=True, text=True, timeout=paths.PATIENCE)

    def test_reading_is_for_everyone(self):
        for line in READING:
            with self.subTest(line):
                done = self.as_nobody(line)
                self.assertEqual((0, ""), (done.returncode, done.stderr), done.stdout)
                self.assertFalse(done.stdout.startswith("error"))

    def test_what_goes_on_until_it_is_ended_is_for_everyone(self):
        for line in ENDLESS:
            with self.subTest(line):
                shown = self.shown_while_asked(line)
                self.assertFalse(shown.startswith("error"), shown)

    def shown_while_asked(self, line, *options):
        """Returns what a continuous command shows to user 65534 while there are queries."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [self.client, "--socket", self.server.control, *options, *line.split()], user=NOBODY, group=NOBODY,
                extra_groups=[], stdout=output, stderr=subprocess.STDOUT)

            def shown():
                dig(self.server, "www.lab.example", "A")
                return os.pread(output.fileno(), 1 << 20, 0).decode()

            try:
                eventually(shown, what=f"{line} shows something")
                return shown()
            finally:
                process.terminate()
                process.wait(paths.PATIENCE)

    def test_explanations_come_at_a_pace_but_for_the_daemons_own(self):
        asking = f'for i in $(seq 100); do "{self.client}" --socket "{self.server.control}" explain www.lab.example & done; wait'
        done = subprocess.run(
            ["sh", "-c", asking], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True,
            timeout=paths.PATIENCE)
        self.assertIn("error: too many explanations; allowed: 20 a second for all users together\n", done.stdout)
        self.assertEqual(0, ctl(self.server, "explain", "www.lab.example").returncode)
        eventually(lambda: self.as_nobody("explain www.lab.example").returncode == 0, what="there is room again")

    def test_nobody_sees_who_asked(self):
        dig(self.server, "www.lab.example", "A")
        for options in ((), ("--json",)):
            with self.subTest(options):
                dump = self.as_nobody("recorder dump", *options).stdout
                self.assertIn("www.lab.example", dump)
                self.assertNotIn("127.0.0.1", dump)
                watched = self.shown_while_asked("watch", *options)
                self.assertIn("www.lab.example", watched)
                self.assertNotIn("127.0.0.1", watched)

    def test_what_changes_something_is_refused_and_says_why(self):
        before = self.server.stats()
        for line in RESERVED:
            with self.subTest(line):
                done = self.as_nobody(line)
                self.assertEqual(1, done.returncode, done.stdout)
                self.assertRegex(
                    done.stdout,
                    rf"^error: .* is for root, user {paths.DAEMON.pw_uid} and group {paths.DAEMON.pw_gid}; "
                    rf"you are user {NOBODY}, group {NOBODY}\n$")
                refused = json.loads(self.as_nobody(line, "--json").stdout)
                self.assertIn("is for root", refused["error"])
        after = self.server.stats()
        self.assertEqual(before["cache"]["entries"], after["cache"]["entries"])
        self.assertNotIn("switched", ctl(self.server, "status").stdout)
        self.assertNotIn("log's level", self.server.log)
        self.assertNotIn("reloaded", self.server.log)


class Objects(Case):
    def test_each_command_gives_json_lines_on_demand(self):
        server = self.daemon([self.lab().provider("json")])
        dig(server, "www.lab.example", "A")
        examples = {
            "cache": ("cache ls", "cache get www.lab.example", "cache dump"), "flush": ("flush a.example",),
            "prefetch": ("prefetch a.lab.example",), "httpdns": ("httpdns off --for 1s", "httpdns on"),
            "providers": ("providers", "providers reset", "providers test json"), "network": (
                "network", "network history", "network names", "network names --write"),
            "verify": ("verify www.lab.example",), "report": ("report www.lab.example 192.0.2.10",),
            "whois": ("whois 192.0.2.10",), "explain": ("explain www.lab.example",), "query": ("query www.lab.example",),
            "recorder": ("recorder dump",), "log": ("log debug --for 1s", "log info"), "reload": ("reload",), "watch": (),
            # These commands examine the machine and the network: in test_takeover, test_doctor, test_setup and
            # test_report_bug.
            "system": (), "doctor": (), "setup": (), "report-bug": (),
        }
        for command in json.loads(ctl(server, "--json", "help").stdout)["commands"]:
            for line in examples.get(command, (command,)):
                with self.subTest(line):
                    done = ctl(server, "--json", *line.split())
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    for row in done.stdout.splitlines():
                        self.assertIsInstance(json.loads(row), dict, row)
                    # An empty list prints nothing.
                    self.assertTrue(done.stdout or command in ("evidence", "verdicts", "recorder"), line)


class Malformed(Case):
    """The test sends ten thousand malformed lines."""

    expected_seconds = 25
    LINES = 10_000
    CONNECTIONS = 16

    def setUp(self):
        self.server = self.daemon([self.lab().provider("json")])
        dig(self.server, "www.lab.example", "A")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    @staticmethod
    def line(chance):
        """A line, and whether it has a newline at its end."""
        kind = chance.randrange(10)
        if kind == 0:
            return chance.randbytes(chance.randrange(1, 200)), True
        if kind == 1:
            return b"stats \xff\xfe" + chance.randbytes(8).replace(b"\n", b"") + b"\xc3", True
        if kind == 2:
            return b'{"command":' + chance.choice([b"[", b'{"a":', b'[{"a":']) * chance.randrange(10, 5000), True
        if kind == 3:
            return b'{"command":"log","for":' + b"9" * chance.randrange(20, 400) + b"}", True
        if kind == 4:
            return chance.choice([b"x", b" ", b"\0", b"flush "]) * chance.randrange(6_000, 50_000), True
        if kind == 5:
            return chance.choice([b"sta", b"{", b'{"command":"sta', b"cache ", b""]), False
        if kind == 6:
            words = ["cache", "get", "..", "--type", "a" * 300, "--for", "-1s", "\x1b[2J", "\u202e", "stats", "--", "'"]
            return " ".join(chance.choices(words, k=5)).encode(), True
        if kind == 7:
            return json.dumps({"command": chance.choice([1, None, [], {}, "x" * 99, "flush"]), "name": [[]]}).encode(), True
        if kind == 8:
            return b"\r\n" * chance.randrange(1, 50), True
        return b"nonsense\n" * chance.randrange(2, 50), True

    def send(self, seed):
        """The received reply; None if the connection was cut."""
        line, is_ended = self.line(random.Random(seed))
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(paths.PATIENCE)
            client.connect(str(self.server.control))
            try:
                client.sendall(line + (b"\n" if is_ended else b""))
                if not is_ended and seed % 2:
                    return None
                client.shutdown(socket.SHUT_WR)
                answer = b""
                while chunk := client.recv(65536):
                    answer += chunk
                return answer
            except (BrokenPipeError, ConnectionResetError):
                return None

    def test_nothing_breaks(self):
        before, memory = self.descriptors(), self.server.own_bytes()
        with ThreadPoolExecutor(self.CONNECTIONS) as pool:
            sent = pool.map(self.send, range(self.LINES))
            for number, answer in enumerate(sent):
                if answer:
                    self.assertTrue(
                        answer.startswith((b"error: ", b'{"error":')), f"seed {number}: {answer[:200]}")
                    self.assertEqual(1, answer.count(b"\n"), f"seed {number}: {answer[:200]}")
                    self.assertTrue(all(32 <= byte < 127 for byte in answer[:-1]), f"seed {number}: {answer[:200]}")
                if number % 1000 == 0:
                    self.assertEqual("NOERROR", dig(self.server, "www.lab.example", "A").status)
        eventually(lambda: self.descriptors() <= before, what="descriptors are returned")
        stats = self.server.stats()
        self.assertSums(stats)
        self.assertLess(self.server.own_bytes() - memory, 32 << 20)
        self.assertEqual("NOERROR", dig(self.server, "www.lab.example", "A").status)
        # Malformed requests cause no log lines.
        self.assertLess(len(self.server.log.splitlines()), 10, self.server.log)

    def test_who_sends_a_little_at_a_time_is_cut_and_holds_up_nobody(self):
        clients = []
        for _ in range(64):
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.connect(str(self.server.control))
            clients.append(client)
        began = time.monotonic()
        for _ in range(10):
            for client in clients:
                try:
                    client.send(b"s")
                except (BrokenPipeError, ConnectionResetError):
                    pass
            self.assertEqual(1, self.server.stats()["schema"])
            self.assertEqual("NOERROR", dig(self.server, "www.lab.example", "A").status)
        self.assertLess(time.monotonic() - began, 10)
