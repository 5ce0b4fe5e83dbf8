# The AppArmor profile of the daemon: the parser accepts it, and every path that the daemon uses in its service has a
# rule. The kernel enforces nothing here, so that the calls are read from strace and compared with the profile's rules.

import re
import subprocess
import unittest

import paths
from machines import Machine, program_packages
from paths import eventually
from test_package import NFTSET, SETTINGS, OnMachine, package

PROFILE = paths.ROOT / "etc/apparmor.d/httpdnsd"

LOCAL = """
hosts-directory = "/srv/hosts"
lease-files = ["/var/lib/misc/dnsmasq.leases"]
"""

# As httpdnsd.service does, with strace in between.
TRACED = ("systemd-run", "--unit=traced", "--property=User=httpdnsd",
          "--property=AmbientCapabilities=CAP_NET_BIND_SERVICE",
          "--property=StateDirectory=httpdnsd", "--property=CacheDirectory=httpdnsd",
          "--property=RuntimeDirectory=httpdnsd", "--property=Type=notify", "--property=NotifyAccess=all",
          "--setenv=SWIFT_BACKTRACE=enable=no", "strace", "--follow-forks", "--decode-fds=path",
          "--trace=%file,connect,bind,ftruncate", "--output=/opt/trace/calls", "/usr/sbin/httpdnsd")

# The call, a path among its arguments, and what follows: its flags.
CALL = re.compile(r'^\d+ +(\w+)\(.*?"(/[^"]*)"(.*)')


def preprocessed():
    """The profile with its includes. The parser reports a kernel without AppArmor as a warning."""
    done = subprocess.run(["apparmor_parser", "--preprocess", PROFILE], capture_output=True, text=True, check=True)
    return done.stdout


def pattern(glob, variables):
    """A regular expression for a path with globs of apparmor.d(5)."""
    while (expanded := re.sub(r"@\{(\w+)\}", lambda use: variables[use[1]], glob)) != glob:
        glob = expanded
    words = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", ",": "|", "}": ")"}
    return "".join(words.get(part) or (part if part.startswith("[") else re.escape(part))
                   for part in re.findall(r"\*\*|\[[^]]*\]|.", glob))


def rules():
    """The rules for files: a regular expression and the letters of its permissions."""
    text = preprocessed()
    variables = {name: "{" + ",".join(value.rstrip("/") for value in values.split()) + "}"
                 for name, values in re.findall(r"(?m)^@\{(\w+)\} ?= ?(.+)$", text)}
    found = re.findall(r"(?m)^\s*(?:owner )?((?:/|@\{)\S*)\s+([a-zA-Z]+),", text)
    return [(re.compile(pattern(glob, variables)), letters) for glob, letters in found]


def needed(call, flags):
    """The permission that a call needs; none if it only looks for the path or at its metadata."""
    if call in ("open", "openat", "openat2"):
        return "w" if re.search("O_WRONLY|O_RDWR|O_CREAT", flags) else "r"
    if call in ("connect", "bind", "rename", "renameat2", "unlink", "unlinkat", "mkdir", "chmod", "chown"):
        return "w"
    return "r" if call in ("readlink", "readlinkat") else ""


class Profile(unittest.TestCase):
    def test_the_parser_accepts_it(self):
        done = subprocess.run(["apparmor_parser", "--skip-kernel-load", "--skip-cache", PROFILE], capture_output=True,
                              text=True)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_the_unit_uses_it_if_the_machine_has_it(self):
        name = re.search(r"(?m)^profile (\S+) ", PROFILE.read_text())[1]
        self.assertIn(f"\nAppArmorProfile=-{name}\n", (paths.ROOT / "etc/systemd/httpdnsd.service").read_text())


class Used(OnMachine):
    expected_seconds = 40
    needs_release = True

    @classmethod
    def setUpClass(cls):
        cls.machine = cls.share(Machine(packages=(*program_packages(), "strace"))).boot()
        cls.machine.copy(paths.binaries / "httpdns-lab", "/opt/lab/httpdns-lab")
        cls.machine.copy(paths.ZONE, "/opt/lab/lab.zone")
        cls.start_lab()

    def test_every_path_that_the_daemon_uses_has_a_rule(self):
        self.install_package()
        self.machine.check("systemctl", "stop", "httpdnsd")
        self.machine.write("/srv/hosts/printers", "192.0.2.9 printer.lan\n")
        self.machine.write("/var/lib/misc/dnsmasq.leases", "1900000000 02:00:00:00:00:01 192.0.2.10 laptop *\n")
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", LOCAL + SETTINGS + NFTSET)
        self.machine.check("systemctl", "enable", "--now", "httpdnsd-nftset.socket")
        self.machine.check("install", "-d", "-o", "httpdnsd", "/opt/trace")
        self.machine.check(*TRACED)
        self.use()
        self.machine.check("systemctl", "stop", "traced")
        lines = self.machine.read("/opt/trace/calls").decode().splitlines()
        calls = [match.groups() for match in map(CALL.match, lines) if match]
        used = {(re.sub("^/proc/self/", "/proc/1/", path), needed(call, flags)) for call, path, flags in calls}
        known = rules()
        self.assertGreater(len(known), 100)
        # A directory's name ends with a slash for the kernel.
        without = sorted((path, how) for path, how in used if how and not any(
            how in letters and (rule.fullmatch(path) or rule.fullmatch(path + "/")) for rule, letters in known))
        self.assertEqual([], without, without)
        for path in ("/var/lib/httpdnsd/cache.db", "/run/httpdnsd/control.sock", "/srv/hosts/printers",
                     "/run/httpdnsd-nftset.sock"):
            self.assertIn(path, {path for path, _ in used})

    def use(self):
        """Has the daemon do what opens files: answer, report, follow a network, reload, write its recorder."""
        self.assertServes()
        for name, address in (("printer.lan", "192.0.2.9"), ("laptop", "192.0.2.10")):
            eventually(lambda: address in self.machine.run("dig", "+short", "@127.0.0.1", name).stdout,
                       what=f"{name} is answered", every=0.2)
        for command in (("status",), ("stats",), ("providers",), ("recorder", "dump"), ("reload",)):
            self.machine.run("httpdnsctl", *command)
        for words in (("link", "add", "lan0", "type", "veth", "peer", "name", "lan1"),
                      ("address", "add", "192.0.2.2/24", "dev", "lan0"), ("link", "set", "lan1", "up"),
                      ("link", "set", "lan0", "up"), ("route", "add", "default", "via", "192.0.2.1")):
            self.machine.check("ip", *words)
        self.machine.write("/etc/resolv.conf", "nameserver 192.0.2.54\n")
        self.helper()
