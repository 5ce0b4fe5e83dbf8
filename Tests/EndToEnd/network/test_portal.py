# A captive portal: the router answers in place of the whole Internet, with its own certificate, and its resolver leads
# every name to it, until the user has signed in.

import socket
import time

from cases import Case
from fakes import question, reply
from networks import PROVIDER, Networks
from paths import eventually
from programs import Nginx, ctl
from wire import NOERROR, SERVFAIL

# Public addresses, because probes reach no others.
PORTAL, SITE = "20.66.0.1", "20.30.0.1"
LOGIN = "login.hotel.example"
CHECKS = ["captive.apple.com", "connectivitycheck.gstatic.com", "www.msftconnecttest.com", "nmcheck.gnome.org"]
NAMES = [f"n{number}.site.example" for number in range(6)]
ZONE = f"$ORIGIN site.example.\n$TTL 300\n@ SOA ns hostmaster 1 7200 900 1209600 30\n* A {SITE}\n"


class Hotel:
    """The portal on a router: closed until `open`."""

    def __init__(self, networks, router):
        self.networks, self.router = networks, router
        self.is_open = False
        files = networks.authority.self_signed("portal.hotel.example")
        self.web = networks.own(Nginx(prefix=router.prefix, servers=f"""
    server {{
        listen 443 ssl;
        ssl_certificate {files[0]};
        ssl_certificate_key {files[1]};
        location / {{ return 200 "sign in"; }}
    }}
    server {{
        listen 80;
        location / {{ return 302 http://{LOGIN}/; }}
    }}""")).up()
        router.serve(networks, self.respond)
        # Packets to the Internet end on the router.
        router.ip("route add local 20.0.0.0/8 dev lo table local")

    def respond(self, query, is_stream):
        """Answers every name with the portal's address until it is open; then with the name's own."""
        owner, type = question(query)
        if type != 1:
            return [reply(query)]
        address = SITE if self.is_open else PORTAL
        return [reply(query, [(owner, 1, 300, socket.inet_aton(address))])]

    def open(self):
        self.is_open = True
        self.router.ip("route delete local 20.0.0.0/8 dev lo table local")


class Portal(Case):
    expected_seconds = 40

    def test_a_portal_is_found_by_check_names_alone_and_is_over_soon_after_it_opens(self):
        networks = Networks(routers="a", families="4")
        self.addCleanup(networks.remove)
        internet, router = networks["a"].internet, networks["a"]
        internet.answer_for(SITE)
        files = networks.authority.certificate("*.site.example", file="site")
        networks.own(Nginx(prefix=internet.prefix, servers=f"""
    server {{
        listen {SITE}:443 ssl;
        ssl_certificate {files[0]};
        ssl_certificate_key {files[1]};
        location / {{ return 204; }}
    }}""")).up()
        provider = internet.provider(ZONE, (PROVIDER,))
        hotel = Hotel(networks, router)
        networks.host.join(router)
        server = networks.daemon(
            [provider.settings()], sections=f'[probe]\nca-file = "{networks.authority.ca_file}"\n').up()
        self.programs = (server, provider, hotel.web)
        client = networks.host.client()
        self.addCleanup(client.socket.close)

        # The first answer leads to the portal, which the daemon cannot know yet; it makes the daemon suspect one.
        self.assertEqual({PORTAL}, set(client.ask(NAMES[0]).addresses))
        # On a new network, the system resolver is the quicker one for two seconds; the next names show it.
        more = (f"n{number}.site.example" for number in range(1000))
        eventually(
            lambda: client.ask(next(more)) and "a captive portal is suspected" in server.log_path.read_text(), every=0.2)
        server.wait_for(f"the captive portal redirects to {LOGIN}$")
        said = ctl(server, "status").stdout
        self.assertRegex(said, f"\nportal +suspected for .*: sign in to the network, at {LOGIN}\n")
        for name in [*CHECKS, LOGIN, f"static.{LOGIN}"]:
            for _ in range(2):
                answer = client.ask(name)
                self.assertEqual((NOERROR, {PORTAL}), (answer.rcode, set(answer.addresses)), name)
                self.assertEqual({0}, {ttl for _, _, _, ttl, _ in answer.answers}, name)

        # After its verdict, a name is not led to the portal; probes of one address have a second each.
        for name in NAMES:
            eventually(lambda: client.ask(name).rcode == SERVFAIL, what=f"{name} is mismatched")
        for _ in range(3):
            for name in NAMES:
                self.assertEqual((SERVFAIL, []), (client.ask(name).rcode, list(client.ask(name).addresses)), name)
            time.sleep(0.5)
        self.assertIn("untrusted", server.stats()["probe"]["verdicts"])

        opened = time.monotonic()
        hotel.open()
        for name in NAMES:
            eventually(lambda: set(client.ask(name).addresses) == {SITE}, within=5, what=f"{name} is itself again")
        self.assertLess(time.monotonic() - opened, 5)
        server.wait_for("captive portal no longer suspected: a provider answered$")
        self.assertNotIn("\nportal", ctl(server, "status").stdout)
        self.assertEqual("up", server.stats()["providers"][0]["state"])
