# The RPM package, as Debian's rpm builds it: its files are those that scripts/install puts in place, at the places of
# Fedora and openSUSE, and its scriptlets know each unit. Nothing is installed.

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import paths
from cases import Case

SPEC = paths.ROOT / "etc/rpm/httpdnsd.spec"
# What belongs to the package and is in no list.
OWN = {"/etc/httpdnsd": "755", "/etc/httpdnsd/httpdnsd.toml": "644", "/usr/share/doc/httpdnsd": "755",
       "/usr/share/doc/httpdnsd/examples": "755", "/usr/share/licenses/httpdnsd/LICENSE": "644"}
# Stand-ins for the macros of systemd-rpm-macros, which Debian does not have.
MACROS = ("systemd_post", "systemd_preun", "systemd_postun_with_restart")


def sourced(variable):
    """An array of scripts/installed-files."""
    script = f'. scripts/installed-files; printf "%s\\n" "${{{variable}[@]}}"'
    done = subprocess.run(["bash", "-c", script], cwd=paths.ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def installed_files():
    """The modes of the files by the place at which the package has them."""
    files = {}
    for line in sourced("installed_files"):
        _, mode, place = line.split()
        place = re.sub("^/lib/", "/usr/lib/", place).replace("/vendor-completions/", "/site-functions/")
        files[place] = "777" if mode == "link" else mode
    return files


class RPM(Case):
    expected_seconds = 10

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="e2e-rpm-")
        cls.addClassCleanup(directory.cleanup)
        defined = {"tree": paths.ROOT, "binaries": paths.binaries.resolve(), "_topdir": directory.name,
                   "_binary_payload": "w1.gzdio", **{f"{macro}()": f": {macro} %*" for macro in MACROS}}
        options = [word for name, value in defined.items() for word in ("--define", f"{name} {value}")]
        # rpm's database, in which it looks for build dependencies, is empty.
        done = subprocess.run(["rpmbuild", "-bb", "--nodeps", *options, SPEC], capture_output=True, text=True,
                              timeout=120)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        [cls.package] = Path(directory.name, "RPMS").rglob("*.rpm")

    def query(self, *words):
        return subprocess.run(["rpm", "--query", "--package", *words, self.package], capture_output=True, text=True,
                              check=True).stdout

    def test_it_has_the_files_of_the_list_with_their_modes(self):
        lines = self.query("--queryformat", "[%{FILENAMES} %{FILEMODES:octal} %{FILEUSERNAME}\n]").splitlines()
        files = {path: mode[-3:] for path, mode, owner in map(str.split, lines) if owner == "root"}
        self.assertEqual({**installed_files(), **OWN}, files)
        settings = {path for path in files if path.startswith("/etc/") and path != "/etc/httpdnsd"}
        self.assertEqual(settings, set(self.query("--configfiles").split()))

    def test_it_has_the_version_of_the_changelog(self):
        newest = re.search(r"(?m)^## (\S+)", (paths.ROOT / "CHANGELOG.md").read_text())[1]
        self.assertEqual(newest, self.query("--queryformat", "%{VERSION}"))

    def test_its_scriptlets_know_each_unit(self):
        scriptlets = self.query("--scripts")
        for macro in MACROS:
            self.assertEqual([" ".join(sourced("units"))], re.findall(rf"(?m)^: {macro} (.*)$", scriptlets))


if __name__ == "__main__":
    unittest.main()
