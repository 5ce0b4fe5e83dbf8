# Tests that change files of the machine do it in an overlay of their own, or not at all: in a chroot as well, where
# entering a mount namespace leads out of it. The machine of these tests is an overlay itself, so that a mistake costs
# nothing.

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import overlay
import paths
from cases import Case
from takeover import Overlaid

# A chroot with the machine's files, but for an /etc of its own; in it, python with the given program.
_CHROOT = """
set -e
root=/var/lib/chroot
mkdir "$root" && mount --rbind / "$root" && mount -t tmpfs chroot "$root/etc"
cp -a /etc/. "$root/etc/" && rm "$root/etc/$3" && echo "nameserver 192.0.2.2" >"$root/etc/resolv.conf"
chroot "$root" "$1" -B -c "$2"
cat "$root/etc/resolv.conf"
"""

_TAKE_PLACE = f"""
import sys
sys.path.insert(0, {str(paths.SUPPORT)!r})
from takeover import Overlaid
place = Overlaid()
place.write("/etc/resolv.conf", "nameserver 192.0.2.3\\n")
place.write("/var/lib/overlaid/file", "")
print(place.read("/etc/resolv.conf"), end="")
place.close()
"""


class Guarded(Case):
    def overlaid(self):
        place = Overlaid()
        self.addCleanup(place.close)
        return place

    def test_in_a_chroot_neither_its_files_nor_those_of_the_machine_change(self):
        machine = self.overlaid()
        machine.write("/etc/resolv.conf", "nameserver 192.0.2.1\n")
        ended = machine.run("sh", "-c", _CHROOT, "sh", sys.executable, _TAKE_PLACE, overlay.FILE)
        self.assertEqual("nameserver 192.0.2.1\n", machine.read("/etc/resolv.conf"), ended.stderr)
        self.assertEqual("nameserver 192.0.2.3\nnameserver 192.0.2.2\n", ended.stdout, ended.stderr)
        self.assertEqual(1, machine.run("test", "-e", "/var/lib/overlaid").returncode)

    def test_a_command_outside_of_the_overlay_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder, "written")
            for directories in (("/etc", "/var/lib"), ("/",)):
                with self.subTest(directories):
                    ended = subprocess.run(
                        [*overlay.guard(overlay.new_token(), *directories), "touch", written], capture_output=True,
                        text=True)
                    self.assertEqual(overlay.REFUSED, ended.returncode)
                    self.assertIn("is not the overlay of this test", ended.stderr)
                    self.assertRaises(AssertionError, overlay.check, ended)
            self.assertFalse(written.exists())

    def test_a_command_in_the_overlay_of_another_test_is_refused(self):
        other = self.overlaid()
        self.assertEqual(0, other.run("true").returncode)
        for directory in ("/etc", "/var/lib"):
            with self.subTest(directory):
                with self.assertRaisesRegex(AssertionError, f"refused: {directory} "):
                    other.run(*overlay.guard(overlay.new_token(), directory), "true")

    def test_an_overlay_that_has_lost_a_mount_is_refused(self):
        place = self.overlaid()
        place.run("umount", "--lazy", "/var/lib")
        self.assertRaisesRegex(AssertionError, "refused: /var/lib ", place.write, "/etc/file", "")
        self.assertEqual("", subprocess.run(
            [*overlay.ENTER, "--target", str(place._keeper.pid), "cat", "/etc/file"], capture_output=True, text=True).stdout)

    def test_no_test_enters_a_mount_namespace_in_another_way(self):
        entering = re.compile(r"nsenter")
        texts = {path.name: path.read_text() for path in paths.SUPPORT.parent.rglob("*.py")}
        files = {name for name, text in texts.items() if entering.search(text)}
        networks_only = {"test_links.py", "test_takeover_machine.py"}
        self.assertEqual({"overlay.py", "test_overlay.py"} | networks_only, files)
        for name in networks_only:
            self.assertNotIn("--mount", texts[name])
