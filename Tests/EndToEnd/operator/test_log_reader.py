# Readers of the log that stop: the daemon answers, counts the dropped lines, and ends on request.

import os
import pty
import re
import socket
import subprocess
import termios
import time
import unittest

import journal
import paths
import wire
from cases import Case, closed_provider, rule
from dig import dig
from paths import eventually
from programs import Daemon, ctl

NAMES = 10000
# Makes the lines exceed a pipe, a socket or a terminal together with the daemon's queue.
LONG = "x" * 50


class StoppedReader(Case):
    expected_seconds = 12

    def setUp(self):
        self.system = self.nsd()

    def serve(self, stream, prefix=(), **environment):
        """A daemon that logs each query to a descriptor."""
        server = self.own(Daemon(
            [closed_provider()], system=[self.system.server],
            sections=rule(".", resolver='"system"') + '[log]\nqueries = true\nrecorder-directory = ""\n'))
        server.config.write_text(server.settings())
        server.process = subprocess.Popen(
            [*prefix, paths.binaries / "httpdnsd", "--config", server.config], stdin=subprocess.DEVNULL, stdout=stream,
            stderr=stream, env={**os.environ, **environment})
        eventually(lambda: server.control.exists() and dig(server, "a.any.lab.example", "A").data,
                   what="it answers before its reader stops")
        return server

    def holds(self, server):
        """Checks that all new names are answered, the control socket replies, lines are counted, and SIGTERM ends the
        daemon."""
        for first in range(0, NAMES, 100):
            names = [f"{LONG}.n{number}.any.lab.example" for number in range(first, first + 100)]
            answers = wire.ask_all(server, [(name, "A") for name in names])
            self.assertEqual([0] * len(names), [answer.rcode for answer in answers.values()])
        eventually(lambda: server.stats()["log"]["dropped"] > 0, what="it counts what it drops")
        self.assertEqual(0, ctl(server, "status").returncode)
        self.assertIn("settings reloaded", ctl(server, "reload").stdout)
        begun = time.monotonic()
        server.process.terminate()
        self.assertEqual(0, server.process.wait(paths.PATIENCE))
        self.assertLess(time.monotonic() - begun, 4)

    def test_a_pipe(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        server = self.serve(writer)
        os.close(writer)
        self.holds(server)

    def test_the_journal(self):
        reader, writer = socket.socketpair()
        self.addCleanup(reader.close)
        # The kernel's default would hold most lines of a run in which a busy machine leaves queries out of the log.
        writer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        with writer:
            status = os.fstat(writer.fileno())
            server = self.serve(
                writer, journal.private_run(), JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
        self.holds(server)

    @unittest.skipUnless(os.geteuid() == 0, "the journal's socket is put into a mount namespace")
    def test_the_journal_s_socket(self):
        stopped = journal.Journal()
        self.addCleanup(stopped.close)
        reader, writer = socket.socketpair()
        self.addCleanup(reader.close)
        with writer:
            status = os.fstat(writer.fileno())
            server = self.serve(writer, stopped.prefix, JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
        self.holds(server)

    def test_a_terminal_whose_output_is_stopped(self):
        master, terminal = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, terminal)
        server = self.serve(terminal)
        termios.tcflow(terminal, termios.TCOOFF)
        self.holds(server)

    def test_a_full_disk(self):
        with open("/dev/full", "wb", buffering=0) as full:
            self.holds(self.serve(full))

    def test_a_reader_that_continues_learns_what_it_missed(self):
        reader, writer = os.pipe()
        server = self.serve(writer)
        os.close(writer)
        for first in range(0, NAMES, 100):
            names = [f"{LONG}.n{number}.any.lab.example" for number in range(first, first + 100)]
            wire.ask_all(server, [(name, "A") for name in names])
        eventually(lambda: server.stats()["log"]["dropped"] > 0, what="it counts what it drops")
        heard = b""
        with open(reader, "rb", buffering=0) as pipe:
            while not re.search(rb"(?m)^httpdnsd: \d+ log lines? dropped: standard error was not read", heard):
                heard += pipe.read(65536)
            server.process.terminate()
            while chunk := pipe.read(65536):
                heard += chunk
        dropped = sum(map(int, re.findall(rb"(?m)^httpdnsd: (\d+) log lines? dropped", heard)))
        self.assertGreater(dropped, 0)
        lines = heard.decode().splitlines()
        self.assertEqual("httpdnsd: stopped", lines[-1])
        self.assertTrue(all(line.startswith(("httpdnsd: ", "  ")) for line in lines))
        self.assertEqual(0, server.process.wait(paths.PATIENCE))
