# One package on each Debian that it is for: from its installation to a purge that leaves nothing. Prints a table of the
# steps, with their outcomes and times.

import re
import shutil
import time

import overlay
from cases import LAB_WWW
from paths import eventually
from test_package import NFTSET, OnMachine, changed, package

SETTINGS_FILE = "/etc/httpdnsd/httpdnsd.toml"

# What a purge leaves: databases and logs of dpkg and apt, the journal, and the files of these tests.
LEFT = ("/var/lib/dpkg/", "/var/lib/apt/", "/var/cache/apt/", "/var/log/", "/opt/", f"/{overlay.FILE}")

# The machine's own files that change without the package, and the databases of users before their last change.
OTHERS = ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid", "/etc/.pwd.lock",
          "/etc/resolv.conf", "/etc/ld.so.cache", "/var/cache/ldconfig/aux-cache", "/var/cache/debconf/",
          "/var/cache/man/", "/var/lib/systemd/timers/", "/var/lib/systemd/random-seed", "/var/lib/systemd/catalog/")


SECURE = """
[[provider]]
name = "secure"
dialect = "doh"
url = "https://127.0.0.1:8443/dns-query"
ca-file = "/etc/httpdnsd/ca.pem"
"""

POST_QUANTUM = "X25519MLKEM768, post-quantum"


def as_three_programs(tree):
    """Gives a package's tree the form of former packages: three regular files, and a unit that keeps no sockets."""
    for name in ("usr/bin/httpdnsctl", "usr/libexec/httpdnsd-nftset"):
        (tree / name).unlink()
        shutil.copy(tree / "usr/sbin/httpdnsd", tree / name)
    unit = tree / "lib/systemd/system/httpdnsd.service"
    text, removed = re.subn("(?m)^(FileDescriptorStoreMax|AppArmorProfile)=.*\n", "", unit.read_text())
    assert removed == 2, unit
    unit.write_text(text)


class Suite:
    """The steps, in their order. The classes below add `OnMachine`, because this one alone is no test."""

    # The suite, and the key exchange that its OpenSSL prefers.
    suite, group = "", ""
    expected_seconds = 60
    needs_release = True

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.start_lab()
        cls.machine.copy(changed(package(), "0", change=as_three_programs), "/opt/former.deb")
        cls.machine.copy(package(), "/opt/httpdnsd.deb")

    def test_from_an_installation_to_a_purge_that_leaves_nothing(self):
        version = self.machine.check("systemctl", "--version").split()[1]
        rows = []
        try:
            for step in (self.install, self.answer, self.agree_on_keys, self.set_up, self.take_over, self.start_the_helper, self.upgrade,
                         self.remove, self.purge):
                began = time.monotonic()
                rows.append([step.__name__.replace("_", " "), "failed", 0.0])
                try:
                    step()
                    rows[-1][1] = "ok"
                finally:
                    rows[-1][2] = time.monotonic() - began
        finally:
            print("".join(f"{self.suite:8}  systemd {version}  {name:16}  {outcome:6}  {seconds:5.1f} s\n"
                          for name, outcome, seconds in rows), end="", flush=True)

    def install(self):
        """Installs the former version with apt, which chooses among the packages that Depends names."""
        self.before = self.machine.read("/etc/resolv.conf")
        self.machine.check("touch", "/opt/stamp")
        self.machine.check("apt-get", "install", "--yes", "/opt/former.deb", timeout=120)
        self.assertEqual("active", self.property("ActiveState"))
        self.assertEqual("enabled", self.property("UnitFileState"))

    def answer(self):
        self.use_lab()

    def agree_on_keys(self):
        """Has the daemon connect to a server with the suite's OpenSSL, which answers any path with a page."""
        self.machine.check("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                           "-subj", "/CN=secure", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "/opt/key.pem",
                           "-out", "/etc/httpdnsd/ca.pem")
        self.machine.check("chmod", "644", "/etc/httpdnsd/ca.pem")
        self.machine.check("systemd-run", "--unit=secure", "openssl", "s_server", "-accept", "127.0.0.1:8443", "-www",
                           "-key", "/opt/key.pem", "-cert", "/etc/httpdnsd/ca.pem")
        self.machine.write(SETTINGS_FILE, SECURE)
        self.machine.check("systemctl", "reload", "httpdnsd")

        def key_exchange():
            self.machine.run("dig", "+tries=1", "+time=1", "@127.0.0.1", "www.example.com")
            return re.findall("(?m)^  key exchange (.*)$", self.machine.check("httpdnsctl", "providers"))
        self.assertEqual([self.group], eventually(key_exchange, what="a connection", every=0.2))
        notes = self.machine.run("httpdnsctl", "doctor").stdout
        self.assertEqual(self.group != POST_QUANTUM, "has no post-quantum key exchange" in notes, notes)
        self.machine.check("systemctl", "stop", "secure")
        self.use_lab()

    def set_up(self):
        self.machine.write("/etc/httpdnsd/baidu.key", "1234567890\n", "640")
        self.machine.check("chgrp", "httpdnsd", "/etc/httpdnsd/baidu.key")
        self.machine.check(
            "httpdnsctl", "setup", "--replace", "--providers", "none", "--account", "baidu", "--account-id", "100",
            "--url", "http://127.0.0.1:8080/p/baidu/v4/resolve", "--key-file", "/etc/httpdnsd/baidu.key", "--lan", "no",
            "--take-over", "no")
        self.machine.check("httpdnsctl", "flush", "--all")
        self.assertServes()

    def take_over(self):
        self.use_for_the_machine()

    def start_the_helper(self):
        self.settings = self.machine.read(SETTINGS_FILE).decode() + NFTSET
        self.machine.write(SETTINGS_FILE, self.settings)
        self.machine.check("systemctl", "enable", "--now", "httpdnsd-nftset.socket")
        self.machine.check("systemctl", "enable", "httpdnsd.socket")
        self.machine.check("systemctl", "reload", "httpdnsd")
        self.former = self.property("MainPID"), self.helper()

    def upgrade(self):
        daemon, helper = self.former
        self.machine.check("apt-get", "install", "--yes", "/opt/httpdnsd.deb", timeout=120)
        control = self.machine.check("readlink", "--canonicalize", "/usr/bin/httpdnsctl")
        self.assertEqual("/usr/sbin/httpdnsd", control.strip())
        self.assertNotIn(self.property("MainPID"), (daemon, "0"))
        self.helper(other_than=helper)
        self.assertEqual(self.settings, self.machine.read(SETTINGS_FILE).decode())
        self.assertServes()
        self.assertEqual(LAB_WWW, set(self.machine.check("dig", "+short", "www.lab.example").split()))

    def remove(self):
        self.machine.check("apt-get", "remove", "--yes", "httpdnsd", timeout=120)
        self.assertEqual(self.before, self.machine.read("/etc/resolv.conf"))
        self.assertNoHelper()
        self.assertEqual(self.settings, self.machine.read(SETTINGS_FILE).decode())
        self.assertNotIn("httpdnsd", self.machine.check("ps", "-eo", "args"))

    def purge(self):
        self.machine.check("apt-get", "purge", "--yes", "httpdnsd", timeout=120)
        self.assertNoHelper()
        for database in ("passwd", "group"):
            self.assertNotIn("httpdnsd", self.machine.check("getent", database))
        written = self.machine.check("find", "/", "-xdev", "!", "-type", "d", "-newer", "/opt/stamp").splitlines()
        self.assertEqual([], [path for path in written if not path.startswith((*LEFT, *OTHERS))])
        named = self.machine.check("find", "/", "/run", "-xdev", "-name", "*httpdnsd*").splitlines()
        self.assertEqual([], [path for path in named if not path.startswith(LEFT)])
        mentioned = self.machine.run("grep", "--recursive", "--files-with-matches", "--exclude=*-", "httpdnsd", "/etc",
                                     "/var/lib/systemd")
        self.assertEqual("", mentioned.stdout)
        self.assertEqual("", self.machine.run("systemctl", "list-units", "--all", "--plain", "--no-legend",
                                              "httpdnsd*").stdout)


class Bookworm(Suite, OnMachine):
    suite = "bookworm"
    group = "x25519"


class Trixie(Suite, OnMachine):
    suite = "trixie"
    group = POST_QUANTUM
