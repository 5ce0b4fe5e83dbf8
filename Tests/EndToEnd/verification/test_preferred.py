# The setting `prefer-addresses`: a quicker address with the name's certificate comes first, and no other.

import socket
import ssl
import tempfile
import time
from pathlib import Path

import paths
from cases import Case, rule
from dig import dig
from paths import eventually
from programs import ctl
from web_sites import Sites

EDGE = "edge.lab.example"
SLOWNESS = 0.15


class PreferredAddresses(Case):
    expected_seconds = 8

    def setUp(self):
        self.sites = Sites(paths.entrust(Path(tempfile.mkdtemp(prefix="e2e-preferred-"))))
        self.addCleanup(self.sites.close)
        self.plain, self.quick, self.wrong = (self.sites.address() for _ in range(3))
        right = self.sites.authority.certificate(EDGE)
        self.sites.handmade(self.plain, self.handshakes(right, SLOWNESS))
        self.sites.handmade(self.quick, self.handshakes(right))
        self.sites.handmade(self.wrong, self.handshakes(self.sites.authority.certificate("other.example")))
        self.provider = self.lab()
        self.provider.record(EDGE, "A", self.plain, ttl=300)
        preferred = rule(EDGE, prefer_addresses=f'["{self.wrong}/32", "{self.quick}"]')
        self.server = self.daemon([self.provider.provider("json")], sections=self.sites.settings() + preferred)

    @staticmethod
    def handshakes(files, seconds=0.0):
        """A server that completes a handshake after this time."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)

        def serve(connection):
            time.sleep(seconds)
            with context.wrap_socket(connection, server_side=True) as stream:
                stream.recv(1)
        return serve

    def given(self):
        return [record[4] for record in dig(self.server, EDGE, "A").answer]

    def seconds(self, address):
        """The time to a TLS connection."""
        context = ssl.create_default_context(cafile=self.sites.authority.ca_file)
        start = time.monotonic()
        with socket.create_connection((address, self.sites.port)) as connection:
            with context.wrap_socket(connection, server_hostname=EDGE):
                return time.monotonic() - start

    def test_the_quick_address_comes_first_and_the_wrong_one_never(self):
        self.assertEqual([self.plain], self.given())
        eventually(lambda: self.given() == [self.quick, self.plain], what="the quick address is verified")
        for _ in range(100):
            self.assertNotIn(self.wrong, self.given())
        own, preferred = self.seconds(self.plain), self.seconds(self.given()[0])
        print(f"TLS connection: {own * 1000:.0f} ms to its own address, {preferred * 1000:.0f} ms to the preferred one")
        self.assertLess(preferred, own / 2)
        self.assertIn("prefer-addresses", ctl(self.server, "explain", EDGE).stdout)
