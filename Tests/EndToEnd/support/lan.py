# A local network: a machine on which httpdnsd serves others, and its clients, as network namespaces around a bridge. It
# requires root.

import subprocess
import sys
from pathlib import Path

import wire
from lab import Lab
from networks import Node
from programs import Daemon

SERVER = "192.168.77.1"


class Lan:
    """The network exists from its creation until `remove`. `clients` are its other machines, in 192.168.77.0/24."""

    def __init__(self, clients=("192.168.77.10", "192.168.77.20")):
        self._owned, self._nodes = [], []
        try:
            self.server = self._node()
            self.server.ip("link add lan type bridge", "link set lan up", f"address add {SERVER}/24 dev lan")
            self.clients = [self._client(number, address) for number, address in enumerate(clients)]
        except BaseException:
            self.remove()
            raise

    def _node(self):
        node = Node()
        self._nodes.append(node)
        return node

    def _client(self, number, address):
        node = self._node()
        self.server.ip(f"link add c{number} type veth peer name eth0 netns {node.name}",
                       f"link set c{number} master lan up")
        node.ip("link set eth0 up", f"address add {address}/24 dev eth0")
        node.address = address
        return node

    def own(self, program):
        """Registers a program that must end before the network is removed."""
        self._owned.append(program)
        return program

    def lab(self):
        return self.own(Lab(prefix=self.server.prefix)).up()

    def daemon(self, providers, server="", **options):
        """A process of httpdnsd for the whole network, with one serving thread; not started."""
        allow = 'allow = ["127.0.0.0/8", "::1/128", "192.168.77.0/24"]\nthreads = 1\n' + server
        options = {"listen": ["127.0.0.1:53", f"{SERVER}:53"], "prefix": self.server.prefix, "server": allow, **options}
        return self.own(Daemon(providers, **options))

    def datagrams(self, client, **options):
        """A UDP client on that machine; the caller closes it."""
        return self.clients[client].within(lambda: wire.Datagrams((SERVER, 53), **options))

    def stream(self, client, **options):
        return self.clients[client].within(lambda: wire.Stream((SERVER, 53), **options))

    def dig(self, client, *arguments):
        done = self.clients[client].run("dig", f"@{SERVER}", "+tries=1", "+time=6", *arguments)
        return done.stdout + done.stderr

    def python(self, client, program, *arguments):
        """Starts a Python program there; it finds the modules of these tests."""
        return subprocess.Popen(
            [*self.clients[client].prefix, sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE,
            text=True, cwd=Path(__file__).resolve().parent)

    def remove(self):
        try:
            while self._owned:
                self._owned.pop().close()
        finally:
            for node in self._nodes:
                node.remove()
