# A network namespace with a loopback interface of its own, and files of its own mounted in /etc: port 53, resolv.conf
# and hosts as on a real machine, without a change of the machine. It requires root.

import concurrent.futures
import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

# The command `ip netns exec` gives each command a mount namespace. Its own way, by /etc/netns, would write below the
# machine's /etc and continues if a mount fails.
_WITH_FILES = """
for file in "$0"/*; do mount --bind "$file" "/etc/${file##*/}" || exit 1; done
exec "$@"
"""


class Namespace:
    """A namespace that exists from its creation until `remove`. `prefix` before a command runs it inside."""

    def __init__(self, resolv_conf="nameserver 127.0.0.1\n", hosts="127.0.0.1 localhost\n"):
        # The process ID keeps two runs of the tests apart; the object's own ID those of one run.
        self.name = f"e2e{os.getpid()}-{id(self) & 0xFFFFFF:x}"
        self.files = Path(tempfile.mkdtemp(prefix="e2e-namespace-"))
        self.prefix = ("ip", "netns", "exec", self.name, "sh", "-c", _WITH_FILES, str(self.files))
        try:
            (self.files / "resolv.conf").write_text(resolv_conf)
            (self.files / "hosts").write_text(hosts)
            (self.files / "nsswitch.conf").write_text("hosts: files dns\n")
            self._run("ip", "netns", "add", self.name)
            self._run("ip", "-n", self.name, "link", "set", "lo", "up")
        except BaseException:
            self.remove()
            raise

    def run(self, *command, timeout=15):
        """Runs a command inside to its end: with returncode, stdout and stderr."""
        return subprocess.run([*self.prefix, *map(str, command)], capture_output=True, text=True, timeout=timeout)

    def within(self, make):
        """The result of `make()`, called on a thread that is inside: sockets that it opens stay there."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(self._entered, make).result()

    def _entered(self, make):
        with open(f"/run/netns/{self.name}", "rb") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        return make()

    def remove(self):
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)
        shutil.rmtree(self.files, ignore_errors=True)

    @staticmethod
    def _run(*command):
        subprocess.run(command, check=True, capture_output=True)
