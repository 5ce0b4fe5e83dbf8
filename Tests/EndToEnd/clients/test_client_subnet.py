# The providers that learn the client's subnet: a query with a client subnet of length 0 forbids it (RFC 7871 section
# 7.1.2).

import base64
import threading
import time
from urllib.parse import parse_qs, urlsplit

from cases import Case, rule
from dig import dig

WWW = "www.lab.example"
BRIEF = "brief.lab.example"
SUBNET = "203.0.113.0/24"
OPTION = bytes((0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113))
NOWHERE = bytes((0, 8, 0, 4, 0, 1, 0, 0))


class ClientSubnet(Case):
    expected_seconds = 5

    def begin(self, dialect, sections="", **keys):
        self.provider, self.sends_subnets = self.lab(), True
        terms = {"client-subnet": SUBNET, **({"method": "GET"} if dialect == "doh" else {}), **keys}
        self.server = self.daemon([self.provider.provider(dialect, **terms)], sections=sections)

    def told(self, name=WWW):
        """Whether each request about the name had the subnet. Without it, dialects that can say so have length 0."""
        told = []
        for request in self.provider.requests()["recent"]:
            query = parse_qs(urlsplit(request["target"]).query)
            if "dns" in query:
                text = query["dns"][0]
                message = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
                if b"\x03www" in message:
                    told.append(OPTION in message)
                    self.assertTrue(told[-1] or NOWHERE in message, message)
            elif name in request["target"]:
                told.append("203.0.113" in request["target"])
                if "/resolve?" in request["target"] and self.sends_subnets:
                    self.assertIn(query["edns_client_subnet"], ([SUBNET], ["0.0.0.0/0"]))
        return told

    def test_a_question_that_hides_the_subnet_is_asked_without_it_and_answered_apart(self):
        for dialect in ("json", "doh", "dnspod"):
            for hiding in ("+subnet=0", "+subnet=0.0.0.0/0", "+subnet=::/0"):
                with self.subTest(dialect, hiding=hiding):
                    self.begin(dialect)
                    self.assertEqual("NOERROR", dig(self.server, WWW, "A", "+nosubnet").status)
                    self.assertEqual([True], self.told())
                    for transport in ("+notcp", "+tcp"):
                        self.assertEqual("NOERROR", dig(self.server, WWW, "A", hiding, transport).status)
                    # The second reply comes from the cache.
                    self.assertEqual([True, False], sorted(self.told(), reverse=True))
                    # A subnet of the client does not change the one of the settings.
                    dig(self.server, WWW, "A", "+subnet=198.51.100.0/24")
                    self.assertEqual(2, len(self.told()))

    def test_it_does_not_join_a_question_in_flight(self):
        self.begin("json")
        self.provider.fault("delay", value=300)
        asking = [threading.Thread(target=dig, args=(self.server, WWW, "A", *more)) for more in ((), ("+subnet=0",))]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
        self.assertEqual([False, True], sorted(self.told()))

    def test_its_refreshes_and_its_expired_answers_stay_apart(self):
        self.begin("json")
        self.provider.record(BRIEF, "A", "192.0.2.99", ttl=1)
        dig(self.server, BRIEF, "A", "+subnet=0")
        for _ in range(30):
            self.assertEqual("NOERROR", dig(self.server, BRIEF, "A", "+subnet=0").status)
            time.sleep(0.1)
        told = self.told(BRIEF)
        self.assertGreater(len(told), 1, "no refresh")
        self.assertEqual({False}, set(told))
        self.provider.fault("status", value=500)
        time.sleep(1.1)
        self.assertEqual(3, dig(self.server, BRIEF, "A", "+subnet=0").extended_error)
        # No answer to the subnet is known.
        self.assertEqual("SERVFAIL", dig(self.server, BRIEF, "A").status)

    def test_an_alias_of_a_rule_leads_to_the_answer_without_the_subnet(self):
        self.begin("json", sections=rule("alias.lab.example", cname=f'"{WWW}"'))
        dig(self.server, WWW, "A")
        dig(self.server, "alias.lab.example", "A", "+subnet=0")
        self.assertEqual([True, False], sorted(self.told(), reverse=True))

    def test_the_reply_repeats_the_option_with_scope_0(self):
        self.begin("json")
        for name in (WWW, WWW, "missing.lab.example"):
            for option, shown in (("0", "0.0.0.0/0/0"), ("0.0.0.0/0", "0.0.0.0/0/0"), ("::/0", "::/0/0")):
                for transport in ("+notcp", "+tcp"):
                    found = dig(self.server, name, "A", f"+subnet={option}", transport)
                    self.assertIn(f"CLIENT-SUBNET: {shown}\n", found.text)
        self.assertNotIn("CLIENT-SUBNET", dig(self.server, WWW, "A", "+nosubnet").text)

    def test_without_subnets_in_the_settings_all_clients_share_the_answer(self):
        self.provider, self.sends_subnets = self.lab(), False
        self.server = self.daemon([self.provider.provider("json")])
        for more in ((), ("+subnet=0",)):
            self.assertEqual("NOERROR", dig(self.server, WWW, "A", *more).status)
        self.assertEqual([False], self.told())
