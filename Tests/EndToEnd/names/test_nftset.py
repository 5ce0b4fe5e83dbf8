# Addresses of names with `nftset` in nftables sets: a helper adds them with their TTL as time-out, and adds them again
# after the ruleset was reloaded. The sets of each test are in a network namespace of its own, where the helper runs.

import json
import os
import pwd
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import machines
import paths
from cases import Case, rule
from dig import dig
from namespace import Namespace
from paths import eventually
from programs import Daemon, Program, ctl

DECLARATION = "table inet filter { set v4 { type ipv4_addr; flags timeout; }; set v6 { type ipv6_addr; flags timeout; }; }"
SETS = '["inet#filter#v4", "6#inet#filter#v6"]'
# A client of the helper. Arguments are user, group, the helper's socket, the request in hexadecimal digits, and the
# seconds to wait. Prints the reply; nothing if the helper ends the connection.
CLIENT = """
import os, socket, sys
user, group = int(sys.argv[1]), int(sys.argv[2])
os.setgroups([])
os.setresgid(group, group, group)
os.setresuid(user, user, user)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
    client.settimeout(float(sys.argv[5]))
    client.connect(sys.argv[3])
    try:
        client.send(bytes.fromhex(sys.argv[4]))
        print(client.recv(100).hex(), end="")
    except (BrokenPipeError, ConnectionResetError):
        pass
"""
# Starts a program with a socket as in sd_listen_fds(3). Arguments: the socket, the program and its arguments.
ACTIVATION = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execv(sys.argv[2], sys.argv[2:])
"""


class Helper(Program):
    """A process of httpdnsd-nftset with the settings of a daemon, in a namespace."""

    def __init__(self, daemon, namespace):
        super().__init__("httpdnsd-nftset")
        self.daemon, self.namespace = daemon, namespace

    def up(self):
        since = len(self.log)
        self.start(
            paths.binaries / "httpdnsd-nftset", "--config", self.daemon.config, prefix=self.namespace.prefix)
        self.wait_for("^httpdnsd-nftset: ready: ", since=since)
        return self


class Sets(Case):
    expected_seconds = 10

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root for a network namespace")
        self.namespace = Namespace()
        self.addCleanup(self.namespace.remove)
        self.provider = self.lab()

    def server(self, *rules, sections="", **options):
        sections += "\n" + "\n".join(rules or [rule("lab.example", nftset=SETS)])
        daemon = Daemon([self.provider.provider("json")], sections=sections, **options)
        self.own(daemon)
        self.socket = daemon.directory / "nftset.sock"
        settings = daemon.settings
        control = f"[control]\nnftset-socket = {json.dumps(str(self.socket))}\n"
        daemon.settings = lambda: settings().replace("[control]\n", control)
        daemon.config.write_text(daemon.settings())
        return daemon

    def helper(self, daemon):
        return self.own(Helper(daemon, self.namespace)).up()

    def both(self, *rules, **options):
        daemon = self.server(*rules, **options)
        helper = self.helper(daemon)
        return daemon.up(), helper

    def nft(self, text):
        done = self.namespace.run("nft", text)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def elements(self, name="v4"):
        """Each address of the set with its time-out and its remaining time, in seconds."""
        listed = json.loads(self.namespace.run("nft", "-j", "list", "set", "inet", "filter", name).stdout)
        entries = next(each["set"] for each in listed["nftables"] if "set" in each).get("elem", [])
        return {each["elem"]["val"]: (each["elem"]["timeout"], each["elem"]["expires"]) for each in entries}

    def figures(self, daemon):
        return daemon.stats()["nftset"]

    def requests(self, daemon):
        return daemon.stats()["providers"][0]["requests"]

    def test_answers_get_into_the_sets_with_their_ttl(self):
        self.nft(DECLARATION)
        self.provider.record("a.lab.example", "A", "192.0.2.81", ttl=300)
        self.provider.record("a.lab.example", "AAAA", "2001:db8::81", ttl=200)
        daemon, _ = self.both(rule("lab.example", nftset=SETS), rule("out.lab.example", nftset="[]"))
        eventually(lambda: self.figures(daemon)["ready"] == {"inet#filter#v4": 1, "inet#filter#v6": 1})
        dig(daemon, "a.lab.example", "A")
        eventually(lambda: "192.0.2.81" in self.elements())
        self.assertEqual(300, self.elements()["192.0.2.81"][0])
        dig(daemon, "a.lab.example", "AAAA")
        eventually(lambda: "2001:db8::81" in self.elements("v6"))
        self.assertEqual(200, self.elements("v6")["2001:db8::81"][0])
        self.assertEqual(1, len(self.elements()))
        # The rule exempts the name.
        self.provider.record("out.lab.example", "A", "192.0.2.82", ttl=300)
        dig(daemon, "out.lab.example", "A")
        # A cache hit sends no request to the helper.
        requests = self.figures(daemon)["requests"]
        for _ in range(5):
            dig(daemon, "a.lab.example", "A")
        self.assertEqual(requests, self.figures(daemon)["requests"])
        self.assertNotIn("192.0.2.82", self.elements())
        explained = ctl(daemon, "explain", "a.lab.example").stdout
        self.assertIn("nftset = inet#filter#v4 6#inet#filter#v6", explained)
        self.assertRegex(explained, rf"line \d+ of {daemon.config}")
        self.assertIn("inet#filter#v4 ready", ctl(daemon, "status").stdout)
        self.assertIn('httpdnsd_nftset_ready{set="inet#filter#v4"} 1', ctl(daemon, "stats", "--prometheus").stdout)

    def test_an_address_stays_until_the_latest_of_its_ends(self):
        self.nft(DECLARATION)
        self.provider.record("long.lab.example", "A", "192.0.2.91", ttl=600)
        self.provider.record("brief.lab.example", "A", "192.0.2.91", ttl=60)
        self.provider.record("brief2.lab.example", "A", "192.0.2.91", ttl=60)
        daemon, helper = self.both(sections="[prefetch]\nenabled = false")
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v4"] == 1)
        dig(daemon, "long.lab.example", "A")
        eventually(lambda: self.elements().get("192.0.2.91", (0, 0))[0] == 600)
        # Neither the daemon nor the helper remembers the end; the kernel does.
        daemon.stop()
        helper.stop()
        helper.up()
        daemon.up()
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v4"] == 1)
        dig(daemon, "brief.lab.example", "A")
        eventually(lambda: self.figures(daemon)["added"] == 1)
        self.assertEqual(600, self.elements()["192.0.2.91"][0])
        # The same holds after a change of the ruleset, which makes the daemon forget its elements.
        self.nft("add element inet filter v4 { 192.0.2.92 timeout 1h }")
        self.nft("delete element inet filter v4 { 192.0.2.92 }")
        dig(daemon, "brief2.lab.example", "A")
        eventually(lambda: self.figures(daemon)["added"] >= 2)
        self.assertEqual(600, self.elements()["192.0.2.91"][0])
        # An element of the operator without an end stays unchanged.
        self.nft("flush set inet filter v4; add element inet filter v4 { 192.0.2.91 timeout 0s }")
        listed = self.nft("list set inet filter v4")
        added = self.figures(daemon)["added"]
        eventually(lambda: self.figures(daemon)["added"] > added, within=40)
        self.assertEqual(listed, self.nft("list set inet filter v4"))

    def test_an_address_stays_although_another_of_its_request_is_refused(self):
        self.nft("table inet filter { set v4 { type ipv4_addr; size 2; flags timeout; }; }")
        records = (("first", 90, 600), ("long", 91, 600), ("other", 93, 600), ("brief", 91, 60), ("last", 94, 60))
        for name, last, ttl in records:
            self.provider.record(f"{name}.lab.example", "A", f"192.0.2.{last}", ttl=ttl)
        daemon, helper = self.both(
            rule("lab.example", nftset='"inet#filter#v4"'), sections="[prefetch]\nenabled = false")
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v4"] == 1)
        # The second and the third address become one request.
        helper.signal(signal.SIGSTOP)
        for name in ("first", "long", "other"):
            dig(daemon, f"{name}.lab.example", "A")
        helper.signal(signal.SIGCONT)
        eventually(lambda: self.figures(daemon)["failed"] == 1)
        daemon.wait_for("does not take some addresses: the set is full")
        dig(daemon, "brief.lab.example", "A")
        dig(daemon, "last.lab.example", "A")
        eventually(lambda: self.figures(daemon)["failed"] == 2)
        self.assertEqual({"192.0.2.90", "192.0.2.91"}, set(self.elements()))
        self.assertEqual(600, self.elements()["192.0.2.91"][0])

    def test_sets_of_every_declaration_get_all_neighbours(self):
        kinds = {
            "oftype": "typeof ip daddr; flags timeout", "usual": "type ipv4_addr; timeout 1h",
            "path": "type ipv4_addr; flags dynamic, timeout; size 65535",
            "merged": "type ipv4_addr; flags interval, timeout; auto-merge",
            "ranges": "typeof ip saddr; flags interval; timeout 2h",
            "counting": "type ipv4_addr; flags timeout; counter"}
        self.nft("table inet filter { " + " ".join(f"set {name} {{ {text}; }};" for name, text in kinds.items())
                 + "set six { typeof ip6 daddr; flags interval, timeout; auto-merge; }; }")
        for number in range(60, 72):
            self.provider.record(f"n{number}.lab.example", "A", f"192.0.2.{number}", ttl=300)
            self.provider.record(f"n{number}.lab.example", "AAAA", f"2001:db8::{number:x}", ttl=300)
        names = ", ".join(f'"inet#filter#{name}"' for name in (*kinds, "six"))
        daemon, _ = self.both(rule("lab.example", nftset=f"[{names}]"), sections="[prefetch]\nenabled = false")
        eventually(lambda: set(self.figures(daemon)["ready"].values()) == {1}, what=daemon.log)
        for number in (60, 62, 61, *range(71, 62, -1)):
            dig(daemon, f"n{number}.lab.example", "A")
            dig(daemon, f"n{number}.lab.example", "AAAA")

        def has_all(name, prefix, digits):
            return all(self.remaining(name, f"{prefix}{number:{digits}}") != 0 for number in range(60, 72))
        for name in kinds:
            eventually(lambda: has_all(name, "192.0.2.", "d"), what=name)
            self.assertRegex(self.nft(f"list set inet filter {name}"), "timeout 5m|expires 4m", name)
        eventually(lambda: has_all("six", "2001:db8::", "x"), what="six")
        self.assertEqual(0, self.figures(daemon)["failed"])
        # An interval that ends early is divided; its other addresses keep its end.
        self.nft("flush set inet filter merged; "
                 "add element inet filter merged { 192.0.2.64-192.0.2.80 timeout 5s, 192.0.2.0/28 }")
        eventually(lambda: all(self.remaining("merged", f"192.0.2.{number}") > 60 for number in range(60, 72)))
        self.assertEqual(0, self.figures(daemon)["failed"])
        self.assertIsNone(self.remaining("merged", "192.0.2.7"))

    def remaining(self, name, address):
        """The remaining seconds of the element that is or contains the address; None: it has no end. 0: there is
        none."""
        done = self.namespace.run("nft", f"get element inet filter {name} {{ {address} }}")
        if done.returncode != 0:
            return 0
        found = re.search(r"expires (?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?", done.stdout)
        return found and sum(int(part or 0) * unit for part, unit in zip(found.groups(), (3600, 60, 1)))

    def test_remedies_work_when_pasted(self):
        self.nft("table inet filter { set plain { type ipv4_addr; }; set plain6 { type ipv6_addr; };"
                 "set ports { type inet_service; flags timeout; }; map named { type ipv4_addr : verdict; }; }")
        sets = ["inet#filter#plain", "inet#filter#plain6", "inet#filter#ports", "inet#filter#named", "inet#filter#new",
                "6#inet#filter#other", "ip6#filter#new", "ip#fresh#v4"]
        daemon, _ = self.both(rule("lab.example", nftset=json.dumps(sets)))
        for name in sets:
            name = name.removeprefix("6#")
            daemon.wait_for(rf"nftables set {name} gets no addresses: ")
            line = next(line for line in daemon.log.splitlines() if f"nftables set {name} gets no addresses: " in line)
            remedy = line[line.index("nft ", line.index(" gets no addresses: ")):]
            done = self.namespace.run("sh", "-ec", remedy)
            self.assertEqual(0, done.returncode, f"{remedy}: {done.stderr}")
        eventually(lambda: set(self.figures(daemon)["ready"].values()) == {1}, within=40, what="all sets are ready")
        for name, type in {"plain6": "AAAA", "other": "AAAA", "plain": "A", "new": "A", "ports": "A"}.items():
            daemon.wait_for(rf"inet#filter#{name} gets addresses of {type} records")
        daemon.wait_for("ip6#filter#new gets addresses of AAAA records")

    def test_a_refresh_prolongs(self):
        self.nft(DECLARATION)
        self.provider.record("brief.lab.example", "A", "192.0.2.83", ttl=4)
        daemon, _ = self.both(sections='[prefetch]\nkeep = ["brief.lab.example"]')
        eventually(lambda: "192.0.2.83" in self.elements())
        end = time.monotonic() + 9
        while time.monotonic() < end:
            self.assertIn("192.0.2.83", self.elements())
            time.sleep(0.2)
        self.assertGreaterEqual(self.figures(daemon)["added"], 3)

    def test_expired_answers_get_in_too(self):
        self.nft(DECLARATION)
        self.provider.record("old.lab.example", "A", "192.0.2.84", ttl=1)
        daemon, _ = self.both(sections='[prefetch]\nenabled = false\n[stale]\nanswer-ttl = "20s"')
        dig(daemon, "old.lab.example", "A")
        eventually(lambda: "192.0.2.84" in self.elements())
        eventually(lambda: not self.elements())
        self.provider.kill()
        for _ in range(3):
            self.assertEqual("20", dig(daemon, "old.lab.example", "A").answer[0][1])
        eventually(lambda: "192.0.2.84" in self.elements())
        # The time-out exceeds the TTL, so that not every reply has to prolong it.
        self.assertEqual(40, self.elements()["192.0.2.84"][0])
        self.assertEqual(2, self.figures(daemon)["added"])

    def test_after_a_flush_or_a_reload_of_the_ruleset_the_cache_fills_the_sets(self):
        self.nft(DECLARATION)
        names = [f"n{number}.lab.example" for number in range(300)]
        for number, name in enumerate(names):
            self.provider.record(name, "A", f"198.51.{100 + number // 250}.{number % 250 + 1}", ttl=600)
        daemon, _ = self.both(sections="[prefetch]\nenabled = false")
        for name in names:
            ctl(daemon, "query", name)
        eventually(lambda: len(self.elements()) == 300)
        time.sleep(1.1)
        queries, asked = daemon.stats()["queries"]["total"], self.requests(daemon)
        for change in (
                "flush set inet filter v4", f"flush ruleset; {DECLARATION}", "delete table inet filter"):
            with self.subTest(change):
                self.nft(change)
                if change.startswith("delete"):
                    eventually(lambda: "does not exist" in daemon.log)
                    self.nft(DECLARATION)
                before = time.monotonic()
                eventually(lambda: len(self.elements()) == 300)
                print(f"    300 elements are back after {time.monotonic() - before:.2f} s ({change})")
                timeout, _ = self.elements()["198.51.100.1"]
                self.assertLess(timeout, 600)
                self.assertGreater(timeout, 500)
        self.assertEqual(queries, daemon.stats()["queries"]["total"])
        self.assertEqual(asked, self.requests(daemon))
        # The log has one line for each set.
        self.assertEqual(2, daemon.log.count("does not exist"))

    def test_a_restart_fills_the_sets_from_the_store(self):
        self.nft(DECLARATION)
        self.provider.record("kept.lab.example", "A", "192.0.2.85", ttl=600)
        daemon = self.server()
        daemon.store = daemon.directory / "cache.db"
        self.helper(daemon)
        daemon.up()
        dig(daemon, "kept.lab.example", "A")
        eventually(lambda: "192.0.2.85" in self.elements())
        daemon.stop()
        self.nft("flush set inet filter v4")
        daemon.up()
        eventually(lambda: "192.0.2.85" in self.elements())

    def test_sets_that_cannot_be_used_are_logged_once_with_the_remedy(self):
        self.nft("table inet filter { set v6 { type ipv6_addr; }; set odd { type ether_addr; flags timeout; }; }")
        daemon, _ = self.both(rule("lab.example", nftset='["inet#filter#v4", "inet#filter#v6", "inet#filter#odd"]'))
        expected = {
            "v4": "it does not exist; run: nft add set inet filter v4 '{ type ipv4_addr; flags timeout; }'",
            "v6": "it has no timeout flag", "odd": "its type is neither ipv4_addr nor ipv6_addr"}
        for name, words in expected.items():
            daemon.wait_for(rf"nftables set inet#filter#{name} gets no addresses: {re.escape(words)}")
        self.provider.record("b.lab.example", "A", "192.0.2.86", ttl=300)
        self.assertEqual("NOERROR", dig(daemon, "b.lab.example", "A").status)
        for _ in range(3):
            self.nft("add table ip other; delete table ip other")
        self.assertEqual(3, daemon.log.count("gets no addresses"))
        self.assertGreater(self.figures(daemon)["dropped"], 0)
        status = ctl(daemon, "status").stdout
        self.assertIn("inet#filter#v6 it has no timeout flag", status)
        doctor = ctl(daemon, "doctor").stdout
        self.assertIn("nftables set inet#filter#v4 gets no addresses: it does not exist", doctor)
        # A set that is made later gets the cached addresses.
        self.nft("add set inet filter v4 { type ipv4_addr; flags timeout; }")
        eventually(lambda: "192.0.2.86" in self.elements())
        self.assertRegex(daemon.log, "nftables set inet#filter#v4 gets addresses of A records")

    def test_the_helper_refuses_sets_that_its_settings_do_not_name(self):
        self.nft(DECLARATION)
        daemon, _ = self.both(rule("lab.example", nftset='"inet#filter#v4"'))
        added = ctl(daemon, "rule", "add", "x.lab.example", "nftset=inet#filter#v6")
        self.assertEqual(0, added.returncode, added.stdout)
        daemon.wait_for("nftables set inet#filter#v6 gets no addresses: the helper refuses it")
        # A set that the settings name may be used at run time.
        self.assertEqual(0, ctl(daemon, "rule", "add", "other.example", "nftset=inet#filter#v4").returncode)
        # After a reload of settings that name the set, the helper has read them, too.
        time.sleep(1.1)
        daemon.sections = rule("lab.example", nftset=SETS)
        daemon.config.write_text(daemon.settings())
        daemon.reload()
        eventually(lambda: self.figures(daemon)["ready"].get("inet#filter#v6") == 1, within=40)

    def test_a_helper_that_is_killed_and_one_that_is_not_there(self):
        self.nft(DECLARATION)
        daemon = self.server().up()
        daemon.wait_for("no addresses get into nftables sets: .* run: systemctl enable --now httpdnsd-nftset.socket")
        self.provider.record("c.lab.example", "A", "192.0.2.87", ttl=300)
        self.assertEqual("NOERROR", dig(daemon, "c.lab.example", "A").status)
        helper = self.helper(daemon)
        daemon.wait_for("httpdnsd-nftset is reached again")
        eventually(lambda: "192.0.2.87" in self.elements())
        helper.kill()
        self.nft("flush set inet filter v4")
        helper.up()
        eventually(lambda: "192.0.2.87" in self.elements())
        self.assertEqual(1, daemon.log.count("no addresses get into nftables sets"))

    def test_neither_process_has_more_rights_than_it_needs(self):
        self.nft(DECLARATION)
        daemon, helper = self.both()
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v4"] == 1)

        def status(pid):
            lines = open(f"/proc/{pid}/status").read().splitlines()
            return dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        ours, its = status(daemon.process.pid), status(helper.process.pid)
        for field in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(0, int(ours[field], 16), field)
        # The number of CAP_NET_ADMIN is 12.
        self.assertEqual([1 << 12] * 2, [int(its[field], 16) for field in ("CapPrm", "CapEff")])
        self.assertEqual([0] * 3, [int(its[field], 16) for field in ("CapInh", "CapAmb", "CapBnd")])
        self.assertNotEqual("0", its["Uid"].split()[0])
        self.assertNotEqual(ours["Uid"], its["Uid"])
        self.assertEqual(("1", "2", ""), (its["NoNewPrivs"], its["Seccomp"], its["Groups"].strip()))

    def test_hostile_messages_end_the_connection_and_change_nothing(self):
        self.nft(DECLARATION)
        daemon = self.server()
        helper = self.helper(daemon)

        def exchange(message):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.settimeout(paths.PATIENCE)
                client.connect(str(self.socket))
                client.send(message)
                return client.recv(1000)

        def request(name, count=1, address=b"\xc0\0\2\1", timeout=60, rest=b""):
            return (bytes([2]) + struct.pack(">I", 7) + bytes([len(name)]) + name + struct.pack(">H", count)
                    + bytes([len(address)]) + address + struct.pack(">I", timeout) + rest)
        good = request(b"inet#filter#v4")
        for message in (
                good[:-1], good + b"\0", request(b"inet#filter#v4", count=2), request(b"inet#filter#v4", count=65535),
                request(b"inet#filter#v4", timeout=0), request(b"inet#filter#v4", timeout=0xFFFFFFFF),
                request(b"inet#filter#v4", address=b"\1\2\3"), request(b"inet#filter#v4 { }"),
                request(b"inet#filter#v4; flush ruleset"), request(b"inet#filter#v4\nflush ruleset"), b"\0" * 100000, b"x"):
            with self.subTest(message[:60]):
                self.assertEqual(b"", exchange(message))
        # The requests are for another set, and for another family than the set's.
        self.nft("add set inet filter secret { type ipv4_addr; flags timeout; }")
        self.assertEqual(1, exchange(request(b"inet#filter#secret"))[6])
        refused = exchange(request(b"inet#filter#v4", address=bytes(16)))
        self.assertEqual((0, 1), (refused[6], int.from_bytes(refused[9:11], "big")))
        self.assertEqual({}, self.elements("secret") | self.elements())
        self.assertEqual(0, exchange(good)[6])
        self.assertEqual(60, self.elements()["192.0.2.1"][0])
        self.assertTrue(helper.is_running)

    def test_only_the_daemon_and_root_may_connect(self):
        self.nft(DECLARATION)
        daemon = self.server()
        helper = self.helper(daemon)
        asks = bytes([2]) + struct.pack(">I", 7) + bytes([14]) + b"inet#filter#v4" + b"\0\0"

        def reply(user):
            # The client runs in a process of its own: all threads of this process would change their user, and other
            # tests run in them.
            done = subprocess.run(
                [sys.executable, "-c", CLIENT, str(user), str(paths.DAEMON.pw_gid), str(self.socket), asks.hex(),
                 str(paths.PATIENCE)], capture_output=True, check=True)
            return bytes.fromhex(done.stdout.decode())
        self.assertEqual(12, len(reply(paths.DAEMON.pw_uid)))
        self.assertEqual(12, len(reply(0)))
        # The user is a member of the daemon's group until the settings name it.
        other = pwd.getpwnam("bin")
        for _ in range(2):
            self.assertEqual(b"", reply(other.pw_uid))
        refused = f"user ID {other.pw_uid} was refused: only root and {paths.DAEMON.pw_name} may connect"
        self.assertEqual(1, helper.log.count(refused))
        daemon.config.write_text(daemon.settings().replace(f'user = "{paths.DAEMON.pw_name}"', 'user = "bin"'))
        time.sleep(1.1)
        self.assertEqual(12, len(reply(other.pw_uid)))
        self.assertEqual(b"", reply(paths.DAEMON.pw_uid))

    def test_the_user_that_programs_share_is_never_served(self):
        self.nft(DECLARATION)
        daemon = self.server()
        asks = bytes([2]) + struct.pack(">I", 7) + bytes([14]) + b"inet#filter#v4" + b"\0\0"
        nobody = pwd.getpwnam("nobody").pw_uid
        for user in ("nobody", "no-such-user"):
            with self.subTest(user):
                daemon.config.write_text(
                    daemon.settings().replace(f'user = "{paths.DAEMON.pw_name}"', f'user = "{user}"'))
                helper = self.helper(daemon)
                self.socket.chmod(0o666)
                for uid, length in ((nobody, 0), (paths.DAEMON.pw_uid, 0), (0, 12)):
                    done = subprocess.run(
                        [sys.executable, "-c", CLIENT, str(uid), str(uid), str(self.socket), asks.hex(),
                         str(paths.PATIENCE)], capture_output=True, check=True)
                    self.assertEqual(length, len(bytes.fromhex(done.stdout.decode())), uid)
                self.assertIn(f"a connection of user ID {nobody} was refused: other programs may have it", helper.log)
                helper.stop()

    def test_with_a_service_manager_the_owner_of_its_socket_is_served_and_no_other(self):
        self.nft(DECLARATION)
        daemon = self.server()
        asks = bytes([2]) + struct.pack(">I", 7) + bytes([14]) + b"inet#filter#v4" + b"\0\0"
        owner = pwd.getpwnam("bin").pw_uid
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(self.socket))
            listener.listen()
            os.chown(self.socket, owner, 0)
            # The socket's mode allows all users; the helper decides.
            self.socket.chmod(0o666)
            helper = self.own(Helper(daemon, self.namespace))
            helper.start(
                sys.executable, "-c", ACTIVATION, listener.fileno(), paths.binaries / "httpdnsd-nftset", "--config",
                daemon.config, prefix=self.namespace.prefix, pass_fds=[listener.fileno()])
            helper.wait_for("^httpdnsd-nftset: ready: ")
            # The owner of the socket counts, not the daemon's user in the settings.
            for uid, length in ((owner, 12), (paths.DAEMON.pw_uid, 0), (pwd.getpwnam("nobody").pw_uid, 0), (0, 12)):
                done = subprocess.run(
                    [sys.executable, "-c", CLIENT, str(uid), str(uid), str(self.socket), asks.hex(),
                     str(paths.PATIENCE)], capture_output=True, check=True)
                self.assertEqual(length, len(bytes.fromhex(done.stdout.decode())), uid)
            self.assertIn(f"only root and the socket's owner, user ID {owner}, may connect", helper.log)

    def test_one_refused_address_keeps_no_other_out(self):
        self.nft("table inet filter { set v4 { type ipv4_addr; flags interval, timeout; elements = { 192.0.2.0/25 } }; }")
        numbers = {1, 2, 3, 200, *range(210, 230)}
        for number in numbers:
            self.provider.record(f"n{number}.lab.example", "A", f"192.0.2.{number}", ttl=300)
        daemon, helper = self.both(rule("lab.example", nftset='"inet#filter#v4"'))
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v4"] == 1)
        # The addresses after the first become one request.
        helper.signal(signal.SIGSTOP)
        for number in numbers:
            dig(daemon, f"n{number}.lab.example", "A")
        helper.signal(signal.SIGCONT)

        def added():
            listed = self.namespace.run("nft", "list", "set", "inet", "filter", "v4").stdout
            return {int(number) for number in re.findall(r"192\.0\.2\.(\d+) ", listed)}
        eventually(lambda: added() >= {200, *range(210, 230)})
        self.assertLess(self.figures(daemon)["requests"], 5)
        self.assertTrue(added().isdisjoint({1, 2, 3}))
        self.assertEqual(3, self.figures(daemon)["failed"])
        self.assertEqual(1, daemon.log.count("does not take some addresses"))
        self.assertEqual(1, self.figures(daemon)["ready"]["inet#filter#v4"])

    def test_refused_addresses_of_a_large_set_do_not_make_the_helper_late(self):
        # A change of such a set takes nftables half a second.
        self.nft("table inet filter { set v4 { type ipv4_addr; flags interval, timeout; }; }")
        networks = ", ".join(f"11.{number >> 7}.{number << 1 & 255}.0/25" for number in range(30_000))
        with tempfile.NamedTemporaryFile("w") as additions:
            additions.write(f"add element inet filter v4 {{ {networks} }}")
            additions.flush()
            self.assertEqual(0, self.namespace.run("nft", "-f", additions.name).returncode)
        numbers = range(1, 41)
        for number in numbers:
            self.provider.record(f"n{number}.lab.example", "A", f"11.0.0.{number}", ttl=300)
        daemon, helper = self.both(rule("lab.example", nftset='"inet#filter#v4"'))
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v4"] == 1)
        helper.signal(signal.SIGSTOP)
        for number in numbers:
            dig(daemon, f"n{number}.lab.example", "A")
        helper.signal(signal.SIGCONT)
        eventually(lambda: self.figures(daemon)["failed"] == len(numbers), within=6 * paths.PATIENCE)
        self.assertEqual(1, daemon.log.count("make it larger (size), or without the flag interval"))
        self.assertNotIn("can't be reached", daemon.log)

    def test_a_set_that_the_settings_no_longer_name_is_refused(self):
        self.nft(DECLARATION)
        # The socket's mode is that of an installation: root and the daemon's group only.
        daemon = self.server(rule("lab.example", nftset=SETS))
        os.chown(daemon.config, 0, paths.DAEMON.pw_gid)
        daemon.config.chmod(0o640)
        self.helper(daemon)
        daemon.up()
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v6"] == 1)
        # Only the file changes, so the daemon still asks for the former set.
        daemon.sections = rule("lab.example", nftset='"inet#filter#v4"')
        daemon.config.write_text(daemon.settings())
        time.sleep(1.1)
        self.provider.record("e.lab.example", "AAAA", "2001:db8::89", ttl=300)
        dig(daemon, "e.lab.example", "AAAA")
        daemon.wait_for("nftables set inet#filter#v6 gets no addresses: the helper refuses it")
        self.assertEqual({}, self.elements("v6"))

    def latencies(self, daemon, names):
        """The microseconds of each query, on one socket."""
        took = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(paths.PATIENCE)
            client.connect(daemon.address)
            for number, name in enumerate(names):
                labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
                query = struct.pack(">6H", number & 0xFFFF, 0x0100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"
                began = time.perf_counter()
                client.send(query)
                self.assertEqual(0, client.recv(4096)[3] & 15, name)
                took.append((time.perf_counter() - began) * 1e6)
        return took

    def test_answers_never_wait(self):
        self.nft(DECLARATION)
        count = 200
        for number in range(3 * count):
            self.provider.record(f"w{number}.set.lab.example", "A", f"198.52.{number // 250}.{number % 250 + 1}", ttl=600)
            self.provider.record(f"w{number}.free.lab.example", "A", f"198.53.{number // 250}.{number % 250 + 1}", ttl=600)
        daemon, helper = self.both(
            rule("set.lab.example", nftset=SETS), rule("free.lab.example", stale="true"),
            sections="[prefetch]\nenabled = false\n[probe]\nenabled = false")
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v4"] == 1)
        medians = {}

        def measure(what, numbers, zone="set.lab.example"):
            names = [f"w{number}.{zone}" for number in numbers]
            medians[f"{what}, miss"] = statistics.median(self.latencies(daemon, names))
            medians[f"{what}, hit"] = statistics.median(self.latencies(daemon, names * 5))
        measure("no sets", range(count), "free.lab.example")
        measure("no sets again", range(count, 2 * count), "free.lab.example")
        measure("helper works", range(count))
        eventually(lambda: len(self.elements()) == count, what=f"{count} elements")
        # The helper takes one of few processors while it works.
        medians["helper rests, hit"] = statistics.median(
            self.latencies(daemon, [f"w{number}.set.lab.example" for number in range(count)] * 5))
        helper.signal(signal.SIGSTOP)
        measure("helper stopped", range(count, 2 * count))
        helper.signal(signal.SIGCONT)
        eventually(lambda: len(self.elements()) == 2 * count)
        for what, median in medians.items():
            print(f"    {what}: {median:.0f} us")
        # A process of nft for each answer would show by its 40 ms.
        for state in ("helper works", "helper stopped"):
            for kind in ("miss", "hit"):
                self.assertLess(medians[f"{state}, {kind}"], medians[f"no sets, {kind}"] * 2 + 10_000)

    def test_a_silent_helper_is_given_up_and_answers_go_on(self):
        self.nft(DECLARATION)
        daemon, helper = self.both()
        eventually(lambda: self.figures(daemon)["ready"]["inet#filter#v4"] == 1)
        helper.signal(signal.SIGSTOP)
        self.provider.record("d.lab.example", "A", "192.0.2.88", ttl=300)
        self.assertEqual("NOERROR", dig(daemon, "d.lab.example", "A").status)
        daemon.wait_for("httpdnsd-nftset can't be reached at .*: it does not answer", within=40)
        self.assertEqual("NOERROR", dig(daemon, "d.lab.example", "A").status)
        helper.signal(signal.SIGCONT)
        eventually(lambda: "192.0.2.88" in self.elements(), within=40)


UNITS = """
[system-resolver]
servers = []
[[nameserver]]
name = "far"
servers = ["127.0.0.1:5354"]
names = ["example"]
[[rule]]
match = ["www.example"]
nftset = "inet#filter#v4"
[cache]
store = ""
[log]
recorder-directory = ""
"""
ZONE = "$ORIGIN example.\n$TTL 300\n@ SOA ns hostmaster 1 7200 900 1209600 30\n@ NS ns\nns A 127.0.0.1\nwww A 192.0.2.90\n"
SERVER = """
server:
    ip-address: 127.0.0.1@5354
    zonesdir: "/zones"
    database: ""
zone:
    name: "example"
    zonefile: "/zones/example"
"""


@machines.boots_machines
class Units(Case):
    """The helper's units under systemd."""

    expected_seconds = 20
    needs_release = True

    def setUp(self):
        self.machine = machines.Machine((*machines.PROGRAM_PACKAGES, "nftables", "nsd"))
        self.addCleanup(self.machine.close)
        self.programs = (*self.programs, self.machine)
        self.machine.boot()
        for program, at in (
                ("httpdnsd", "/usr/sbin"), ("httpdnsctl", "/usr/bin"), ("httpdnsd-nftset", "/usr/libexec")):
            self.machine.copy(paths.binaries / program, f"{at}/{program}")
        for unit in ("httpdnsd.service", "httpdnsd-nftset.socket", "httpdnsd-nftset.service"):
            self.machine.copy(paths.ROOT / "etc/systemd" / unit, f"/etc/systemd/system/{unit}")
        self.machine.copy(paths.ROOT / "etc/sysusers.d/httpdnsd.conf", "/usr/lib/sysusers.d/httpdnsd.conf")
        self.machine.check("systemd-sysusers", "httpdnsd.conf")
        self.machine.write("/zones/example", ZONE)
        self.machine.write("/zones/nsd.conf", SERVER)
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", UNITS, mode="640")
        self.machine.check("chown", "-R", "root:httpdnsd", "/etc/httpdnsd")
        self.machine.check("systemctl", "stop", "nsd")
        self.machine.check("systemd-run", "--unit=zones", "nsd", "-d", "-c", "/zones/nsd.conf")
        self.machine.check("nft", DECLARATION)
        self.machine.check("systemctl", "daemon-reload")
        self.machine.check("systemctl", "enable", "--now", "httpdnsd-nftset.socket")
        self.machine.check("systemctl", "start", "httpdnsd")

    def elements(self):
        return self.machine.check("nft", "list", "set", "inet", "filter", "v4")

    def helper(self):
        """The process ID of the helper; "0" if it does not run."""
        return self.machine.check("systemctl", "show", "--value", "--property=MainPID", "httpdnsd-nftset").strip()

    def test_the_socket_starts_it_and_it_comes_back(self):
        eventually(lambda: "192.0.2.90" in self.machine.run("dig", "+short", "@127.0.0.1", "www.example").stdout)
        eventually(lambda: "192.0.2.90" in self.elements(), what="the address is in the set")
        first = self.helper()
        status = dict(
            line.split(":\t", 1) for line in self.machine.read(f"/proc/{first}/status").decode().splitlines() if ":\t" in line)
        user = self.machine.check("id", "-u", "httpdnsd-nftset").strip()
        self.assertEqual([user] * 4, status["Uid"].split())
        self.assertEqual([1 << 12] * 2, [int(status[field], 16) for field in ("CapPrm", "CapEff")])
        self.assertEqual("2", status["Seccomp"].strip())
        # Another process takes its place and gets the cached addresses.
        self.machine.check("nft", "flush", "set", "inet", "filter", "v4")
        self.machine.check("systemctl", "kill", "--signal=KILL", "httpdnsd-nftset")
        eventually(lambda: self.helper() not in ("0", first) and "192.0.2.90" in self.elements(), within=40,
                   what="the next one fills the set")
        # The changed file, which only the daemon's group may read, names another set.
        text = UNITS.replace('"inet#filter#v4"', '["inet#filter#v4", "inet#filter#more"]')
        self.machine.check("nft", "add set inet filter more { type ipv4_addr; flags timeout; }")
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", text, mode="640")
        self.machine.check("chown", "root:httpdnsd", "/etc/httpdnsd/httpdnsd.toml")
        self.machine.check("systemctl", "reload", "httpdnsd")
        eventually(lambda: "192.0.2.90" in self.machine.check("nft", "list", "set", "inet", "filter", "more"),
                   what="the new set is filled")


if __name__ == "__main__":
    unittest.main()
