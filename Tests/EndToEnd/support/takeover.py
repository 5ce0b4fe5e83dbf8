# Places where resolv.conf may be taken over: a copy of /etc, /var/lib on an overlay, and a network with port 53 free;
# what stands in them, to be compared; and httpdnsctl killed at each of its steps.

import re
import subprocess
import tempfile
from pathlib import Path

import overlay
import paths

# The system calls that change files; programs that are told of a change are not covered. Files are made by openat as
# well, but the number of earlier calls varies, and a process that is killed at the next call has made the file and
# written nothing.
CHANGES = ("write", "rename", "fsync", "unlink", "symlink", "mkdir", "rmdir", "fchmod", "fchown", "lchown",
           "chmod", "ftruncate", "flock")

_KEEPER = """
ip link set lo up && mount -t tmpfs takeover "$1" && cd "$1" || exit 1
cp -a /etc etc 2>/dev/null
mkdir upper spare && echo "$2" >upper/"$3" && echo "$2" >etc/"$3" || exit 1
mount --bind etc /etc && mount -t overlay -o "lowerdir=/var/lib,upperdir=upper,workdir=spare" overlay /var/lib || exit 1
cd / && shift 3 && exec "$@"
"""

# Prints the names, kinds, modes, owners and link targets of all files under /etc; then their contents.
_WALK = r"""
cd /etc && find . -printf '%p %y %m %U %G %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum
"""


class Overlaid:
    """An overlay that exists from its creation until `close`. `prefix` before a command runs it inside. /etc is a copy,
    because other tests mount files there for a while."""

    def __init__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="e2e-takeover-"))
        token = overlay.new_token()
        guard = overlay.guard(token, "/etc", "/var/lib")
        self._keeper = subprocess.Popen(
            ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", _KEEPER, "sh", self.directory, token,
             overlay.FILE, *guard, "sh", "-c", "rm -f /etc/resolv.conf && echo ready && exec cat"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = self._keeper.stdout.readline()
        if first != "ready\n":
            self.close()
            raise AssertionError(f"no overlay of /etc: {first}")
        self.prefix = (*overlay.ENTER, "--net", "--target", str(self._keeper.pid), *guard)

    def run(self, *command, timeout=60, input=None):
        """Runs a command inside to its end: with returncode, stdout and stderr."""
        return overlay.check(subprocess.run(
            [*self.prefix, *map(str, command)], capture_output=True, text=True, timeout=timeout, input=input))

    def write(self, path, text):
        self.run("sh", "-c", 'mkdir -p "$(dirname "$1")" && cat >"$1"', "sh", path, input=text)

    def read(self, path):
        return self.run("cat", path).stdout

    def close(self):
        self._keeper.stdin.close()
        self._keeper.wait()
        self._keeper.stdout.close()
        self.directory.rmdir()

    log = ""
    name = "overlay"


def walk(place):
    """The files in /etc of a place, and the remains of a takeover elsewhere."""
    ended = place.run("sh", "-c", _WALK)
    # A concurrent change gives another listing, and no failure.
    assert len(ended.stdout) > 1000, ended.stderr
    return ended.stdout + place.run("sh", "-c", "ls -A /var/lib/httpdnsd-system 2>/dev/null").stdout


def changing_calls(place, *command):
    """The calls by which a command changes something, each as a name and its number among those of that name."""
    ended = place.run("strace", "-e", f"trace={','.join(CHANGES)}", *command)
    found, counts = [], {}
    for line in ended.stderr.splitlines():
        call = re.match(r"(\w+)\((.*)", line)
        if not call or call[1] not in CHANGES:
            continue
        counts[call[1]] = number = counts.get(call[1], 0) + 1
        # Output to the terminal changes nothing.
        if not (call[1] == "write" and call[2].startswith(("1,", "2,"))):
            found.append((call[1], number))
    return ended, found


def killed(place, call, number, *command):
    """Kills the command as it enters this call; returns its exit code. strace counts for each process separately:
    without the children, a number is that of the command's own call."""
    inject = f"inject={call}:signal=KILL:when={number}"
    return place.run("strace", "-o", "/dev/null", "-e", inject, *command).returncode


def without_children(place, *command):
    """Runs the command to its end, and kills each program that it runs at its start."""
    return place.run("strace", "-f", "-o", "/dev/null", "-e", "inject=execve:signal=KILL:when=1", *command)


def ctl_command(socket, *words):
    return (paths.binaries / "httpdnsctl", "--socket", socket, "system", *words)
