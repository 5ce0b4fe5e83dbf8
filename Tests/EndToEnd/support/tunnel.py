# A VPN from httpdnsd's view: an interface that appears, takes the default route over, and disappears.

import fcntl
import os
import select
import struct
import threading
import time

from fakes import FakeNameserver
from networks import Everything


class Tunnel:
    """A VPN of the host: a tun interface whose packets come out in an Internet of its own, as long as it is up. Inside
    it are 10.99.0.1, which has a system resolver after `serve`, and the host as 10.99.0.2."""

    NUMBER, GATEWAY, HOST = 99, "10.99.0.1", "10.99.0.2"

    def __init__(self, networks):
        self.host = networks.host
        self.internet = networks.far_side()
        self.ends = []
        networks.own(self)

    def serve(self, networks, addresses={}):
        """Starts a system resolver inside, as a router does."""
        self.internet.answer_for(self.GATEWAY)
        respond = Everything(self.NUMBER, addresses)
        return networks.own(self.internet.within(lambda: FakeNameserver(respond, (self.GATEWAY, 53))))

    def up(self):
        """Takes over the default route, in two halves, and resolv.conf; returns the time of the route."""
        # The pipe whose end stops the pumps; they wait for it as well.
        self.stop, stopped = os.pipe()
        self.ends = [self.host.within(self._open), self.internet.within(self._open), self.stop]
        self.internet.ip("link set tun0 up", f"route add {self.HOST} dev tun0 src {self.GATEWAY}")
        self.host.ip("link set tun0 up", f"address add {self.HOST}/32 dev tun0")
        self.pump = threading.Thread(target=self._pump, args=(*self.ends[:2], stopped), daemon=True)
        self.pump.start()
        self.host.ip("route add 0.0.0.0/1 dev tun0", "route add 128.0.0.0/1 dev tun0")
        has_route = time.monotonic()
        self.host.write_resolv_conf(f"nameserver {self.GATEWAY}\n")
        return has_route

    def down(self):
        """Removes the interface and all its routes, as when its process ends."""
        os.close(self.stop)
        self.pump.join()
        for end in self.ends[:2]:
            os.close(end)
        self.ends = []
        routed = time.monotonic()
        if self.host.network:
            self.host.write_resolv_conf(self.host.network.resolv_conf)
        return routed

    def close(self):
        if self.ends:
            self.down()

    @staticmethod
    def _open():
        end = os.open("/dev/net/tun", os.O_RDWR)
        # The call TUNSETIFF makes a tun interface without headers before its packets.
        fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x0001 | 0x1000))
        return end

    @staticmethod
    def _pump(here, there, stopped):
        while True:
            ready, _, _ = select.select([here, there, stopped], [], [])
            if stopped in ready:
                os.close(stopped)
                return
            for end in ready:
                try:
                    os.write(there if end is here else here, os.read(end, 65536))
                except OSError:
                    pass  # An interface that is not up yet.
