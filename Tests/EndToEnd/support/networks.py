# A laptop and the networks that it moves between, as network namespaces and veth pairs: a host on which httpdnsd runs, up
# to nine routers with a system resolver each, and the Internet behind them, with providers. By default each router has an
# Internet of its own, the same addresses in all of them, so that an answer tells through which router it came. Needs root.

import itertools
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import wire
from certificates import Authority
from fakes import FakeNameserver, reply
from lab import KINDS, Lab
from namespace import Namespace
from programs import Daemon, Nginx

# Probes and checks for forged answers treat these addresses as public; no other host behind the routers has them.
PROVIDER, SECOND_PROVIDER, PROVIDER_V6 = "20.20.20.20", "20.20.20.21", "2a20::20"
# The priority before all rules but the one for a machine's own addresses.
_CUT = 100
# The files of /etc that programs need; the host has a copy.
_WANTED_ETC = ("alternatives", "group", "host.conf", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "passwd",
               "protocols", "services", "ssl")


class Networks:
    """All networks, from their creation until `remove`; also a context manager.

    routers: one letter each, which are their names: `networks["a"]`.
    is_shared: one Internet behind all routers.
    families: the families of the networks: "4", "6" or "46".
    is_wireless: the host has one interface, "wlan0", for all networks; otherwise one each, "eth0" and on.
    """

    def __init__(self, routers="ab", is_shared=False, families="46", is_wireless=False):
        self.families = families
        # The programs whose logs are shown if a test fails.
        self.programs = []
        self._owned = []
        self._namespaces = []
        self._directory = Path(tempfile.mkdtemp(prefix="e2e-networks-"))
        # Programs that drop their rights must be able to enter the directory.
        self._directory.chmod(0o755)
        self.routers = {}
        try:
            self.authority = Authority(self._directory / "authority")
            self.host = self._kept(Host(self._directory / "root"))
            self.air = self._kept(Air(self.host)) if is_wireless else None
            internet = None
            for number, name in enumerate(routers, 1):
                if internet is None or not is_shared:
                    internet = self.far_side()
                self.routers[name] = self._kept(Router(name, number, self, internet))
        except BaseException:
            self.remove()
            raise

    def __getitem__(self, name):
        return self.routers[name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def far_side(self):
        """Makes one more Internet, which leads nowhere yet."""
        return self._kept(Internet(self))

    def daemon(self, providers, **options):
        """A process of httpdnsd on the host, on port 53 of its loopback, with the nameservers of its /etc/resolv.conf;
        not started. It has no network until the host joins one."""
        options = {"listen": ["127.0.0.1:53"], "system": "resolv.conf", "prefix": self.host.prefix, **options}
        return self.own(Daemon(providers, **options))

    def own(self, program):
        """Registers a resource that is closed before the networks are removed."""
        self._owned.append(program)
        if hasattr(program, "log"):
            self.programs.append(program)
        return program

    def remove(self):
        """Ends every program, the last one first, and removes all resources, even if one fails."""
        try:
            while self._owned:
                self._owned.pop().close()
        finally:
            if self._owned:
                self.remove()
            for namespace in self._namespaces:
                namespace.remove()
            shutil.rmtree(self._directory, ignore_errors=True)

    def _kept(self, namespace):
        self._namespaces.append(namespace)
        return namespace


class Node(Namespace):
    """A namespace that is configured with ip."""

    def ip(self, *lines):
        """Runs commands of ip, those of a family in one process. A line that begins with "-6 " is for IPv6 where its
        address does not show that."""
        for family, group in itertools.groupby(lines, key=lambda line: line.startswith("-6 ")):
            command = ("ip", "-n", self.name, *(["-6"] if family else []), "-batch", "-")
            text = "".join(line.removeprefix("-6 ") + "\n" for line in group)
            done = subprocess.run(command, input=text, capture_output=True, text=True)
            if done.returncode != 0:
                raise AssertionError(f"ip: {text}{done.stderr}")

    def set_kernel(self, **settings):
        """Sets kernel settings under net, with "__" for a dot: ipv4__ip_forward=1."""
        done = self.run("sysctl", "-q", "-w", *(f"net.{key.replace('__', '.')}={value}" for key, value in settings.items()))
        if done.returncode != 0:
            raise AssertionError(f"sysctl: {done.stderr}")


class Host(Node):
    """The laptop. A program that runs with its `prefix` has /etc and /run of its own, where files are replaced as on a
    real machine: the directories `etc` and `run`."""

    def __init__(self, root):
        self.root = root
        self.etc, self.run_directory = root / "etc", root / "run"
        self.network = None
        super().__init__()
        netns = self.prefix
        self.prefix = (*netns, "sh", "-c", 'mount --bind "$0/etc" /etc && mount --bind "$0/run" /run && exec "$@"', root)
        self.etc.mkdir(parents=True)
        self.run_directory.mkdir()
        for name in _WANTED_ETC:
            if (source := Path("/etc") / name).is_dir():
                shutil.copytree(source, self.etc / name, symlinks=True)
            elif source.exists():
                shutil.copy2(source, self.etc / name, follow_symlinks=False)
        (self.etc / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
        (self.etc / "hosts").write_text("127.0.0.1 localhost\n")
        (self.etc / "nsswitch.conf").write_text("hosts: files dns\n")
        self.write_resolv_conf("")

    def write_resolv_conf(self, text):
        """Replaces the file by another one, as NetworkManager and dhclient do."""
        self.replace(self.etc / "resolv.conf", text)

    @staticmethod
    def replace(path, text):
        new = path.with_name(path.name + ".new")
        new.write_text(text)
        os.replace(new, path)

    def join(self, router, families=None):
        """Sets addresses, default routes and resolv.conf on an existing link, as a DHCP client does. Returns the time
        of the route, by time.monotonic()."""
        families = families or router.families
        lines = []
        if "4" in families:
            lines += [f"address add {router.host_v4}/24 dev {router.link}", f"route replace default via {router.lan_v4}"]
        if "6" in families:
            lines += [f"-6 address add {router.host_v6}/64 dev {router.link} nodad",
                      f"-6 route replace default via {router.lan_v6}"]
        self.ip(*lines)
        has_route = time.monotonic()
        self.write_resolv_conf(router.resolv_conf)
        self.network = router
        return has_route

    def leave(self):
        """Removes the addresses of the present network, and its routes with them; no FIN, no RST. The link stays up."""
        # Routes of IPv6 outlive their addresses.
        self.ip(f"address flush dev {self.network.link} scope global",
                f"-6 route flush dev {self.network.link} proto boot")
        self.network = None

    def switch(self, router, families=None):
        """Leaves the present network for this one; returns the time of the new route."""
        self.leave()
        return self.join(router, families)

    def link(self, router, state):
        """Sets the host's end of the cable "up" or "down", as by `ip link`. Only IPv4 addresses survive that, so a host
        has to leave before it joins again."""
        self.ip(f"link set {router.link} {state}")

    def client(self, address=("127.0.0.1", 53), **options):
        """A UDP client that is inside; the caller closes it."""
        return self.within(lambda: wire.Datagrams(address, **options))


class Air(Node):
    """The radio channel that all stations share: a bridge."""

    def __init__(self, host):
        super().__init__()
        self.ip("link add air type bridge", "link set air up", f"link add host type veth peer name wlan0 netns {host.name}",
                "link set host master air up")
        host.ip("link set wlan0 up")


class Router(Node):
    """One network: 10.N.0.0/24 and 2a10:N::/64, with the router as .1 and ::1 and the host as .2 and ::2. The router
    drops packets with foreign addresses, as behind a NAT: connections of another network are silently dead here."""

    def __init__(self, name, number, networks, internet):
        self.letter, self.number, self.families, self.internet = name, number, networks.families, internet
        self.link = "wlan0" if networks.air else f"eth{number - 1}"
        self.lan_v4, self.host_v4 = f"10.{number}.0.1", f"10.{number}.0.2"
        self.lan_v6, self.host_v6 = f"2a10:{number}::1", f"2a10:{number}::2"
        self.resolv_conf = f"nameserver {self.lan_v4 if '4' in self.families else self.lan_v6}\n"
        self.resolver = None
        super().__init__()
        try:
            self._connect(networks, internet)
        except BaseException:
            super().remove()
            raise

    def _connect(self, networks, internet):
        number, wan = self.number, f"r{self.number}"
        if networks.air:
            self.ip(f"link add lan type veth peer name {wan} netns {networks.air.name}")
            networks.air.ip(f"link set {wan} master air up")
        else:
            self.ip(f"link add lan type veth peer name {self.link} netns {networks.host.name}")
            networks.host.ip(f"link set {self.link} up")
        self.ip(f"link add wan type veth peer name {wan} netns {internet.name}")
        # The filter is strict: a packet is accepted only on the interface of the route to its source.
        self.set_kernel(ipv4__ip_forward=1, ipv6__conf__all__forwarding=1, ipv4__conf__all__rp_filter=1,
                        ipv4__conf__lan__rp_filter=1)
        internet.ip(f"link set {wan} up", f"address add 172.16.{number}.2/30 dev {wan}",
                    f"-6 address add 2a77:{number}::2/64 dev {wan} nodad")
        self.ip("link set lan up", "link set wan up", f"address add 172.16.{number}.1/30 dev wan",
                f"route add default via 172.16.{number}.2", f"-6 address add 2a77:{number}::1/64 dev wan nodad",
                f"-6 route add default via 2a77:{number}::2")
        if "4" in self.families:
            self.ip(f"address add {self.lan_v4}/24 dev lan")
            internet.ip(f"route add 10.{number}.0.0/24 via 172.16.{number}.1")
        if "6" in self.families:
            # The kernel filters IPv6 by source only with rules.
            self.ip(f"-6 address add {self.lan_v6}/64 dev lan nodad",
                    f"-6 rule add pref {_CUT + 1} iif lan from 2a10:{number}::/64 lookup main",
                    f"-6 rule add pref {_CUT + 2} iif lan from 2a10::/16 blackhole")
            internet.ip(f"-6 route add 2a10:{number}::/64 via 2a77:{number}::1")

    def serve(self, networks, respond=None, addresses={}):
        """Starts the network's system resolver on port 53 of the router: 192.0.2.N for every name and 2001:db8::N,
        except for `addresses`, by pairs of a name and "A" or "AAAA", or with the replies of `respond(query,
        is_stream)`."""
        address = self.lan_v4 if "4" in self.families else self.lan_v6
        respond = respond or Everything(self.number, addresses)
        self.resolver = self.within(lambda: FakeNameserver(respond, (address, 53)))
        return networks.own(self.resolver)

    def cut(self, address=None):
        """Drops all packets to and from this address from now on, or all packets between the network and the Internet.
        No FIN, no RST, no ICMP. The router itself still answers its network."""
        self.ip(*(f"{family}rule add pref {_CUT} {way} blackhole" for family, way in self._ways(address)))

    def mend(self, address=None):
        """Ends a `cut` of the same address."""
        self.ip(*(f"{family}rule delete pref {_CUT} {way} blackhole" for family, way in self._ways(address)))

    def forget_connections(self, host):
        """Acts as a NAT that was restarted, or whose entries have expired: the host's present TCP connections are
        silently dead, and new ones work."""
        lines = host.run("ss", "-Htn", "state", "established").stdout.splitlines()
        # The fields are receive queue, send queue, local, remote.
        for local in (line.split()[2] for line in lines):
            address, port = local.rsplit(":", 1)
            address, family = address.strip("[]"), "-6 " if "[" in local else ""
            self.ip(f"{family}rule add pref {_CUT} ipproto tcp from {address} sport {port} blackhole",
                    f"{family}rule add pref {_CUT} ipproto tcp to {address} dport {port} blackhole")

    def carrier(self, state):
        """Sets the router's end of the cable "up" or "down": the host sees its carrier come or go and keeps its
        addresses. Without a cable the call has no effect."""
        self.ip(f"link set lan {state}")

    @staticmethod
    def _ways(address):
        if address is None:
            return [("", "iif lan"), ("", "iif wan"), ("-6 ", "iif lan"), ("-6 ", "iif wan")]
        family = "-6 " if ":" in address else ""
        return [(family, f"to {address}"), (family, f"from {address}")]


class Internet(Node):
    """The far side, with the providers' addresses on its loopback."""

    def __init__(self, networks):
        self.networks = networks
        super().__init__()
        # A route makes an address local; for IPv6 that is not enough to listen there.
        self.set_kernel(ipv6__ip_nonlocal_bind=1)
        self.answer_for(PROVIDER, SECOND_PROVIDER, PROVIDER_V6)

    def answer_for(self, *prefixes):
        """Answers for these addresses from now on; "0.0.0.0/0" is allowed."""
        self.ip(*(f"{'-6 ' if ':' in prefix else ''}route replace local {prefix} dev lo table local" for prefix in prefixes))

    def provider(self, zone, addresses=(PROVIDER,), kind="doh", name="far", port=443):
        """A provider with HTTP/2 over TLS at these addresses, started."""
        return self.networks.own(FarProvider(self, zone, addresses, kind, name, port)).up()


class Everything:
    """The replies of a router's resolver by default: an answer for every name, NODATA for other types."""

    TTL = 20

    def __init__(self, number, addresses):
        self.number = number
        self.addresses = addresses

    def __call__(self, query, is_stream):
        question = wire.Message(query).question
        owner, type = ".".join(_labels(question)), struct.unpack("!H", question[-4:-2])[0]
        if type not in (1, 28):
            return [reply(query)]
        own = f"192.0.2.{self.number}" if type == 1 else f"2001:db8::{self.number}"
        address = self.addresses.get((owner, "A" if type == 1 else "AAAA"), own)
        family = socket.AF_INET if type == 1 else socket.AF_INET6
        return [reply(query, [(owner, type, self.TTL, socket.inet_pton(family, address))])]


def _labels(question):
    at, labels = 0, []
    while length := question[at]:
        labels.append(question[at + 1:at + 1 + length].decode("latin-1").lower())
        at += 1 + length
    return labels


class FarLab(Lab):
    """A lab in another namespace, with its control endpoint."""

    def __init__(self, namespace, **options):
        super().__init__(prefix=namespace.prefix, **options)
        self.namespace = namespace

    def _call(self, *arguments):
        call = super()._call
        return self.namespace.within(lambda: call(*arguments))


class FarProvider:
    """The lab, and a web server before it that has the vendor's certificate. `lab` and `front` are programs."""

    def __init__(self, internet, zone, addresses, kind, name, port):
        self.kind, self.name, self.addresses, self.port = kind, name, list(addresses), port
        self.authority = internet.networks.authority
        self.lab = FarLab(internet)
        self.lab.zone = self.lab.directory / "zone"
        self.lab.zone.write_text(zone)
        self.internet = internet

    def up(self):
        self.lab.up()
        vendor = KINDS[self.kind].vendor
        certificate, key = self.authority.certificate(vendor, file=f"{vendor}-{self.internet.name}-{self.name}")
        listen = "".join(
            f"listen {f'[{address}]' if ':' in address else address}:{self.port} ssl http2;\n" for address in self.addresses)
        self.front = Nginx(prefix=self.internet.prefix, servers=f"""
    server {{
        {listen}
        server_name "{vendor}";
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        location / {{
            proxy_pass http://{self.lab.http}/p/{self.name}/;
            proxy_buffering off;
        }}
    }}""")
        self.front.up()
        return self

    def settings(self, **more):
        """The settings are the same for every provider of this name and these addresses."""
        url = f"https://{KINDS[self.kind].vendor}:{self.port}/{KINDS[self.kind].path}"
        return self.lab._settings(
            self.kind, self.name, url,
            {"addresses": self.addresses, "ca-file": str(self.authority.ca_file), **more})

    @property
    def log(self):
        return self.lab.log + (self.front.log if hasattr(self, "front") else "")

    def close(self):
        try:
            if hasattr(self, "front"):
                self.front.close()
        finally:
            self.lab.close()
