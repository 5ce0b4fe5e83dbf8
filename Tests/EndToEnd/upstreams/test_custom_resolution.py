# Parameters of custom resolution: each vendor's stand-in gets them where its documents put them, answers by them, and no
# client gets an answer that other parameters chose.

import paths
from paths import eventually
from test_vendors import BATCH, V4, Vendors
from vendors.standin import Entry
from wire import NOERROR, ask_all

EU, US = {"203.0.113.7"}, {"203.0.113.8"}
NAME = "www.shop.example"


def names(addresses):
    return {name: Entry(tuple(addresses)) for name in [NAME, *BATCH]}


class CustomResolution(Vendors):
    def each_kind(self, kinds, keys, custom):
        """Checks that only requests with exactly these parameters get these addresses."""
        for kind in kinds:
            with self.subTest(kind):
                stand_in = self.stand_in(kind)
                stand_in.custom_names = {frozenset(custom.items()): names(EU)}
                server = self.daemon_of(self.settings(kind, stand_in, **keys))
                self.gets(EU, server, NAME)
                self.assertEqual([], stand_in.reasons)
                self.assertEqual(custom, self.requests(stand_in)[-1].custom)
                self.doCleanups()

    def test_alibaba(self):
        query = {"sdns-region": "eu", "sdns-level": "v=i_p-1"}
        self.each_kind(["alicloud"], {"query": query}, query)
        self.each_kind(["alicloud-v2", "alicloud-v2-cbc", "alicloud-v2-gcm"], {"query": query, "tags": ["ios", "beta-2"]},
                       {**query, "tags": "ios,beta-2"})

    def test_volcengine(self):
        self.each_kind(["volcengine", "volcengine-http"], {"app-id": "com.demo", "tags": ["beta"]},
                       {"appid": "com.demo", "Am-Tag": "beta"})

    def test_ucloud(self):
        self.each_kind(["ucloud"], {"app-id": "com.demo"}, {"app_id": "com.demo"})

    def rule(self, region, match=(NAME, BATCH[0], BATCH[2])):
        listed = ", ".join(f'"{name}"' for name in match)
        return f'[[rule]]\nmatch = [{listed}]\nresolver = "alicloud-v2-gcm"\nquery = {{"sdns-region" = "{region}"}}\n'

    def vendor(self):
        stand_in = self.stand_in("alicloud-v2-gcm")
        stand_in.custom_names = {
            frozenset({("tags", "ios"), ("sdns-region", "eu")}): names(EU),
            frozenset({("tags", "ios"), ("sdns-region", "us")}): names(US)}
        return stand_in, self.settings("alicloud-v2-gcm", stand_in, tags=["ios"])

    def test_names_of_a_rule_never_share_a_request_with_others(self):
        stand_in, settings = self.vendor()
        server = self.daemon_of(settings, sections=self.rule("eu"))
        replies = ask_all(server, [(name, "A") for name in BATCH])
        custom = {0, 2}
        self.assertEqual(
            {number: (NOERROR, EU if number in custom else {"192.0.2.99"}) for number in range(len(BATCH))},
            {number: (reply.rcode, reply.addresses) for number, reply in replies.items()})
        self.assertEqual([], stand_in.reasons)
        for request in self.requests(stand_in):
            has_region = {name in (BATCH[0], BATCH[2]) for name in request.names}
            self.assertEqual({"sdns-region" in request.custom}, has_region, request.names)
        self.assertGreater(max(len(request.names) for request in stand_in.requests), 1)

    def test_a_change_serves_no_former_answer_at_once_or_after_a_restart(self):
        stand_in, settings = self.vendor()
        store = self.directory / "store"
        store.mkdir()
        server = self.daemon_of(settings, sections=self.rule("eu"), store=paths.entrust(store) / "cache.db")
        self.gets(EU, server, NAME)
        self.gets(EU, server, NAME)
        self.assertEqual(1, len(stand_in.asked(NAME)))
        self.reconfigure(server, self.rule("us"))
        self.gets(US, server, NAME)
        self.reconfigure(server, "")
        self.gets(V4, server, NAME)
        # The stored answer has other parameters.
        eventually(lambda: server.stats()["store"]["written"] >= 1, what="the answer is stored")
        self.assertEqual(0, server.stop())
        server.sections = f"[probe]\nenabled = false\n{self.rule('eu', match=('shop.example',))}"
        server.up()
        server.wait_for("1 answers loaded from ")
        self.gets(EU, server, NAME)

    def reconfigure(self, server, rule):
        server.sections = f"[probe]\nenabled = false\n{rule}"
        server.config.write_text(server.settings())
        self.assertIn("settings reloaded", server.reload())
