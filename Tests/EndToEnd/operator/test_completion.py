# The completions of real shells.

import json
import shutil
import subprocess
import unittest

import paths
from cases import Case
from programs import Daemon, ctl

SCRIPTS = paths.ROOT / "etc" / "completion"


class Bash(Case):
    @classmethod
    def setUpClass(cls):
        providers = [{"name": name, "dialect": "json", "url": "http://127.0.0.1:1/d"} for name in ("alidns", "dnspod")]
        cls.server = cls.share(Daemon(providers)).up()

    def completed(self, *words):
        """The completions of the last word; the daemon's socket precedes the first."""
        line = [str(paths.binaries / "httpdnsctl"), "--socket", str(self.server.control), *words]
        script = f"""
            . {SCRIPTS}/httpdnsctl.bash
            COMP_WORDS=("$@")
            COMP_CWORD=$(($# - 1))
            _httpdnsctl
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = subprocess.run(
            ["bash", "-c", script, "bash", *line], capture_output=True, text=True, check=True, timeout=paths.PATIENCE)
        self.assertEqual("", done.stderr)
        return done.stdout.split()

    def test_commands_options_and_values(self):
        for words, expected in (
                (("sta",), ["status", "stats"]), (("--j",), ["--json"]), (("cache", ""), ["ls", "get", "dump", "--json"]),
                (("--json", "cache", "d"), ["dump"]), (("log", "d"), ["debug"]), (("log", "--for", "10"), ["10m"]),
                (("flush", "--type", "AA"), ["AAAA"]), (("flush", "--t"), ["--tree", "--type"]),
                (("stats", "--"), ["--json", "--prometheus", "--watch"]), (("help", "ex"), ["explain"]),
                (("recorder", ""), ["dump", "read", "--clients", "--json"]), (("recorder", "read", "/usr/bi"), ["/usr/bin"]),
                (("setup", "--a"), ["--account", "--account-id", "--access-key", "--addresses", "--allow"]),
                (("setup", "--account", "b"), ["baidu"]), (("setup", "--take-over", ""), ["yes", "no"]),
                (("setup", "--key-file", "/usr/bi"), ["/usr/bin"]), (("nonsense", ""), [])):
            with self.subTest(words):
                self.assertEqual(sorted(expected), sorted(self.completed(*words)))

    def test_the_daemon_is_asked_for_the_names_of_providers(self):
        for words in (("providers", "test", ""), ("providers", "reset", ""), ("query", "a.example", "--provider", "")):
            self.assertEqual(["alidns", "dnspod"], self.completed(*words), words)
        self.assertEqual(["dnspod"], self.completed("providers", "test", "dn"))

    def test_everything_in_help_is_offered(self):
        for command in json.loads(ctl(self.server, "--json", "help").stdout)["commands"]:
            self.assertIn(command, self.completed(command[:2]))


class Zsh(Case):
    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_the_script_is_one(self):
        done = subprocess.run(["zsh", "-n", SCRIPTS / "_httpdnsctl"], capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertTrue((SCRIPTS / "_httpdnsctl").read_text().startswith("#compdef httpdnsctl\n"))
