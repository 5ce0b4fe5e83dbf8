# Nameservers with a name of their own ([[nameserver]]): only they get the queries for their names, over UDP, TCP and
# TLS.

import concurrent.futures
import socket
import ssl
import tempfile
import threading
import time
from pathlib import Path

from cases import LAB_WWW, Case
from certificates import Authority
from dig import dig
from fakes import FakeNameserver, question, reply
from paths import entrust, eventually, free_port
from programs import Unbound, ctl
from wire import ask_all

CORP = {"10.1.2.3"}
ZONES = """
    local-zone: "corp.lab.example." static
    local-data: "www.corp.lab.example. 600 IN A 10.1.2.3"
    local-data: "www.corp.lab.example. 600 IN AAAA fd00::3"
    local-data: 'www.corp.lab.example. 600 IN TXT "{word}"'
    local-data: "brief.corp.lab.example. 1 IN A 10.1.2.4"
    local-zone: "10.in-addr.arpa." static
    local-data: "3.2.1.10.in-addr.arpa. 600 IN PTR www.corp.lab.example."
    local-zone: "home.arpa." static
    local-data: "box.home.arpa. 600 IN A 10.1.2.5"
    local-zone: "intranet." static
    local-data: "intranet. 600 IN A 10.1.2.6"
    local-zone: "lab.example." static
    local-data: "www.lab.example. 600 IN A 10.1.2.7"
"""
NAMES = ["corp.lab.example", "10.in-addr.arpa", "home.arpa", "intranet"]


def nameserver(servers, name="corp", names=NAMES, **keys):
    lists = [f"{key} = [" + ", ".join(f'"{each}"' for each in value) + "]" for key, value in
             (("servers", servers), ("names", names)) if value]
    return "\n".join(
        ["[[nameserver]]", f'name = "{name}"', *lists, *(f'{key.replace("_", "-")} = "{keys[key]}"' for key in keys),
         ""])


class Accepting:
    """A TCP server that counts its connections, and gives each to `_take` on a thread of its own."""

    def __init__(self):
        self.count = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.server = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self._take, args=(client,), daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Relay(Accepting):
    """Passes TCP connections on and counts them; `cut` ends those that are open, as a server does with idle ones."""

    def __init__(self, port):
        self.port = port
        self.open, self.muted = [], []
        super().__init__()

    def _take(self, client):
        server = socket.create_connection(("127.0.0.1", self.port))
        self.open += [client, server]
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def mute(self):
        """Stops the data of the open connections without closing them."""
        self.muted = list(self.open)

    def _pass(self, source, target):
        try:
            while chunk := source.recv(65536):
                if source not in self.muted:
                    target.sendall(chunk)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def cut(self):
        for each in self.open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.open = []

    def close(self):
        self.cut()
        super().close()


class OverTCP(Accepting):
    """A DNS server whose UDP port is closed."""

    def __init__(self, respond):
        self.respond, self.queries = respond, []
        super().__init__()

    def _take(self, client):
        with client:
            query = client.recv(65536)[2:]
            self.queries.append((query, None, True))
            for message in self.respond(query, True):
                client.sendall(len(message).to_bytes(2) + message)


class FewAnswers(Accepting):
    """A DNS-over-TLS server that answers some queries of each connection and then closes it, with others unanswered.
    `most`: the limit of connections, over which it closes without an answer. `flushes`: whether it sends its last
    answers before it closes."""

    def __init__(self, certificate, key, address, answers=1, most=1 << 30, flushes=True, delay=0.05):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.address, self.answers, self.most, self.flushes, self.delay = address, answers, most, flushes, delay
        self.lock, self.open = threading.Lock(), 0
        super().__init__()

    def _take(self, client):
        with self.lock:
            self.open += 1
            isServed = self.open <= self.most
        try:
            if self.flushes:
                # Closing with queries unread discards an answer that waits for the acknowledgement of earlier data.
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.context.wrap_socket(client, server_side=True) as stream:
                reader = stream.makefile("rb")
                for _ in range(self.answers if isServed else 0):
                    self._answer(reader.read(int.from_bytes(reader.read(2))), stream)
        except (OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.open -= 1

    def _answer(self, query, stream):
        name, type = question(query)
        time.sleep(self.delay)
        message = reply(query, [(name, 1, 600, socket.inet_aton(self.address))] if type == 1 else [])
        stream.sendall(len(message).to_bytes(2) + message)


class Named(Case):
    """The base of tests with a daemon whose other upstreams must not get the names."""

    def unbound(self, word="first", certificate=None, **options):
        return self.own(Unbound(ZONES.format(word=word), certificate, **options)).up()

    def serve(self, *sections, **options):
        """Starts a daemon with a provider and a system resolver, each of which knows every name that the tests ask
        for."""
        self.provider = self.lab()
        for name in ("www.corp.lab.example", "box.home.arpa", "intranet", "brief.corp.lab.example"):
            self.provider.record(name, "A", "192.0.2.66")
        self.system = FakeNameserver(lambda query, _: [reply(query, [("x.example", 1, 60, bytes([192, 0, 2, 67]))])])
        self.addCleanup(self.system.close)
        return self.daemon(
            [self.provider.provider("json"), self.provider.provider("doh")], system=[self.system.server],
            sections="\n".join(sections), **options)

    def change(self, server, *sections):
        server.sections = "\n".join(sections)
        server.config.write_text(server.settings())
        return server.reload()

    def assertNoLeak(self):
        """Checks that neither the provider nor the system resolver got a question for a name of the nameserver."""
        asked = [each for each in self.system.queries if b"httpdnsd-loop" not in each[0]]
        for word in ("corp", "home", "intranet", "10"):
            self.assertFalse([each for each in asked if bytes([len(word)]) + word.encode() in each[0]])
            self.assertFalse([each for each in self.provider.requests()["names"] if word in each.split(".")])

    def entry(self, server, name="corp"):
        return next(each for each in server.stats()["nameservers"] if each["name"] == name)


class Plain(Named):
    """Nameservers over UDP and TCP."""

    expected_seconds = 6

    def test_names_go_there_and_nowhere_else(self):
        corp = self.unbound()
        server = self.serve(nameserver([corp.server]))
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        self.assertEqual({"fd00::3"}, dig(server, "www.corp.lab.example", "AAAA").data)
        self.assertEqual({'"first"'}, dig(server, "www.corp.lab.example", "TXT", "+tcp").data)
        self.assertEqual({"www.corp.lab.example."}, dig(server, "-x", "10.1.2.3").data)
        self.assertEqual({"10.1.2.5"}, dig(server, "box.home.arpa", "A").data)
        self.assertEqual({"10.1.2.6"}, dig(server, "intranet", "A").data)
        self.assertEqual("NXDOMAIN", dig(server, "none.corp.lab.example", "A").status)
        self.assertEqual("NXDOMAIN", dig(server, "-x", "10.9.9.9").status)
        self.assertEqual("NOERROR", dig(server, "www.corp.lab.example", "MX").status)
        self.assertNoLeak()
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertSums(server.stats())

    def test_the_operators_switch_and_only_listed_do_not_turn_names_away(self):
        corp = self.unbound()
        server = self.serve(nameserver([corp.server]))
        self.assertEqual(0, ctl(server, "httpdns", "off").returncode)
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        self.assertNoLeak()

    def test_a_rule_names_a_nameserver_and_the_longest_match_counts(self):
        corp = self.unbound()
        server = self.serve(
            nameserver([corp.server], names=["corp.lab.example"]), '[[rule]]\nmatch = ["lab.example"]\nresolver = "corp"\n',
            '[[rule]]\nmatch = ["brief.corp.lab.example"]\nresolver = "httpdns"\n')
        self.assertEqual({"10.1.2.7"}, dig(server, "www.lab.example", "A").data)
        self.assertEqual({"192.0.2.66"}, dig(server, "brief.corp.lab.example", "A").data)
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)

    def test_the_second_server_answers_if_the_first_is_dead_or_silent(self):
        corp = self.unbound()
        silent = FakeNameserver(lambda *_: [])
        self.addCleanup(silent.close)
        server = self.serve(nameserver([f"127.0.0.1:{free_port()}", silent.server, corp.server]))
        began = time.monotonic()
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        self.assertLess(time.monotonic() - began, 3)
        # The silent server is asked over TCP as well, in parallel with the third server.
        self.assertEqual([False, True], [is_stream for _, _, is_stream in silent.queries])
        for name in ("box.home.arpa", "intranet", "brief.corp.lab.example"):
            answer = dig(server, name, "A")
            self.assertTrue(answer.data)
            self.assertLess(answer.seconds, 0.5, "the server that replied goes first")
        self.assertEqual(2, len(silent.queries))
        self.assertEqual("up", self.entry(server)["state"])
        self.assertIn(f"nameserver {silent.server} does not reply", server.log)
        self.assertNoLeak()

    def test_a_server_that_answers_over_tcp_only_is_asked_so(self):
        def answers(query, is_stream):
            return [reply(query, [(question(query)[0], 1, 60, bytes([10, 1, 2, 3]))])] if is_stream else []
        for corp, longest in ((FakeNameserver(answers), 1.6), (OverTCP(answers), 0.5)):
            self.addCleanup(corp.close)
            server = self.serve(nameserver([corp.server]))
            answer = dig(server, "one.corp.lab.example", "A")
            self.assertEqual(CORP, answer.data)
            self.assertLess(answer.seconds, longest)
            # A repeat over UDP may arrive in parallel with the query over TCP.
            asked = [is_stream for _, _, is_stream in corp.queries]
            self.assertIn(True, asked)
            for number in range(5):
                answer = dig(server, f"n{number}.corp.lab.example", "A")
                self.assertEqual(CORP, answer.data)
                self.assertLess(answer.seconds, 0.5)
            self.assertEqual([True] * 5, [is_stream for _, _, is_stream in corp.queries][len(asked):])
            self.assertIn(f"nameserver {corp.server} replies over TCP, not over UDP", server.log)

    def test_a_dead_nameserver_gives_servfail_at_once(self):
        server = self.serve(nameserver([f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"]))
        for name, type in (("www.corp.lab.example", "A"), ("3.2.1.10.in-addr.arpa", "PTR"), ("box.home.arpa", "AAAA")):
            began = time.monotonic()
            answer = dig(server, name, type)
            self.assertEqual("SERVFAIL", answer.status)
            self.assertIn(answer.extended_error, (22, 23))
            self.assertLess(time.monotonic() - began, 0.8)
        self.assertNoLeak()
        entry = self.entry(server)
        self.assertEqual(3, entry["failures"]["refused"])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_a_silent_nameserver_costs_the_whole_time_twice(self):
        corp = FakeNameserver(lambda *_: [])
        self.addCleanup(corp.close)
        server = self.serve(nameserver([corp.server]))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda name: dig(server, f"{name}.corp.lab.example", "A"), ("one", "two")))
        self.assertEqual(["SERVFAIL"] * 2, [answer.status for answer in answers])
        for name in ("three", "four"):
            answer = dig(server, f"{name}.corp.lab.example", "A")
            self.assertEqual("SERVFAIL", answer.status)
            self.assertLess(answer.seconds, 2.6, "two requests of 1 s each")
        corp.respond = lambda query, _: [reply(query, [(question(query)[0], 1, 60, bytes([10, 1, 2, 3]))])]
        self.assertEqual(CORP, dig(server, "five.corp.lab.example", "A").data)
        self.assertNoLeak()

    def test_an_expired_answer_serves_while_it_is_dead(self):
        corp = self.unbound()
        server = self.serve(nameserver([corp.server]), "[prefetch]\nenabled = false\n")
        dig(server, "brief.corp.lab.example", "A")
        eventually(lambda: " A expired " in ctl(server, "cache", "ls", "brief.corp.lab.example").stdout)
        corp.kill()
        answer = dig(server, "brief.corp.lab.example", "A")
        self.assertEqual(({"10.1.2.4"}, 3), (answer.data, answer.extended_error))
        self.assertNoLeak()

    def test_a_reload_changes_servers_and_names(self):
        first, second = self.unbound(), self.unbound("second")
        server = self.serve(nameserver([first.server]))
        self.assertEqual({'"first"'}, dig(server, "www.corp.lab.example", "TXT").data)
        self.assertIn("settings", self.change(server, nameserver([second.server])))
        self.assertEqual({'"second"'}, dig(server, "www.corp.lab.example", "TXT").data)
        self.assertNoLeak()
        # The names have no nameserver of their own any more.
        self.change(server)
        self.assertEqual({"192.0.2.66"}, dig(server, "www.corp.lab.example", "A").data)
        self.change(server, nameserver([first.server]))
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        self.assertIn("old ones stay in force", self.change(server, nameserver([first.server], names=["corp.*"])))
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)

    def test_a_restart_with_a_nameserver_forgets_what_others_had_said(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="e2e-named-")))
        server = self.serve(store=entrust(folder) / "cache.db")
        self.assertEqual({"192.0.2.66"}, dig(server, "www.corp.lab.example", "A").data)
        server.stop()
        corp = self.unbound()
        server.sections = nameserver([corp.server])
        since = len(server.log)
        server.up()
        server.wait_for("answers? loaded from", since=since)
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)

    def test_the_daemon_itself_is_refused_as_a_server(self):
        corp = self.unbound()
        server = self.serve(nameserver([corp.server]))
        text = self.change(server, nameserver([corp.server, server.listen[0]]))
        self.assertIn(f'nameserver.servers of "corp": found "{server.listen[0]}", where the daemon itself', text)
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)

    def test_an_interface_is_the_only_way(self):
        corp = self.unbound()
        server = self.serve(nameserver([corp.server], interface="lo"))
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A", "+tcp").data)
        # The interface does not exist, so no route is tried, over UDP or TCP.
        server = self.serve(nameserver([corp.server], interface="nosuch0"))
        for name, type in (("www.corp.lab.example", "A"), ("3.2.1.10.in-addr.arpa", "PTR")):
            began = time.monotonic()
            self.assertEqual("SERVFAIL", dig(server, name, type).status)
            self.assertLess(time.monotonic() - began, 0.8)
        self.assertEqual(2, self.entry(server)["failures"]["unreachable"])
        self.assertNoLeak()

    def test_it_is_explained_and_counted(self):
        corp = self.unbound()
        server = self.serve(nameserver([corp.server]), pages="127.0.0.1:0")
        dig(server, "www.corp.lab.example", "A")
        text = ctl(server, "explain", "www.corp.lab.example").stdout
        self.assertIn("nameserver corp only", text)
        self.assertIn("corp.lab.example", text)
        text = ctl(server, "explain", "box.home.arpa").stdout
        self.assertIn("nameserver corp only, by a rule", text)
        self.assertIn("rule     home.arpa: resolver = corp", text)
        entry = self.entry(server)
        self.assertEqual(("dns", "up", 1), (entry["dialect"], entry["state"], entry["requests"]))
        self.assertEqual([corp.server], [each["name"] for each in entry["addresses"]])
        self.assertIn("corp", ctl(server, "providers").stdout)
        metrics = ctl(server, "stats", "--prometheus").stdout
        self.assertIn('httpdnsd_nameserver_up{nameserver="corp"} 1', metrics)
        self.assertIn('httpdnsd_nameserver_requests_total{nameserver="corp",result="success"} 1', metrics)


class OverTLS(Named):
    """Nameservers over DNS over TLS."""

    expected_seconds = 4

    def setUp(self):
        directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="e2e-named-")))
        # The daemon reads the directory as another user.
        directory.chmod(0o755)
        self.authority = Authority(directory)
        self.ca_file = self.authority.ca_file
        self.certificate = self.authority.certificate("dns.corp.example", "127.0.0.1")

    def secure(self, servers, **keys):
        return self.serve(nameserver(servers, ca_file=self.ca_file, **keys))

    def test_many_questions_share_a_connection(self):
        relay = Relay(self.unbound(certificate=self.certificate).port)
        self.addCleanup(relay.close)
        server = self.secure([f"tls://{relay.server}#dns.corp.example"])
        for number in range(20):
            self.assertEqual("NXDOMAIN", dig(server, f"n{number}.corp.lab.example", "A").status)
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        self.assertEqual(1, relay.count)
        connections = self.entry(server)["connections"]
        self.assertEqual((1, 1, 20), (connections["open"], connections["opened"], connections["reused"]))
        # The server closes the idle connection, so the next question dials again.
        relay.cut()
        self.assertEqual({"10.1.2.5"}, dig(server, "box.home.arpa", "A").data)
        self.assertEqual(2, relay.count)
        self.assertNoLeak()

    def test_a_connection_that_stalls_is_replaced(self):
        relay = Relay(self.unbound(certificate=self.certificate).port)
        self.addCleanup(relay.close)
        server = self.secure([f"tls://{relay.server}#dns.corp.example"])
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        relay.mute()
        dig(server, "box.home.arpa", "A")
        self.assertEqual({"10.1.2.6"}, dig(server, "intranet", "A").data)
        self.assertEqual(2, relay.count)
        eventually(lambda: dig(server, "box.home.arpa", "A").data == {"10.1.2.5"}, what="its failure is forgotten")

    def test_a_young_question_on_a_connection_that_stalls_is_asked_again(self):
        relay = Relay(self.unbound(certificate=self.certificate).port)
        self.addCleanup(relay.close)
        server = self.secure([f"tls://{relay.server}#dns.corp.example"])
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        relay.mute()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            old = pool.submit(dig, server, "box.home.arpa", "A")
            time.sleep(1.5)
            self.assertEqual({"10.1.2.6"}, dig(server, "intranet", "A").data)
            old.result()
        self.assertEqual(2, relay.count)

    def test_a_handshake_that_never_ends_is_given_up(self):
        deaf = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(deaf.close)
        corp = self.unbound(certificate=self.certificate)
        server = self.secure(["tls://127.0.0.1:%d" % deaf.getsockname()[1], f"tls://{corp.server}"])
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
        client, _ = deaf.accept()
        with client:
            client.settimeout(4)
            while client.recv(65536):
                pass

    def few_answers(self, **options):
        few = FewAnswers(*self.certificate, "10.1.2.9", **options)
        self.addCleanup(few.close)
        return few, self.secure([f"tls://{few.server}#dns.corp.example"])

    def asks(self, server, count):
        replies = ask_all(server, [(f"n{number}.corp.lab.example", "A") for number in range(count)])
        self.assertEqual([{"10.1.2.9"}] * count, [each.addresses for each in replies.values()])

    def test_a_server_that_closes_after_some_answers_answers_everything(self):
        for answers, count in ((1, 6), (1, 100), (10, 100), (3, 50)):
            with self.subTest(answers=answers, count=count):
                few, server = self.few_answers(answers=answers)
                self.assertEqual({"10.1.2.9"}, dig(server, "n.corp.lab.example", "A").data)
                self.asks(server, count)
                self.assertGreaterEqual(few.count, (count + 1) // answers)
                # A query that the server drops costs little more than one that it answers.
                self.assertLess(few.count, 2 * count // answers + 20)

    def test_a_server_that_closes_after_an_answer_and_takes_few_connections(self):
        few, server = self.few_answers(most=1, delay=0.01)
        self.asks(server, 40)

    def test_a_server_that_closes_with_its_answer_unsent(self):
        few, server = self.few_answers(flushes=False)
        self.asks(server, 40)

    def test_a_server_that_closes_without_an_answer_fails_soon(self):
        few, server = self.few_answers(answers=0)
        began = time.monotonic()
        self.assertEqual("SERVFAIL", dig(server, "n.corp.lab.example", "A").status)
        self.assertLess(time.monotonic() - began, 1.5)
        self.assertLess(few.count, 8)

    def test_the_certificate_may_be_for_the_address(self):
        corp = self.unbound(certificate=self.certificate)
        server = self.secure([f"tls://{corp.server}"])
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)

    def test_a_certificate_for_another_name_is_refused(self):
        corp = self.unbound(certificate=self.certificate)
        server = self.secure([f"tls://{corp.server}#dns.other.example"])
        answer = dig(server, "www.corp.lab.example", "A")
        self.assertEqual("SERVFAIL", answer.status)
        self.assertEqual(1, self.entry(server)["failures"]["tls"])
        self.assertNoLeak()
        # The system's authorities did not issue it.
        self.change(server, nameserver([f"tls://{corp.server}#dns.corp.example"]))
        self.assertEqual("SERVFAIL", dig(server, "www.corp.lab.example", "A").status)
        self.change(server, nameserver([f"tls://{corp.server}#dns.corp.example"], ca_file=self.ca_file))
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)

    def test_another_server_takes_over(self):
        corp = self.unbound(certificate=self.certificate)
        bad = self.unbound("bad", certificate=self.authority.certificate("bad.example"))
        server = self.secure([f"tls://127.0.0.1:{free_port()}", f"tls://{bad.server}#dns.corp.example", corp.server])
        # The last server speaks TLS only: it fails over UDP and works over TLS.
        self.change(server, nameserver(
            [f"tls://127.0.0.1:{free_port()}", f"tls://{bad.server}#dns.corp.example",
             f"tls://{corp.server}#dns.corp.example"], ca_file=self.ca_file))
        self.assertEqual({'"first"'}, dig(server, "www.corp.lab.example", "TXT").data)

    def test_a_file_without_certificates_is_refused(self):
        corp = self.unbound(certificate=self.certificate)
        server = self.secure([f"tls://{corp.server}"])
        text = self.change(server, nameserver([f"tls://{corp.server}"], ca_file="/dev/null"))
        self.assertIn('nameserver.ca-file of "corp"', text)
        self.assertEqual(CORP, dig(server, "www.corp.lab.example", "A").data)
