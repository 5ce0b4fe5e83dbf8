# A program on a terminal of its own, to which a test types.

import os
import pty
import select
import signal
import termios
import time

import paths


class Typist:
    """A program on a terminal, started at creation. `shown` is all its output."""

    def __init__(self, *command, environment=None):
        self.shown = ""
        self._seen = 0
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            command = list(map(str, command))
            os.execvpe(command[0], command, environment or os.environ)
        self.exit_code = None

    def wait_for(self, text, within=paths.PATIENCE):
        """Reads until the text is shown after the previously awaited text; returns the output with it."""
        deadline = time.monotonic() + within
        start = self._seen
        while (at := self.shown.find(text, start)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} is not shown:\n{self.shown}")
        self._seen = at + len(text)
        return self.shown[start:self._seen]

    def type(self, text):
        os.write(self._terminal, text.encode())

    @property
    def echoes(self):
        """Whether the terminal echoes typed characters."""
        return bool(termios.tcgetattr(self._terminal)[3] & termios.ECHO)

    def answer(self, question, line):
        """Types a line when the question is shown."""
        self.wait_for(question)
        self.type(line + "\n")

    def end(self, within=paths.PATIENCE):
        """The exit code, after the program has ended by itself."""
        deadline = time.monotonic() + within
        while self._read(deadline):
            pass
        ended = paths.eventually(lambda: (found := os.waitpid(self._process, os.WNOHANG))[0] and found,
                                  what="the program ends")
        self.exit_code = os.waitstatus_to_exitcode(ended[1])
        return self.exit_code

    def _read(self, deadline):
        """Reads more output; returns false at its end."""
        ready, _, _ = select.select([self._terminal], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"the program waits:\n{self.shown}")
        try:
            chunk = os.read(self._terminal, 65536)
        except OSError:
            return False
        self.shown += chunk.decode(errors="replace").replace("\r\n", "\n")
        return bool(chunk)

    def close(self):
        os.close(self._terminal)
        if self.exit_code is None:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
