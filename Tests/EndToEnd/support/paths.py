# Paths of the repository, the programs and the roots of machines; free ports; and waiting by polling for a condition,
# with a deadline.

import contextlib
import ipaddress
import os
import pwd
import random
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

# Tests expect English texts, also if the developer reads another language.
os.environ["LC_ALL"] = "C.UTF-8"

ROOT = Path(__file__).resolve().parents[3]
# The modules that tests share, and the sources of preloaded libraries.
SUPPORT = Path(__file__).resolve().parent
ZONE = ROOT / "etc" / "lab.zone"

# Set by `run`; read when a program is started.
binaries = Path(os.environ.get("HTTPDNSD_BINARIES", ROOT / ".build" / "release"))

# The folder of roots for machines (machines.py), kept from one run to the next.
machines = Path(os.environ.get("HTTPDNSD_MACHINES", ROOT / ".build" / "machines"))

# Whether the run has the sizes of the requirements instead of smaller ones. Set by `run`.
is_full = False

# The time-out without a deadline of its own: long, because the machine may be busy.
PATIENCE = 20.0

# The user of a daemon that root starts: an account of every Debian, other than the unprivileged users of the tests.
# Without root it is the user of the tests.
DAEMON = pwd.getpwnam("daemon") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def entrust(path):
    """Gives the path to the daemon's user, who must own what it needs. The group stays: only root is in root's."""
    if os.geteuid() == 0:
        os.chown(path, DAEMON.pw_uid, -1)
    return path


PROGRAMS = ("httpdnsd", "httpdnsctl", "httpdnsd-nftset", "httpdns-lab")


@contextlib.contextmanager
def reachable(directory):
    """The directory of the programs; or, if only root may search a directory above it, one with copies of them that
    every user can run."""
    if os.geteuid() != 0 or all(place.stat().st_mode & 0o001 for place in (directory, *directory.parents)):
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="e2e-programs-") as copies:
        os.chmod(copies, 0o755)
        for name in PROGRAMS:
            shutil.copy(directory / name, copies)
        yield Path(copies)


def own_address():
    """An IPv4 address of this machine other than loopback, or None. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        try:
            client.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = client.getsockname()[0]
    return None if ipaddress.ip_address(address).is_loopback else address


_handed_out = set()
_lock = threading.Lock()


def free_port(host="127.0.0.1"):
    """A port that is free on UDP and TCP. It lies under the range from which the kernel gives ports to clients, so
    that none of the many clients of these tests takes it before its server does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with _lock:
        while True:
            port = random.randrange(10000, 32000)
            if port in _handed_out or not all(_is_free(family, kind, host, port) for kind in KINDS):
                continue
            _handed_out.add(port)
            return port


KINDS = (socket.SOCK_DGRAM, socket.SOCK_STREAM)


def _is_free(family, kind, host, port):
    with socket.socket(family, kind) as probe:
        if kind == socket.SOCK_STREAM:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            return True
        except OSError:
            return False


def slack():
    """A factor for time bounds: the number of programs that share a processor. It is below 2, so that a doubled time
    still fails."""
    return min(1.9, max(1.0, os.getloadavg()[0] / os.cpu_count()))


def eventually(condition, within=PATIENCE, what="the condition", every=0.02):
    """The first true value of `condition()`; fails after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {within} s")
        time.sleep(every)


def is_address(text):
    """Whether the text is an address, not a name."""
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False
