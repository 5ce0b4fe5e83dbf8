# The flight recorder: on demand, after a crash, when many clients get failures, and for live queries.

import json
import signal
import stat
import subprocess
import threading

import paths
from cases import Case, closed_provider
from dig import dig
from lab import Lab
from paths import eventually
from programs import Daemon, ctl


def events(text, **wanted):
    return [event for event in json.loads(text)["events"] if all(event.get(key) == wanted[key] for key in wanted)]


def read(path, *arguments):
    command = [paths.binaries / "httpdnsctl", *arguments, "recorder", "read", path]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=paths.PATIENCE)


class Watch:
    """A process of httpdnsctl watch, with its lines so far."""

    def __init__(self, server, *arguments):
        command = [paths.binaries / "httpdnsctl", "--socket", server.control, *arguments]
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        self.lines = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def close(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(paths.PATIENCE)
        self.process.stdout.close()


class Recorder(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.server = cls.share(Daemon([cls.provider.provider("json")])).up()

    def dumped(self, *arguments, **wanted):
        return events(ctl(self.server, "recorder", "dump", "--json", *arguments).stdout, **wanted)

    def test_a_question_from_the_client_to_the_cache_and_back(self):
        dig(self.server, "www.lab.example", "A")
        dig(self.server, "www.lab.example", "A")
        eventually(lambda: self.dumped(name="www.lab.example", kind="answered", source="cache"))
        mine = self.dumped(name="www.lab.example")
        kinds = [event["kind"] for event in mine]
        for kind in ("handed-over", "fetch-begun", "fetch-ended", "stored", "answered"):
            self.assertIn(kind, kinds)
        self.assertLess(kinds.index("handed-over"), kinds.index("fetch-begun"))
        self.assertLess(kinds.index("fetch-begun"), kinds.index("stored"))
        self.assertEqual(sorted(event["time"] for event in mine), [event["time"] for event in mine])
        answer = next(event for event in mine if event.get("source") == "provider")
        self.assertEqual(("A", "NOERROR", "udp"), (answer["type"], answer["code"], answer["transport"]))
        self.assertGreater(answer["us"], 0)
        fetch = next(event for event in mine if event["kind"] == "fetch-ended")
        self.assertEqual((self.server.providers[0]["name"], "NOERROR"), (fetch["upstream"], fetch["outcome"]))
        self.assertFalse([event for event in mine if "client" in event])
        self.assertTrue(self.dumped("--clients", name="www.lab.example", client="127.0.0.1"))

    def test_as_text_and_over_tcp(self):
        dig(self.server, "www.lab.example", "AAAA", "+tcp")
        text = ctl(self.server, "recorder", "dump").stdout
        self.assertRegex(text, r"(?m)^\d\d:\d\d:\d\d\.\d{6}Z  answered +www\.lab\.example AAAA .*provider.*, tcp$")
        self.assertRegex(text, r"; \d+ events\n$")

    def test_strangers_see_no_clients(self):
        for line in ("recorder dump --clients", "watch --clients"):
            self.assertIn("is for root", self.server.ask_control_as(12345, 12345, line))
        self.assertIn(" events", self.server.ask_control_as(12345, 12345, "recorder dump"))

    def test_watch(self):
        with self.subTest("as lines, of some names"):
            watch = Watch(self.server, "watch", "--name", "*.LAB.example")
            self.addCleanup(watch.close)
            asking = Watch(self.server, "watch", "--json", "--clients")
            self.addCleanup(asking.close)

            def seen():
                dig(self.server, "nothing.lab.example", "A")
                dig(self.server, "localhost", "A")
                return watch.lines and [line for line in asking.lines if "localhost" in line]
            eventually(seen)
            self.assertTrue(all("nothing.lab.example" in line for line in watch.lines), watch.lines)
            self.assertFalse([line for line in watch.lines if "127.0.0.1" in line])
            self.assertEqual("127.0.0.1", json.loads(asking.lines[0])["client"])

    def test_how_long_hits_take_is_in_stats(self):
        for _ in range(5):
            dig(self.server, "www.lab.example", "A")

        def counted():
            stats = self.server.stats()
            return sum(stats["durations"]["cache"]["counts"]) >= 4 and stats
        stats = eventually(counted)
        self.assertGreater(stats["latency_us"]["cache"]["p50"], 0)
        self.assertGreater(stats["durations"]["provider"]["sum_us"], 0)


class Files(Case):
    def recorded(self, providers):
        server = Daemon(providers)
        server.folder = server.directory / "records"
        server.sections = f'[log]\nrecorder-directory = "{server.folder}"\n'
        return self.own(server).up()

    def test_a_crash_leaves_a_file_and_ends_the_process_as_ever(self):
        provider = self.lab()
        for number in (signal.SIGSEGV, signal.SIGABRT):
            with self.subTest(number):
                server = self.recorded([provider.provider("json")])
                dig(server, "www.lab.example", "A")
                server.expected_exit = -number
                server.signal(number)
                self.assertEqual(-number, server.process.wait(paths.PATIENCE))
                path = server.folder / "recorder-crash.bin"
                self.assertIn(f"signal {number:02}: the flight recorder is written to {path}", server.log)
                self.assertEqual(0o600, stat.S_IMODE(path.stat().st_mode))
                done = read(path, "--json")
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                name = server.providers[0]["name"]
                self.assertTrue(events(done.stdout, name="www.lab.example", kind="fetch-ended", upstream=name))
                self.assertNotIn("127.0.0.1", done.stdout)
                self.assertIn(f"at its end by signal {int(number)}", read(path).stdout)

    def test_a_burst_of_failures_leaves_a_file_once(self):
        server = self.recorded([closed_provider()])
        for number in range(70):
            dig(server, f"name{number}.lab.example", "A", "+tries=1")
        path = server.folder / "recorder-burst.bin"
        server.wait_for(rf"{path}, to be read with: httpdnsctl recorder read")
        done = read(path, "--json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertGreater(len(events(done.stdout, kind="answered", code="SERVFAIL")), 20)
        self.assertIn("while running", read(path).stdout)
        self.assertEqual(1, server.log.count("recorder read"))

    def test_a_folder_that_cannot_be_written_is_said_once(self):
        server = self.daemon([closed_provider()], sections='[log]\nrecorder-directory = "/proc/nothing"\n')
        for number in range(70):
            dig(server, f"name{number}.lab.example", "A", "+tries=1")
        server.wait_for("the flight recorder can't be written to /proc/nothing/recorder-burst.bin: ")
        self.assertEqual(1, server.log.count("the flight recorder"))

    def test_off_writes_nothing_and_a_reload_limits_it_to_failures(self):
        server = Daemon([closed_provider()])
        server.folder = server.directory / "records"
        server.sections = f'[log]\nrecorder = "off"\nrecorder-directory = "{server.folder}"\n'
        self.own(server).up()
        for number in range(70):
            dig(server, f"name{number}.lab.example", "A", "+tries=1")
        self.assertEqual("; 0 events; the flight recorder is off ([log] recorder)\n", ctl(server, "recorder", "dump").stdout)
        self.assertEqual({"events": [], "recorder": "off"}, json.loads(ctl(server, "recorder", "dump", "--json").stdout))
        self.assertIn("the flight recorder is off", ctl(server, "explain", "name1.lab.example").stdout)
        self.assertFalse(server.folder.exists())
        self.assertNotIn("recorder read", server.log)

        server.sections = server.sections.replace('"off"', '"failures"')
        server.config.write_text(server.settings())
        self.assertIn("settings reloaded", server.reload())
        dig(server, "failed.lab.example", "A", "+tries=1")
        dig(server, "localhost", "A")
        dumped = json.loads(ctl(server, "recorder", "dump", "--json").stdout)
        self.assertEqual("failures", dumped["recorder"])
        self.assertEqual(
            [("failed.lab.example", "answered", "SERVFAIL")],
            [(event["name"], event["kind"], event["code"]) for event in dumped["events"]])

    def test_files_that_are_none(self):
        folder = self.own(Lab()).directory
        for name, content, words in (
                ("empty", b"", "not a file of the flight recorder"), ("other", b"\x7fELF" * 50, "not a file"),
                ("short", b"HTTPDNSF\x01\0\0\0", "12 bytes"), ("new", b"HTTPDNSF\x02" + bytes(100), "version 2")):
            (folder / name).write_bytes(content)
            done = read(folder / name)
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn(words, done.stderr)
        self.assertEqual(1, read(folder / "missing").returncode)
        self.assertEqual(3, read("").returncode)

    def test_the_query_log(self):
        provider = self.lab()
        for clients in ("false", "true"):
            sections = f"[log]\nqueries = true\nclients = {clients}\n"
            server = self.daemon([provider.provider("json")], sections=sections)
            dig(server, "www.lab.example", "A")
            server.wait_for("answered +www.lab.example A ")
            self.assertEqual(clients == "true", "from 127.0.0.1" in server.log)
