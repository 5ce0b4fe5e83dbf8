# `httpdnsctl system` on a machine where nobody keeps resolv.conf: used, given back, killed at every step in between.

import json
import shutil

from cases import Case, closed_provider
from places import eventually
from programs import NSD, Daemon
from takeover import Overlaid, changing_calls, ctl_command, killed, walk

FORMER = "# written by hand\nsearch lab.example\nnameserver 127.0.0.3\noptions timeout:1\n"
KEPT = "/var/lib/httpdnsd-system"


class PlainMachine(Case):
    """A daemon at port 53, and a nameserver of before that stands in resolv.conf. Names are asked of these alone."""

    def setUp(self):
        self.place = Overlaid()
        self.addCleanup(self.place.close)
        self.place.write("/etc/resolv.conf", FORMER)
        self.place.run("chmod", "640", "/etc/resolv.conf")
        self.place.write("/etc/nsswitch.conf", "hosts: dns\n")
        self.place.write("/etc/hosts", "127.0.0.1 localhost\n192.0.2.99 known.to.the.daemon.example\n")
        self.own(NSD(host="127.0.0.3", port=53, prefix=self.place.prefix)).run()
        self.daemon = self.own(Daemon(
            [closed_provider()], system="resolv.conf", prefix=self.place.prefix,
            listen=["127.0.0.1:53", "[::1]:53"])).up()
        self.before = walk(self.place)

    def system(self, *words):
        return self.place.run(*ctl_command(self.daemon.control, *words))

    def check(self, *words):
        ended = self.system(*words)
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr)
        return ended.stdout

    def asked(self, name):
        return self.place.run("getent", "hosts", name).stdout.split()[:1]

    def assertBefore(self, what=""):
        self.assertEqual(self.before, walk(self.place), what)


class Used(PlainMachine):
    def test_names_come_from_the_daemon_and_all_comes_back(self):
        self.assertEqual(["203.0.113.77"], self.asked("only.system.example"), "the nameserver of before")
        self.assertEqual([], self.asked("known.to.the.daemon.example"))
        said = self.check("use")
        self.assertIn("replace /etc/resolv.conf", said)
        text = self.place.read("/etc/resolv.conf")
        self.assertIn("nameserver 127.0.0.1\nnameserver ::1\nsearch lab.example\noptions timeout:1\n", text)
        self.assertNotIn("127.0.0.3", text)
        self.assertEqual(["192.0.2.99"], self.asked("known.to.the.daemon.example"))
        # The nameserver of before is the daemon's system resolver now; it learns that from a file that it watches.
        eventually(lambda: self.asked("a.any") == ["203.0.113.99"], what="the former nameserver is asked")
        status = json.loads(self.check("--json", "status"))
        self.assertEqual(("nobody", "complete", "127.0.0.1", True), tuple(
            status[key] for key in ("keeper", "record", "nameserver", "leads_to_daemon")))
        self.assertIn("already", self.check("use"), "a second time")
        self.check("restore")
        self.assertBefore()
        self.assertIn("nothing", self.check("restore"), "a second time")
        self.assertEqual(1, self.system("status").returncode)

    def test_a_dry_run_changes_nothing(self):
        self.assertIn("replace /etc/resolv.conf", self.check("use", "--dry-run"))
        self.assertBefore()
        self.assertEqual("", self.place.run("ls", "-d", KEPT).stdout)
        self.check("use")
        self.assertIn("give back /etc/resolv.conf", self.check("restore", "--dry-run"))
        self.assertIn("127.0.0.1", self.place.read("/etc/resolv.conf"))

    def test_a_link_comes_back_as_a_link(self):
        self.place.run("mv", "/etc/resolv.conf", "/etc/our-resolv.conf")
        self.place.run("ln", "-s", "our-resolv.conf", "/etc/resolv.conf")
        self.before = walk(self.place)
        self.check("use")
        self.assertEqual(["192.0.2.99"], self.asked("known.to.the.daemon.example"))
        self.check("restore")
        self.assertBefore()

    def test_a_mounted_file_is_written_over(self):
        self.place.write("/var/lib/resolv.conf", FORMER)
        self.place.run("mount", "--bind", "/var/lib/resolv.conf", "/etc/resolv.conf")
        self.before = walk(self.place)
        self.assertIn("write over /etc/resolv.conf", self.check("use"))
        self.assertEqual(["192.0.2.99"], self.asked("known.to.the.daemon.example"))
        self.check("restore")
        self.assertBefore()

    def test_a_file_that_cannot_be_changed_leaves_all_as_it_was(self):
        self.place.run("mount", "--bind", "/etc", "/etc")
        self.place.run("mount", "-o", "remount,bind,ro", "/etc")
        ended = self.system("use")
        self.assertEqual(1, ended.returncode)
        self.assertIn("read-only", ended.stderr)
        self.assertBefore()

    def test_what_somebody_else_has_written_meanwhile_is_theirs(self):
        self.check("use")
        self.place.write("/etc/resolv.conf", "nameserver 127.0.0.3\n")
        self.assertIn("changed since: /etc/resolv.conf", self.system("status").stdout)
        ended = self.system("restore")
        self.assertEqual(1, ended.returncode)
        self.assertIn("left alone", ended.stdout)
        self.assertEqual("nameserver 127.0.0.3\n", self.place.read("/etc/resolv.conf"))
        self.assertEqual(FORMER, self.place.read(f"{KEPT}/former-resolv.conf"))

    def test_the_guard_gives_back_only_what_a_dead_daemon_holds(self):
        self.check("use")
        self.assertIn("the daemon answers", self.check("restore", "--if-dead"))
        self.assertEqual(["192.0.2.99"], self.asked("known.to.the.daemon.example"))
        self.daemon.kill()
        self.daemon.expected_exit = -9
        self.check("restore", "--if-dead")
        self.assertBefore()
        self.assertEqual(["203.0.113.77"], self.asked("only.system.example"))


class Refused(PlainMachine):
    def assertRefused(self, code, words):
        ended = self.system("use")
        self.assertEqual(code, ended.returncode, ended.stdout)
        self.assertIn(words, ended.stderr)
        self.assertBefore()
        self.assertEqual("", self.place.run("ls", "-d", KEPT).stdout)

    def test_without_a_daemon(self):
        self.daemon.stop()
        self.assertRefused(2, "cannot reach the daemon")

    def test_without_port_53(self):
        self.daemon.stop()
        self.daemon.listen = ["127.0.0.1:5300"]
        self.daemon.up()
        self.assertRefused(1, "does not listen at port 53")

    def test_for_others_than_root(self):
        self.place.run("chmod", "o+rx", self.daemon.directory)
        ctl = shutil.copy(ctl_command("")[0], self.daemon.directory / "httpdnsctl")
        ended = self.place.run("setpriv", "--reuid=65534", "--clear-groups", ctl, "system", "use")
        self.assertEqual(1, ended.returncode)
        self.assertIn("only root may", ended.stderr)
        self.assertBefore()


class Killed(PlainMachine):
    """At every call that changes something: afterwards `restore` gives back what was before, to the byte."""

    expected_seconds = 40

    def test_use(self):
        command = ctl_command(self.daemon.control, "use")
        ended, calls = changing_calls(self.place, *command)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertGreater(len(calls), 15)
        self.check("restore")
        for call, number in calls:
            self.assertEqual(-9, killed(self.place, call, number, *command), f"{call} number {number}")
            self.check("restore")
            self.assertBefore(f"killed at {call} number {number}")

    def test_use_after_a_killed_use(self):
        command = ctl_command(self.daemon.control, "use")
        killed(self.place, "rename", 3, *command)
        self.assertIn("interrupted", self.system("status").stdout)
        self.assertIn("an earlier run was interrupted", self.check("use"))
        self.check("status")
        self.check("restore")
        self.assertBefore()

    def test_restore(self):
        command = ctl_command(self.daemon.control, "restore")
        self.check("use")
        ended, calls = changing_calls(self.place, *command)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertGreater(len(calls), 10)
        for call, number in calls:
            self.check("use")
            self.assertEqual(-9, killed(self.place, call, number, *command), f"{call} number {number}")
            self.check("restore")
            self.assertBefore(f"killed at {call} number {number}")
