# Providers behind a real web server: nginx with HTTP/2, TLS and virtual hosts in front of the lab.

import itertools
import os
import socket
import tempfile
from pathlib import Path

from cases import LAB_WWW, SYSTEM_WWW, Case
from certificates import Authority
from dig import dig
from lab import Lab
from paths import eventually, free_port
from programs import NSD, Nginx
from wire import Stream, query

ONE, OTHER, UNKNOWN = "dns-one.test", "dns-other.test", "unknown.test"


def virtual_host(name, port, files, lab, provider):
    certificate, key = files
    return f"""
    server {{
        listen 127.0.0.1:{port} ssl http2;
        server_name {name};
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        location / {{ proxy_pass http://{lab.http}/p/{provider}/; }}
    }}"""


class BehindNginx(Case):
    expected_seconds = 8

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="e2e-tls-")
        os.chmod(folder.name, 0o755)
        cls.addClassCleanup(folder.cleanup)
        cls.authority = Authority(Path(folder.name))
        cls.provider = cls.share(Lab()).up()
        cls.system = cls.share(NSD()).up()
        cls.port = free_port()
        blocks = [
            virtual_host(name, cls.port, cls.authority.certificate(name), cls.provider, provider)
            for name, provider in ((ONE, "one"), (OTHER, "other"))]
        cls.nginx = cls.share(Nginx("".join(blocks))).up()

    def setUp(self):
        self.provider.reset()
        self.seen = len(self.nginx.requests())

    def secure(self, url_host, name="secure", **more):
        return {
            "name": name, "dialect": "doh", "url": f"https://{url_host}:{self.port}/dns-query",
            "addresses": ["127.0.0.1"], "ca-file": str(self.authority.ca_file), **more}

    def requests(self):
        """The requests in nginx's log since the test began."""
        return self.nginx.requests()[self.seen:]

    def assertAsked(self, provider):
        self.assertEqual({provider}, set(self.provider.requests()["providers"]))

    def test_the_right_virtual_host_answers(self):
        for host, provider in ((ONE, "one"), (OTHER, "other")):
            with self.subTest(host):
                self.provider.reset()
                server = self.daemon([self.secure(host)])
                self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
                self.assertAsked(provider)
                last = eventually(self.requests)[-1]
                self.assertEqual((host, host, host, "200"), tuple(
                    last[key] for key in ("server", "host", "sni", "status")))

    def test_http2_carries_many_questions_on_one_connection(self):
        server = self.daemon([self.secure(ONE)])
        dig(server, "www.lab.example", "A")
        self.provider.fault("delay", value=200)
        with Stream(server.address) as client:
            client.send(*(query(f"h2-{number}.any.lab.example", id=number) for number in range(50)))
            replies = [client.receive() for _ in range(50)]
        self.assertEqual({("192.0.2.99",)}, {tuple(reply.addresses) for reply in replies})
        eventually(lambda: len(self.requests()) >= 51)
        self.assertEqual({"HTTP/2.0"}, {request["protocol"] for request in self.requests()})
        self.assertLessEqual(len({request["connection"] for request in self.requests()}), 2)
        connections = server.stats()["providers"][0]["connections"]
        self.assertLessEqual(connections["opened"], 2)
        self.assertGreaterEqual(connections["reused"], 49)

    def test_http1_is_spoken_where_there_is_no_http2(self):
        port = free_port()
        block = virtual_host(ONE, port, self.authority.certificate(ONE), self.provider, "one").replace(" http2", "")
        old = self.own(Nginx(block)).up()
        server = self.daemon([self.secure(ONE, url=f"https://{ONE}:{port}/dns-query")])
        for number in range(5):
            self.assertEqual({"192.0.2.99"}, dig(server, f"h1-{number}.any.lab.example", "A").data)
        eventually(lambda: len(old.requests()) == 5)
        self.assertEqual({"HTTP/1.1"}, {request["protocol"] for request in old.requests()})
        self.assertEqual(1, len({request["connection"] for request in old.requests()}))

    def test_every_dialect_over_tls(self):
        for dialect, path in (("json", "resolve"), ("doh", "dns-query")):
            server = self.daemon([self.secure(ONE, dialect=dialect, url=f"https://{ONE}:{self.port}/{path}")])
            self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        server = self.daemon([self.secure(ONE, method="POST")])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_a_certificate_for_another_name_is_refused_and_the_next_provider_answers(self):
        server = self.daemon([self.secure(UNKNOWN, "impostor"), self.secure(OTHER, "honest")])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertAsked("other")
        self.assertEqual({"tls": 1}, server.failures("impostor"))
        self.assertEqual({}, server.failures("honest"))
        # The provider is tried in the background, and two failures in a row count against it.
        numbers = itertools.count()
        eventually(lambda: dig(server, f"n{next(numbers)}.any.lab.example", "A")
                   and "provider impostor is down: tls: " in server.log)
        self.assertSums(server.stats())

    def test_a_certificate_for_another_name_is_refused_and_the_system_resolver_answers(self):
        server = self.daemon([self.secure(UNKNOWN, "impostor")], system=[self.system.server])
        reply = dig(server, "www.lab.example", "A")
        self.assertEqual(SYSTEM_WWW, reply.data)
        self.assertLess(reply.seconds, 5)
        self.assertEqual({}, self.provider.requests()["providers"])
        self.assertEqual({"tls": 1}, server.failures("impostor"))
        self.assertEqual(1, server.stats()["responses"]["system"])

    def test_an_authority_that_is_not_trusted_is_refused(self):
        stranger = self.secure(ONE, "stranger")
        del stranger["ca-file"]
        server = self.daemon([stranger], system=[self.system.server])
        self.assertEqual(SYSTEM_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual({"tls": 1}, server.failures("stranger"))

    def test_a_name_in_the_subject_alone_is_refused_over_http2_and_http1(self):
        files = self.authority.certificate(ONE, file="subject", is_named_apart=False)
        for protocol in (" http2", ""):
            with self.subTest(protocol):
                port = free_port()
                block = virtual_host(ONE, port, files, self.provider, "one").replace(" http2", protocol)
                self.own(Nginx(block)).up()
                server = self.daemon([self.secure(ONE, "nameless", url=f"https://{ONE}:{port}/dns-query")],
                                     system=[self.system.server])
                self.assertEqual(SYSTEM_WWW, dig(server, "www.lab.example", "A").data)
                self.assertEqual({"tls": 1}, server.failures("nameless"))

    def test_a_certificate_that_has_expired_is_refused(self):
        port = free_port()
        block = virtual_host(ONE, port, self.authority.certificate(ONE, days=-1), self.provider, "one")
        self.own(Nginx(block)).up()
        server = self.daemon([self.secure(ONE, "expired", url=f"https://{ONE}:{port}/dns-query")],
                             system=[self.system.server])
        self.assertEqual(SYSTEM_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual({"tls": 1}, server.failures("expired"))
        self.assertIn("expired", server.log)

    def test_a_server_that_never_answers_the_handshake(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"https://{ONE}:{silent.getsockname()[1]}/dns-query"
            server = self.daemon([self.secure(ONE, "silent", url=url)], system=[self.system.server])
            reply = dig(server, "www.lab.example", "A")
            self.assertEqual(SYSTEM_WWW, reply.data)
            self.assertLess(reply.seconds, 2.5)
            eventually(lambda: server.failures("silent") == {"timeout": 1})

    def test_connections_that_the_server_ends_after_a_few_requests_cost_no_answer(self):
        port = free_port()
        block = virtual_host(ONE, port, self.authority.certificate(ONE), self.provider, "one")
        impatient = self.own(Nginx(block.replace("server_name", "keepalive_requests 7; server_name"))).up()
        server = self.daemon([self.secure(ONE, url=f"https://{ONE}:{port}/dns-query")])
        self.provider.fault("delay", value=20)
        with Stream(server.address) as client:
            for burst in range(6):
                client.send(*(query(f"go{burst}-{number}.any.lab.example", id=number) for number in range(30)))
                replies = [client.receive() for _ in range(30)]
                self.assertEqual({(0, "192.0.2.99")}, {(reply.rcode, *reply.addresses) for reply in replies})
        self.assertEqual({}, server.failures("secure"))
        eventually(lambda: len(impatient.requests()) >= 180)
        self.assertGreater(len({request["connection"] for request in impatient.requests()}), 6)

    def test_plain_http_behind_a_tls_address_is_refused_as_tls(self):
        port = self.provider.http.rsplit(":", 1)[1]
        server = self.daemon([self.secure(ONE, "plain", url=f"https://{ONE}:{port}/p/plain/dns-query")],
                             system=[self.system.server])
        self.assertEqual(SYSTEM_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual(["tls"], list(server.failures("plain")))

    def test_the_certificates_name_set_apart(self):
        server = self.daemon([self.secure(UNKNOWN, **{"verify-name": ONE})])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        request = eventually(self.requests)[-1]
        self.assertEqual((UNKNOWN, UNKNOWN), (request["host"], request["sni"]))
        # The first virtual host answers for unknown names; then its certificate is for another name.
        server = self.daemon([self.secure(UNKNOWN, "strict", **{"verify-name": OTHER})])
        self.assertEqual("SERVFAIL", dig(server, "www.lab.example", "A").status)
        self.assertEqual({"tls": 1}, server.failures("strict"))

    def test_sni_set_apart(self):
        # SNI chooses the certificate; the Host header still chooses the virtual host.
        server = self.daemon([self.secure(ONE, sni=OTHER, **{"verify-name": OTHER})])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        request = eventually(self.requests)[-1]
        self.assertEqual((ONE, OTHER), (request["host"], request["sni"]))
        self.assertAsked("one")

    def test_host_set_apart(self):
        server = self.daemon([self.secure(ONE, host=OTHER)])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        request = eventually(self.requests)[-1]
        self.assertEqual((OTHER, ONE), (request["host"], request["sni"]))
        self.assertAsked("other")

    def test_a_web_server_that_restarts_costs_no_answer(self):
        port = free_port()
        block = virtual_host(ONE, port, self.authority.certificate(ONE), self.provider, "one")
        first = self.own(Nginx(block)).up()
        server = self.daemon([self.secure(ONE, url=f"https://{ONE}:{port}/dns-query")])
        self.assertEqual({"192.0.2.99"}, dig(server, "before.any.lab.example", "A").data)
        first.stop()
        self.own(Nginx(block)).up()
        self.assertEqual({"192.0.2.99"}, dig(server, "after.any.lab.example", "A").data)
