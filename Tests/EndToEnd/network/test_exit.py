# The addresses that providers report for this machine: `network` shows them, and another carrier behind the same router
# is another network. A lying provider changes nothing.

import itertools
import json
import random
import tempfile
from pathlib import Path

import paths
from cases import Case
from networks import PROVIDER, Networks
from paths import eventually
from vendors.alibaba import First
from vendors.standin import Entry
from vendors.ucloud import UCloud
from vendors.volcengine import Volcengine

HOME, MOBILE = "203.0.113.7", "198.51.100.9"
NAME, FORMER, PRESENT = "www.shop.example", "192.0.2.10", "192.0.2.20"


class Exit(Case):
    expected_seconds = 25

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="e2e-exit-")))
        self.folder.chmod(0o755)
        self.networks = Networks(routers="a")
        self.addCleanup(self.networks.remove)
        self.programs = self.networks.programs
        self.host, router = self.networks.host, self.networks["a"]
        router.serve(self.networks)
        # An empty answer of Alibaba's has no address of the client.
        self.fresh = itertools.count()
        self.names = {NAME: Entry((FORMER,)), **{self.other(number): Entry(("192.0.2.30",)) for number in range(2000)}}
        honest = [
            self.stand_in(router, Volcengine, "volcengine", "resolve", "1023", "QlgAuFMwNUwN"),
            self.stand_in(router, First, "alicloud", "", "100000", "IAmASecret"),
        ]
        self.honest = [stand_in for stand_in, _ in honest]
        self.liar, of_liar = self.stand_in(router, UCloud, "ucloud", "", "100000", "AuthSecret")
        self.liar.seen_as = lambda peer: f"{random.randrange(11, 100)}.{random.randrange(256)}.0.1"
        self.seen_as(HOME)
        self.host.join(router)
        self.host.run("dig", f"@{router.lan_v4}", NAME)
        self.server = self.networks.daemon(
            [settings for _, settings in honest] + [of_liar], sections="[probe]\nenabled = false\n",
            store=paths.entrust(self.folder) / "cache.db").up()
        self.client = self.host.client(timeout=5)
        self.addCleanup(self.client.__exit__)

    @staticmethod
    def other(number):
        return f"n{number}.shop.example"

    def stand_in(self, router, vendor, dialect, path, account, secret):
        """A provider over HTTP, in the Internet behind the router, with its settings."""
        found = router.internet.within(
            lambda: vendor(self.names, nodes=(PROVIDER,), account=account, secret=secret))
        key = self.folder / dialect
        key.touch(0o600)
        key.write_text(secret + "\n")
        settings = {
            "name": dialect, "dialect": dialect, "url": f"http://{dialect}.example:{found.port}/{path}",
            "addresses": [PROVIDER], "account": account, "key-file": str(paths.entrust(key))}
        if dialect == "alicloud":
            settings["service-nodes"] = False
        return self.networks.own(found), settings

    def seen_as(self, address):
        for stand_in in self.honest:
            stand_in.seen_as = lambda peer: address

    def network(self):
        """The network after one more name was asked."""
        self.client.ask(self.other(next(self.fresh)))
        return json.loads(self.server.ask_control("network --json"))

    def until(self, condition, what):
        return eventually(lambda: condition(found := self.network()) and found, what=what, every=0.05)

    def address(self):
        return self.client.ask(NAME).addresses

    def test_another_carrier_behind_the_same_router_is_another_network(self):
        home = self.until(lambda network: network["carrier"], "the carrier is found")
        self.assertEqual(["203.0.0.0/16"], home["carrier"])
        self.assertEqual({FORMER}, self.address())
        shown = self.until(lambda network: len(network["exits"]) == 3, "every provider has reported an address")
        self.assertLessEqual({("volcengine", HOME), ("alicloud", HOME)},
                             {(exit["provider"], exit["address"]) for exit in shown["exits"]})
        self.assertRegex(self.server.ask_control("network"), rf"(?m)^exit +{HOME} by volcengine, \d+s ago$")
        # The lying provider reports another carrier each time.
        for _ in range(100):
            network = self.network()
        self.assertEqual((home["current"]["id"], home["current"]["changes"]),
                         (network["current"]["id"], network["current"]["changes"]))

        self.names[NAME] = Entry((PRESENT,))
        self.assertEqual({FORMER}, self.address())
        self.seen_as(MOBILE)
        mobile = self.until(lambda network: network["current"]["id"] != home["current"]["id"], "the change is found")
        self.assertEqual(["198.51.0.0/16"], mobile["carrier"])
        self.assertEqual(home["current"]["words"], mobile["current"]["words"])
        self.assertEqual({PRESENT}, self.address())
        self.server.wait_for(r"network .*: the router uses another carrier")
        # After a restart, the network is that of the last carrier again.
        self.server.stop()
        self.server.up()
        again = self.until(lambda network: network["current"]["id"] == mobile["current"]["id"], "the last carrier")
        self.assertEqual(["198.51.0.0/16"], again["carrier"])
        self.assertEqual({home["current"]["id"], mobile["current"]["id"]}, {each["id"] for each in again["known"]})
