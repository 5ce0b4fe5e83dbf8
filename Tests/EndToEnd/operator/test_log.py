# The daemon's log for operators in each form, and its changes at run time.

import json
import os
import re
import signal
import socket
import subprocess
import unittest

import journal
import paths
from cases import Case, closed_provider
from dig import dig
from programs import Daemon, ctl


@unittest.skipUnless(os.geteuid() == 0, "the journal's socket is put into a mount namespace")
class Entries(Case):
    """The journal with its own socket: each line is an entry with fields."""

    def setUp(self):
        self.journal = journal.Journal()
        self.addCleanup(self.journal.close)
        self.reader, writer = socket.socketpair()
        self.addCleanup(self.reader.close)
        self.server = self.own(Daemon([closed_provider()]))
        self.server.config.write_text(self.server.settings())
        with writer:
            status = os.fstat(writer.fileno())
            self.server.process = subprocess.Popen(
                [*self.journal.prefix, paths.binaries / "httpdnsd", "--config", self.server.config],
                stdin=subprocess.DEVNULL, stdout=writer, stderr=writer,
                env={**os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})

    def test_each_event_has_its_word_and_its_fields(self):
        ready = self.journal.until("ready")[-1]
        self.assertEqual({
            "PRIORITY": ["6"], "SYSLOG_IDENTIFIER": ["httpdnsd"], "HTTPDNSD_EVENT": ["ready"],
            "HTTPDNSD_LISTEN": self.server.listen, "HTTPDNSD_PROVIDERS": ["closed"],
            "HTTPDNSD_SYSTEM_SERVERS": self.server.system, "HTTPDNSD_THREADS": [str(len(os.sched_getaffinity(0)))],
        }, {name: values for name, values in ready.items() if name != "MESSAGE"})
        self.assertRegex(ready["MESSAGE"][0], "^ready: listening on ")
        for number in range(8):
            dig(self.server, f"n{number}.name{number}.example", "A")
        down = self.journal.until("provider-down")[-1]
        self.assertEqual((["4"], ["closed"]), (down["PRIORITY"], down["HTTPDNSD_PROVIDER"]))
        self.assertEqual([f"provider closed is down: {down['HTTPDNSD_REASON'][0]}"], down["MESSAGE"])
        self.server.config.write_text("nonsense\n")
        self.server.signal(signal.SIGHUP)
        refused = self.journal.until("settings-refused")[-1]
        self.assertEqual(["3"], refused["PRIORITY"])
        self.assertRegex(refused["MESSAGE"][0], r"^settings not reloaded, the old ones stay in force:\n  /.*:1:")
        self.server.stop()
        self.assertEqual(["stopped"], self.journal.until("stopped")[-1]["MESSAGE"])
        self.assertEqual(b"", self.reader.recv(65536), "no line is written twice")

    def test_why_it_does_not_start_is_on_the_stream_whose_unit_is_known(self):
        self.journal.until("ready")
        self.server.stop()
        self.journal.until("stopped")
        self.server.config.write_text("nonsense = 1\n")
        reader, writer = socket.socketpair()
        self.addCleanup(reader.close)
        with writer:
            status = os.fstat(writer.fileno())
            ended = subprocess.run(
                [*self.journal.prefix, paths.binaries / "httpdnsd", "--config", self.server.config],
                stdin=subprocess.DEVNULL, stdout=writer, stderr=writer,
                env={**os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
        self.assertEqual(1, ended.returncode)
        self.assertRegex(reader.recv(65536), rb"^<3>/.*:1:1: unknown key")
        self.journal.socket.setblocking(False)
        self.assertRaises(BlockingIOError, self.journal.socket.recv, 1)

    def test_without_the_socket_lines_go_to_standard_error(self):
        self.journal.until("ready")
        self.journal.socket.close()
        self.server.signal(signal.SIGHUP)
        self.reader.settimeout(paths.PATIENCE)
        self.assertEqual(b"<6>settings reloaded\n", self.reader.recv(65536))


class Journal(Case):
    """The journal: standard error is a socket."""

    def test_lines_have_priorities_where_the_journal_reads_them(self):
        reader, writer = socket.socketpair()
        self.addCleanup(reader.close)
        with writer:
            status = os.fstat(writer.fileno())
            heard = self.lines(f"{status.st_dev}:{status.st_ino}", reader, writer)
        self.assertRegex(heard, r"(?m)^<6>ready: listening on ")
        self.assertRegex(heard, r"(?m)^<3>settings not reloaded, the old ones stay in force:\n<3>  /.*:1:")
        self.assertRegex(heard, r"(?m)^<6>stopped$")
        self.assertNotIn("httpdnsd: ", heard)

    def test_lines_are_plain_where_the_journal_is_somewhere_else(self):
        reader, writer = socket.socketpair()
        self.addCleanup(reader.close)
        with writer:
            heard = self.lines("1:1", reader, writer)
        self.assertRegex(heard, r"(?m)^httpdnsd: ready: listening on ")
        self.assertNotIn("<6>", heard)

    def lines(self, stream, reader, writer):
        """All lines of a daemon during a short run in which it cannot read its settings once."""
        server = Daemon([closed_provider()])
        self.own(server)
        server.config.write_text(server.settings())
        server.process = subprocess.Popen(
            [*journal.private_run(), paths.binaries / "httpdnsd", "--config", server.config],
            stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, env={**os.environ, "JOURNAL_STREAM": stream})
        writer.close()
        heard = ""
        reader.settimeout(paths.PATIENCE)
        while "ready: " not in heard:
            heard += reader.recv(65536).decode()
        server.config.write_text("nonsense\n")
        server.signal(signal.SIGHUP)
        while "nonsense" not in heard and ":1:" not in heard:
            heard += reader.recv(65536).decode()
        server.stop()
        while chunk := reader.recv(65536):
            heard += chunk.decode()
        return heard


class Log(Case):
    def test_as_json_each_line_is_an_object(self):
        server = self.own(Daemon([closed_provider()], sections='[log]\nformat = "json"\n')).run()
        server.wait_for('"event":"ready"')
        server.config.write_text("nonsense\n")
        server.signal(signal.SIGHUP)
        server.wait_for('"event":"settings-refused"')
        server.stop()
        events = {}
        for line in server.log.splitlines():
            entry = json.loads(line)
            self.assertLessEqual({"time", "level", "event", "text"}, set(entry))
            self.assertRegex(entry["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            events[entry["event"]] = entry
        self.assertEqual(server.listen, events["ready"]["listen"])
        self.assertEqual("error", events["settings-refused"]["level"])
        self.assertIn(":1:", events["settings-refused"]["details"][0])
        self.assertIn("stopped", events)

    def test_a_level_for_a_while_and_one_that_a_reload_ends(self):
        server = self.daemon([closed_provider()], sections="[probe]\nenabled = false\n")
        done = ctl(server, "log", "debug", "--for", "1s")
        self.assertEqual((0, "log level is debug for 1s, then info\n"), (done.returncode, done.stdout))
        dig(server, "a.example", "A")
        server.wait_for("^httpdnsd: request to closed failed: ")
        server.wait_for("^httpdnsd: log level is info, as in the settings$")
        report = json.loads(ctl(server, "--json", "log", "error").stdout)
        self.assertEqual({"level": "error", "settings": "info"}, report)
        since = len(server.log)
        server.config.write_text("nonsense\n")
        self.assertEqual(1, ctl(server, "reload").returncode)
        # The operator's level ends when settings come into force.
        server.config.write_text(server.settings())
        self.assertEqual("settings reloaded\n", ctl(server, "reload").stdout)
        server.wait_for("^httpdnsd: settings reloaded$", since=since)
        self.assertIn("debug for 1m, then info", ctl(server, "log", "debug", "--for", "60s").stdout)

    def test_who_wants_details_gets_each_failed_request(self):
        server = self.daemon(
            [closed_provider()], sections='[log]\nlevel = "debug"\n[probe]\nenabled = false\n')
        for number in range(30):
            dig(server, f"n{number}.example", "A")
        requests = server.stats()["providers"][0]["requests"]
        self.assertGreater(requests, 3)
        server.stop()
        self.assertGreaterEqual(len(re.findall("request to closed failed", server.log)), requests)
        self.assertNotIn("again", server.log)


class Reload(Case):
    def test_it_says_what_came_of_it(self):
        server = self.daemon([closed_provider()])
        done = ctl(server, "reload")
        self.assertEqual((0, "settings reloaded\n"), (done.returncode, done.stdout))
        server.sections = '[cache]\nsize = "16MiB"\n'
        server.config.write_text(server.settings())
        done = ctl(server, "reload")
        self.assertEqual("settings reloaded; a restart is needed for cache.size\n", done.stdout)
        # The restart is still needed, however often the file is read.
        self.assertEqual({"need_restart": ["cache.size"]}, json.loads(ctl(server, "--json", "reload").stdout))
        server.sections = ""
        server.config.write_text(server.settings())
        self.assertEqual("settings reloaded\n", ctl(server, "reload").stdout)

    def test_a_fault_is_refused_with_its_place_and_changes_nothing(self):
        server = self.daemon([closed_provider()])
        server.config.write_text('[log]\nlevel = "loud"\ncolour = true\n')
        done = ctl(server, "reload")
        self.assertEqual(1, done.returncode)
        complaints, end = done.stdout.rsplit("\n", 2)[:2]
        self.assertEqual("error: settings not reloaded, the old ones stay in force", end)
        self.assertRegex(complaints, rf"(?m)^{re.escape(str(server.config))}:2:\d+: .*loud")
        self.assertIn(":3:1: unknown key in [log]; its name is not shown", complaints)
        done = ctl(server, "--json", "reload")
        self.assertEqual(1, done.returncode)
        refused = json.loads(done.stdout)
        self.assertEqual(2, len(refused["findings"]))
        self.assertEqual("closed", server.stats()["providers"][0]["name"])
