# `httpdnsctl system` on a machine without a resolv.conf manager: use, restore, and a kill at every step in between.

import json
import shutil
import subprocess

from cases import Case, closed_provider
from paths import eventually
from programs import NSD, Daemon
from takeover import Overlaid, changing_calls, ctl_command, killed, walk

FORMER = "# written by hand\nsearch lab.example\nnameserver 127.0.0.3\noptions timeout:1\n"
KEPT = "/var/lib/httpdnsd-system"


class PlainMachine(Case):
    """A daemon at port 53, and a former nameserver in resolv.conf. Programs ask for names at these two alone."""

    def setUp(self):
        self.place = Overlaid()
        self.addCleanup(self.place.close)
        self.place.write("/etc/resolv.conf", FORMER)
        self.place.run("chmod", "604", "/etc/resolv.conf")
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
        # The former nameserver is now the daemon's system resolver. The daemon learns that from a file that it watches.
        eventually(lambda: self.asked("a.any") == ["203.0.113.99"], what="the former nameserver is asked")
        status = json.loads(self.check("--json", "status"))
        self.assertEqual(("nobody", "complete", "127.0.0.1", True), tuple(
            status[key] for key in ("keeper", "record", "nameserver", "leads_to_daemon")))
        self.assertIn("already", self.check("use"), "a second time")
        self.check("restore")
        self.assertBefore()
        self.assertIn("nothing to restore", self.check("restore"), "a second time")
        self.assertEqual(1, self.system("status").returncode)

    def test_a_dry_run_changes_nothing(self):
        self.assertIn("replace /etc/resolv.conf", self.check("use", "--dry-run"))
        self.assertBefore()
        self.assertEqual("", self.place.run("ls", "-d", KEPT).stdout)
        self.check("use")
        self.assertIn("restore /etc/resolv.conf", self.check("restore", "--dry-run"))
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
        self.assertIn("overwrite /etc/resolv.conf", self.check("use"))
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
        self.assertIn("not restored, because another program changed it", ended.stdout)
        self.assertEqual("nameserver 127.0.0.3\n", self.place.read("/etc/resolv.conf"))
        self.assertEqual(FORMER, self.place.read(f"{KEPT}/former-resolv.conf"))

    def test_what_was_before_is_never_written_over_by_a_later_time(self):
        for server in ("127.0.0.4", "127.0.0.5"):
            self.place.write("/etc/resolv.conf", f"nameserver {server}\n")
            self.check("use")
            self.place.write("/etc/resolv.conf", "nameserver 127.0.0.3\n")
            self.assertEqual(1, self.system("restore").returncode)
        self.assertIn("127.0.0.4", self.place.read(f"{KEPT}/former-resolv.conf"))
        self.assertIn("127.0.0.5", self.place.read(f"{KEPT}/former-resolv.conf.2"))

    def test_a_link_that_leads_to_the_daemon_is_given_back(self):
        self.check("use")
        self.place.run("sh", "-c", "cd /etc && mv resolv.conf moved && ln -s moved resolv.conf")
        self.assertIn("a link to moved", self.check("restore"))
        self.assertEqual(FORMER, self.place.read("/etc/resolv.conf"))
        self.assertEqual("moved\n", self.place.run("readlink", f"{KEPT}/changed-resolv.conf").stdout)

    def test_a_link_is_given_back_in_its_own_bytes(self):
        self.place.run("sh", "-c", "cd /etc && mv resolv.conf $(printf 'zz\\351me') && ln -s zz* resolv.conf")
        target = ("sh", "-c", "readlink -n /etc/resolv.conf | od -An -tx1")
        before = self.place.run(*target).stdout
        self.assertIn("7a 7a e9 6d 65", before)
        self.assertIn(r"zz\xe9me", self.check("use"))
        self.check("restore")
        self.assertEqual(before, self.place.run(*target).stdout)

    def test_what_others_could_not_read_is_not_shown(self):
        self.place.run("chmod", "600", "/etc/resolv.conf")
        self.check("use")
        self.assertEqual("600\n644\n", self.place.run(
            "stat", "-c", "%a", f"{KEPT}/record", f"{KEPT}/resolv.conf").stdout)

    def test_what_cannot_be_kept_aside_is_no_reason_to_stay(self):
        self.check("use")
        self.place.write("/etc/resolv.conf", "nameserver 127.0.0.1\noptions debug\n")
        # A directory blocks the temporary path of the saved file.
        for number in ("", *(f".{number}" for number in range(2, 10))):
            self.place.run("mkdir", "-p", f"{KEPT}/.changed-resolv.conf{number}.httpdnsd-new")
        ended = self.system("restore")
        self.assertEqual(1, ended.returncode, ended.stdout)
        self.assertIn("can't save", ended.stderr)
        self.assertEqual(FORMER, self.place.read("/etc/resolv.conf"))
        self.place.run("sh", "-c", f"rmdir {KEPT}/.changed*")
        self.check("restore")
        self.assertBefore()

    def test_a_daemon_that_listens_elsewhere_is_used_anew(self):
        self.check("use")
        self.daemon.stop()
        ended = self.system("use")
        self.assertEqual(2, ended.returncode, "nothing is given back for a daemon that can't be used")
        self.assertIn("127.0.0.1", self.place.read("/etc/resolv.conf"))
        self.daemon.listen = ["127.0.0.7:53"]
        self.daemon.up()
        self.assertIn("restore /etc/resolv.conf", self.check("use", "--dry-run"))
        self.check("use")
        self.assertIn("nameserver 127.0.0.7\n", self.place.read("/etc/resolv.conf"))
        self.check("restore")
        self.assertBefore()

    def test_a_daemon_on_an_address_of_the_network_is_used(self):
        self.daemon.stop()
        self.place.run("ip", "address", "add", "192.0.2.7/32", "dev", "lo")
        self.daemon.listen = ["192.0.2.7:53"]
        self.daemon.server = 'allow = ["127.0.0.0/8", "192.0.2.0/24"]'
        self.daemon.up()
        self.check("use")
        self.assertEqual(["192.0.2.99"], self.asked("known.to.the.daemon.example"))
        self.check("status")

    def test_a_daemon_without_a_guard_is_warned_of(self):
        self.assertIn("warning: the daemon does not run as httpdnsd.service", self.check("use", "--dry-run"))

    def test_a_restore_waits_for_a_guard_that_is_soon_done(self):
        self.check("use")
        other = subprocess.Popen([*self.place.prefix, "flock", KEPT, "sh", "-c", "echo locked; sleep 1"],
                                 stdout=subprocess.PIPE, text=True)
        self.assertEqual("locked\n", other.stdout.readline())
        self.assertEqual("", self.system("restore").stderr)
        self.assertBefore()
        other.communicate()

    def test_the_guard_waits_for_whoever_is_at_it(self):
        self.check("use")
        self.daemon.kill()
        self.daemon.expected_exit = -9
        other = subprocess.Popen([*self.place.prefix, "flock", KEPT, "sh", "-c", "echo locked; read line"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual("locked\n", other.stdout.readline())
        self.assertIn("another httpdnsctl", self.system("restore").stderr)
        locks = self.daemon.directory / "locks"
        locks.touch()
        guard = subprocess.Popen([*self.place.prefix, "strace", "-e", "trace=flock", "-o", locks,
                                  *map(str, ctl_command(self.daemon.control, "restore", "--if-dead"))],
                                 stdout=subprocess.DEVNULL)
        eventually(lambda: "EAGAIN" in locks.read_text(), what="the guard is at the door")
        other.communicate("done\n")
        self.assertEqual(0, guard.wait(60))
        self.assertBefore()

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
        self.assertRefused(1, "does not listen on port 53")

    def test_for_others_than_root(self):
        self.place.run("chmod", "o+rx", self.daemon.directory)
        ctl = shutil.copy(ctl_command("")[0], self.daemon.directory / "httpdnsctl")
        ended = self.place.run("setpriv", "--reuid=65534", "--clear-groups", ctl, "system", "use")
        self.assertEqual(1, ended.returncode)
        self.assertIn("only root can", ended.stderr)
        self.assertBefore()


class Killed(PlainMachine):
    """Kills httpdnsctl at every call that changes something: afterwards `restore` returns the former files to the
    byte."""

    expected_seconds = 40

    def test_use(self):
        command = ctl_command(self.daemon.control, "use")
        ended, calls = changing_calls(self.place, *command)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertGreater(len(calls), 12)
        self.check("restore")
        for call, number in calls:
            self.assertEqual(-9, killed(self.place, call, number, *command), f"{call} number {number}")
            self.check("restore")
            self.assertBefore(f"killed at {call} number {number}")

    def test_use_after_a_killed_use(self):
        command = ctl_command(self.daemon.control, "use")
        killed(self.place, "rename", 3, *command)
        self.assertIn("interrupted", self.system("status").stdout)
        self.assertIn("an earlier run was interrupted", self.check("use", "--dry-run"))
        tried = json.loads(self.check("use", "--dry-run", "--json"))
        self.assertIn("remove /var/lib/httpdnsd-system/resolv.conf", tried["steps"])
        self.assertIn("an earlier run was interrupted", self.check("use"))
        self.check("status")
        self.check("restore")
        self.assertBefore()

    def test_restore(self):
        command = ctl_command(self.daemon.control, "restore")
        self.check("use")
        ended, calls = changing_calls(self.place, *command)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertGreater(len(calls), 8)
        for call, number in calls:
            self.check("use")
            self.assertEqual(-9, killed(self.place, call, number, *command), f"{call} number {number}")
            self.check("restore")
            self.assertBefore(f"killed at {call} number {number}")
