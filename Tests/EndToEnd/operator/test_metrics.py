# The HTTP listener: its replies to valid requests, its refusals, and hostile readers.

import json
import os
import re
import socket
import subprocess
import time
import unittest

import scraping
from cases import Case, closed_provider
from paths import PATIENCE, eventually, free_port
from programs import Daemon, ctl
from test_hostile_clients import cpu_seconds
from wire import Datagrams


def connect(page, receive_buffer=None):
    host, port = re.match("http://(.*):(.*)/", page).groups()
    client = socket.socket()
    client.settimeout(20)
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.connect((host, int(port)))
    return client


def rest(client):
    """The remaining bytes; a reset ends them, too."""
    received = b""
    try:
        while chunk := client.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


class Metrics(Case):
    def setUp(self):
        self.provider = self.lab()
        self.server = self.daemon([self.provider.provider("json")], pages="127.0.0.1:0")
        with Datagrams(self.server.address) as client:
            for _ in range(20):
                client.ask("www.lab.example")

    def test_promtool_accepts_them(self):
        text = scraping.get(self.server.page, "/metrics").text
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))

    def test_socket_and_listener_say_the_same(self):
        told = scraping.values(self.server.ask_control("stats --prometheus"))
        served = scraping.values(scraping.get(self.server.page, "/metrics").text)
        self.assertEqual(told.keys(), served.keys())
        self.assertEqual(told["httpdnsd_queries_total"], served["httpdnsd_queries_total"])
        self.assertEqual({'{proto="udp"}': 20.0, '{proto="tcp"}': 0.0}, told["httpdnsd_queries_total"])
        refused = ctl(self.server, "--json", "stats", "--prometheus")
        self.assertEqual(1, refused.returncode)
        self.assertIn("--prometheus is not allowed in JSON", refused.stdout + refused.stderr)

    def test_each_path_has_its_type_and_a_policy(self):
        for path, kind in (("/", "text/html"), ("/metrics", "text/plain; version=0.0.4"),
                           ("/metrics?name=x", "text/plain"), ("/status.json", "application/json"),
                           ("/history.json", "application/json"), ("/history.json?span=24h", "application/json"),
                           ("/names.json", "application/json"), ("/explain?name=x.example", "text/plain")):
            response = scraping.get(self.server.page, path)
            self.assertEqual(200, response.status, path)
            self.assertTrue(response.headers["Content-Type"].startswith(kind), path)
            self.assertTrue(response.headers["Content-Security-Policy"].startswith("default-src 'none'"), path)
            self.assertEqual("no-store", response.headers["Cache-Control"])
            self.assertEqual("close", response.headers["Connection"])

    def test_head_has_the_length_and_no_body(self):
        response = scraping.get(self.server.page, "/", "HEAD")
        self.assertEqual((200, ""), (response.status, response.text))
        self.assertGreater(int(response.headers["Content-Length"]), 10000)

    def test_what_is_not_for_reading_is_refused(self):
        for method, path, headers, status in (
                ("POST", "/metrics", {}, 405), ("DELETE", "/", {}, 405), ("GET", "/x", {}, 404),
                ("GET", "/metrics", {"Host": "evil.example"}, 421), ("GET", "/metrics", {"Host": "localhost:1"}, 200),
                ("GET", "/explain?name=x.example", {"Sec-Fetch-Site": "cross-site"}, 403),
                ("GET", "/", {"Sec-Fetch-Site": "cross-site"}, 200), ("GET", "/history.json?span=7d", {}, 400)):
            self.assertEqual(status, scraping.get(self.server.page, path, method, **headers).status, (method, path))
        self.assertEqual("GET, HEAD", scraping.get(self.server.page, "/", "POST").headers["Allow"])

    def test_an_explanation_has_the_text_of_the_command_and_its_limits(self):
        def explain(query):
            return scraping.get(self.server.page, f"/explain?{query}")

        def lines(text):
            # Values that change from one moment to the next are left out.
            return [line.split()[0] for line in text.splitlines() if line and line[0] != " "]

        told = self.server.ask_control("explain www.lab.example AAAA")
        served = explain("name=www.lab.example&type=AAAA")
        self.assertEqual((200, lines(told)), (served.status, lines(served.text)))
        self.assertEqual("www.lab.example AAAA", served.text.splitlines()[0])
        international = explain("name=b%C3%BCcher.example")
        self.assertEqual((200, "xn--bcher-kva.example A"), (international.status, international.text.splitlines()[0]))
        self.assertEqual(international.text, self.server.ask_control("explain bücher.example"))
        for query in ("name=a%00.example", "name=%FF"):
            self.assertEqual(400, explain(query).status)
        self.assertEqual(400, scraping.get(self.server.page, "/metrics%00x").status)
        for query, line in (("", "explain"), ("name=", "explain"), ("name=a..b", "explain a..b"), ("name=" + "x" * 300, "explain " + "x" * 300),
                            ("name=x.example&type=Q", "explain x.example Q")):
            self.assertEqual((400, self.server.ask_control(line)), (explain(query).status, explain(query).text))
        refused = [reply for reply in (explain("name=x.example") for _ in range(100)) if reply.status != 200]
        self.assertTrue(refused)
        self.assertEqual({(429, "error: too many explanations; allowed: 20 a second for all users together\n")},
                         {(reply.status, reply.text) for reply in refused})

    def test_the_names_are_those_asked_and_those_that_failed(self):
        with Datagrams(self.server.address) as client:
            client.ask("gone.elsewhere.example")
        names = json.loads(scraping.get(self.server.page, "/names.json").text)
        self.assertEqual("www.lab.example", names["asked"][0]["name"])
        self.assertEqual(
            [("gone.elsewhere.example", "A", "the upstream replied REFUSED", ["json: REFUSED"], 1, False)],
            [tuple(each[key] for key in ("name", "type", "reason", "sources", "times", "over"))
             for each in names["failed"]])
        self.assertEqual([], names["evidence"])

    def test_two_requests_on_one_connection_are_one(self):
        with connect(self.server.page) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
            self.assertEqual(1, rest(client).count(b"HTTP/1.1 "))


class Place(Case):
    def test_a_port_that_is_taken_is_said_with_its_holder(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            where = f"127.0.0.1:{holder.getsockname()[1]}"
            server = self.own(Daemon([closed_provider()], pages=where))
            server.expected_exit = 1
            server.run()
            server.wait_for(f"metrics-listen {where}: the port is in use, held by python3.*; stop it, or set it")
            self.assertEqual(1, server.process.wait(PATIENCE))

    def test_everybody_is_warned_of(self):
        server = self.daemon([closed_provider()], pages=f"0.0.0.0:{free_port()}")
        server.wait_for("every host that can reach 0.0.0.0:.* may read metrics")

    def test_loopback_is_not_warned_of_and_without_the_setting_nothing_listens(self):
        server = self.daemon([closed_provider()], pages="127.0.0.1:0")
        self.assertTrue(server.page)
        self.assertNotIn("everybody", server.log)
        quiet = self.daemon([closed_provider()])
        self.assertNotIn("metrics", quiet.log)


class HostileReaders(Case):
    """Hostile readers do no harm: names are answered, other readers get their page, and the descriptors are closed."""

    expected_seconds = 30

    def setUp(self):
        self.provider = self.lab()
        self.server = self.daemon([self.provider.provider("json")], pages="127.0.0.1:0")
        with Datagrams(self.server.address) as client:
            client.ask("www.lab.example")
        self.page = self.server.page
        self.descriptors = self.open_descriptors()

    def open_descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def serves(self):
        with Datagrams(self.server.address) as client:
            began = time.monotonic()
            self.assertEqual(0, client.ask("www.lab.example").rcode)
            self.assertLess(time.monotonic() - began, 1)

    def comes_back(self):
        # The provider's connections come and go by themselves.
        eventually(lambda: self.open_descriptors() <= self.descriptors + 2, what="the descriptors are back")
        self.assertEqual(200, scraping.get(self.page, "/metrics").status)

    def test_half_a_request_holds_up_nobody(self):
        clients = [connect(self.page) for _ in range(8)]
        for client in clients:
            client.sendall(b"GET /metrics HT")
        before = cpu_seconds(self.server)
        for _ in range(20):
            self.serves()
            self.assertEqual(200, scraping.get(self.page, "/metrics").status)
        self.assertLess(cpu_seconds(self.server) - before, 0.5)
        for client in clients:
            client.close()
        self.comes_back()
        self.assertEqual(0, self.server.stats()["pages"]["cut"])

    def test_headers_without_end_are_refused(self):
        for head in (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
                     b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n"):
            with connect(self.page) as client:
                try:
                    client.sendall(head)
                except OSError:
                    continue
                received = rest(client)
                self.assertTrue(received == b"" or received.split()[1][:1] == b"4", received[:80])
        self.serves()
        self.comes_back()

    def test_noise_is_no_request(self):
        clients = [connect(self.page) for _ in range(7)]
        noises = (b"\0" * 1000, b"\r\n" * 5000, b"\x16\x03\x01\x02\x00\x01" * 20, b"GET / HTTP/9.9\r\n\r\n",
                  b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                  b"GET http://evil.example/ HTTP/1.1\r\n\r\n")
        for client, noise in zip(clients, noises, strict=True):
            client.sendall(noise)
            client.shutdown(socket.SHUT_WR)
        for client in clients:
            self.assertNotIn(b" 200 ", rest(client).split(b"\r\n")[0])
            client.close()
        self.serves()
        self.comes_back()

    def test_a_thousand_connections_leave_room_for_one_that_asks(self):
        clients = []
        for _ in range(1000):
            clients.append(connect(self.page))
        self.assertLessEqual(self.open_descriptors(), self.descriptors + 40)
        self.serves()
        self.assertEqual(200, scraping.get(self.page, "/metrics").status)
        for client in clients:
            client.close()
        self.comes_back()

    @unittest.skipUnless(os.geteuid() == 0, "needs a second user")
    def test_no_number_of_connections_of_another_user_ends_those_of_root(self):
        first = connect(self.server.page)
        host, port = re.match("http://(.*):(.*)/", self.server.page).groups()
        opening = ("import socket, sys\n"
                   f"them = [socket.create_connection(('{host}', {port})) for _ in range(100)]\n"
                   "print('open', flush=True); sys.stdin.read()")
        crowd = subprocess.Popen(["/usr/bin/python3", "-c", opening], user=65534, group=65534, extra_groups=[],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(crowd.wait)
        self.addCleanup(crowd.stdin.close)
        self.addCleanup(crowd.stdout.close)
        self.assertEqual("open\n", crowd.stdout.readline())
        second = connect(self.server.page)
        for client in (first, second):
            client.sendall(f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            self.assertIn(b"200 OK", rest(client).splitlines()[0])
        self.serves()

    def test_who_does_not_read_holds_up_nobody(self):
        clients = [connect(self.page, receive_buffer=2048) for _ in range(10)]
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.serves()
        self.assertEqual(200, scraping.get(self.page, "/metrics").status)
        self.comes_back()
        for client in clients:
            client.close()

    def test_vanishing_clients_cost_nothing(self):
        for number in range(200):
            client = connect(self.page)
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[:number % 40])
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
        self.serves()
        self.comes_back()
