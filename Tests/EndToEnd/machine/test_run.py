# The script scripts/run, in a copy of the clone whose build does nothing: its refusals before the build, and the
# processes left after its terminal is closed.

import contextlib
import itertools
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

import paths
from cases import Case
from paths import eventually, free_port

# The lab starts thirteen providers one after the other: beside a load on both processors that takes 12 s and more.
LAB_PATIENCE = 60


class Script(Case):
    def setUp(self):
        self.clone = Path(tempfile.mkdtemp(prefix="e2e-run-"))
        self.addCleanup(shutil.rmtree, self.clone, ignore_errors=True)
        self.clone.chmod(0o755)
        for name in ("scripts", "etc"):
            shutil.copytree(paths.ROOT / name, self.clone / name)
        (self.clone / ".build").mkdir()
        (self.clone / ".build" / "release").symlink_to(paths.binaries.resolve())
        # A stand-in for the compiler, which records its calls.
        self.built = self.clone / "built"
        swift = self.clone / "bin" / "swift"
        swift.parent.mkdir()
        swift.write_text(f"#!/bin/sh\necho built >>'{self.built}'\n")
        swift.chmod(0o755)
        self.environment = os.environ | {"PATH": f"{swift.parent}:{os.environ['PATH']}", "TMPDIR": str(self.clone)}

    def command(self, *arguments):
        return [str(self.clone / "scripts" / "run"), *arguments]

    def run_script(self, *arguments):
        return subprocess.run(
            self.command(*arguments), env=self.environment, text=True, capture_output=True, timeout=LAB_PATIENCE)


class Refused(Script):
    def test_help_and_wrong_arguments_build_nothing(self):
        shown = self.run_script("--help")
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        self.assertIn("scripts/run [--lab]", shown.stdout)
        for arguments in (["--nothing"], ["--lab", "--listen"], ["--listen", "127.0.0.1"], ["--config"],
                          ["--check", "--explain"], ["--explain", "a.example"], ["--check", "--explain", "a", "A", "b"],
                          ["--explain", "--check"], ["--check", "--explain", "a", "--explain", "b"]):
            refused = self.run_script(*arguments)
            self.assertEqual(3, refused.returncode, arguments)
            self.assertRegex(refused.stderr, r"^scripts/run: .*see scripts/run --help\n$")
        self.assertFalse(self.built.exists())

    def test_help_and_wrong_arguments_of_the_fault_matrix_build_nothing(self):
        apt = self.built.parent / "bin" / "apt-get"
        apt.write_text(f"#!/bin/sh\necho installed >>'{self.built}'\n")
        apt.chmod(0o755)
        command = str(self.clone / "scripts" / "matrix")
        shown = subprocess.run([command, "--help"], env=self.environment, text=True, capture_output=True)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        self.assertIn("scripts/matrix [DIALECT...]", shown.stdout)
        refused = subprocess.run([command, "--nothing"], env=self.environment, text=True, capture_output=True)
        self.assertEqual((3, ""), (refused.returncode, refused.stdout))
        self.assertFalse(self.built.exists())

    def test_a_port_in_use_is_found_before_the_build(self):
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with socket.socket(socket.AF_INET, kind) as taken:
                taken.bind(("127.0.0.1", free_port()))
                if kind == socket.SOCK_STREAM:
                    taken.listen()
                port = taken.getsockname()[1]
                refused = self.run_script("--lab", "--listen", f"127.0.0.1:{port}")
                self.assertEqual(1, refused.returncode)
                self.assertIn(f"port {port} is in use", refused.stderr)
        self.assertFalse(self.built.exists())


class Started(Script):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.state = Path("/var/lib/httpdnsd")
        self.had_state = self.state.exists()

    def open_terminal(self, *arguments):
        """Opens a terminal with the script until the end of the test."""
        _, terminal = self.start(*arguments)
        self.addCleanup(os.close, terminal)

    def start(self, *arguments):
        """Starts the script in a terminal of its own; returns the process ID, which is that of its session, and the
        terminal."""
        process, terminal = pty.fork()
        if process == 0:
            # A shell can't trap a signal that was ignored when it started, as under nohup.
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.execve(self.command()[0], self.command(*arguments, "--listen", f"127.0.0.1:{self.port}"), self.environment)
        self.addCleanup(self.end_session, process)
        eventually(self.answers, what="the daemon answers")
        return process, terminal

    def exit_code(self, process):
        ended = eventually(lambda: (found := os.waitpid(process, os.WNOHANG))[0] and found, what="the script ends")
        return os.waitstatus_to_exitcode(ended[1])

    def end_session(self, session):
        for process in self.processes_of(session):
            # The process may have ended since.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def processes_of(self, session):
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            # The fields are state and session. A zombie counts as ended.
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(folder.name))
        return found

    def control(self, *arguments):
        return subprocess.run(
            [paths.binaries / "httpdnsctl", "--socket", ".build/control.sock", *arguments], cwd=self.clone,
            text=True, capture_output=True, timeout=paths.PATIENCE)

    def answers(self):
        return self.control("status").returncode == 0

    def addresses(self, name):
        return subprocess.run(
            ["dig", "@127.0.0.1", "-p", str(self.port), name, "+short"], text=True, capture_output=True,
            timeout=paths.PATIENCE).stdout.split()

    def measure_providers(self):
        """Waits until the daemon knows the latency of each provider, as it does some time after its start. Each lookup
        measures one provider that is not in use."""
        names = (f"unknown-{number}.lab.example" for number in itertools.count())

        def unmeasured():
            self.addresses(next(names))
            providers = json.loads(self.control("--json", "stats").stdout)["providers"]
            return [provider["name"] for provider in providers if not any(provider["durations"]["counts"])]

        eventually(lambda: not unmeasured(), what="all providers are measured")


class Running(Started):
    def test_the_end_of_the_terminal_ends_everything(self):
        process, terminal = self.start("--lab")
        self.assertEqual(2, len(self.addresses("www.lab.example")))
        # The first signal stands for the shell's, the second one for the kernel's.
        os.kill(process, signal.SIGHUP)
        os.close(terminal)
        self.assertEqual(129, self.exit_code(process))
        eventually(lambda: not self.processes_of(process), what="no process is left")
        self.assertEqual(["bin", "built", "etc", "scripts"], sorted(p.name for p in self.clone.iterdir() if p.name[0] != "."))
        self.assertEqual(["release"], [p.name for p in (self.clone / ".build").iterdir()])
        self.assertEqual(self.had_state, self.state.exists())

    def test_the_lab_has_a_liar_that_is_found_named_and_avoided(self):
        self.open_terminal("--lab")
        self.measure_providers()
        self.assertEqual(["127.0.3.1"], self.addresses("bank.lab.example"))
        # A second query for a name causes a probe.
        eventually(lambda: self.addresses("bank.lab.example") == ["127.0.2.1"], what="the forged address is left out")
        evidence = eventually(lambda: "1 divergence" in (text := self.control("evidence").stdout) and text,
                              what="the lie is recorded")
        self.assertIn("lab-liar returned 127.0.3.1 (name-mismatch: the certificate is for evil.example;", evidence)
        self.assertIn("returned 127.0.2.1 (verified;", evidence)
        verified = self.control("verify", "bank.lab.example")
        self.assertRegex(verified.stdout, r"127\.0\.2\.1:\d+ +verified")

    def test_its_providers_answer_the_questions_of_providers_test(self):
        self.open_terminal("--lab")
        tested = self.control("providers", "test", "lab-alicloud")
        self.assertEqual(0, tested.returncode, tested.stdout)
        self.assertIn("192.0.2.81 ttl 300", tested.stdout)

    def test_a_name_is_explained_by_the_settings_of_the_lab(self):
        done = self.run_script("--lab", "--check", "--explain", "bank.lab.example", "AAAA", "--listen", "127.0.0.1:53")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stdout, r": valid: 13 providers, 1 rule\nbank\.lab\.example AAAA\nroute    providers; ")
        self.assertIn("\norder    lab-liar, lab-json, ", done.stdout)
        self.assertIn("\nprobe    all addresses at port ", done.stdout)

    def test_a_check_leaves_the_links_of_a_running_lab(self):
        self.open_terminal("--lab")
        links = {name: (self.clone / ".build" / name).readlink() for name in ("control.sock", "lab.pid")}
        done = self.run_script("--lab", "--check", "--listen", "127.0.0.1:53")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(links, {name: (self.clone / ".build" / name).readlink() for name in links})

    def test_a_signal_ends_daemon_and_lab_and_is_told(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            process, terminal = self.start("--lab")
            # A lab that is stopped, for an outage, ends too.
            lab = int((self.clone / ".build/lab.pid").read_text().split()[0])
            os.kill(lab, signal.SIGSTOP)
            os.kill(process, number)
            self.assertEqual(code, self.exit_code(process))
            eventually(lambda: not self.processes_of(process), what="no process is left")
            os.close(terminal)


if __name__ == "__main__":
    unittest.main()
