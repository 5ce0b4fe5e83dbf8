# A system resolver that forwards queries back to this daemon.

import re

from cases import LAB_WWW, Case
from dig import dig
from paths import eventually
from programs import Daemon, Dnsmasq


class Loop(Case):
    expected_seconds = 3

    def test_a_server_that_leads_back_to_us_is_asked_no_more(self):
        provider = self.lab()
        server = self.own(Daemon([provider.provider("dnspod")]))
        forwarder = self.own(Dnsmasq(server.address)).up()
        server.system = [forwarder.server]
        server.up()
        server.wait_for(f"nameserver {forwarder.server} forwards queries back to this daemon")
        stats = server.stats()
        self.assertEqual([], stats["system"]["servers"])
        self.assertGreater(stats["system"]["returned_checks"], 0)
        self.assertEqual((0, 0, 0), (stats["queries"]["total"], stats["cache"]["misses"], sum(stats["dropped"].values())),
                         "the daemon's own checks are no client queries")
        # Only a system resolver could know these names.
        for name in ("printer.local", "lab.example"):
            self.assertEqual("SERVFAIL", dig(server, name, "TXT").status)
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        stats = server.stats()
        self.assertLess(stats["queries"]["total"], 20, "no storm")
        self.assertSums(stats)
        self.assertEqual(1, len(re.findall("forwards queries back to this daemon; not used", server.log)))

    def test_it_is_found_again_after_a_reload_and_the_others_stay(self):
        nsd = self.nsd()
        server = self.own(Daemon([self.lab().provider("dnspod")]))
        forwarder = self.own(Dnsmasq(server.address)).up()
        server.system = [nsd.server]
        server.up()
        server.system = [forwarder.server, nsd.server]
        server.config.write_text(server.settings())
        server.reload()
        server.wait_for(f"nameserver {forwarder.server} forwards queries back to this daemon")
        eventually(lambda: server.stats()["system"]["servers"] == [nsd.server])
        self.assertEqual({'"from nsd"'}, dig(server, "text.lab.example", "TXT").data)
