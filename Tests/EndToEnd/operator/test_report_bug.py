# The command httpdnsctl report-bug: its file with and without a daemon, the absence of secrets, and paths that it
# cannot write.

import itertools
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import paths
from cases import LAB_WWW, Case
from lab import Lab
from paths import free_port
from programs import Daemon
from wire import Datagrams

TITLES = ["versions", "machine", "settings", "status", "doctor", "providers", "network", "network history", "stats",
          "log", "recorder"]
CLIENT = "127.0.3.77"
NOBODY = 65534


class Reports(Case):
    """Each report takes up to four seconds, because the doctor waits for providers that do not answer."""

    expected_seconds = 20

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="e2e-report-"))
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.directory.chmod(0o755)

    def report_bug(self, *arguments, socket="/nonexistent.sock", **options):
        return subprocess.run(
            list(map(str, [paths.binaries / "httpdnsctl", "--socket", socket, "report-bug", *arguments])), text=True,
            timeout=paths.PATIENCE, cwd=self.directory,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def file(self, name, content, mode=0o644):
        path = self.directory / name
        path.write_text(content)
        path.chmod(mode)
        return paths.entrust(path)

    def settings(self, text=""):
        """Settings without a provider that the doctor would have to wait for."""
        provider = f'[[provider]]\nname = "none"\ndialect = "doh"\nurl = "http://127.0.0.1:{free_port()}/dns-query"\n'
        return self.file("httpdnsd.toml", provider + '[system-resolver]\nservers = ["127.0.0.1:9"]\n' + text)

    def sections(self, text):
        found = re.split(r"^== (.*) ==\n", text, flags=re.M)
        self.assertEqual(TITLES, found[1::2])
        self.assertLessEqual(len(text.encode()), 1 << 20)
        return {"preface": found[0], **dict(zip(found[1::2], found[2::2]))}

    def written(self, done):
        """The only report in the directory."""
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        path, = self.directory.glob("httpdnsd-report-*.txt")
        self.assertRegex(path.name, r"^httpdnsd-report-\d{8}-\d{6}\.txt$")
        self.assertEqual(0o600, path.stat().st_mode & 0o7777)
        self.assertRegex(done.stdout, rf"^\./{path.name}: \d+\.\d KiB\n")
        self.assertRegex(done.stdout, r"\nNext: read the file, .*attach it to your report\.\n$")
        return path.read_text()


class WithDaemon(Reports):
    def secrets(self):
        """The settings of providers with a canary in each place for a secret."""
        key = self.file("canary.key", "canary-of-the-key-file\n", 0o600)
        password = self.file("proxy.key", "canary-of-the-proxy\n", 0o600)
        port = free_port()
        return [
            {"name": "signed", "dialect": "json", "url": f"http://127.0.0.1:{port}/canary-of-the-path",
             "account": "canary-of-the-account", "access-key": "canary-of-the-access-key", "key-file": str(key)},
            {"name": "vendor", "dialect": "template", "url": f"http://127.0.0.1:{port}/resolve",
             "account": "canary-of-the-vendor", "key-file": str(key),
             "proxy": f"http://canary-of-the-user@127.0.0.1:{port}", "proxy-key-file": str(password),
             "template": {
                 "query": "n={name}&a={account}&t=canary-of-the-query&s={signature}",
                 "headers": ["X-Token: canary-of-the-header"], "digest": "md5",
                 "signed": ["canary-of-the-signature", "{secret}", "{name}"], "join": "canary-of-the-joiner",
                 "v4": "ips"}},
        ]

    def receiver(self):
        key = self.file("notify.key", "canary-of-the-receivers-key\n", 0o600)
        return (f'[[notify]]\nurl = "http://127.0.0.1:{free_port()}/canary-of-the-hook?t=canary-of-the-token"\n'
                f'key-file = "{key}"\n')

    def test_everything_is_in_it_but_no_secret_and_no_client(self):
        lab = self.lab()
        server = self.daemon([lab.provider("json"), *self.secrets()], sections="[[rule]]\nmatch = [\"corp.example\"]\n"
                             "resolver = \"vendor\"\n" + self.receiver())
        with Datagrams(server.address, source=CLIENT) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
            client.ask("wiki.corp.example")
        text = self.written(self.report_bug(socket=server.control))
        sections = self.sections(text)
        self.assertTrue(text.startswith("Read this file before you attach it: "))
        self.assertNotIn("canary-of", text)
        self.assertNotIn(CLIENT, text)
        self.assertRegex(sections["versions"], r"^httpdnsctl \d.*\nhttpdnsd \d.*\nsystem .+\nkernel \d")
        self.assertRegex(sections["machine"], r"^cores \d+\nmemory MemTotal: ")
        self.assertIn(f"# {server.config}\n", sections["settings"])
        for line in ('account = "(removed)"', 'access-key = "(removed)"', 'query = "(removed)"', 'v4 = "ips"',
                     f'key-file = "{self.directory}/canary.key"', f'key-file = "{self.directory}/notify.key"', '[[rule]]\nmatch = ["corp.example"]'):
            self.assertIn(line, sections["settings"])
        self.assertIn(f"pid {server.process.pid} ", sections["status"])
        self.assertIn("\nchecked: settings, daemon, ", sections["doctor"])
        self.assertIn("signed", sections["providers"])
        self.assertIn("queries", sections["stats"])
        self.assertRegex(sections["recorder"], r"answered +www\.lab\.example A .*\n(.*\n)*; \d+ events?\n")

    def test_values_of_a_file_that_became_wrong_are_not_in_it(self):
        server = self.daemon([self.lab().provider("json")])
        with server.config.open("a") as file:
            file.write('[[rule]]\nmatch = ["a.example"]\nresolver = "canary-of-a-mistake"\n')
        self.assertIn("canary-of-a-mistake", server.reload())
        sections = self.sections(self.written(self.report_bug(socket=server.control)))
        for title in ("settings", "doctor"):
            self.assertRegex(sections[title], r":\d+:\d+: rule\.resolver: found \(removed\)")
        self.assertNotIn("canary", "".join(sections.values()))

    def test_a_daemon_that_hangs_is_not_asked_again(self):
        server = self.daemon([self.lab().provider("json")])
        server.signal(signal.SIGSTOP)
        self.addCleanup(server.signal, signal.SIGCONT)
        terminal, stderr = pty.openpty()
        done = self.report_bug("--config", server.config, "--output", "a.txt", socket=server.control, stderr=stderr)
        os.close(stderr)
        self.assertIn(b"httpdnsctl: collecting doctor\r\n", os.read(terminal, 65536))
        os.close(terminal)
        sections = self.sections((self.directory / "a.txt").read_text())
        reason = f"the daemon at {server.control} does not answer"
        self.assertIn(f"missing: status, providers, network, network history, stats, recorder: {reason}\n", done.stdout)
        for title in ("status", "providers", "stats", "recorder"):
            self.assertEqual(f"missing: {reason}", sections[title].rstrip())

    def test_the_flight_recorder_may_be_off(self):
        server = self.daemon([self.lab().provider("json")], sections='[log]\nrecorder = "off"\n')
        sections = self.sections(self.written(self.report_bug(socket=server.control)))
        self.assertIn("the flight recorder is off", sections["recorder"])


class FakeDaemon:
    """A control socket that replies to `status --json` with the pieces `status`, and to any other command with
    `pieces`."""

    def __init__(self, path, status, pieces, pause=0.0):
        self.status, self.pieces, self.pause, self.asked = status, pieces, pause, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(8)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                command = connection.recv(4096).decode().strip()
                self.asked.append(command)
                try:
                    for piece in self.status if command == "status --json" else self.pieces:
                        connection.sendall(piece)
                        time.sleep(self.pause)
                except OSError:
                    continue

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


class WithHostileDaemon(Reports):
    def fake(self, pieces, pause=0.0, status=None):
        if status is None:
            server = self.daemon([self.lab().provider("json")])
            status = [server.ask_control("status --json").encode()]
        fake = FakeDaemon(self.directory / "fake.sock", status, pieces, pause)
        self.addCleanup(fake.close)
        return fake

    def report_of(self, fake):
        began = time.monotonic()
        done = self.report_bug("--config", self.settings(), "--output", "-", socket=self.directory / "fake.sock")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertLess(time.monotonic() - began, 25)
        return self.sections(done.stdout)

    def test_a_daemon_that_drips_is_asked_once_and_not_waited_for(self):
        fake = self.fake(itertools.repeat(b"x"), pause=0.05)
        sections = self.report_of(fake)
        # The doctor compares two counters of the daemon.
        self.assertEqual(["status --json", "stats --json", "providers"], fake.asked)
        reason = f"no complete answer from the daemon at {self.directory}/fake.sock: recv: Connection timed out (ETIMEDOUT)"
        for title in ("providers", "network", "stats", "recorder"):
            self.assertEqual(f"missing: {reason}", sections[title].rstrip())
        self.assertIn("pid ", sections["status"])

    def test_a_daemon_that_drips_its_status_is_not_asked_again(self):
        fake = self.fake([], status=itertools.repeat(b"{"), pause=0.05)
        self.assertIn("does not answer", self.report_of(fake)["status"])
        self.assertEqual(["status --json"], fake.asked)

    def test_a_daemon_that_floods_fills_no_report(self):
        fake = self.fake(itertools.repeat(b"y\n" * 32768))
        sections = self.report_of(fake)
        # The doctor compares two counters of the daemon.
        self.assertEqual(["status --json", "stats --json", "providers"], fake.asked)
        self.assertIn("Message too long (EMSGSIZE)", sections["recorder"])

    def test_a_long_answer_is_cut_and_a_long_refusal_too(self):
        fake = self.fake([b"error: " + b"canary-of-a-key" * 20000 + b"\n"])
        sections = self.report_of(fake)
        self.assertEqual(7, len(fake.asked))
        self.assertLess(len(sections["stats"]), 9000)


class WithoutDaemon(Reports):
    def test_what_is_missing_is_said_with_the_reason(self):
        done = self.report_bug("--config", self.settings())
        sections = self.sections(self.written(done))
        reason = "no daemon at /nonexistent.sock: connect: No such file or directory (ENOENT)"
        self.assertIn(f"missing: status, providers, network, network history, stats, recorder: {reason}\n", done.stdout)
        self.assertIn(f"Missing: status, providers, network, network history, stats, recorder: {reason}\n",
                      sections["preface"])
        self.assertEqual(f"missing: {reason}", sections["stats"].rstrip())
        self.assertIn("httpdnsd unknown: no answer", sections["versions"])
        self.assertIn('name = "none"', sections["settings"])

    def test_to_standard_output_and_as_json(self):
        done = self.report_bug("--config", self.settings(), "--output", "-")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.sections(done.stdout)
        self.assertEqual([], list(self.directory.glob("httpdnsd-report-*")))
        done = self.report_bug("--config", self.settings(), "--output", "a.txt", "--json")
        report = json.loads(done.stdout)
        self.assertEqual(("a.txt", (self.directory / "a.txt").stat().st_size), (report["path"], report["bytes"]))
        self.assertTrue(report["missing"])
        done = self.report_bug("--output", "-", "--json")
        self.assertEqual((3, ""), (done.returncode, done.stdout))
        self.assertIn("leave out --json", done.stderr)

    def test_the_path_of_the_file_is_printed_without_control_characters(self):
        done = self.report_bug("--config", self.settings(), "--output", "a\x1b[2J.txt")
        self.assertEqual(0, done.returncode)
        self.assertTrue(done.stdout.startswith("a\\u{1B}[2J.txt: "), done.stdout)
        again = self.report_bug("--config", self.settings(), "--output", "a\x1b[2J.txt")
        self.assertIn("can't write a\\u{1B}[2J.txt: ", again.stderr)

    def test_a_wrong_settings_file_shows_where_but_not_what(self):
        wrong = self.file("wrong.toml", '[[provider]]\nname = "a"\ndialect = "doh"\naccount = "canary of mine"\n'
                                        'url = "https://user:canary@192.0.2.1/"\n')
        sections = self.sections(self.report_bug("--config", wrong, "--output", "-").stdout)
        self.assertIn(f"{wrong}:4:11: provider.account: found (removed)\n", sections["settings"])
        self.assertIn(f"{wrong}:5:7: provider.url: found (removed)\n", sections["settings"])
        self.assertNotIn("canary", "".join(sections.values()))

    def test_a_key_pasted_in_place_of_its_file_is_shown_nowhere(self):
        keys = 'key-file = "canary-of-a-key"\ncipher-key-file = "canary-of-a-cipher"\n' \
               'proxy-key-file = "canary-of-a-proxy"\n'
        common = f'[server]\nlisten = ["127.0.0.1:{free_port()}"]\nuser = "{paths.DAEMON.pw_name}"\n' \
                 '[cache]\nstore = ""\n[control]\nsocket = ""\n[log]\nrecorder-directory = ""\n'
        provider = '[[provider]]\nname = "a"\ndialect = "alicloud-v2"\nurl = "http://127.0.0.1:9/"\n' \
                   'account = "100"\nproxy = "http://u@127.0.0.1:9"\n'
        pasted = self.file("pasted.toml", common + provider + keys)
        unquoted = self.file("unquoted.toml", common + provider + keys.replace('"', ""))
        misfit = self.file("misfit.toml", common + provider + keys.replace("canary-", "+canary-"))
        for path in (pasted, unquoted, misfit):
            commands = [["httpdnsctl", "--socket", "/nonexistent.sock", "report-bug", "--output", "-"],
                        ["httpdnsctl", "--socket", "/nonexistent.sock", "doctor"],
                        ["httpdnsd", "--check"], ["httpdnsd", "--print-effective"], ["httpdnsd"]]
            for program, *words in commands:
                with self.subTest(file=path.name, command=[program, *words]):
                    done = subprocess.run([paths.binaries / program, *words, "--config", path], text=True,
                                          capture_output=True, timeout=paths.PATIENCE, cwd=self.directory)
                    self.assertTrue(done.stdout + done.stderr)
                    self.assertNotIn("canary-of", done.stdout + done.stderr)
        checked = subprocess.run([paths.binaries / "httpdnsd", "--check", "--config", pasted], text=True,
                                 capture_output=True, timeout=paths.PATIENCE)
        self.assertEqual(1, checked.returncode)
        self.assertEqual(3, checked.stderr.count("LoadCredential=NAME:/PATH/OF/THE/SECRET"))

    def test_a_file_that_is_there_and_places_that_cannot_be_written(self):
        existing = self.file("existing.txt", "mine")
        (self.directory / "link").symlink_to(existing)
        other = "; it is not a regular file; use --output - for standard output, or name a new file with --output FILE"
        for path, remedy in ((existing, "remove it, or name another file with --output FILE"),
                             (self.directory / "link", other), ("/dev/stdout", other), ("/dev/null", other),
                             (self.directory, other),
                             (self.directory / "none" / "a.txt", "; name another file with --output FILE")):
            done = self.report_bug("--config", self.settings(), "--output", path)
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertRegex(done.stderr, rf"^httpdnsctl: can't write {re.escape(str(path))}: .*{re.escape(remedy)}\n$")
        self.assertEqual("mine", existing.read_text())
        self.assertEqual(3, self.report_bug("--output").returncode)

    @unittest.skipUnless(os.geteuid() == 0, "another user needs root")
    def test_another_user_in_a_directory_of_root(self):
        closed = self.directory / "closed"
        closed.mkdir(0o700)
        settings = self.settings()
        with paths.reachable(paths.binaries) as programs:
            def run(*arguments):
                command = [programs / "httpdnsctl", "--socket", "/nonexistent.sock", "report-bug", "--config", settings]
                return subprocess.run(
                    list(map(str, [*command, *arguments])), user=NOBODY, group=NOBODY, extra_groups=[],
                    cwd=self.directory, capture_output=True, text=True, timeout=paths.PATIENCE)
            for arguments in ([], ["--output", closed / "a.txt"]):
                done = run(*arguments)
                self.assertEqual((1, ""), (done.returncode, done.stdout))
                self.assertRegex(done.stderr, r"^httpdnsctl: can't write .*Permission denied.* with --output FILE\n$")
            self.sections(run("--output", "-").stdout)
