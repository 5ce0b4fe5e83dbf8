# The commands httpdnsctl top and stats --watch: the screen in a real terminal (tmux's), and the output without one.

import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

import paths
from cases import Case
from lab import Lab
from paths import eventually
from programs import Daemon, ctl
from wire import query

NAMES = ["www.lab.example", *(f"n{number}.any.lab.example" for number in range(30)), "nothing.lab.example"]


class Busy(Case):
    """A daemon with continuous queries."""

    expected_seconds = 15

    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.server = cls.share(Daemon([cls.provider.provider("json")])).up()
        cls.stop = threading.Event()
        asker = threading.Thread(target=cls.ask)
        asker.start()
        cls.addClassCleanup(asker.join)
        cls.addClassCleanup(cls.stop.set)
        eventually(lambda: cls.server.stats()["queries"]["total"] > 200)

    @classmethod
    def ask(cls):
        with paths.socket.socket(paths.socket.AF_INET, paths.socket.SOCK_DGRAM) as client:
            client.connect(cls.server.address)
            turn = 0
            while not cls.stop.wait(0.004):
                # The first names come far more often than the last ones.
                name = NAMES[(turn * turn) % (1 + turn % len(NAMES))]
                try:
                    client.send(query(name, "A", id=turn % 65536))
                except ConnectionRefusedError:
                    pass
                turn += 1

    def command(self, *words):
        return [str(paths.binaries / "httpdnsctl"), "--socket", str(self.server.control), *words]

    def terminal(self, columns, rows, *words, environment=()):
        pane = Terminal(self.server.directory, columns, rows, ["env", *environment, *self.command(*words)])
        self.addCleanup(pane.close)
        return pane


class Terminal:
    """A terminal on a tmux server of its own, in which one command runs."""

    def __init__(self, directory, columns, rows, command):
        settings = directory / "tmux.conf"
        settings.write_text("set -g status off\n")
        self.tmux = ["tmux", "-S", str(directory / f"tmux-{next(self.numbers)}"), "-f", str(settings)]
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "NO_COLOR")}
        environment["TERM"] = "xterm-256color"
        script = (
            f"echo before; settings=$(stty -g); {shlex.join(command)}; echo ended with $?; "
            '[ "$(stty -g)" = "$settings" ] && echo as it was; exec sleep 600')
        subprocess.run(
            [*self.tmux, "new-session", "-d", "-x", str(columns), "-y", str(rows), script], check=True, env=environment)

    numbers = itertools.count()

    def run(self, *words):
        return subprocess.run([*self.tmux, *words], check=True, capture_output=True, text=True).stdout

    def type(self, *keys):
        self.run("send-keys", *keys)

    def screen(self, *options):
        return self.run("capture-pane", "-p", *options)

    @property
    def pid(self):
        shell = self.run("list-panes", "-F", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True)


class Screen(Busy):
    def shown(self, pane):
        """The screen after at least two updates."""
        def look():
            screen = pane.screen()
            return screen if "queries" in screen and "since the start" not in screen else None
        return eventually(look, what="top is shown")

    def keep(self, name, screen):
        if directory := os.environ.get("HTTPDNSD_CAPTURES"):
            (Path(directory) / name).write_text(screen)

    def check(self, screen, columns, rows):
        lines = screen.split("\n")[:rows]
        for label in ("queries", "answers", "cache", "latency", "addresses", "network", "provider ", "system "):
            self.assertTrue(any(line.startswith(label) for line in lines), label)
        self.assertIn("q quits", lines[-1])
        self.assertLessEqual(max(map(len, lines)), columns)
        rate = float(re.search(r"^queries +([\d,.]+)/s", screen, re.MULTILINE).group(1).replace(",", ""))
        self.assertGreater(rate, 20)
        self.assertIn("any.lab.example", screen)

    def test_it_fits_into_80x24_and_uses_200x50(self):
        for columns, rows in ((80, 24), (200, 50)):
            with self.subTest(f"{columns}x{rows}"):
                pane = self.terminal(columns, rows, "top")
                screen = self.shown(pane)
                self.keep(f"top-{columns}.txt", screen)
                self.check(screen, columns, rows)
                pane.type("q")
                screen = eventually(lambda: "ended with 0" in pane.screen() and pane.screen())
                # The shell's own screen is back, with its former text.
                self.assertIn("before\n", screen)
                self.assertNotIn("queries", screen)

    def test_it_follows_the_size_of_its_window(self):
        pane = self.terminal(80, 24, "top")
        self.shown(pane)
        pane.run("resize-window", "-x", "170", "-y", "40")
        eventually(lambda: re.search(r"^provider .* queries/s ", pane.screen(), re.MULTILINE))
        pane.run("resize-window", "-x", "60", "-y", "20")
        eventually(lambda: "q quits" in pane.screen().split("\n")[19])
        self.assertLessEqual(max(map(len, pane.screen().split("\n"))), 60)

    def test_each_end_gives_the_terminal_back(self):
        for end in (signal.SIGTERM, signal.SIGINT, "C-c", "C-d"):
            with self.subTest(end):
                pane = self.terminal(80, 24, "top")
                self.shown(pane)
                if isinstance(end, str):
                    pane.type(end)
                else:
                    os.kill(pane.pid, end)
                eventually(lambda: "ended with 0\nas it was\n" in pane.screen())
                # The fields are the cursor's visibility and the screen in use.
                self.assertEqual("1 0\n", pane.run("display-message", "-p", "#{cursor_flag} #{alternate_on}"))

    def test_colours_unless_they_are_not_wanted(self):
        painted = self.terminal(80, 24, "top")
        self.shown(painted)
        self.assertIn("\x1b[32m", painted.screen("-e"))
        plain = self.terminal(80, 24, "top", environment=["NO_COLOR=1"])
        self.shown(plain)
        self.assertNotIn("\x1b[32m", plain.screen("-e"))


class Interruption(Busy):
    def test_a_daemon_that_goes_away_is_said_so_and_found_again(self):
        pane = self.terminal(80, 24, "top")
        eventually(lambda: "q quits" in pane.screen())
        self.server.stop()
        eventually(lambda: "no answer from the daemon" in pane.screen())
        self.server.up()
        eventually(lambda: "q quits" in pane.screen() and "up 0s" not in pane.screen())
        pane.type("q")
        eventually(lambda: "ended with 0" in pane.screen())


class Text(Busy):
    def test_without_a_terminal_it_is_one_plain_text(self):
        done = ctl(self.server, "top")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r"(?m)^queries +\d")
        self.assertNotIn("since the start", done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_as_json_it_is_one_object(self):
        done = ctl(self.server, "--json", "top")
        self.assertEqual(1, done.stdout.count("\n"))
        report = json.loads(done.stdout)
        self.assertLessEqual({"time_ms", "stats", "hottest"}, set(report))
        self.assertGreater(report["stats"]["queries"]["total"], 100)
        self.assertLessEqual(len(report["hottest"]), 20)
        rates = [name["per_second"] for name in report["hottest"]]
        self.assertEqual(sorted(rates, reverse=True), rates)

    def watched(self, *words, lines):
        client = subprocess.Popen(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        heard = [client.stdout.readline() for _ in range(lines)]
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=paths.PATIENCE)
        self.assertEqual(0, client.returncode)
        return heard

    def test_stats_watch_tells_what_changed(self):
        text = "".join(self.watched("stats", "--watch", lines=8))
        self.assertRegex(text, r"\A\d\d:\d\d:\d\dZ\n")
        self.assertRegex(text, r"(?m)^  cache\.hits +\+\d+ +\+[\d.,]+/s +[\d,]+$")
        began = time.monotonic()
        for line in self.watched("--json", "stats", "--watch", lines=2):
            changes = {change["name"]: change for change in json.loads(line)["changes"]}
            self.assertGreater(changes["queries.total"]["change"], 0)
            self.assertGreater(changes["queries.total"]["per_second"], 0)
            self.assertNotIn("uptime_s", changes)
        self.assertGreater(time.monotonic() - began, 1.5)

    def test_nobody_there_is_exit_code_2(self):
        for words in (["top"], ["stats", "--watch"]):
            done = subprocess.run(
                [str(paths.binaries / "httpdnsctl"), "--socket", "/nowhere/x.sock", *words], capture_output=True,
                text=True)
            self.assertEqual(2, done.returncode, words)
            self.assertIn("cannot reach the daemon", done.stderr)
        done = ctl(self.server, "stats", "--watch", "--prometheus")
        self.assertEqual(3, done.returncode)
