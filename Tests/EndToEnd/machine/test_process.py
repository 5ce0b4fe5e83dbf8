# The daemon as a process: its start, refused starts, new settings, and its end.

import os
import re
import signal
import socket
import subprocess
import time

import paths
from cases import LAB_WWW, Case
from dig import dig
from lab import Lab
from paths import eventually, free_port
from programs import Daemon
from wire import Datagrams, Stream


def httpdnsd(*arguments):
    """Runs httpdnsd to its end."""
    return subprocess.run(
        [paths.binaries / "httpdnsd", *map(str, arguments)], capture_output=True, text=True, timeout=paths.PATIENCE)


class Starting(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()

    def refused(self, server):
        """The log of a daemon that must not start."""
        server.expected_exit = 1
        self.own(server).run()
        self.assertEqual(1, server.process.wait(paths.PATIENCE))
        return server.log

    def test_a_port_in_use_is_named_with_its_holder(self):
        first = self.daemon([self.provider.provider("json")])
        second = Daemon(first.providers)
        second.listen = first.listen
        said = self.refused(second)
        self.assertIn(first.listen[0], said)
        self.assertIn("in use", said)
        self.assertIn(f"httpdnsd (pid {first.process.pid})", said)
        self.assertEqual(LAB_WWW, dig(first, "www.lab.example", "A").data)

    def test_a_port_in_use_by_another_program_on_udp_only(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
            server = Daemon([self.provider.provider("json")])
            holder.bind(server.address)
            said = self.refused(server)
        self.assertRegex(said, rf"{server.listen[0]} \(udp\).*in use.*python3 \(pid {os.getpid()}\)")

    def test_port_0_is_one_port(self):
        """The kernel chooses the port, the same one for UDP and TCP, and the daemon logs it."""
        server = Daemon([self.provider.provider("json")], listen=["127.0.0.1:0"])
        self.own(server).up()
        port = int(re.search(r"listening on 127\.0\.0\.1:(\d+) ", server.log).group(1))
        for client in Datagrams(("127.0.0.1", port)), Stream(("127.0.0.1", port)):
            with client:
                self.assertEqual({"127.0.0.1"}, client.ask("localhost").addresses)

    def test_bad_settings_are_found_with_line_and_column(self):
        server = Daemon([self.provider.provider("json")], server='thread = 2')
        said = self.refused(server)
        line = server.settings().splitlines().index("thread = 2") + 1
        self.assertRegex(said, rf"{re.escape(str(server.config))}:{line}:\d+: unknown key \"thread\".*\"threads\"")
        checked = httpdnsd("--check", "--config", server.config)
        self.assertEqual((1, ""), (checked.returncode, checked.stdout))
        self.assertIn(f":{line}:", checked.stderr)

    def test_all_that_is_wrong_is_said_at_once(self):
        server = Daemon([self.provider.provider("json")], server='threads = "many"',
                        sections='[cache]\nmin-ttl = "5 parsecs"')
        said = self.refused(server)
        self.assertEqual(2, len(re.findall(rf"^httpdnsd: {re.escape(str(server.config))}:\d+:\d+: ", said, re.M)), said)

    def test_a_file_that_is_missing(self):
        done = httpdnsd("--config", "/nonexistent/httpdnsd.toml", "--check")
        self.assertEqual(1, done.returncode)
        self.assertIn("/nonexistent/httpdnsd.toml", done.stderr)

    def test_usage(self):
        for arguments in (["--frobnicate"], ["--listen"], ["--listen", "here"], ["extra"]):
            with self.subTest(arguments):
                done = httpdnsd(*arguments)
                self.assertEqual((3, ""), (done.returncode, done.stdout))
                self.assertTrue(done.stderr.startswith("httpdnsd: "))
        for arguments in (["--version"], ["--help"]):
            self.assertEqual(0, httpdnsd(*arguments).returncode)

    def test_effective_settings_are_valid_settings(self):
        server = self.own(Daemon([self.provider.provider("doh-post")])).run()
        printed = httpdnsd("--print-effective", "--config", server.config)
        self.assertEqual(0, printed.returncode)
        again = server.directory / "effective.toml"
        again.write_text(printed.stdout)
        self.assertEqual(printed.stdout, httpdnsd("--print-effective", "--config", again).stdout)
        checked = httpdnsd("--check", "--config", again)
        self.assertEqual((0, f"{again}: valid: 1 provider, 0 rules\n"), (checked.returncode, checked.stdout))
        server.wait_for("ready:")

    def test_listen_on_the_command_line(self):
        server = Daemon([self.provider.provider("json")])
        port = free_port()
        server.config.write_text(server.settings())
        server.start(paths.binaries / "httpdnsd", "--config", server.config, "--listen", f"127.0.0.1:{port}")
        self.own(server).wait_for(f"ready: listening on 127.0.0.1:{port} ")
        server.port = port
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_another_daemons_control_socket_is_left_alone(self):
        first = self.daemon([self.provider.provider("json")])
        second = Daemon(first.providers)
        second.control = first.control
        self.assertIn(str(first.control), self.refused(second))
        self.assertEqual(1, first.stats()["schema"])

    def test_a_control_socket_that_a_crash_left_behind_is_replaced(self):
        server = self.daemon([self.provider.provider("json")])
        server.kill()
        self.assertTrue(server.control.exists())
        server.up()
        self.assertEqual(1, server.stats()["schema"])


class Ending(Case):
    def test_a_clean_end(self):
        provider = self.lab()
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                server = self.daemon([provider.provider("json")])
                self.assertTrue(server.control.exists())
                server.signal(number)
                self.assertEqual(0, server.process.wait(5))
                self.assertFalse(server.control.exists())
                self.assertRegex(server.log, f"stopping on {number.name}\nhttpdnsd: stopped\n$")

    def test_a_clean_end_amid_questions(self):
        provider = self.lab()
        server = self.daemon([provider.provider("json")])
        provider.fault("hang")
        with Datagrams(server.address) as client:
            for number in range(50):
                client.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\x03%03d\x03any\x03lab\x07example\0\0\1\0\1" % number)
            eventually(lambda: server.stats()["inflight"] == 50)
            began = time.monotonic()
            self.assertEqual(0, server.stop())
            self.assertLess(time.monotonic() - began, 2)


class Reloading(Case):
    def setUp(self):
        self.provider = self.lab()
        self.server = self.daemon([self.provider.provider("json")])

    def rewrite(self, **changes):
        for key, value in changes.items():
            setattr(self.server, key, value)
        self.server.config.write_text(self.server.settings())
        return self.server.reload()

    def test_the_cache_is_kept(self):
        self.assertEqual(LAB_WWW, dig(self.server, "www.lab.example", "A").data)
        self.assertIn("settings reloaded", self.server.reload())
        self.assertEqual(LAB_WWW, dig(self.server, "www.lab.example", "A").data)
        self.assertEqual(1, self.provider.asked("www.lab.example"))

    def test_new_providers_are_asked_from_now_on(self):
        dig(self.server, "www.lab.example", "A")
        self.rewrite(providers=[self.provider.provider("doh", "newcomer")])
        self.assertEqual({"192.0.2.99"}, dig(self.server, "reload.any.lab.example", "A").data)
        self.assertEqual({"json": 1, "newcomer": 1}, self.provider.requests()["providers"])
        self.assertEqual(["newcomer"], [provider["name"] for provider in self.server.stats()["providers"]])

    def test_a_new_policy_holds_for_new_answers(self):
        self.rewrite(sections='[cache]\nmax-ttl = "7s"')
        self.assertEqual("7", dig(self.server, "www.lab.example", "A").answer[0][1])

    def test_a_broken_file_is_refused_and_the_old_settings_stay_in_force(self):
        good = self.server.providers
        said = self.rewrite(providers=[self.provider.provider("doh", "newcomer", adresses=["127.0.0.1"])])
        self.assertRegex(said, r"not reloaded, the old ones stay in force:\n  .*httpdnsd.toml:\d+:\d+: .*\"addresses\"")
        self.assertEqual(LAB_WWW, dig(self.server, "www.lab.example", "A").data)
        self.assertEqual({"json": 1}, self.provider.requests()["providers"])
        self.server.config.write_text("[[provider")
        self.assertIn("not reloaded", self.server.reload())
        self.server.config.unlink()
        self.assertIn("not reloaded", self.server.reload())
        self.assertIn("settings reloaded", self.rewrite(providers=good))

    def test_what_needs_a_restart_is_said(self):
        said = self.rewrite(listen=[f"127.0.0.1:{free_port()}"])
        self.assertRegex(said, "restart is needed for .*listen")
        self.assertEqual(LAB_WWW, dig(self.server, "www.lab.example", "A").data)

    def test_questions_in_flight_survive(self):
        self.provider.fault("delay", name="flight.any.lab.example", value=700)
        with Datagrams(self.server.address) as client:
            client.send(b"\0\7\1\0\0\1\0\0\0\0\0\0\x06flight\x03any\x03lab\x07example\0\0\1\0\1")
            eventually(lambda: self.server.stats()["inflight"] == 1)
            self.rewrite(providers=[self.provider.provider("doh", "newcomer")])
            reply = client.receive()
        self.assertEqual((0, {"192.0.2.99"}), (reply.rcode, reply.addresses))
