# Two networks, each with other addresses for the same names, a host that runs httpdnsd, and the bounds for its clients
# when it moves.

import paths
from cases import Case
from networks import Networks
from paths import eventually
from traffic import Traffic, percentile

# The promised bounds: the first fresh answer this long after the route, and the longest wait in the first two seconds.
RECOVERY, WAIT, FIRST = 1.0, 0.3, 2.0
NAMES = [f"n{number}.lab.example" for number in range(100)]
# A fixed address for each name and network. They are documentation addresses, which no probe contacts.
PREFIXES = {"a": "198.51.100", "b": "203.0.113"}
SOA = "@ SOA ns1 hostmaster 1 7200 900 1209600 30"


def zone_of(letter):
    """The zone has the names, those under "any", and "s0" to "s19", which expire after two seconds."""
    lines = ["$ORIGIN lab.example.", "$TTL 60", SOA, f"*.any A {PREFIXES[letter]}.200"]
    lines += [f"{name.split('.')[0]} A {address_of(name, letter)}" for name in NAMES]
    lines += [f"s{number} 2 A {PREFIXES[letter]}.{201 + number}" for number in range(20)]
    return "\n".join(lines) + "\n"


def address_of(name, letter):
    return f"{PREFIXES[letter]}.{int(name[1:].split('.')[0]) + 1}"


def known_by(letter):
    """The records for the network's system resolver: each answer identifies the network, whichever source gave it."""
    return {(name, "A"): address_of(name, letter) for name in NAMES}


class Roaming(Case):
    """Networks "a" and "b", each with a provider that has other addresses for the same names."""

    is_wireless = False

    def setUp(self):
        self.networks = Networks(is_wireless=self.is_wireless)
        self.addCleanup(self.networks.remove)
        self.programs = self.networks.programs
        self.providers = {}
        for letter, router in self.networks.routers.items():
            router.serve(self.networks, addresses=known_by(letter))
            self.providers[letter] = router.internet.provider(zone_of(letter))
        self.a, self.b = self.networks["a"], self.networks["b"]
        self.host = self.networks.host
        self.begin()

    def begin(self, joins=True, **options):
        if joins:
            self.host.join(self.a)
            # The query makes the gateway's hardware address known, as after DHCP, so that the network is complete.
            self.host.run("dig", f"@{self.a.lan_v4}", NAMES[0])
        self.server = self.networks.daemon([self.providers["a"].settings()], **options).up()

    def traffic(self):
        traffic = self.networks.own(Traffic(self.host, NAMES)).up()
        eventually(lambda: len({each.name for each in traffic.asked() if each.rcode == 0}) == len(NAMES), every=0.2)
        return traffic

    def network(self):
        return self.server.stats()["network"]

    def assertServed(self, questions):
        """Checks that no client saw a failure, and each answer is right in one of the networks."""
        wrong = [each for each in questions if each.rcode != 0
                 or each.address not in [address_of(each.name, letter) for letter in PREFIXES]]
        self.assertEqual([], wrong[:5], f"{len(wrong)} of {len(questions)}")

    def assertFollowed(self, questions, moved, letter):
        """Checks that clients got answers of this network soon after `moved`, the time of the route, without long
        waits, and soon of no other network."""
        early = [each.latency for each in questions if moved <= each.sent < moved + FIRST]
        self.assertGreater(len(early), 100 * FIRST)
        self.assertLess(percentile(early, 0.99), WAIT * paths.slack())
        recovery = self.recovery(questions, moved, letter)
        self.assertLess(recovery, RECOVERY * paths.slack())
        over = moved + RECOVERY * paths.slack()
        other = [each for each in questions if each.sent > over and each.address != address_of(each.name, letter)]
        self.assertEqual([], other[:5], f"{len(other)} answers are of another network")

    @staticmethod
    def recovery(questions, moved, letter):
        """The seconds until a client had an answer of the new network."""
        came = [each.received for each in questions if each.sent >= moved and each.address == address_of(each.name, letter)]
        return min(came, default=moved + paths.PATIENCE) - moved
