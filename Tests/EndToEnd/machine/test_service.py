# The daemon as a service: its user and rights, its system calls, its notices to the manager, and the sockets that the
# manager hands over.

import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import paths
from cases import LAB_WWW, Case, closed_provider
from dig import dig
from lab import Lab
from paths import eventually, free_port
from programs import Daemon, ctl
from wire import Datagrams, Stream

STRANGER = 65533
NOBODY = 65534


def threads_of(daemon):
    """The kernel's status lines of each thread by name. A thread may end while it is read."""
    folder = f"/proc/{daemon.process.pid}/task"
    for task in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"{folder}/{task}/status") as file:
            yield dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


@unittest.skipUnless(os.geteuid() == 0, "root's rights can be given up by root alone")
class Rights(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()

    def assertUnprivileged(self, server, user, group):
        seen = list(threads_of(server))
        self.assertGreater(len(seen), 2)
        for status in seen:
            with self.subTest(status["Name"]):
                self.assertEqual([str(user)] * 4, status["Uid"].split())
                self.assertEqual([str(group)] * 4, status["Gid"].split())
                self.assertEqual("", status["Groups"].strip())
                for kind in ("Inh", "Prm", "Eff", "Amb"):
                    self.assertEqual(0, int(status[f"Cap{kind}"], 16), kind)
                self.assertEqual("1", status["NoNewPrivs"])
                self.assertEqual("2", status["Seccomp"])

    def test_root_becomes_the_user_of_the_settings_in_every_thread(self):
        server = self.own(Daemon([self.provider.provider("json")], server="threads = 3"))
        server.store = server.directory / "cache.db"
        server.up()
        own = paths.DAEMON
        self.assertIn(f"dropped privileges: user {own.pw_name} ({own.pw_uid}), group {own.pw_gid}", server.log)
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertUnprivileged(server, own.pw_uid, own.pw_gid)
        self.assertEqual(own.pw_uid, server.control.stat().st_uid)
        eventually(server.store.exists, what="the store is made")
        self.assertEqual(own.pw_uid, server.store.stat().st_uid)
        self.assertRegex(ctl(server, "status").stdout, rf"rights +user {own.pw_uid}, group {own.pw_gid}; system calls filtered")
        self.assertIn("settings reloaded", server.reload())

    def nobody_serves(self, **options):
        """A daemon that root has started where there is no user httpdnsd."""
        server = self.own(Daemon([self.provider.provider("json")], server='user = ""', **options))
        os.chown(server.directory, NOBODY, NOBODY)
        return server.up()

    def test_without_a_user_in_the_settings_it_is_nobody(self):
        server = self.nobody_serves()
        self.assertUnprivileged(server, NOBODY, NOBODY)
        self.assertRegex(server.log, r"user 65534 is shared with other programs: .*; run: useradd --system .* httpdnsd; ")
        self.assertIn("user 65534 (shared with other programs), group 65534;", server.ask_control("status"))

    def test_other_programs_of_nobody_change_nothing(self):
        server = self.nobody_serves()
        refusal = "root only, because the daemon shares its user with other programs; you are user 65534"
        for line in ("flush --all", "httpdns off", "reload", "log debug", "watch --clients"):
            with self.subTest(line):
                self.assertIn(refusal, server.ask_control_as(NOBODY, NOBODY, line))
        self.assertNotIn("error", server.ask_control_as(NOBODY, NOBODY, "status"))
        self.assertNotIn("error", server.ask_control_as(0, 0, "flush --all"))

    def test_other_programs_of_nobody_do_not_see_its_memory(self):
        by_root = self.nobody_serves()
        by_nobody = self.own(Daemon([self.provider.provider("json")], server='user = ""', prefix=(
            "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")))
        os.chown(by_nobody.directory, NOBODY, NOBODY)
        by_nobody.up()
        self.assertIn("user 65534 is shared with other programs", by_nobody.log)
        for server in (by_root, by_nobody):
            for file in ("mem", "maps", "environ", "fd/0"):
                read = subprocess.run(
                    ["head", "-c1", f"/proc/{server.process.pid}/{file}"], user=NOBODY, group=NOBODY, extra_groups=[],
                    capture_output=True, text=True)
                self.assertIn("Permission denied", read.stderr, file)
            self.assertGreater(server.stats()["process"]["open_fds"], 5)

    def test_nobody_holds_no_key(self):
        paid = self.provider.provider("dnspod-https")
        os.chown(paid["key-file"], NOBODY, NOBODY)
        server = Daemon([paid], server='user = ""')
        os.chown(server.directory, NOBODY, NOBODY)
        said = self.refused(server)
        finding = f"key-file {paid['key-file']}: is refused: other programs may run as user 65534"
        self.assertIn(finding, said)
        self.assertIn("; run: useradd --system --user-group --no-create-home httpdnsd; then start httpdnsd as root", said)
        checked = subprocess.run(
            [paths.binaries / "httpdnsd", "--check", "--config", server.config], capture_output=True, text=True)
        self.assertEqual(1, checked.returncode)
        self.assertIn(finding, checked.stderr)

    def test_a_privileged_port_is_bound_first(self):
        server = self.own(Daemon([self.provider.provider("json")], listen=["127.0.0.9:53"]))
        server.host, server.port = "127.0.0.9", 53
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
                free.bind(server.address)
        except OSError:
            self.skipTest("another program has port 53")
        server.up()
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_a_user_without_root_gives_up_what_it_was_given_for_the_port(self):
        server = self.own(Daemon([self.provider.provider("json")], prefix=(
            "setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups",
            "--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service")))
        os.chown(server.directory, STRANGER, STRANGER)
        for secret in server.directory.iterdir():
            os.chown(secret, STRANGER, STRANGER)
        server.up()
        self.assertNotIn("serving as", server.log)
        self.assertUnprivileged(server, STRANGER, STRANGER)

    def refused(self, server):
        server.expected_exit = 1
        self.own(server).run()
        self.assertEqual(1, server.process.wait(paths.PATIENCE))
        return server.log

    def test_it_refuses_to_keep_root(self):
        said = self.refused(Daemon([self.provider.provider("json")], server='user = "root"'))
        self.assertRegex(said, r'\.toml:\d+:\d+: server\.user: found "root"; allowed: .* not root; the daemon drops root privileges')

    def test_a_user_that_does_not_exist(self):
        said = self.refused(Daemon([self.provider.provider("json")], server='user = "no-such-user-here"'))
        self.assertIn("server.user no-such-user-here: this machine has no such user; run: useradd --system", said)

    def test_a_key_that_only_root_may_read_is_found_at_the_start(self):
        paid = self.provider.provider("dnspod-https")
        os.chown(paid["key-file"], 0, 0)
        server = Daemon([paid])
        said = self.refused(server)
        group = paths.DAEMON.pw_gid
        self.assertIn(f"key-file {paid['key-file']}: can't be read: ", said)
        self.assertIn(f"; run: chgrp {group} {paid['key-file']} && chmod 0640 {paid['key-file']}", said)
        checked = subprocess.run(
            [paths.binaries / "httpdnsd", "--check", "--config", server.config], capture_output=True, text=True)
        self.assertEqual(1, checked.returncode)
        self.assertIn(f"run: chgrp {group} {paid['key-file']}", checked.stderr)
        os.chown(paid["key-file"], 0, group)
        os.chmod(paid["key-file"], 0o640)
        self.own(Daemon([paid])).up()

    def test_settings_that_a_reload_could_not_read_are_found_at_the_start(self):
        server = Daemon([self.provider.provider("json")])
        server.config.write_text(server.settings())
        os.chmod(server.config, 0o600)
        said = self.refused(server)
        user = f"the daemon runs as user {paths.DAEMON.pw_name} ({paths.DAEMON.pw_uid}), which can't read this file: "
        finding = f"{server.config}: {user}it is closed to other users; run: chmod 644 {server.config}\n"
        self.assertIn(finding, said)
        server.config.write_text(server.settings())
        os.chmod(server.config, 0o600)
        checked = subprocess.run(
            [paths.binaries / "httpdnsd", "--check", "--config", server.config], capture_output=True, text=True)
        self.assertEqual((1, ""), (checked.returncode, checked.stdout))
        self.assertIn(finding, checked.stderr)
        # A file that is valid itself, in a directory like /root.
        os.chmod(server.config, 0o644)
        closed = server.directory / "closed"
        closed.mkdir(mode=0o700)
        os.chown(closed, 0, 0)
        shutil.copy(server.config, closed / "new.toml")
        (server.directory / "link.toml").symlink_to(closed / "new.toml")
        for config, reason in (
                (closed / "new.toml", f"the directory {closed} is closed to it"),
                (server.directory / "link.toml",
                 f"the link {server.directory}/link.toml leads through a directory that is closed to it")):
            copy = f"install -D -m 644 {config} /etc/httpdnsd/{config.name}"
            finding = f"{user}{reason}; copy the file, and name the copy: {copy}\n"
            for name, where in ((config, "/"), (config.name, config.parent)):
                checked = subprocess.run(
                    [paths.binaries / "httpdnsd", "--check", "--config", name], capture_output=True, text=True,
                    cwd=where)
                self.assertEqual(
                    (0, f"{name}: valid: 1 provider, 0 rules\n"), (checked.returncode, checked.stdout), checked.stderr)
                self.assertIn(f"httpdnsd: {name}: warning: {finding}", checked.stderr)
            server.config = config
            self.assertIn(f"httpdnsd: {config}: {finding}", self.refused(server))

    def test_directories_of_the_daemon_are_given_to_its_user_and_no_others(self):
        server = self.own(Daemon([self.provider.provider("json")]))
        os.chown(server.directory, 0, 0)
        own, other = server.directory / "state" / "httpdnsd", server.directory / "state" / "other"
        own.mkdir(parents=True)
        other.mkdir()
        for path in (own / "foreign", own / "recorder-burst.bin", other / "cache.db"):
            path.touch(0o600)
        (own / "cache.db").symlink_to(other / "cache.db")
        server.control = server.directory / "run" / "control.sock"
        server.store = own / "cache.db"
        server.sections = f'[log]\nrecorder-directory = "{own}"\n'
        server.up()
        uid = paths.DAEMON.pw_uid
        for path in (own, own / "recorder-burst.bin", server.control.parent, server.control):
            self.assertEqual(uid, path.lstat().st_uid, path)
        for path in (own / "foreign", own / "cache.db", other, other / "cache.db", server.directory):
            self.assertEqual(0, path.lstat().st_uid, path)
        server.stop()
        self.assertFalse(server.control.exists())

    def test_the_directory_of_the_settings_is_never_given_away(self):
        server = self.own(Daemon([self.provider.provider("json")]))
        folder = server.directory / "etc" / "httpdnsd"
        folder.mkdir(parents=True)
        server.config, server.store = folder / "httpdnsd.toml", folder / "cache.db"
        server.store.touch(0o600)
        server.up()
        for path in (folder, server.config, server.store):
            self.assertEqual(0, path.stat().st_uid, path)

    def test_the_filter_leaves_the_crash_file(self):
        server = self.own(Daemon([self.provider.provider("json")]))
        server.sections = f'[log]\nrecorder-directory = "{server.directory / "records"}"\n'
        server.up()
        server.expected_exit = -signal.SIGSEGV
        server.signal(signal.SIGSEGV)
        self.assertEqual(-signal.SIGSEGV, server.process.wait(paths.PATIENCE))
        self.assertIn("the flight recorder is written to ", server.log)


class Manager:
    """A service manager's socket, with its messages in order."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + self.path[1:] if self.path.startswith("@") else self.path)
        if not self.path.startswith("@"):
            os.chmod(self.path, 0o666)
        self.socket.settimeout(paths.PATIENCE)

    def next(self):
        return self.socket.recv(4096).decode()

    def until(self, start):
        """The next message with this start; the messages before it are skipped."""
        while not (said := self.next()).startswith(start):
            pass
        return said


class Halted:
    """Stops one thread of a program while the others go on (ptrace(2))."""

    SEIZE, INTERRUPT, DETACH, ALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, thread):
        self.thread = thread
        self.libc = ctypes.CDLL(None, use_errno=True)

    def trace(self, request):
        if self.libc.ptrace(request, self.thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")

    def __enter__(self):
        self.trace(Halted.SEIZE)
        self.trace(Halted.INTERRUPT)
        os.waitpid(self.thread, Halted.ALL)
        return self

    def __exit__(self, *_):
        self.trace(Halted.DETACH)


class Starts(Case):
    def test_a_start_that_hangs_is_filtered_already_and_ended_by_a_signal(self):
        server = self.own(Daemon([closed_provider()]))
        server.config.write_text("direct-only = true\n" + server.settings())
        user = STRANGER if os.geteuid() == 0 else os.geteuid()
        for path in (server.directory, server.config):
            os.chown(path, user, -1)
        # The daemon blocks on its first log line, because the pipe is full: everything but the event loop is set up.
        nobody, full = os.pipe()
        os.set_blocking(full, False)
        for size in (65536, 1):
            with self.assertRaises(BlockingIOError):
                while True:
                    os.write(full, bytes(size))
        os.set_blocking(full, True)
        server.process = subprocess.Popen(
            [paths.binaries / "httpdnsd", "--config", server.config], stderr=full, user=user,
            env={**os.environ, "http_proxy": "http://127.0.0.1:1"})
        for end in (nobody, full):
            self.addCleanup(os.close, end)
        eventually(server.control.exists, what="the control socket is there")
        self.assertEqual({"2"}, {status["Seccomp"] for status in threads_of(server)})
        self.assertEqual(0, server.stop())


class Notices(Case):
    def served(self, path, manager=None, **variables):
        manager = manager or Manager(path)
        self.addCleanup(manager.socket.close)
        server = self.own(Daemon([self.lab().provider("json")]))
        server.config.write_text(server.settings())
        server.start(
            paths.binaries / "httpdnsd", "--config", server.config,
            env={**os.environ, "NOTIFY_SOCKET": manager.path, **variables})
        return manager, server

    def test_a_manager_hears_when_it_is_ready_reloads_and_stops(self):
        folder = self.own(Daemon([])).directory
        for path in (folder / "notify", f"@httpdnsd-{os.getpid()}-{id(self)}"):
            with self.subTest(path):
                manager, server = self.served(path)
                self.assertRegex(manager.until("READY=1"), rf"^READY=1\nSTATUS=serving on {server.listen[0]} from json\n$")
                self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
                before = time.monotonic_ns() // 1000
                server.reload()
                said = manager.next()
                microseconds = int(re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=(\d+)\n", said).group(1))
                self.assertTrue(before <= microseconds <= time.monotonic_ns() // 1000)
                manager.until("READY=1")
                server.config.write_text("nonsense")
                server.reload()
                manager.until("RELOADING=1")
                manager.until("READY=1")
                server.stop()
                manager.until("STOPPING=1")
                with open(server.log_path) as log:
                    self.assertNotIn("NOTIFY_SOCKET", log.read())

    def test_a_manager_without_room_hears_that_it_is_ready_as_soon_as_it_has_some(self):
        path = self.own(Daemon([])).directory / "notify"
        manager = Manager(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as others:
            others.setblocking(False)
            with self.assertRaises(BlockingIOError):
                while True:
                    others.sendto(b"of others", manager.path)
        _, server = self.served(path, manager)
        server.wait_for("^httpdnsd: ready: ")
        # The reply shows that the loop turns, so the notice was sent.
        self.assertEqual(0, ctl(server, "status").returncode)
        manager.until("READY=1")

    def test_signs_of_life_stop_when_a_thread_does(self):
        folder = self.own(Daemon([])).directory
        manager, server = self.served(folder / "notify", WATCHDOG_USEC="1000000")
        manager.until("READY=1")
        began = time.monotonic()
        for _ in range(4):
            manager.until("WATCHDOG=1")
        self.assertLess(time.monotonic() - began, 3)
        serving = [int(status["Pid"]) for status in threads_of(server) if status["Name"].startswith("serve-")]
        with Halted(serving[-1]):
            manager.socket.settimeout(1.5)
            # One notice may be in flight, and one comes for the check before.
            with self.assertRaises(TimeoutError):
                for _ in range(3):
                    manager.next()
            # The other threads go on.
            self.assertEqual(0, ctl(server, "status").returncode)
        manager.socket.settimeout(paths.PATIENCE)
        manager.until("WATCHDOG=1")

    def test_a_watchdog_for_somebody_else_is_none_of_ours(self):
        folder = self.own(Daemon([])).directory
        manager, server = self.served(folder / "notify", WATCHDOG_USEC="200000", WATCHDOG_PID="1")
        manager.until("READY=1")
        manager.socket.settimeout(0.6)
        with self.assertRaises(TimeoutError):
            manager.next()


# Hands over the sockets with these numbers as a service manager does. The arguments are user, numbers, and the command.
HAND_OVER = """
import os, sys
user, numbers = int(sys.argv[1]), [int(number) for number in sys.argv[2].split(",")]
kept = [os.dup2(number, 100 + place) for place, number in enumerate(numbers)]
for place, number in enumerate(kept):
    os.dup2(number, 3 + place)
    os.close(number)
os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), str(len(numbers))
if user:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
os.execv(sys.argv[3], sys.argv[3:])
"""


class HandedOver(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()

    def setUp(self):
        self.user = STRANGER if os.geteuid() == 0 else 0
        self.sockets = []

    def bound(self, family, kind, address):
        one = socket.socket(family, kind)
        self.addCleanup(one.close)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
        if kind == socket.SOCK_STREAM:
            one.listen(64)
        self.sockets.append(one)

    def pair(self, family, host, port):
        self.bound(family, socket.SOCK_DGRAM, (host, port))
        self.bound(family, socket.SOCK_STREAM, (host, port))

    def start(self, server):
        server.config.write_text(server.settings())
        if self.user:
            os.chown(server.directory, self.user, self.user)
            server.config.chmod(0o644)
        numbers = ",".join(str(one.fileno()) for one in self.sockets)
        for one in self.sockets:
            os.set_inheritable(one.fileno(), True)
        server.start(
            sys.executable, "-c", HAND_OVER, self.user, numbers, paths.binaries / "httpdnsd", "--config",
            server.config, close_fds=False)

    def test_four_sockets_are_served_by_somebody_without_rights(self):
        port = free_port()
        self.pair(socket.AF_INET, "127.0.0.1", port)
        self.pair(socket.AF_INET6, "::1", port)
        server = self.own(Daemon([self.provider.provider("json")], server="threads = 2", listen=["127.0.0.1:1"]))
        self.start(server)
        server.wait_for(rf"^httpdnsd: ready: listening on 127\.0\.0\.1:{port}, \[::1\]:{port} ")
        for host in ("127.0.0.1", "::1"):
            for client in (Datagrams((host, port)), Stream((host, port))):
                with self.subTest(host, client=type(client).__name__), client:
                    self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        with open(f"/proc/{server.process.pid}/status") as status:
            self.assertIn("Seccomp:\t2", status.read())

    def test_no_query_is_lost_while_it_is_started_again(self):
        port = free_port()
        self.pair(socket.AF_INET, "127.0.0.1", port)
        lost, asked, stop = [], [], threading.Event()

        def ask():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.settimeout(paths.PATIENCE)
                client.connect(("127.0.0.1", port))
                while not stop.is_set():
                    number = len(asked) % 65536
                    client.send(number.to_bytes(2) + bytes.fromhex("01000001000000000000") +
                                b"\x09localhost\0\0\x01\0\x01")
                    try:
                        if client.recv(512)[:2] != number.to_bytes(2):
                            lost.append(number)
                    except OSError:
                        lost.append(number)
                    asked.append(number)
                    time.sleep(0.01)

        server = self.own(Daemon([self.provider.provider("json")]))
        asking = threading.Thread(target=ask)
        asking.start()
        try:
            for _ in range(3):
                since = len(server.log)
                self.start(server)
                server.wait_for("^httpdnsd: ready: ", since=since)
                count = len(asked)
                eventually(lambda: len(asked) > count + 20, what="queries are answered")
                self.assertEqual(0, server.stop())
            since = len(server.log)
            self.start(server)
            server.wait_for("^httpdnsd: ready: ", since=since)
        finally:
            stop.set()
            asking.join()
        self.assertEqual([], lost)
        self.assertGreater(len(asked), 60)

    def refused(self):
        server = self.own(Daemon([self.provider.provider("json")]))
        server.expected_exit = 1
        self.start(server)
        self.assertEqual(1, server.process.wait(paths.PATIENCE))
        return server.log

    def test_half_of_an_address_ends_the_start_with_the_line_to_add(self):
        port = free_port()
        self.bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port))
        self.assertIn(
            f"passed 127.0.0.1:{port} for UDP only; add ListenStream=127.0.0.1:{port} to the .socket unit",
            self.refused())

    def test_a_socket_of_no_use_ends_the_start_by_its_name(self):
        self.pair(socket.AF_INET, "127.0.0.1", free_port())
        other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(other.close)
        self.sockets.append(other)
        self.assertIn("an unusable socket: descriptor 5 is a UNIX socket; take it out of the .socket unit", self.refused())

    def test_addresses_of_the_settings_that_nobody_listens_on_are_not_judged(self):
        self.pair(socket.AF_INET, "127.0.0.1", free_port())
        server = self.own(Daemon([self.provider.provider("json")], listen=["192.168.9.9:5353"]))
        self.start(server)
        server.wait_for("^httpdnsd: ready: ")
        self.assertIn("settings reloaded", server.reload())
        checked = subprocess.run(
            [paths.binaries / "httpdnsd", "--check", "--config", server.config], capture_output=True, text=True)
        self.assertEqual(1, checked.returncode)
        self.assertIn("server.listen has 192.168.9.9:5353, which is not loopback", checked.stderr)

    def test_sockets_for_others_need_somebody_else_who_may_ask(self):
        port = free_port()
        self.pair(socket.AF_INET, "0.0.0.0", port)
        self.assertIn(f"but httpdnsd.socket has 0.0.0.0:{port}, which is not loopback; add the clients' networks, for example allow = [", self.refused())
