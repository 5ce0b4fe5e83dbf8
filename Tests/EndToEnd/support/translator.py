# A network's translator from IPv6 to IPv4 (NAT64), played by a relay for TCP: it accepts connections to every address
# of the prefix at some ports, and opens each again to the IPv4 address in the last four bytes.

import select
import socket
import threading

PREFIX = "64:ff9b::/96"
# The address of ipv4only.arpa by which a resolver announces this prefix (RFC 7050).
ANNOUNCED = "64:ff9b::c000:aa"


class Translator:
    """A translator on a router; it works until it is closed."""

    def __init__(self, router, ports):
        self.router = router
        router.ip(f"-6 route add local {PREFIX} dev lo table local")
        # The IPv4 addresses of the relayed connections, in their order.
        self.reached = []
        self.listeners = router.within(
            lambda: [socket.create_server(("::", port), family=socket.AF_INET6) for port in ports])
        self.threads = [threading.Thread(target=self._accept, args=(each,), daemon=True) for each in self.listeners]
        for thread in self.threads:
            thread.start()

    def close(self):
        for listener in self.listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for thread in self.threads:
            thread.join()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client):
        host, port = client.getsockname()[:2]
        address = socket.inet_ntop(socket.AF_INET, socket.inet_pton(socket.AF_INET6, host)[12:])
        with client:
            try:
                with self.router.within(lambda: socket.create_connection((address, port), timeout=5)) as server:
                    self.reached.append(address)
                    self._pump(client, server)
            except OSError:
                pass  # The client sees its end.

    @staticmethod
    def _pump(client, server):
        other = {client: server, server: client}
        while True:
            for end in select.select(list(other), [], [])[0]:
                if not (chunk := end.recv(65536)):
                    return
                other[end].sendall(chunk)
