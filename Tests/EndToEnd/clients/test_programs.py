# Programs that find the daemon by resolv.conf alone, in a network namespace where it has port 53.

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import paths
from cases import LAB_WWW, Case, closed_provider
from lab import Lab
from namespace import Namespace
from paths import eventually
from programs import NSD, Daemon, Program

LAB_WWW_6 = {"2001:db8::10", "2001:db8::11"}

MUSL_PROGRAM = r"""
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

int main(int count, char **arguments) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    int code = getaddrinfo(arguments[count - 1], NULL, &hints, &list);
    if (code) return printf("%s\n", gai_strerror(code)), 1;
    for (; list; list = list->ai_next) {
        char text[INET6_ADDRSTRLEN];
        void *address = list->ai_family == AF_INET ? (void *)&((struct sockaddr_in *)list->ai_addr)->sin_addr
                                                   : (void *)&((struct sockaddr_in6 *)list->ai_addr)->sin6_addr;
        puts(inet_ntop(list->ai_family, address, text, sizeof text));
    }
    return 0;
}
"""

PYTHON_PROGRAM = """
import socket, sys
for entry in socket.getaddrinfo(sys.argv[1], 443, type=socket.SOCK_STREAM): print(entry[4][0])
"""


def words(text):
    return {line.split()[0] for line in text.splitlines() if line.strip()}


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
class NamespaceCase(Case):
    def namespace(self, **options):
        namespace = Namespace(**options)
        self.addCleanup(namespace.remove)
        return namespace


class Programs(NamespaceCase):
    expected_seconds = 4

    @classmethod
    def setUpClass(cls):
        cls.inside = Namespace(hosts="127.0.0.1 localhost\n192.0.2.123 from-hosts.example\n")
        cls.addClassCleanup(cls.inside.remove)
        # The zone's address for every name under "any", which a web server has; and one of the other family, because
        # getent asks for the families that the machine has beside loopback (AI_ADDRCONFIG).
        for address in ("192.0.2.99/32", "2001:db8::99/128"):
            cls.inside.run("ip", "address", "add", address, "dev", "lo")
        cls.provider = cls.share(Lab(prefix=cls.inside.prefix)).up()
        server = Daemon([cls.provider.provider("json"), cls.provider.provider("doh")], prefix=cls.inside.prefix)
        server.listen = ["127.0.0.1:53"]
        cls.server = cls.share(server).up()

    def test_getent(self):
        done = self.inside.run("getent", "ahosts", "www.lab.example")
        self.assertEqual(LAB_WWW | LAB_WWW_6, words(done.stdout))
        self.assertEqual(2, self.inside.run("getent", "ahosts", "nothing.lab.example").returncode)

    def test_python(self):
        done = self.inside.run(sys.executable, "-c", PYTHON_PROGRAM, "www.lab.example")
        self.assertEqual(LAB_WWW | LAB_WWW_6, words(done.stdout), done.stderr)
        done = self.inside.run(sys.executable, "-c", PYTHON_PROGRAM, "big.lab.example")
        self.assertEqual(100, len(words(done.stdout)))
        done = self.inside.run(sys.executable, "-c", PYTHON_PROGRAM, "nothing.lab.example")
        self.assertIn("Name or service not known", done.stderr)

    def test_curl(self):
        web = self.own(Program("web"))
        (web.directory / "index.html").write_text("hello through the daemon\n")
        web.start(sys.executable, "-u", "-m", "http.server", "8000", "--bind", "192.0.2.99", "--directory",
                  web.directory, prefix=self.inside.prefix)
        web.wait_for("Serving HTTP")
        done = self.inside.run("curl", "--silent", "--show-error", "--noproxy", "*", "http://web.any.lab.example:8000/")
        self.assertEqual(("hello through the daemon\n", ""), (done.stdout, done.stderr))

    def test_busybox(self):
        done = self.inside.run("busybox", "nslookup", "www.lab.example")
        self.assertEqual(0, done.returncode, done.stdout)
        for address in LAB_WWW | LAB_WWW_6:
            self.assertIn(address, done.stdout)
        self.assertIn("NXDOMAIN", self.inside.run("busybox", "nslookup", "nothing.lab.example").stdout)

    def test_musl(self):
        with tempfile.TemporaryDirectory(prefix="e2e-musl-") as folder:
            source, program = Path(folder) / "resolve.c", Path(folder) / "resolve"
            source.write_text(MUSL_PROGRAM)
            subprocess.run(["musl-gcc", "-static", "-o", program, source], check=True, capture_output=True)
            self.assertEqual(LAB_WWW | LAB_WWW_6, words(self.inside.run(program, "www.lab.example").stdout))
            self.assertEqual({"192.0.2.70", "2001:db8::70"}, words(self.inside.run(program, "shop.lab.example").stdout))
            # Without TCP, the records of the truncated datagram must suffice.
            self.assertGreater(len(words(self.inside.run(program, "big.lab.example").stdout)), 10)
            self.assertEqual(1, self.inside.run(program, "nothing.lab.example").returncode)

    def test_names_of_the_hosts_file_by_dig(self):
        done = self.inside.run("dig", "+short", "@127.0.0.1", "from-hosts.example", "A")
        self.assertEqual("192.0.2.123\n", done.stdout)
        done = self.inside.run("dig", "+short", "@127.0.0.1", "-x", "192.0.2.123")
        self.assertEqual("from-hosts.example.\n", done.stdout)
        self.assertIn("status: NOERROR", self.inside.run("dig", "@127.0.0.1", "from-hosts.example", "AAAA").stdout)


class LocalFiles(NamespaceCase):
    """resolv.conf and hosts change under the running daemon."""

    expected_seconds = 4

    def dig(self, inside, name, type="A"):
        return inside.run("dig", "+short", "+tries=1", "+time=6", "@127.0.0.1", name, type).stdout.strip()

    def serve(self, inside, **options):
        server = self.own(Daemon(prefix=inside.prefix, **options))
        server.listen = ["127.0.0.1:53"]
        return server.up()

    def test_hosts_changes_take_effect(self):
        inside = self.namespace()
        lab = self.own(Lab(prefix=inside.prefix)).up()
        self.serve(inside, providers=[lab.provider("json")])
        self.assertEqual(LAB_WWW, set(self.dig(inside, "www.lab.example").split()))
        self.assertEqual("", self.dig(inside, "new.example"))
        # Inside the namespace, /etc/hosts is a mount of this file, which is written in place.
        inside_hosts = inside.files / "hosts"
        inside_hosts.write_text("127.0.0.1 localhost\n192.0.2.55 new.example\n")
        eventually(lambda: self.dig(inside, "new.example") == "192.0.2.55")
        inside_hosts.write_text("127.0.0.1 localhost\n192.0.2.56 new.example\n")
        eventually(lambda: self.dig(inside, "new.example") == "192.0.2.56")

    def test_a_large_hosts_file_stops_nothing(self):
        inside = self.namespace()
        server = self.serve(inside, providers=[closed_provider()])
        for network in (10, 11):
            lines = (f"{network}.{number >> 16}.{number >> 8 & 255}.{number & 255} h{number}.example\n"
                     for number in range(60_000))
            (inside.files / "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
            slowest, end = 0, time.monotonic() + 3 * paths.PATIENCE
            explained = ""
            while time.monotonic() < end and f"{network}.0.234.95" not in explained:
                began = time.monotonic()
                explained = server.ask_control("explain h59999.example")
                slowest = max(slowest, time.monotonic() - began)
            self.assertEqual(f"{network}.0.234.95", self.dig(inside, "h59999.example"))
            # Reading the file takes longer, even in the release build.
            self.assertLess(slowest, 0.25 * paths.slack())

    def test_a_name_that_comes_into_hosts_no_longer_comes_from_the_cache(self):
        inside = self.namespace()
        lab = self.own(Lab(prefix=inside.prefix)).up()
        server = self.serve(inside, providers=[lab.provider("json")])
        name = "WWW.lab.example"
        self.assertEqual(LAB_WWW, set(self.dig(inside, name).split()))
        self.assertEqual(LAB_WWW_6, set(self.dig(inside, name, "AAAA").split()))
        self.dig(inside, "shop.lab.example")
        self.assertEqual(3, server.stats()["cache"]["entries"])
        (inside.files / "hosts").write_text("192.0.2.55 www.lab.example\n")
        # The time is long before the cached answer expires, after 300 s.
        eventually(lambda: self.dig(inside, name) == "192.0.2.55")
        self.assertEqual("", self.dig(inside, name, "AAAA"))
        self.assertEqual(1, server.stats()["cache"]["entries"])

    def test_hosts_win_over_what_was_stored_before_a_restart(self):
        inside = self.namespace()
        lab = self.own(Lab(prefix=inside.prefix)).up()
        server = self.own(Daemon([lab.provider("json")], prefix=inside.prefix))
        server.listen = ["127.0.0.1:53"]
        server.store = server.directory / "cache.db"
        server.up()
        self.assertEqual(LAB_WWW, set(self.dig(inside, "www.lab.example").split()))
        server.stop()
        (inside.files / "hosts").write_text("192.0.2.55 www.lab.example\n")
        since = len(server.log)
        server.up().wait_for(r"^httpdnsd: 1 answers? loaded from", since=since)
        eventually(lambda: self.dig(inside, "www.lab.example") == "192.0.2.55")
        self.assertEqual(0, server.stats()["cache"]["entries"])

    def test_resolv_conf_changes_take_effect(self):
        inside = self.namespace(resolv_conf="nameserver 127.0.0.1\nnameserver 127.0.0.2\nsearch example\n")
        self.own(NSD(host="127.0.0.2", port=53, prefix=inside.prefix)).run().wait_for("nsd started")
        zone = NSD.ZONE.replace("203.0.113.99", "203.0.113.33")
        self.own(NSD(zone=zone, host="127.0.0.3", port=53, prefix=inside.prefix)).run().wait_for("nsd started")
        server = self.serve(inside, providers=[closed_provider()], system="resolv.conf")
        # The daemon leaves its own address out.
        self.assertEqual(["127.0.0.2:53"], server.stats()["system"]["servers"])
        self.assertEqual("203.0.113.99", self.dig(inside, "a.any.lab.example"))
        (inside.files / "resolv.conf").write_text("nameserver 127.0.0.3\n")
        eventually(lambda: server.stats()["system"]["servers"] == ["127.0.0.3:53"])
        self.assertEqual("203.0.113.33", self.dig(inside, "b.any.lab.example"))
        (inside.files / "resolv.conf").write_text("nameserver 127.0.0.1\n")
        eventually(lambda: server.stats()["system"]["servers"] == [])
        self.assertEqual("", self.dig(inside, "c.any.lab.example"))
