# The effects of an installation and of its removal on a machine: the Debian package and scripts/install, each on a
# booted machine.

import functools
import json
import re
import subprocess
import tempfile
import threading
from pathlib import Path

import paths
from cases import LAB_WWW, Case
from machines import Machine, boots_machines, program_packages
from overlay import ENTER
from paths import eventually

SETTINGS = """
[[provider]]
name = "lab"
dialect = "json"
url = "http://127.0.0.1:8080/p/lab/resolve"
"""

# The lintian tags that a package outside of Debian's archive may have.
ACCEPTED_TAGS = {"initial-upload-closes-no-bugs"}

UNITS = ("httpdnsd.service", "httpdnsd.socket", "httpdnsd-restore.service", "httpdnsd-nftset.socket",
         "httpdnsd-nftset.service")

# A rule with which the daemon connects to the helper.
NFTSET = """
[[rule]]
match = ["lab.example"]
nftset = "inet#filter#allowed"
"""


@functools.cache
def packages():
    """A directory that lives as long as the tests."""
    return tempfile.TemporaryDirectory(prefix="e2e-package-")


_building = threading.Lock()


def package():
    """The package; classes that run in parallel share one."""
    with _building:
        return _package()


@functools.cache
def _package():
    return build_package("--output", packages().name)


def build_package(*options, tree=paths.ROOT):
    done = subprocess.run([tree / "scripts/package", "--binaries", paths.binaries, *options], capture_output=True,
                          text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return tree / done.stdout.strip()


def copy_sources(directory):
    """Copies what `scripts/package` reads of the tree."""
    for path in ("scripts", "etc", "CHANGELOG.md", "LICENSE", "Sources/Control/Statistics/Version.swift"):
        to = Path(directory, path)
        to.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "--archive", paths.ROOT / path, to], check=True)


def field(name):
    """A field of the package's control file."""
    said = subprocess.run(["dpkg-deb", "--field", package(), name], capture_output=True, text=True, check=True)
    return said.stdout.strip()


def changed(deb, revision, conffile=None, change=None):
    """The same package with another revision, with these settings as a conffile, and with its tree changed."""
    with _building:
        return _changed(deb, revision, conffile, change)


@functools.cache
def _changed(deb, revision, conffile, change):
    directory = Path(tempfile.mkdtemp(dir=packages().name))
    tree = directory / "tree"
    subprocess.run(["dpkg-deb", "--raw-extract", deb, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^(Version: .*-)\d+$", rf"\g<1>{revision}", control.read_text()))
    if conffile:
        with (tree / "DEBIAN/conffiles").open("a") as conffiles:
            conffiles.write("/etc/httpdnsd/httpdnsd.toml\n")
        (tree / "etc/httpdnsd").mkdir(parents=True)
        (tree / "etc/httpdnsd/httpdnsd.toml").write_text(conffile)
    if change:
        change(tree)
    made = directory / "httpdnsd.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, made], check=True,
                   capture_output=True)
    return made


def newer(deb):
    return changed(deb, "99")


@boots_machines
class OnMachine(Case):
    """A machine with a provider of its own."""

    suite = "bookworm"

    @classmethod
    def prepare(cls):
        cls.machine = cls.share(Machine(packages=program_packages(cls.suite), suite=cls.suite)).boot()
        cls.machine.copy(paths.binaries / "httpdns-lab", "/opt/lab/httpdns-lab")
        cls.machine.copy(paths.ZONE, "/opt/lab/lab.zone")

    @classmethod
    def start_lab(cls):
        cls.machine.check("systemd-run", "--unit=lab", "/opt/lab/httpdns-lab", "--zone", "/opt/lab/lab.zone", "--http",
                          "127.0.0.1:8080", "--control", "127.0.0.1:8081")

    def install_package(self):
        self.machine.copy(package(), "/opt/httpdnsd.deb")
        return self.machine.check("dpkg", "--install", "/opt/httpdnsd.deb", timeout=120)

    def use_lab(self):
        """Sets up a provider as an operator with a provider of his own does."""
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS)
        self.machine.check("systemctl", "reload", "httpdnsd")
        self.assertServes()

    def use_for_the_machine(self):
        self.machine.check("httpdnsctl", "system", "use")
        self.assertIn("nameserver 127.0.0.1", self.machine.read("/etc/resolv.conf").decode())
        self.assertEqual(LAB_WWW, set(self.machine.check("dig", "+short", "www.lab.example").split()))

    def use_helper(self):
        """Sets up a rule with nftset as an operator does; returns the process ID of the helper."""
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS + NFTSET)
        self.machine.check("systemctl", "enable", "--now", "httpdnsd-nftset.socket")
        self.machine.check("systemctl", "reload", "httpdnsd")
        return self.helper()

    def helper(self, other_than="0"):
        def pid():
            return self.property("MainPID", "httpdnsd-nftset.service")
        return eventually(lambda: pid() not in ("0", other_than) and pid(), what="the helper runs", within=40, every=0.2)

    def assertNoHelper(self):
        for unit in ("httpdnsd-nftset.socket", "httpdnsd-nftset.service"):
            self.assertNotEqual("active", self.machine.run("systemctl", "is-active", unit).stdout.strip())
        self.assertNotIn("httpdnsd-nftset", self.machine.check("ps", "-eo", "args"))
        self.assertEqual("", self.machine.check("find", "/run", "/etc/systemd", "-name", "*httpdnsd-nftset*"))
        for database in ("passwd", "group"):
            self.assertEqual("", self.machine.run("getent", database, "httpdnsd-nftset").stdout)

    def assertServes(self):
        """Checks that the daemon answers a name that only the provider has."""
        def answered():
            return set(self.machine.run("dig", "+short", "+tries=1", "@127.0.0.1", "www.lab.example").stdout.split())
        eventually(lambda: answered() == LAB_WWW, what="the name of the lab is answered", every=0.2)

    def assertSameFiles(self, before):
        after = self.machine.files()
        changed = {path: (before.get(path), after.get(path)) for path in before.keys() | after.keys()
                   if before.get(path) != after.get(path)}
        self.assertEqual({}, changed)

    def property(self, name, unit="httpdnsd.service"):
        return self.machine.check("systemctl", "show", "--value", f"--property={name}", unit).strip()


class Package(Case):
    expected_seconds = 60

    def test_lintian_finds_nothing_that_matters(self):
        done = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", package()], capture_output=True,
                              text=True, timeout=120)
        tags = [line for line in done.stdout.splitlines()
                if re.match(r"[EW]:", line) and line.split()[2] not in ACCEPTED_TAGS]
        self.assertEqual([], tags, done.stderr)

    def test_the_same_programs_make_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as directory:
            copy_sources(directory)
            # The tree also holds the package of an older version, which must not become part of an image.
            output = Path(directory, ".build/package")
            output.mkdir(parents=True)
            (output / "httpdnsd_0.0.1-1_amd64.deb").touch()
            build_package(tree=Path(directory))
            made = sorted([package().name, package().with_suffix(".spdx.json").name, "SHA256SUMS"])
            self.assertEqual(made, sorted(path.name for path in output.iterdir()))
            for name in made:
                self.assertEqual((package().parent / name).read_bytes(), (output / name).read_bytes())
            checked = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=output, capture_output=True)
            self.assertEqual(0, checked.returncode, checked.stderr)

    def test_the_bill_of_materials_has_what_the_programs_contain_and_need(self):
        bill = json.loads(package().with_suffix(".spdx.json").read_text())
        versions = {entry["SPDXID"]: entry["versionInfo"] for entry in bill["packages"]}
        linked = {kind: {entry["relatedSpdxElement"] for entry in bill["relationships"]
                         if entry["relationshipType"] == kind} for kind in ("STATIC_LINK", "DYNAMIC_LINK")}
        self.assertEqual({"SPDXRef-hiredis", "SPDXRef-swift-runtime", "SPDXRef-tomlplusplus"}, linked["STATIC_LINK"])
        self.assertEqual({"SPDXRef-httpdnsd", *linked["STATIC_LINK"], *linked["DYNAMIC_LINK"]}, set(versions))
        self.assertEqual(field("Version"), versions["SPDXRef-httpdnsd"])
        for name in re.findall(r"(?:^|, |\| )(lib\S+|zlib1g) \(>= ", field("Depends")):
            if not name.endswith("t64"):
                self.assertIn(f"SPDXRef-{name.replace('+', '-')}", linked["DYNAMIC_LINK"])
        # The notices that the licences of these parts ask for.
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["dpkg-deb", "--extract", package(), directory], check=True)
            notices = Path(directory, "usr/share/doc/httpdnsd/copyright").read_text()
        for part in linked["STATIC_LINK"]:
            self.assertIn(f"\nFiles: {part.removeprefix('SPDXRef-')}\n", notices)

    def test_the_programs_and_the_package_stay_small(self):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["dpkg-deb", "--extract", package(), directory], check=True)
            programs = sum(Path(directory, path).stat().st_size for path in ("usr/sbin/httpdnsd", "usr/bin/httpdnsctl"))
        # Half of each program is Swift's standard library and Foundation.
        self.assertLess(programs, 48e6)
        # The package also holds a third program, httpdnsd-nftset.
        self.assertLess(package().stat().st_size, 9.2e6)

    def test_a_library_without_a_row_and_a_row_without_a_library_are_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            copy_sources(directory)
            table = Path(directory, "etc/debian/libraries")
            rows = table.read_text()
            for text, expected in (
                    (re.sub(r"(?m)^libpsl\.so\.5 .*\n", "", rows),
                     "httpdnsd needs libpsl.so.5: add a row to etc/debian/libraries"),
                    (rows + "libfoo.so.1 1 - libfoo1=1 libfoo1=1 libfoo1=1\n", "no program needs libfoo.so.1"),
                    (rows.replace("GLIBC_2.36", "GLIBC_2.33"), "GLIBC_2.34 of libc.so.6"),
                    (rows.replace("=3.0.13", "=3.0.2"), "libssl3t64=3.0.2-.* is older than its MINIMUM")):
                table.write_text(text)
                with self.assertRaisesRegex(AssertionError, expected):
                    build_package(tree=Path(directory))

    def test_changelog_program_and_package_have_one_version(self):
        newest = re.search(r"(?m)^## (\S+)", (paths.ROOT / "CHANGELOG.md").read_text())[1]
        source = (paths.ROOT / "Sources/Control/Statistics/Version.swift").read_text()
        self.assertEqual(newest, re.search(r'programVersion = "(.*)"', source)[1])
        self.assertEqual(newest, field("Version").rsplit("-", 1)[0])

    def test_it_needs_packages_of_debian_only_and_no_swift(self):
        names = set(re.findall(r"(?:^|[,|] )([a-z0-9.+-]+)", field("Depends")))
        self.assertLessEqual({"libc6", "libnghttp2-14", "libpsl5", "libsqlite3-0", "libssl3", "ca-certificates"}, names)
        # The newer names of libraries, with 64-bit time_t, are chosen first.
        self.assertIn("libssl3t64 (>= 3.0.9) | libssl3 (>= 3.0.9)", field("Depends"))
        self.assertNotIn("hiredis", field("Depends"))
        # The package has a list newer than the one compiled into libpsl5.
        self.assertEqual("publicsuffix", field("Recommends"))
        self.assertFalse([name for name in names if "swift" in name])


class Installed(OnMachine):
    expected_seconds = 75

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.start_lab()
        cls.install_package(cls())
        cls.use_lab(cls())

    def test_it_serves_as_its_own_user_and_every_user_may_ask_how_it_is(self):
        self.assertEqual("active", self.property("ActiveState"))
        status = self.machine.read(f"/proc/{self.property('MainPID')}/status").decode()
        user = self.machine.check("id", "--user", "httpdnsd").strip()
        self.assertRegex(status, rf"(?m)^Uid:\t{user}\t{user}\t{user}\t{user}$")
        self.assertNotEqual("0", user)
        asked = self.machine.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "httpdnsctl", "status")
        self.assertIn("lab", asked.stdout, asked.stderr)
        # The state directory is closed to other users.
        self.assertEqual("750 httpdnsd", self.machine.check("stat", "-c", "%a %U", "/var/lib/httpdnsd").strip())

    def test_it_can_read_the_public_suffix_list_in_its_sandbox(self):
        read = self.machine.run(
            *ENTER, f"--target={self.property('MainPID')}", "setpriv", "--reuid=httpdnsd", "--regid=httpdnsd",
            "--clear-groups", "head", "-c16", "/usr/share/publicsuffix/public_suffix_list.dafsa")
        self.assertEqual(".DAFSA@PSL_0   \n", read.stdout, read.stderr)

    def test_a_reload_fails_if_the_settings_are_refused_and_the_former_ones_stay(self):
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS + "\n[log]\nlevel = \"loud\"\n")
        self.addCleanup(self.use_lab)
        refused = self.machine.run("systemctl", "reload", "httpdnsd")
        self.assertEqual(1, refused.returncode, refused.stdout)
        eventually(lambda: "log.level" in self.machine.journal("--unit=httpdnsd"), what="the journal says what is wrong")
        self.assertEqual("active", self.property("ActiveState"))

    def test_the_journal_finds_events_by_their_fields(self):
        entries = self.machine.journal("--unit=httpdnsd", "HTTPDNSD_EVENT=ready", "--output=json").splitlines()
        self.assertTrue(entries)
        ready = json.loads(entries[-1])
        self.assertEqual(("journal", "httpdnsd"), (ready["_TRANSPORT"], ready["SYSLOG_IDENTIFIER"]))
        self.assertEqual(["127.0.0.1:53", "[::1]:53"], ready["HTTPDNSD_LISTEN"])
        by_value = self.machine.journal("HTTPDNSD_EVENT=ready", "HTTPDNSD_LISTEN=[::1]:53", "--output=cat").splitlines()
        self.assertTrue(by_value and all(line.startswith("ready: listening on ") for line in by_value), by_value)

    def test_the_units_are_without_fault(self):
        files = [f"/lib/systemd/system/{unit}" for unit in UNITS]
        verified = self.machine.run("systemd-analyze", "verify", "--man=no", *files)
        self.assertEqual((0, ""), (verified.returncode, verified.stderr))

    def test_the_exposure_is_small(self):
        unit = "/lib/systemd/system/httpdnsd.service"
        said = self.machine.check("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
        self.assertLessEqual(float(re.search(r"exposure level for httpdnsd.service: ([\d.]+)", said)[1]), 2.0)

    def test_it_is_back_after_a_reboot(self):
        self.machine.reboot()
        self.start_lab()
        self.assertEqual("enabled", self.machine.run("systemctl", "is-enabled", "httpdnsd").stdout.strip())
        self.assertServes()

    def test_it_is_back_after_any_signal(self):
        for signal in ("KILL", "TERM", "INT"):
            before = self.property("MainPID")
            self.machine.check("kill", f"-{signal}", before)
            eventually(lambda: self.property("MainPID") not in (before, "0"), what=f"back after {signal}", every=0.1)
            self.assertServes()

    def setUp(self):
        # The tests start the daemon more often than operators do.
        self.machine.run("systemctl", "reset-failed", "httpdnsd")

    def test_one_that_can_not_start_has_failed_within_ten_seconds(self):
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", "nonsense = 1\n")
        self.addCleanup(self.mend, "/etc/httpdnsd/httpdnsd.toml", SETTINGS)
        self.assertGivenUp(within=10)

    def test_one_that_hangs_at_its_start_has_failed_within_a_minute(self):
        self.machine.write("/opt/hanging", "#!/bin/sh\ntrap '' TERM INT\nwhile :; do sleep 1; done\n", "755")
        drop_in = "/etc/systemd/system/httpdnsd.service.d/hanging.conf"
        self.machine.write(drop_in, "[Service]\nExecStart=\nExecStart=/opt/hanging\n")
        self.addCleanup(self.mend, drop_in, "")
        self.assertGivenUp(within=60)

    def test_one_that_hangs_again_and_again_reaches_the_limit_of_starts(self):
        def limit(name):
            said = self.property(name)
            factors = {"min": 60, "s": 1, "ms": 0.001}
            return sum(float(number) * factors[unit] for number, unit in re.findall(r"([\d.]+)(min|ms|s)\b", said))
        # A timer of systemd's may be 250 ms late.
        cycle = limit("WatchdogUSec") + limit("TimeoutAbortUSec") + limit("RestartUSec") + 3 * 0.25
        self.assertGreater(cycle, 10)
        self.assertLess(int(self.property("StartLimitBurst")) * cycle, limit("StartLimitIntervalUSec"))

    def assertGivenUp(self, within):
        """Checks that the unit fails for good within this time, and that the restore unit is started then."""
        guarded = self.guarded()
        self.machine.check("systemctl", "daemon-reload")
        self.machine.check("systemctl", "restart", "--no-block", "httpdnsd")
        eventually(lambda: self.property("ActiveState") == "failed", within, "it has failed for good", 0.2)
        eventually(lambda: self.guarded() != guarded, what="the former resolver is restored", every=0.2)

    def guarded(self):
        # Without a takeover its condition does not hold, and it does nothing else.
        return self.property("ConditionTimestampMonotonic", "httpdnsd-restore.service")

    def mend(self, path, text):
        self.machine.write(path, text)
        self.machine.check("systemctl", "daemon-reload")
        self.machine.check("systemctl", "reset-failed")
        self.machine.check("systemctl", "restart", "httpdnsd")
        self.assertServes()

    def test_an_upgrade_keeps_settings_and_serves_on_with_the_new_program(self):
        before = self.property("MainPID")
        self.machine.copy(newer(package()), "/opt/newer.deb")
        lost = self.machine.check("sh", "-c", """
            while [ ! -e /tmp/upgraded ]; do
                dig +short +tries=1 +time=1 @127.0.0.1 localhost | grep -qx 127.0.0.1 || date +%s%N
            done &
            dpkg --install /opt/newer.deb >/dev/null; touch /tmp/upgraded; wait""", timeout=120).split()
        # The gap is the time of a restart, and less than a client's interval between tries.
        self.assertLess(int(lost[-1]) - int(lost[0]) if lost else 0, 2e9)
        self.assertEqual(SETTINGS, self.machine.read("/etc/httpdnsd/httpdnsd.toml").decode())
        self.assertNotIn(self.property("MainPID"), (before, "0"))
        self.assertServes()

    def test_an_upgrade_restarts_the_helper_for_nftables_too(self):
        self.addCleanup(self.mend, "/etc/httpdnsd/httpdnsd.toml", SETTINGS)
        before = self.use_helper()
        self.machine.copy(newer(package()), "/opt/newer.deb")
        self.machine.check("dpkg", "--install", "/opt/newer.deb", timeout=120)
        self.helper(other_than=before)
        self.assertEqual("active", self.property("ActiveState", "httpdnsd-nftset.socket"))

    def test_an_upgrade_to_a_program_that_refuses_the_settings_leaves_the_former_one_running(self):
        before = self.property("MainPID")
        self.addCleanup(self.mend, "/etc/httpdnsd/httpdnsd.toml", SETTINGS)
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS + "nonsense = 1\n")
        self.machine.copy(newer(package()), "/opt/newer.deb")
        upgraded = self.machine.run("dpkg", "--install", "/opt/newer.deb", timeout=120)
        self.assertEqual(0, upgraded.returncode, upgraded.stderr)
        self.assertIn("unknown key", upgraded.stderr)
        self.assertIn("the former one goes on running", upgraded.stderr)
        self.assertEqual(before, self.property("MainPID"))
        self.assertServes()
        # The settings follow the message's advice.
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS)
        self.machine.check("sh", "-c", "httpdnsd --check && systemctl restart httpdnsd")
        self.assertNotIn(self.property("MainPID"), (before, "0"))

    def test_an_operator_restarts_it_as_often_as_he_likes(self):
        for _ in range(12):
            self.machine.check("systemctl", "restart", "httpdnsd")
        for _ in range(6):
            self.machine.check("systemctl", "stop", "httpdnsd")
            self.machine.check("systemctl", "start", "httpdnsd")
        self.assertServes()

    def test_with_sockets_of_systemd_a_restart_loses_no_query(self):
        self.machine.check("systemctl", "stop", "httpdnsd")
        self.machine.check("systemctl", "enable", "--now", "httpdnsd.socket")
        self.addCleanup(self.machine.check, "sh", "-c", """
            systemctl disable httpdnsd.socket; systemctl stop httpdnsd.socket httpdnsd; systemctl start httpdnsd""")
        # The first query starts the daemon.
        self.assertServes()
        lost = self.machine.check("sh", "-c", """
            for number in $(seq 100); do
                dig +short +tries=1 +time=10 @127.0.0.1 "$number.localhost" | grep -qx 127.0.0.1 || echo "$number"
            done &
            for time in 1 2 3; do systemctl restart httpdnsd; done
            wait""")
        self.assertEqual("", lost)

    def test_the_shell_finds_completion_and_man_its_pages(self):
        completion = "/usr/share/bash-completion/completions/httpdnsctl"
        self.machine.check("bash", "-c", f". {completion} && declare -F _httpdnsctl")
        pages = self.machine.check("find", "/usr/share/man", "-name", "httpdns*").split()
        self.assertEqual(7, len(pages))


class Removed(OnMachine):
    expected_seconds = 65

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.start_lab()

    def test_a_purge_leaves_no_file(self):
        self.machine.copy(package(), "/opt/httpdnsd.deb")
        before, resolv_conf = self.machine.files(), self.machine.read("/etc/resolv.conf")
        self.assertRegex(self.install_package(), "sudo httpdnsctl doctor\n +sudo httpdnsctl system use\n")
        self.use_lab()
        self.machine.write("/etc/httpdnsd/lab.key", "secret\n", "600")

        self.use_for_the_machine()

        self.use_helper()

        self.machine.check("dpkg", "--remove", "httpdnsd")
        self.assertNoHelper()
        self.assertEqual(resolv_conf, self.machine.read("/etc/resolv.conf"))
        self.assertEqual(SETTINGS + NFTSET, self.machine.read("/etc/httpdnsd/httpdnsd.toml").decode())
        self.assertNotEqual(0, self.machine.run("systemctl", "is-active", "httpdnsd").returncode)
        self.assertNotEqual(before, self.machine.files())

        # The kept files are used again.
        self.install_package()
        self.assertServes()
        self.use_for_the_machine()
        self.machine.check("systemctl", "enable", "httpdnsd.socket")
        self.use_helper()

        self.machine.check("dpkg", "--purge", "httpdnsd")
        self.assertNoHelper()
        self.assertSameFiles(before)
        self.assertEqual("", self.machine.run("find", "/run", "-name", "*httpdnsd*").stdout)
        self.assertEqual("", self.machine.run("getent", "passwd", "httpdnsd").stdout)

    def test_settings_are_written_once_and_no_upgrade_asks_about_them(self):
        sample = (paths.ROOT / "etc/httpdnsd.toml").read_bytes()
        settings = "/etc/httpdnsd/httpdnsd.toml"
        self.install_package()
        self.assertEqual(sample, self.machine.read(settings))
        self.assertNotIn(settings, self.machine.check("dpkg-query", "--show", "--showformat=${Conffiles}", "httpdnsd"))
        # A sample that the operator has deleted stays away.
        self.machine.check("rm", settings)
        self.upgrade(newer(package()))
        self.assertNotEqual(0, self.machine.run("test", "-e", settings).returncode)
        self.machine.check("dpkg", "--purge", "httpdnsd")
        # The older version had the settings as a conffile; both sides have changed them.
        self.machine.copy(changed(package(), "0", conffile="# before\n"), "/opt/older.deb")
        self.machine.check("dpkg", "--install", "/opt/older.deb", timeout=120)
        self.assertEqual(b"# before\n", self.machine.read(settings))
        self.use_lab()
        self.upgrade(package())
        self.assertEqual(SETTINGS, self.machine.read(settings).decode())
        self.assertServes()
        self.upgrade(newer(package()))
        self.assertEqual(SETTINGS, self.machine.read(settings).decode())
        self.machine.check("dpkg", "--purge", "httpdnsd")
        self.assertNotEqual(0, self.machine.run("test", "-e", "/etc/httpdnsd").returncode)

    def upgrade(self, deb):
        """Upgrades as unattended-upgrades does: no terminal, and a question fails."""
        self.machine.copy(deb, "/opt/upgrade.deb")
        said = self.machine.check("sh", "-c", "dpkg --install /opt/upgrade.deb </dev/null 2>&1", timeout=120)
        self.assertNotIn("onfiguration file", said)

    def test_what_somebody_else_has_changed_stops_no_removal_and_is_not_lost(self):
        before = self.machine.read("/etc/resolv.conf")
        self.addCleanup(self.machine.write, "/etc/resolv.conf", before.decode())
        self.install_package()
        self.use_lab()
        self.use_for_the_machine()
        self.machine.write("/etc/resolv.conf", "nameserver 192.0.2.54\n")
        self.machine.check("dpkg", "--remove", "httpdnsd")
        self.assertIn("/var/lib/httpdnsd-system stays", self.machine.check("dpkg", "--purge", "httpdnsd"))
        self.assertEqual(b"nameserver 192.0.2.54\n", self.machine.read("/etc/resolv.conf"))
        self.assertEqual(before, self.machine.read("/var/lib/httpdnsd-system/former-resolv.conf"))
        self.machine.check("rm", "-r", "/var/lib/httpdnsd-system")

    def test_it_is_not_removed_while_the_former_resolver_can_not_be_given_back(self):
        self.install_package()
        self.use_lab()
        self.use_for_the_machine()
        self.machine.check("mv", "/usr/bin/httpdnsctl", "/opt/httpdnsctl")
        refused = self.machine.run("dpkg", "--purge", "httpdnsd")
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("not removed", refused.stderr)
        self.assertServes()
        self.machine.check("mv", "/opt/httpdnsctl", "/usr/bin/httpdnsctl")
        self.machine.check("dpkg", "--purge", "httpdnsd")
        self.assertIn(b"192.0.2.53", self.machine.read("/etc/resolv.conf"))

    def test_a_program_of_that_name_elsewhere_stands_in_no_way(self):
        self.machine.write("/usr/local/sbin/httpdnsd", "#!/bin/sh\n", "755")
        self.addCleanup(self.machine.check, "rm", "/usr/local/sbin/httpdnsd")
        self.install_package()
        self.machine.check("dpkg", "--purge", "httpdnsd")


class ByScript(OnMachine):
    expected_seconds = 75

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        for part in ("scripts", "etc"):
            cls.machine.copy(paths.ROOT / part, f"/opt/clone/{part}")
        for program in ("httpdnsd", "httpdnsctl", "httpdnsd-nftset"):
            cls.machine.copy(paths.binaries / program, f"/opt/clone/.build/release/{program}")
        cls.start_lab()

    def script(self, name, *options):
        return self.machine.check(f"/opt/clone/scripts/{name}", *options)

    def test_install_and_uninstall_may_be_repeated_and_leave_nothing(self):
        before = self.machine.files()
        self.assertIn("httpdnsctl system use", self.script("install"))
        self.use_lab()
        self.assertIn("stays as it is", self.script("install"))
        self.assertServes()
        self.assertEqual("enabled", self.property("UnitFileState"))

        self.assertIn("stays: /etc/httpdnsd", self.script("uninstall"))
        self.script("uninstall")
        self.assertNotEqual(0, self.machine.run("sh", "-c", "command -v httpdnsd || command -v httpdnsctl").returncode)
        self.assertIn("stays as it is", self.script("install"))
        self.assertServes()

        self.use_for_the_machine()
        helper = self.use_helper()
        self.script("install")
        self.helper(other_than=helper)

        self.script("uninstall", "--purge")
        self.assertNoHelper()
        self.assertSameFiles(before)
        self.script("uninstall", "--purge")
        self.assertSameFiles(before)

    def test_a_repeat_leaves_what_the_operator_has_decided(self):
        self.addCleanup(self.script, "uninstall", "--purge")
        self.script("install")
        self.machine.check("systemctl", "disable", "--now", "httpdnsd")
        examples = "/usr/share/doc/httpdnsd/examples"
        self.machine.check("chmod", "750", examples)
        self.assertIn("disabled", self.script("install"))
        self.assertEqual("disabled", self.property("UnitFileState"))
        self.assertEqual("inactive", self.property("ActiveState"))
        self.assertEqual("750", self.machine.check("stat", "-c", "%a", examples).strip())
        # A daemon that was started by hand gets the new program.
        self.machine.check("systemctl", "start", "httpdnsd")
        before = self.property("MainPID")
        self.script("install")
        self.assertNotIn(self.property("MainPID"), (before, "0"))
        self.assertEqual("disabled", self.property("UnitFileState"))

    def test_the_remains_of_a_package_are_purged_first(self):
        self.machine.copy(package(), "/opt/httpdnsd.deb")
        self.machine.check("dpkg", "--install", "/opt/httpdnsd.deb")
        self.machine.check("dpkg", "--remove", "httpdnsd")
        self.assertRefused("install", "apt-get purge httpdnsd")
        self.machine.check("dpkg", "--purge", "httpdnsd")
        self.script("install")
        self.script("uninstall", "--purge")

    def test_nothing_is_removed_without_the_program_that_gives_back(self):
        self.script("install")
        self.use_lab()
        self.use_for_the_machine()
        self.machine.check("rm", "/usr/bin/httpdnsctl")
        self.assertRefused("uninstall", "scripts/install first", "--purge")
        self.assertServes()
        self.script("install")
        self.script("uninstall", "--purge")
        self.assertIn(b"192.0.2.53", self.machine.read("/etc/resolv.conf"))

    def test_nothing_is_removed_under_one_that_somebody_else_has_started(self):
        self.script("install")
        self.machine.check("systemctl", "disable", "--now", "httpdnsd")
        self.machine.check("systemd-run", "--unit=byhand", "/usr/sbin/httpdnsd")
        pid = self.property("MainPID", "byhand")
        self.assertRefused("uninstall", pid, "--purge")
        self.machine.check("test", "-e", "/lib/systemd/system/httpdnsd.service")
        self.machine.check("systemctl", "stop", "byhand")
        self.script("uninstall", "--purge")

    def test_settings_that_are_refused_do_not_stop_one_that_serves(self):
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", "nonsense = 1\n")
        self.assertIn("unknown key", self.assertRefused("install", "does not start"))
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS)
        self.script("install")
        self.assertServes()
        before = self.property("MainPID")
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", "nonsense = 1\n")
        self.assertIn("unknown key", self.assertRefused("install", "is not restarted"))
        self.assertEqual(before, self.property("MainPID"))
        self.script("uninstall", "--purge")

    def assertRefused(self, script, how, *options):
        done = self.machine.run(f"/opt/clone/scripts/{script}", *options)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn(how, done.stderr)
        return done.stderr

    def test_files_can_be_put_elsewhere(self):
        self.machine.check("env", "DESTDIR=/opt/staged", "/opt/clone/scripts/install")
        staged = self.machine.check("find", "/opt/staged", "-type", "f").split()
        self.assertIn("/opt/staged/usr/sbin/httpdnsd", staged)
        self.assertIn("/opt/staged/etc/httpdnsd/httpdnsd.toml", staged)
        self.assertNotEqual(0, self.machine.run("test", "-e", "/usr/sbin/httpdnsd").returncode)
        self.machine.check("rm", "-r", "/opt/staged")
