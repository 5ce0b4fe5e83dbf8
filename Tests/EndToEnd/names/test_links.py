# Domains that a link announces: their queries go to that link's nameservers, and fail without it. The tests run on
# booted machines, with the real programs that configure links; the far end of every link captures all packets.

import concurrent.futures
import socket
import subprocess
import time

import machines
import paths
import wire
from cases import Case
from dig import Dug
from fakes import FakeNameserver, question, reply
from networks import FarLab, Node
from paths import eventually

SETTINGS = """
[server]
listen = ["127.0.0.1:53"]
[[provider]]
name = "far"
dialect = "json"
url = "{url}"
[cache]
store = ""
[probe]
enabled = false
[log]
recorder-directory = ""
{rules}
"""

NAMED = """
[[rule]]
match = ["corp.example", "10.in-addr.arpa"]
resolver = "link"
"""
ANNOUNCED = """
[[rule]]
resolver = "link"
"""

ZONE = """
$ORIGIN example.
$TTL 60
@             SOA   ns1 hostmaster 1 7200 900 1209600 30
www.corp      A 203.0.113.66
www           A 203.0.113.80
"""

INSIDE, OUTSIDE = "10.8.0.7", "203.0.113.80"
# The forms of the names in packets: a dot or a length stands before the domain, in DNS or in a URL.
WORDS = (b"\x04corp\x07example", b"corp.example", b"\x0210\x07in-addr", b"10.in-addr")


def inside(query, is_stream):
    """The company's nameserver."""
    name, type = question(query)
    if type == 12:
        return [reply(query, [(name, 12, 60, wire.name("www.corp.example"))])]
    return [reply(query, [(name, 1, 60, socket.inet_aton(INSIDE))] if type == 1 else [])]


def outside(query, is_stream):
    """The network's nameserver."""
    name, type = question(query)
    return [reply(query, [(name, 1, 60, socket.inet_aton("203.0.113.67"))] if type == 1 else [])]


class Capture:
    """Captures every packet of the interfaces in a namespace, in both directions."""

    def __init__(self, node):
        self.socket = node.within(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
        self.socket.setblocking(False)
        self.packets = []

    def take(self):
        while True:
            try:
                self.packets.append(self.socket.recv(65536))
            except BlockingIOError:
                return self.packets

    def having(self, *words):
        return [packet for packet in self.take() if any(word in packet for word in words)]

    def close(self):
        self.socket.close()


@machines.boots_machines
class Linked:
    """A machine with a network, "lan0", and a tunnel, "tun0", whose far ends are namespaces."""

    packages = ("strace",)
    expected_seconds = 60

    def setUp(self):
        self.machine = machines.Machine((*machines.PROGRAM_PACKAGES, *self.packages))
        self.addCleanup(self.machine.close)
        self.machine.boot()
        for program, at in (("httpdnsd", "/usr/sbin"), ("httpdnsctl", "/usr/bin")):
            self.machine.copy(paths.binaries / program, f"{at}/{program}")
        self.machine.copy(paths.ROOT / "etc/systemd/httpdnsd.service", "/etc/systemd/system/httpdnsd.service")
        self.machine.copy(paths.ROOT / "etc/sysusers.d/httpdnsd.conf", "/usr/lib/sysusers.d/httpdnsd.conf")
        self.machine.check("systemd-sysusers", "httpdnsd.conf")
        self.internet, self.corp = self.node(), self.node()
        self.connect()
        self.seen, self.seen_inside = self.capture(self.internet), self.capture(self.corp)
        self.nameserver = self.internet.within(lambda: FakeNameserver(outside, ("192.0.2.1", 53)))
        self.addCleanup(self.nameserver.close)
        self.lab = FarLab(self.internet, host="192.0.2.1")
        self.lab.zone = self.lab.directory / "zone"
        self.lab.zone.write_text(ZONE)
        self.own(self.lab).up()

    def node(self):
        node = Node()
        self.addCleanup(node.remove)
        return node

    def capture(self, node):
        capture = Capture(node)
        self.addCleanup(capture.close)
        return capture

    def far_end(self, interface, node, address):
        """Moves the other end of a cable into a namespace."""
        self.machine.check("sh", "-c", f"ip link set {interface} down || true")
        command = f"ip link set {interface} netns {node.name}"
        ended = subprocess.run(
            ["nsenter", "--target", str(self.machine.pid), "--net", *command.split()], capture_output=True, text=True)
        self.assertEqual(0, ended.returncode, ended.stderr)
        node.ip(f"link set {interface} up", f"address add {address}/24 dev {interface}")

    def start(self, rules):
        url = self.lab.provider("json")["url"]
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", SETTINGS.format(url=url, rules=rules))
        self.machine.check("systemctl", "daemon-reload")
        self.machine.check("systemctl", "restart", "httpdnsd")

    def ask(self, name, type="A"):
        words = ("-x", name) if type == "PTR" else (name, type)
        text = self.machine.run("dig", "@127.0.0.1", "+tries=1", "+time=6", *words).stdout
        return Dug(text.split(";; Got answer:", 1)[-1], 0)

    def assertInside(self, name="www.corp.example"):
        eventually(lambda: self.ask(name).data == {INSIDE}, what="the link's nameserver answers", every=0.1)

    def assertFails(self, *names):
        for name in names:
            began = time.monotonic()
            answer = self.ask(name, "PTR" if name[0].isdigit() else "A")
            self.assertEqual("SERVFAIL", answer.status, f"{name}: {answer.data}")
            self.assertLess(time.monotonic() - began, paths.slack(), f"{name} fails at once")

    def assertNoLeak(self):
        self.assertEqual([], self.seen.having(*WORDS))

    def explained(self, name):
        return self.machine.check("httpdnsctl", "explain", name)

    def serve_inside(self):
        """Serves at any address, because the tunnel's address comes and goes."""
        if not hasattr(self, "tunnel_server"):
            self.tunnel_server = self.corp.within(lambda: FakeNameserver(inside, ("0.0.0.0", 53)))
            self.addCleanup(self.tunnel_server.close)

    def await_end(self):
        """Waits until the kernel has removed the link, which the programs do in the background, and has told the
        daemon."""
        eventually(lambda: self.machine.run("ip", "link", "show", "tun0").returncode != 0, what="the tunnel ends")
        eventually(lambda: self.ask("www.corp.example").status == "SERVFAIL", within=1, what="the daemon follows")

    def story(self):
        """Plays the story: the tunnel comes, goes, comes again, and breaks."""
        self.start(NAMED)
        self.assertFails("www.corp.example", "10.8.0.7")
        self.assertIn("no link announces the domain", self.explained("www.corp.example"))
        self.assertEqual({OUTSIDE}, self.ask("www.example").data)
        for end in (self.tunnel_down, self.tunnel_breaks):
            self.tunnel_up()
            self.assertInside()
            self.assertEqual({"www.corp.example."}, self.ask("10.8.0.7", "PTR").data)
            self.assertIn("link tun0 only, which announces corp.example with 10.8.0.1:53", self.explained("www.corp.example"))
            self.assertEqual({OUTSIDE}, self.ask("www.example").data)
            end()
            self.await_end()
            end_of_tunnel = time.monotonic()
            while time.monotonic() - end_of_tunnel < 3:
                self.assertFails("new.corp.example", "www.corp.example", "10.9.9.9")
            self.assertNoLeak()
        self.assertIn("link tun0, which announced corp.example, has ended", self.explained("www.corp.example"))
        self.assertEqual([], self.seen_inside.having(b"\x03www\x07example\x00"))
        self.assertNotEqual([], self.seen.having(b"www.example"), "the capture sees what leaves")
        self.assertNotEqual([], self.seen_inside.having(WORDS[0]))

    def test_its_domains_go_there_and_only_there(self):
        self.story()

    def test_announced_domains_without_a_list(self):
        self.start(ANNOUNCED)
        self.assertEqual({"203.0.113.66"}, self.ask("www.corp.example").data, "announced by nobody so far")
        self.tunnel_up()
        self.assertInside()
        self.assertEqual({OUTSIDE}, self.ask("www.example").data)
        # After a restart, the daemon knows the domain before its first answer.
        self.seen.take()
        self.seen.packets = []
        self.machine.check("systemctl", "restart", "httpdnsd")
        self.assertEqual({INSIDE}, self.ask("www.corp.example").data)
        self.tunnel_down()
        self.await_end()
        self.assertFails("www.corp.example", "new.corp.example")
        time.sleep(1)
        self.assertFails("www.corp.example", "new.corp.example")
        self.assertNoLeak()
        # A reload makes the daemon forget the tunnel.
        self.machine.check("httpdnsctl", "reload")
        self.assertEqual({"203.0.113.66"}, self.ask("www.corp.example").data)


class NetworkManager(Linked, Case):
    packages = ("strace", "network-manager")

    def connect(self):
        self.machine.check("nmcli", "connection", "add", "save", "no", "type", "veth", "con-name", "lan", "ifname", "lan0",
                           "peer", "lan1", "ip4", "192.0.2.2/24", "gw4", "192.0.2.1", "ipv4.dns", "192.0.2.1",
                           "ipv4.dns-search", "lab.example", "ipv6.method", "disabled")
        self.machine.check("nmcli", "connection", "up", "lan")
        self.far_end("lan1", self.internet, "192.0.2.1")

    def tunnel_up(self):
        self.machine.check("nmcli", "connection", "add", "save", "no", "type", "veth", "con-name", "vpn", "ifname", "tun0",
                           "peer", "tun1", "ip4", "10.8.0.2/24", "ipv4.dns", "10.8.0.1", "ipv4.never-default", "yes",
                           "ipv4.dns-search", "~corp.example,~10.in-addr.arpa", "ipv6.method", "disabled")
        self.machine.check("nmcli", "connection", "up", "vpn")
        self.far_end("tun1", self.corp, "10.8.0.1")
        self.serve_inside()

    def tunnel_down(self):
        self.machine.check("nmcli", "connection", "delete", "vpn")

    def tunnel_breaks(self):
        """Removes the tunnel as if its program died: NetworkManager learns of it from the kernel."""
        self.machine.check("ip", "link", "delete", "tun0")

    def test_a_restart_of_networkmanager_moves_no_name(self):
        self.start(ANNOUNCED)
        eventually(lambda: "link lan0" in self.explained("www.lab.example"), what="lan0 announces lab.example")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            restart = pool.submit(self.machine.check, "systemctl", "restart", "NetworkManager")
            end, count = time.monotonic() + 6, 0
            while time.monotonic() < end:
                count += 1
                self.assertEqual({"203.0.113.67"}, self.ask(f"n{count}.lab.example").data, count)
            restart.result()
        self.assertGreater(count, 50)
        self.assertEqual(0, sum(self.lab.asked(f"n{number}.lab.example") for number in range(1, count + 1)))
        self.assertIn("link lan0", self.explained("www.lab.example"))


class ByHand(Linked):
    """Links that are made with ip; the classes below announce the domains."""

    def connect(self):
        for line in ("link add lan0 type veth peer name lan1", "link set lan0 up", "address add 192.0.2.2/24 dev lan0",
                     "route add default via 192.0.2.1"):
            self.machine.check("ip", *line.split())
        self.far_end("lan1", self.internet, "192.0.2.1")
        self.machine.check("sh", "-c", "rm /etc/resolv.conf; echo nameserver 192.0.2.1 >/etc/resolv.conf")

    def tunnel_up(self):
        for line in ("link add tun0 type veth peer name tun1", "link set tun0 up", "address replace 10.8.0.2/24 dev tun0"):
            self.machine.check("ip", *line.split())
        self.far_end("tun1", self.corp, "10.8.0.1")
        self.serve_inside()
        self.announce()

    def tunnel_down(self):
        self.withdraw()
        self.machine.check("ip", "link", "delete", "tun0")

    def tunnel_breaks(self):
        self.machine.check("ip", "link", "delete", "tun0")


class Resolved(ByHand, Case):
    packages = ("strace", "systemd-resolved")

    def announce(self):
        self.machine.check("resolvectl", "dns", "tun0", "10.8.0.1")
        self.machine.check("resolvectl", "domain", "tun0", "~corp.example", "~10.in-addr.arpa")

    def withdraw(self):
        self.machine.check("resolvectl", "revert", "tun0")


class Networkd(ByHand, Case):
    def connect(self):
        super().connect()
        self.machine.write("/etc/systemd/network/tun0.network", "[Match]\nName=tun0\n[Network]\nAddress=10.8.0.2/24\n"
                           "DNS=10.8.0.1\nDomains=~corp.example ~10.in-addr.arpa\nIPv6AcceptRA=no\n")
        self.machine.check("systemctl", "start", "systemd-networkd")

    def announce(self):
        """networkd announces the domains itself."""

    def withdraw(self):
        self.machine.check("ip", "link", "set", "tun0", "down")
