# Machines for installations: a Debian root with a real systemd, booted in namespaces of its own. The root is made once
# and kept; every machine starts from it, on an overlay that is removed with it. They require root, and apt for the
# first time. The machine that runs the tests stays unchanged.

import contextlib
import fcntl
import hashlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import overlay
import paths
from paths import eventually

# The packages of a small server, and those with which the tests examine it.
BASE_PACKAGES = ("systemd", "systemd-sysv", "dbus", "iproute2", "ca-certificates", "bind9-dnsutils", "procps")

# The suites of Debian that the package is for, and the columns of etc/debian/libraries with their packages.
SUITES = {"bookworm": 3, "trixie": 4}


def program_packages(suite="bookworm"):
    """The packages that the programs are linked with, so that a package can be installed without a network."""
    rows = [line.split() for line in (paths.ROOT / "etc/debian/libraries").read_text().splitlines()
            if line and not line.startswith("#")]
    return (*sorted({row[SUITES[suite]].split("=")[0] for row in rows}), "publicsuffix")


PROGRAM_PACKAGES = program_packages()

# Paths that a comparison of a machine's disk leaves out: databases and logs of dpkg, of the journal and of users (the
# file before the last change), and the seed of random numbers.
OWN_WRITINGS = ("/var/lib/dpkg/", "/var/log/", "/var/cache/", "/var/lib/systemd/", "/etc/passwd-", "/etc/shadow-",
                "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock")

# A part of the key of every root. It must be raised when the recipe below changes.
RECIPE = "1"

_environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                "HOME": "/root", "TERM": "dumb", "DEBIAN_FRONTEND": "noninteractive"}

_numbers = itertools.count()


def _is_chroot():
    """Whether the root directory of this process is not that of a mount: proc(5) lists no mount at / then."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    return not any(mount.split()[4] == "/" for mount in mounts)


# The reason why no machine can be booted here; empty if it can. pivot_root(2) refuses a root directory that is not a
# mount's.
UNBOOTABLE = "machines cannot be booted in a chroot" if _is_chroot() else ""
# The decorator for classes of tests that boot machines.
boots_machines = unittest.skipIf(UNBOOTABLE, UNBOOTABLE)

# Mounts the overlay at DIRECTORY and waits for the end of its input, which comes with the end of the tests in any case:
# then the namespace and all its mounts are removed.
_KEEPER = """
lower=$1 directory=$2
mount -t tmpfs -o mode=755 machine "$directory" && cd "$directory" && mkdir upper work root groups &&
echo "$3" >upper/"$4" &&
mount -t overlay -o "lowerdir=$lower,upperdir=upper,workdir=work" machine root &&
mount -t cgroup2 cgroup2 groups && echo ready && exec cat
"""

# Enters a control group of its own, so that machines do not see each other's services.
_ENTER_GROUP = """
group=$1/groups$2; shift 2
mkdir -p "$group" && echo $$ >"$group/cgroup.procs" && exec "$@"
"""

# Runs inside all namespaces but the new root: mounts the file systems that systemd expects of a container, and becomes
# it.
_BOOT = """
set -e
cd "$1/root"
mount --bind . . && cd "$1/root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mount -t tmpfs -o mode=755 dev dev
for device in null zero full random urandom tty; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for number in 0:stdin 1:stdout 2:stderr; do ln -s /proc/self/fd/${number%:*} dev/${number#*:}; done
ip link set lo up
hostname machine
mkdir -p run/before && pivot_root . run/before && umount -l /run/before && rmdir /run/before
exec env -i container=httpdnsd-test PATH="$PATH" /lib/systemd/systemd --unit=multi-user.target
"""


class MachineFailure(AssertionError):
    """The machine cannot be made: tests that need one fail with the reason, instead of being left out."""


class Machine:
    """A machine that exists from its creation until `close`, and is booted by `boot`. `packages` are installed before
    it first boots, on this machine's network; its own has a loopback interface only."""

    def __init__(self, packages=(), suite="bookworm"):
        if os.geteuid() != 0:
            raise MachineFailure("machines: need root, for namespaces and mounts")
        self.name = f"machine{os.getpid()}-{next(_numbers)}"
        self.pid = None
        self._last_words = ""
        self._init = None
        self._token = overlay.new_token()
        lower = debian_root(packages, suite)
        self.directory = Path(tempfile.mkdtemp(prefix="e2e-machine-"))
        self._keeper = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", _KEEPER, "sh", lower, self.directory,
             self._token, overlay.FILE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = self._keeper.stdout.readline()
        if first != "ready\n":
            self.close()
            raise MachineFailure(f"machines: no overlay of {lower}: {first}")
        self._group = _own_group() + "/" + self.name

    def boot(self, within=60):
        """Boots, and waits until all services of the machine have started or failed."""
        log = open(self.directory.with_suffix(".log"), "ab")
        with log:
            # The process begins in the keeper's mount namespace. It is killed with the thread that runs the test.
            self._init = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self._in_keeper(), "sh", "-c", _ENTER_GROUP, "sh",
                 self.directory, self._group, "unshare", "--kill-child", "--pid", "--fork", "--mount", "--uts", "--ipc",
                 "--net", "--cgroup", "--propagation", "private", "sh", "-c", _BOOT, "sh", self.directory],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(self._has_booted, within, f"{self.name} boots", every=0.1)
        return self

    def _has_booted(self):
        if self._init.poll() is not None:
            raise MachineFailure(f"machines: {self.name} does not boot:\n{self._console()}")
        try:
            children = Path(f"/proc/{self._init.pid}/task/{self._init.pid}/children").read_text().split()
            if not children or Path(f"/proc/{children[0]}/comm").read_text() != "systemd\n":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False  # One of the steps on the way, which has just ended.
        self.pid = int(children[0])
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def run(self, *command, timeout=60, input=None):
        """Runs a command inside to its end: with returncode, stdout and stderr."""
        return overlay.check(subprocess.run(
            self._inside(command), input=input, timeout=timeout, capture_output=True,
            text=not isinstance(input, bytes), env=_environment))

    def begin(self, *command):
        """Starts a command inside: a Popen with its output, in which are its errors."""
        return subprocess.Popen(self._inside(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=_environment)

    def _inside(self, command):
        return [*overlay.ENTER, "--all", "--target", str(self.pid), *overlay.guard(self._token, "/"),
                *map(str, command)]

    def check(self, *command, timeout=60):
        """The output of a command inside, which must succeed."""
        ended = self.run(*command, timeout=timeout)
        if ended.returncode != 0:
            words = " ".join(map(str, command))
            raise AssertionError(f"{words}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def copy(self, source, to):
        """Copies a file with its mode, or a directory with its contents. `to` is the whole path inside."""
        source = Path(source)
        if source.is_dir():
            packed = subprocess.run(["tar", "-C", source, "-c", "."], check=True, capture_output=True).stdout
            command = ("sh", "-c", 'mkdir -p "$1" && exec tar -C "$1" --no-same-owner -x', "sh", to)
        else:
            packed = source.read_bytes()
            command = ("install", "-D", "-m", f"{source.stat().st_mode & 0o777:o}", "/dev/stdin", to)
        self._feed(packed, command)

    def write(self, path, text, mode="644"):
        """Writes a file inside."""
        self._feed(text.encode(), ("install", "-D", "-m", mode, "/dev/stdin", path))

    def _feed(self, content, command):
        ended = self.run(*command, input=content)
        if ended.returncode != 0:
            raise AssertionError(f"{command}: {ended.stderr.decode()}")

    def read(self, path):
        """The bytes of a file inside. (Through /proc/PID/root an absolute symbolic link would lead to this machine's
        files.)"""
        ended = self.run("cat", path, input=b"")
        if ended.returncode != 0:
            raise AssertionError(f"{path}: {ended.stderr.decode()}")
        return ended.stdout

    def journal(self, *arguments):
        return self.run("journalctl", "--no-pager", "--boot", *arguments).stdout

    @property
    def log(self):
        """The log that `run` shows if a test fails."""
        return self.journal("--lines=200") if self.pid else self._last_words

    def files(self):
        """Every path of the machine's disk with mode, owner, target of a link, size, and the contents of files in /etc;
        files that the machine writes by itself and the history of packages are left out."""
        listed = self.check("find", "/", "-xdev", "!", "-type", "d", "-printf", "%p\t%M %U:%G %s %l\n", "-o",
                            "-printf", "%p\t%M %U:%G\n")
        lines = dict(line.split("\t", 1) for line in listed.splitlines())
        for line in self.check("find", "/etc", "-type", "f", "-exec", "sha256sum", "{}", "+").splitlines():
            digest, path = line.split(maxsplit=1)
            lines[path] += " " + digest
        return {path: line for path, line in lines.items() if not path.startswith(OWN_WRITINGS)}

    def power_off(self, within=paths.PATIENCE):
        """Powers off as the machine's own command does: services are stopped, and its disk stays."""
        os.kill(self.pid, signal.SIGRTMIN + 4)
        try:
            self._init.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} does not power off:\n{self._console()}") from None
        self._end()

    def reboot(self):
        self.power_off()
        return self.boot()

    def kill(self):
        """Cuts the power: all processes end at once; the disk stays, /run and /tmp do not."""
        self._end()

    def _end(self):
        self.pid = None
        if self._init:
            self._init.kill()
            self._init.wait()
            self._init = None
        # The first process of a namespace takes the others with it, a moment later.
        paths.eventually(self._remove_groups, what=f"{self.name}'s control groups are left")

    def _remove_groups(self):
        script = '[ ! -e "$1" ] || find "$1" -depth -type d -exec rmdir {} +'
        ended = subprocess.run([*self._in_keeper(), "sh", "-c", script, "sh", f"{self.directory}/groups{self._group}"],
                               capture_output=True)
        return ended.returncode == 0

    def _in_keeper(self):
        return (*overlay.ENTER, "--target", str(self._keeper.pid))

    def _console(self):
        log = self.directory.with_suffix(".log")
        return log.read_text(errors="replace")[-4000:] if log.exists() else "it said nothing"

    def close(self):
        """Powers off by force, and removes the machine."""
        try:
            if self.pid:
                self._last_words = self.log
                self._end()
            elif self._init:
                self._end()
        finally:
            self._keeper.stdin.close()
            self._keeper.wait()
            self._keeper.stdout.close()
            self.directory.rmdir()
            self.directory.with_suffix(".log").unlink(missing_ok=True)


def _own_group():
    """The version 2 control group of this process, "" for the topmost."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, _, path = line.split(":", 2)
        if number == "0":
            return path.rstrip("/")
    raise MachineFailure("machines: need control groups of version 2; this kernel has none")


def debian_root(packages=(), suite="bookworm"):
    """The directory of a root with these packages, made if there is none yet. It is read only."""
    base = _cached("base", (suite, *BASE_PACKAGES), lambda root: _bootstrap(root, suite))
    if not packages:
        return base
    return _cached("with", (suite, *BASE_PACKAGES, *sorted(packages)),
                   lambda root: _install(base, root, sorted(packages)))


def _cached(kind, words, make):
    key = hashlib.sha256(" ".join((RECIPE, *words)).encode()).hexdigest()[:12]
    root = paths.machines / f"{kind}-{key}"
    paths.machines.mkdir(parents=True, exist_ok=True)
    with open(paths.machines / f"{kind}-{key}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if root.exists():
            return root
        unfinished = root.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        began = time.monotonic()
        print(f"machines: making a Debian root of {' '.join(words)}, once", file=sys.stderr, flush=True)
        make(unfinished)
        unfinished.rename(root)
        print(f"machines: made in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return root


def _bootstrap(root, suite):
    if not shutil.which("debootstrap"):
        raise MachineFailure("machines: debootstrap is missing: apt-get install debootstrap")
    _call("debootstrap", "--variant=minbase", f"--include={','.join(BASE_PACKAGES)}", suite, root)
    # The machine ID is always the same, the first boot is over, and no timer starts in the middle of a test.
    (root / "etc/machine-id").write_text(hashlib.md5(b"httpdnsd").hexdigest() + "\n")
    (root / "etc/hostname").write_text("machine\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n127.0.1.1 machine\n")
    (root / "etc/resolv.conf").write_text("# Nobody answers here.\nnameserver 192.0.2.53\n")
    units = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
             "fstrim.timer", "systemd-tmpfiles-clean.timer")
    _call("systemctl", f"--root={root}", "mask", *units)


def _install(base, root, packages):
    _call("cp", "--archive", "--reflink=auto", base, root)
    resolv_conf = root / "etc/resolv.conf"
    before = resolv_conf.read_bytes()
    # Services must not start here: policy-rc.d is asked first.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    with _mounted(root):
        resolv_conf.write_bytes(Path("/etc/resolv.conf").read_bytes())
        _call("chroot", root, "apt-get", "update", "-qq")
        _call("chroot", root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)
        _call("chroot", root, "apt-get", "clean")
    policy.unlink()
    # A package may have replaced the file by a link.
    if not resolv_conf.is_symlink():
        resolv_conf.write_bytes(before)


@contextlib.contextmanager
def _mounted(root):
    """Mounts the file systems that maintainer scripts expect of a root."""
    mounted = []
    try:
        for kind, at in (("proc", "proc"), ("tmpfs", "run"), ("tmpfs", "tmp")):
            _call("mount", "-t", kind, kind, root / at)
            mounted.append(root / at)
        yield
    finally:
        for at in reversed(mounted):
            _call("umount", at)


def _call(*command):
    # A lost root can be made again, so dpkg need not wait for the disk.
    environment = {**_environment, "DPKG_FORCE": "unsafe-io"}
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if ended.returncode != 0:
        raise MachineFailure(f"machines: {' '.join(map(str, command))}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")


# The program `machines.py [[SUITE:]PACKAGES...]` makes roots before the tests: for each argument one with the packages
# that it names and those of the programs.
if __name__ == "__main__":
    if UNBOOTABLE:
        print(f"machines: {UNBOOTABLE}; none is made", file=sys.stderr)
        sys.exit(0)
    for names in sys.argv[1:] or [""]:
        of, _, more = names.rpartition(":")
        debian_root((*program_packages(of or "bookworm"), *more.split()), of or "bookworm")
