# etc/compose.yaml and etc/Containerfile: they give the daemon what it needs. A booted machine takes the place of
# Docker, with the same user, rights and writable folders.

import fnmatch
import re

import yaml

import paths
from cases import Case
from machines import PROGRAM_PACKAGES, Machine, boots_machines
from overlay import ENTER
from paths import eventually

COMPOSE = yaml.safe_load((paths.ROOT / "etc/compose.yaml").read_text())["services"]["httpdnsd"]
CONTAINERFILE = (paths.ROOT / "etc/Containerfile").read_text()
DEFAULTS = (paths.ROOT / "etc/httpdnsd.toml").read_text()


def setting(name):
    return re.search(rf'(?m)^{name} = "(.*)"', DEFAULTS)[1]


class Container(Case):
    expected_seconds = 20

    def test_it_writes_where_the_daemon_does_and_reads_its_settings(self):
        mounted = {volume.split(":")[1] for volume in COMPOSE["volumes"]}
        self.assertIn(setting("store").rsplit("/", 1)[0], mounted)
        self.assertIn("/etc/httpdnsd/httpdnsd.toml", mounted)
        self.assertIn(setting("socket").rsplit("/", 1)[0], [mount.split(":")[0] for mount in COMPOSE["tmpfs"]])
        self.assertTrue(COMPOSE["read_only"])
        user = re.search(r"--uid (\d+)", CONTAINERFILE)[1]
        self.assertIn(f"uid={user},gid={user}", COMPOSE["tmpfs"][0])

    def test_only_port_53_is_published(self):
        self.assertEqual(["53/udp 53/tcp"], re.findall(r"(?m)^EXPOSE (.*)", CONTAINERFILE))
        self.assertEqual(set(), set(COMPOSE) & {"ports", "privileged", "pid", "ipc"})
        self.assertFalse([volume for volume in COMPOSE["volumes"] if "docker.sock" in volume or "/run" in volume])
        self.assertEqual(["ALL"], COMPOSE["cap_drop"])

    def test_the_image_has_the_packages_that_ours_recommends(self):
        control = (paths.ROOT / "etc/debian/control").read_text()
        recommended = re.search(r"(?m)^Recommends: (.*)", control)[1].split(", ")
        install = re.search(r"apt-get install ((?:.*\\\n)*.*)", CONTAINERFILE)[1].split()
        self.assertIn("--no-install-recommends", install)
        self.assertLessEqual(set(recommended), set(install))

    def test_an_image_has_the_package_of_its_architecture(self):
        # A default would take precedence over the builder's value.
        self.assertEqual(["TARGETARCH"], re.findall(r"(?m)^ARG (.*)", CONTAINERFILE))
        self.assertLess(CONTAINERFILE.index("FROM"), CONTAINERFILE.index("ARG TARGETARCH"))
        names = ["httpdnsd_0.1.0-1_amd64.deb", "httpdnsd_0.1.0-1_arm64.deb"]
        pattern = re.search(r"(?m)^COPY (\S+)", CONTAINERFILE)[1]
        for architecture, name in zip(("amd64", "arm64"), names):
            self.assertEqual([name], fnmatch.filter(names, pattern.replace("${TARGETARCH}", architecture)))

    @boots_machines
    def test_the_daemon_serves_with_these_rights_as_its_own_user(self):
        machine = self.own(Machine(packages=PROGRAM_PACKAGES)).boot()
        for program, directory in (("httpdnsd", "sbin"), ("httpdnsctl", "bin")):
            machine.copy(paths.binaries / program, f"/usr/{directory}/{program}")
        user = re.search(r"(?m)^RUN (useradd (?:.*\\\n)*.*)", CONTAINERFILE)[1]
        machine.check("sh", "-c", user)
        machine.check("install", "-d", "-o", "httpdnsd", "-g", "httpdnsd", "-m", "750", "/var/lib/httpdnsd")
        machine.copy(paths.ROOT / "etc/httpdnsd.toml", "/etc/httpdnsd/httpdnsd.toml")
        capabilities = " ".join(f"CAP_{name}" for name in COMPOSE["cap_add"])
        machine.check(
            "systemd-run", "--unit=container", "-p", f"CapabilityBoundingSet={capabilities}", "-p",
            "NoNewPrivileges=yes", "-p", "ProtectSystem=strict", "-p", "ReadWritePaths=/var/lib/httpdnsd",
            "-p", f"TemporaryFileSystem={COMPOSE['tmpfs'][0]}", "/usr/sbin/httpdnsd")
        pid = machine.check("systemctl", "show", "--value", "--property=MainPID", "container").strip()

        def answered():
            return machine.run("dig", "+short", "+tries=1", "@127.0.0.1", "localhost").stdout == "127.0.0.1\n"
        eventually(answered, what="localhost is answered", every=0.2)
        status = machine.read(f"/proc/{pid}/status").decode()
        self.assertRegex(status, r"(?m)^Uid:\t853\t853\t853\t853$")
        self.assertRegex(status, r"(?m)^CapEff:\t0+$")
        self.assertEqual(0, machine.run("test", "-e", "/var/lib/httpdnsd/cache.db").returncode)
        # The command runs as with "docker exec".
        asked = machine.run(*ENTER, f"--target={pid}", "httpdnsctl", "status")
        self.assertEqual(0, asked.returncode, asked.stderr)
