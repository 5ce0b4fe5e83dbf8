# The control socket for operators: httpdnsctl and socat, and their output for errors.

import json
import os
import resource
import socket
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import paths
from cases import Case
from dig import dig
from lab import Lab
from paths import PATIENCE
from programs import Daemon, ctl

# design.md section 4.4, as far as there is a source for it.
KEYS = {
    "schema": (), "version": (), "uptime_s": (), "queries": ("total", "udp", "tcp"),
    "responses": ("cache", "stale", "provider", "system", "local", "refused", "failure"),
    "rcodes": ("NOERROR", "NXDOMAIN", "SERVFAIL"), "dropped": (), "inflight": (), "latency_us": (),
    "cache": ("entries", "bytes", "hits", "misses", "insertions", "evictions"), "providers": (),
    "system": ("requests", "failures", "servers"), "probe": ("done", "verdicts", "quarantined", "divergences"),
    "process": ("rss_bytes", "open_fds", "threads"),
}
PROVIDER_KEYS = {"name", "dialect", "state", "requests", "names", "failures", "latency_ms", "connections"}


class Control(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.server = cls.share(Daemon([cls.provider.provider("json")])).up()
        for name in ("www.lab.example", "www.lab.example", "nothing.lab.example", "localhost"):
            dig(cls.server, name, "A")

    def test_every_key_of_stats(self):
        stats = json.loads(ctl(self.server, "stats", "--json").stdout)
        for key, members in KEYS.items():
            self.assertIn(key, stats)
            self.assertLessEqual(set(members), set(stats[key]) if members else set())
        self.assertLessEqual(PROVIDER_KEYS, set(stats["providers"][0]))
        self.assertEqual((1, "json", "up"), (
            stats["schema"], stats["providers"][0]["dialect"], stats["providers"][0]["state"]))
        self.assertEqual((1, 2, 1), tuple(stats["responses"][key] for key in ("cache", "provider", "local")))
        self.assertEqual((3, 1), tuple(stats["rcodes"][key] for key in ("NOERROR", "NXDOMAIN")))
        self.assertGreater(stats["process"]["rss_bytes"], 1 << 20)
        self.assertSums(stats)

    def test_status_and_stats_as_text(self):
        status = ctl(self.server, "status")
        self.assertEqual((0, ""), (status.returncode, status.stderr))
        self.assertIn(self.server.listen[0], status.stdout)
        self.assertIn("json", status.stdout)
        self.assertIn("queries", ctl(self.server, "stats").stdout)
        self.assertIn("stats", ctl(self.server, "help").stdout)

    def test_json_is_one_line_however_it_is_asked(self):
        for line in ("stats --json", '{"command":"stats"}', '{"command":"status"}', '{"command":"nonsense"}', "{"):
            done = subprocess.run(
                ["socat", "-", f"UNIX:{self.server.control}"], input=f"{line}\n", capture_output=True, text=True,
                timeout=10)
            self.assertEqual(1, done.stdout.count("\n"), line)
            self.assertIsInstance(json.loads(done.stdout), dict)
        self.assertIn("error", json.loads(done.stdout))

    def test_exit_codes(self):
        nobody = SimpleNamespace(control=self.server.directory / "nobody.sock")
        for code, server, arguments in (
                (0, self.server, ["status"]), (0, nobody, ["--help"]), (0, nobody, ["--version"]),
                (1, self.server, ["nonsense"]), (1, self.server, ["stats", "--nonsense"]),
                (2, nobody, ["status"]), (3, self.server, []), (3, self.server, ["--nonsense"])):
            with self.subTest(arguments):
                done = ctl(server, *arguments)
                self.assertEqual(code, done.returncode, done.stdout + done.stderr)
                if code > 1:
                    self.assertTrue(done.stderr.startswith("httpdnsctl: "), done.stderr)
                    self.assertEqual("", done.stdout)

    def test_hostile_clients_of_the_socket(self):
        for line in ("", "x" * 100_000, "\0\xff", "stats " * 300, '{"command":' + "[" * 2000):
            try:
                answer = self.server.ask_control(line)
            except (BrokenPipeError, ConnectionResetError):
                continue
            self.assertIn("error", answer)
        self.assertEqual(1, self.server.stats()["schema"])

    def test_silent_clients_keep_nobody_out(self):
        silent = []
        try:
            for _ in range(40):
                client = socket.socket(socket.AF_UNIX)
                silent.append(client)
                client.connect(str(self.server.control))
            self.assertEqual(1, self.server.stats()["schema"])
        finally:
            for client in silent:
                client.close()

    def test_everyone_may_open_the_socket(self):
        self.assertEqual(0o666, stat.S_IMODE(self.server.control.stat().st_mode))


@unittest.skipUnless(os.geteuid() == 0, "takes two users")
class OtherUsers(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.share(Daemon([cls.share(Lab()).up().provider("json")])).up()

    def test_connections_of_an_unprivileged_user_do_not_end_a_watch_of_root(self):
        opening = (
            "import socket, sys\n"
            "clients = [socket.socket(socket.AF_UNIX) for _ in range(80)]\n"
            "for client in clients: client.connect(sys.argv[1])\n"
            "print('open', flush=True)\n"
            "sys.stdin.read()\n")
        with socket.socket(socket.AF_UNIX) as watch:
            watch.settimeout(PATIENCE)
            watch.connect(str(self.server.control))
            watch.sendall(b"watch\n")
            self.assertEqual(1, self.server.stats()["schema"])
            with subprocess.Popen(
                    ["/usr/bin/python3", "-c", opening, str(self.server.control)], user=65534, group=65534,
                    extra_groups=[], cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
                self.assertEqual(b"open\n", other.stdout.readline())
                self.assertEqual(1, self.server.stats()["schema"])
                dig(self.server, "www.lab.example", "A")
                self.assertIn(b"www.lab.example", watch.recv(4096))
                other.stdin.close()


class WithoutDescriptors(Case):
    def cpu_seconds(self, server):
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def limit(server, soft, hard):
        """The test runs as the daemon's own user, because any other user needs a capability that root in a container
        lacks."""
        own = paths.DAEMON
        subprocess.run(
            ["prlimit", f"--pid={server.process.pid}", f"--nofile={soft}:{hard}"], check=True,
            **({"user": own.pw_uid, "group": own.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}))

    def test_a_client_that_cannot_be_accepted_waits_and_costs_nothing(self):
        server = self.daemon([self.lab().provider("json")])
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket(socket.AF_UNIX) as client:
            self.limit(server, 3, limits[1])
            client.connect(str(server.control))
            client.sendall(b"status\n")
            before = self.cpu_seconds(server)
            client.settimeout(2)
            self.assertRaises(TimeoutError, client.recv, 1)
            self.assertLess(self.cpu_seconds(server) - before, 0.5)
            self.limit(server, *limits)
            client.settimeout(10)
            self.assertTrue(client.recv(100).startswith(b"httpdnsd"))


class Steps(Case):
    """The client httpdnsctl with a daemon that answers in steps; the test is the daemon."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = str(Path(directory.name) / "control.sock")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.path)
        listener.listen()
        listener.settimeout(PATIENCE)
        self.listener = listener

    def ask(self, *words):
        client = subprocess.Popen(
            [paths.binaries / "httpdnsctl", "--socket", self.path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        connection, _ = self.listener.accept()
        self.addCleanup(connection.close)
        connection.settimeout(PATIENCE)
        with connection.makefile("rb") as lines:
            line = lines.readline().decode().rstrip()
        return client, connection, line

    def test_steps_are_shown_as_they_come(self):
        client, connection, line = self.ask("providers", "test", "alidns")
        self.assertEqual("providers test alidns", line)
        # The test sends the second step after the client has shown the first.
        for step in ("addresses: 2\n", "first answer: 18 ms é\n"):
            connection.sendall(step.encode())
            self.assertEqual(step, client.stdout.readline().decode())
        # A character that comes in two parts is shown whole.
        half = "é\n".encode()
        connection.sendall(half[:1])
        connection.sendall(half[1:] + b"no end of line")
        self.assertEqual("é\n", client.stdout.readline().decode())
        connection.close()
        self.assertEqual((b"no end of line", b""), client.communicate(timeout=PATIENCE))
        self.assertEqual(0, client.returncode)

    def test_a_test_that_ends_in_a_refusal_has_failed(self):
        for words, end in (
                (("providers", "test", "alidns"), b"step\nerror: it does not answer\n"),
                (("--json", "providers", "test", "x"), b'{"step":1}\n{"error":"no"}\n'),
                (('{"command":"providers","verb":"test","name":"x"}',), b'{"error":"no provider x"}\n')):
            with self.subTest(words):
                client, connection, _ = self.ask(*words)
                connection.sendall(end)
                connection.close()
                self.assertEqual((end, b""), client.communicate(timeout=PATIENCE))
                self.assertEqual(1, client.returncode)

    def test_other_answers_are_taken_whole_before_they_are_printed(self):
        client, connection, _ = self.ask("cache", "dump")
        # The reply exceeds a pipe: a daemon would also wait for a pager that waits.
        answer = b"x" * 99 + b"\n"
        for _ in range(10_000):
            connection.sendall(answer)
        connection.close()
        self.assertEqual(answer * 10_000, client.communicate(timeout=PATIENCE)[0])
        self.assertEqual(0, client.returncode)

    def test_no_answer_is_a_failure(self):
        client, connection, _ = self.ask("providers", "test", "alidns")
        connection.close()
        output, errors = client.communicate(timeout=PATIENCE)
        self.assertEqual((b"", 1), (output, client.returncode))
        self.assertIn(b"gave no answer", errors)
