# Notifications by POST: the receiver's checks, and receivers that hang, redirect or lie.

import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import paths
from cases import LAB_WWW, Case
from certificates import Authority
from dig import dig
from paths import eventually
from receivers import Receiver

KEY = "a-key-of-the-receiver"


class Notify(Case):
    expected_seconds = 40

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="e2e-notify-")
        os.chmod(folder.name, 0o755)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.provider = self.lab()
        self.system = self.nsd()

    def key_file(self):
        path = self.folder / "notify.key"
        path.write_text(KEY + "\n")
        path.chmod(0o600)
        return paths.entrust(path)

    def receiver(self, **options):
        return self.own(Receiver(**options))

    def table(self, receiver, url=None, more=""):
        return f'[[notify]]\nurl = "{url or f"http://127.0.0.1:{receiver.port}/events"}"\n{more}\n'

    def server(self, *tables):
        return self.daemon([self.provider.provider("doh")], system=[self.system.server], sections="".join(tables))

    def fails(self, server):
        """Stops the provider, and lets a client notice it."""
        self.provider.kill()
        number = iter(range(10_000))
        eventually(lambda: dig(server, f"gone{next(number)}.any.lab.example", "A") and "every provider fails" in server.log,
                   within=30, every=0.2, what="the outage is known")

    def recovers(self, server):
        self.provider.up()
        number = iter(range(10_000))
        eventually(lambda: dig(server, f"back{next(number)}.any.lab.example", "A") and "a provider works again" in server.log,
                   within=40, every=0.2, what="the recovery is known")

    def stats(self, server, name):
        return next(each for each in server.stats()["notify"] if each["name"] == name)

    def test_outage_and_recovery_arrive_signed_over_tls(self):
        authority = Authority(self.folder / "ca")
        receiver = self.receiver(key=KEY, certificate=authority.certificate("alerts.example"))
        self.folder.joinpath("ca").chmod(0o755)
        origin = f"https://alerts.example:{receiver.port}"
        server = self.server(self.table(
            receiver, f"{origin}/events?token=hidden-token",
            # No server listens at the first address.
            f'addresses = ["127.0.0.2", "127.0.0.1"]\nkey-file = "{self.key_file()}"\nca-file = "{authority.ca_file}"'))
        self.fails(server)
        outage, = eventually(lambda: receiver.of_kind("outage"), what="the outage")
        self.assertTrue(outage["system_resolver"])
        self.assertEqual(1, sum(outage["failures"].values()))
        self.assertLess(abs(time.time() - outage["at"]), 60)
        self.recovers(server)
        recovery, = eventually(lambda: receiver.of_kind("recovery"), within=30, what="the recovery")
        self.assertLess(abs(recovery["at"] - outage["at"] - recovery["outage_s"]), 3)
        self.assertEqual([], receiver.refusals)
        self.assertEqual({"/events?token=hidden-token"}, set(receiver.requests))
        for post in receiver.posts:
            self.assertEqual((1, socket.gethostname(), 0), (post["schema"], post["host"], post["dropped"]))
        eventually(lambda: self.stats(server, origin)["accepted"] == 2, what="the last reply")
        stats = self.stats(server, origin)
        self.assertEqual(("up", 0, 0), (stats["state"], stats["dropped"], stats["waiting"]))
        metrics = server.ask_control("stats --prometheus")
        self.assertIn(f'httpdnsd_notify_events_total{{receiver="{origin}",result="accepted"}} 2\n', metrics)
        self.assertNotIn("hidden-token", metrics + server.log)

    def test_a_receiver_that_hangs_delays_no_answer_and_gets_the_same_batch_when_it_is_back(self):
        receiver = self.receiver()
        receiver.behaviour = "hang"
        origin = f"http://127.0.0.1:{receiver.port}"
        server = self.server(self.table(receiver, more='events = ["outage"]'))
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.fails(server)
        eventually(lambda: receiver.requests, what="the first POST")
        slowest = 0
        while f"{origin} does not accept notifications: timeout" not in server.log:
            slowest = max(slowest, dig(server, "www.lab.example", "A").seconds)
            time.sleep(0.1)
        self.assertLess(slowest, 0.5, "a cached answer")
        self.assertEqual("failing", self.stats(server, origin)["state"])
        receiver.behaviour = "accept"
        eventually(lambda: receiver.posts, within=30, what="the POST is repeated")
        eventually(lambda: f"{origin} accepts notifications again after" in server.log, what="the log says so")
        post, = receiver.posts
        self.assertTrue(post["batch"].endswith("-1"), post["batch"])
        self.assertEqual(["outage"], [event["event"] for event in post["events"]])
        stats = self.stats(server, origin)
        self.assertEqual(("up", {"timeout": 1}, 1), (stats["state"], stats["failures"], stats["accepted"]))
        self.recovers(server)
        self.assertEqual([], receiver.of_kind("recovery"), "only outages were wanted")

    def test_receivers_that_redirect_lie_or_are_gone_fail_each_for_itself(self):
        authority = Authority(self.folder / "ca")
        good, target, *bad = (self.receiver() for _ in range(4))
        bad.append(self.receiver(certificate=authority.certificate("other.example")))
        self.folder.joinpath("ca").chmod(0o755)
        bad[0].behaviour = f"http://127.0.0.1:{target.port}/stolen"
        bad[1].behaviour = "garbage"
        origins = [f"http://127.0.0.1:{receiver.port}" for receiver in bad[:2]] + [f"https://127.0.0.1:{bad[2].port}"]
        server = self.server(self.table(good), *map(self.table, bad[:2]), self.table(
            bad[2], origins[2], f'ca-file = "{authority.ca_file}"'))
        self.fails(server)
        eventually(lambda: good.of_kind("outage"), what="the outage")
        for origin, reason in zip(origins, [r"redirects \(status 307\), which is not followed", "garbage", "tls"]):
            server.wait_for(f"{origin} does not accept notifications: {reason}")
        self.assertEqual([], target.requests)
        self.assertEqual([], bad[2].requests, "its certificate is another name's")
        kinds = [self.stats(server, origin)["failures"] for origin in origins]
        self.assertEqual([{"redirected"}, {"garbage"}, {"tls"}], [set(kind) for kind in kinds])
        # Other receivers replace all of them, and the notifications that waited for these are dropped.
        flood = self.receiver()
        flood.behaviour = "flood"
        overloaded = self.receiver()
        overloaded.behaviour = 503
        server.sections = self.table(flood) + self.table(overloaded)
        server.config.write_text(server.settings())
        self.assertIn("settings reloaded", server.reload())
        self.recovers(server)
        server.wait_for(f"http://127.0.0.1:{flood.port} does not accept notifications: oversized")
        server.wait_for(f"http://127.0.0.1:{overloaded.port} does not accept notifications: status 503")
        self.assertEqual(2, len(server.stats()["notify"]))

    def test_waiting_events_survive_a_change_of_the_key_and_are_signed_with_the_new_one(self):
        receiver = self.receiver(key="the-next-key")
        receiver.behaviour = 503
        key_file = self.key_file()
        server = self.server(self.table(receiver, more=f'key-file = "{key_file}"'))
        origin = f"http://127.0.0.1:{receiver.port}"
        self.fails(server)
        server.wait_for(f"{origin} does not accept notifications: status 503")
        key_file.write_text("the-next-key\n")
        self.assertIn("settings reloaded", server.reload())
        receiver.behaviour = "accept"
        outage, = eventually(lambda: receiver.of_kind("outage"), within=30, what="the outage")
        eventually(lambda: self.stats(server, origin)["accepted"] == 1, what="the reply")
        stats = self.stats(server, origin)
        self.assertEqual((0, 0, {"status"}), (stats["dropped"], stats["waiting"], set(stats["failures"])))
        self.assertEqual([], receiver.refusals, "no POST with the former key after the reload")

    def test_a_key_that_cannot_be_read_stops_the_start_and_shows_no_token(self):
        config = self.folder / "httpdnsd.toml"
        config.write_text(f'[server]\nuser = "{paths.DAEMON.pw_name}"\n' + self.table(
            None, "http://127.0.0.1:9/hidden-path?hidden-token", f'key-file = "{self.folder}/none"'))
        done = subprocess.run(
            [paths.binaries / "httpdnsd", "--check", "--config", config], capture_output=True, text=True,
            timeout=paths.PATIENCE)
        self.assertEqual(1, done.returncode)
        self.assertIn(f"notify http://127.0.0.1:9: key-file {self.folder}/none: can't be read", done.stderr)
        self.assertNotIn("hidden", done.stderr)
