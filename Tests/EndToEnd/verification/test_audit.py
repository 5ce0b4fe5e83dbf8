# The provider audit as operators see it: as text and JSON, on the page, as metrics, and after a restart.

import json
import re
import unittest

import scraping
from paths import eventually
from programs import ctl
from test_hijack import SHOPS, Played
from wire import Datagrams


class Audit(Played):
    expected_seconds = 60

    def test_text_json_page_and_metrics_name_the_forger_also_after_a_restart(self):
        paid = self.lab(zone=self.zone)
        providers = [self.liar.provider("json", "liar"), self.honest.provider("json", "honest"),
                     paid.provider("json", "paid", price=0.5)]
        paid.fault("delay", value=400)
        server = self.server(providers=providers, store=self.liar.directory / "cache.db", pages="127.0.0.1:0")
        for lab in (self.liar, self.honest, paid):
            for shop in SHOPS:
                self.say(lab, shop, self.others, ttl=300)
        for bank in ("two", "three", "four", "five", "six", "seven"):
            self.say(paid, f"www.bank-{bank}.example", self.genuine, ttl=2)
        self.discredit(server)
        with Datagrams(server.address) as client:
            for shop in SHOPS:
                client.ask(shop)

        found = eventually(lambda: self.forgeries(server), what="the audit blames the liar")
        self.assertLessEqual(3, found["count"])
        audited = self.audited(server)
        liar = audited["liar"]
        self.assertIn("forges", [finding["kind"] for finding in liar["week"]["findings"]])
        # The liar is asked over plain HTTP, so that the path may be the forger.
        self.assertRegex(liar["verdict"], r"^it or its path forges \d+\.\d % of the names compared \(\d+ of \d+;")
        self.assertIn("shadow = 0.1", " ".join(liar["advice"]))
        self.assertLessEqual(3, len(liar["week"]["domains"]["forges"]))
        self.assertEqual([], audited["honest"]["week"]["domains"]["forges"])
        self.assertNotIn("forges", audited["honest"]["verdict"])
        self.assertLess(audited["honest"]["rank"], liar["rank"])
        self.assertEqual((0.5, False, 0), tuple(audited["paid"][key] for key in ("price", "compared", "comparisons")))

        text = ctl(server, "audit").stdout
        self.assertRegex(text, r"(?m)^last 7 days$")
        self.assertRegex(text, r"(?m)^  liar: it or its path forges ")
        self.assertRegex(text, r"(?m)^    forged: .*bank-two\.example")

        page = json.loads(scraping.get(server.page, "/status.json").text)["stats"]["providers"]
        of_liar = next(each["audit"] for each in page if each["name"] == "liar")
        self.assertIn("forges", of_liar["verdict"])
        self.assertNotIn("domains", of_liar["week"], "names are not for every reader of the page")
        self.assertIn('id="audit-panel"', scraping.get(server.page, "/").text)
        metrics = scraping.get(server.page, "/metrics").text
        ratio = re.search(
            r'httpdnsd_provider_audit_ratio{provider="liar",window="week",finding="forged"} ([0-9.]+)', metrics)
        self.assertGreater(float(ratio[1]), 0)
        self.assertIn('httpdnsd_provider_price{provider="paid"} 0.5', metrics)

        self.assertEqual(0, server.stop())
        server.up()
        again = eventually(lambda: self.forgeries(server), what="the counts are back")
        self.assertLessEqual(found["count"], again["count"])

    def forgeries(self, server):
        """The forged share of the liar; None while it is not blamed."""
        findings = self.audited(server)["liar"]["week"]["findings"]
        return next((finding["share"] for finding in findings if finding["kind"] == "forges"), None)

    def audited(self, server):
        return {each["name"]: each for each in json.loads(ctl(server, "--json", "audit").stdout)["providers"]}


if __name__ == "__main__":
    unittest.main()
