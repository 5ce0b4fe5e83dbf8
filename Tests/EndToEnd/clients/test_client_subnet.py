# The providers that learn the client's subnet: a query with a client subnet of length 0 forbids it (RFC 7871 section
# 7.1.2).

import base64
import threading
from urllib.parse import parse_qs, urlsplit

from cases import Case
from dig import dig

WWW = "www.lab.example"
SUBNET = "203.0.113.0/24"
OPTION = bytes((0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113))


class ClientSubnet(Case):
    expected_seconds = 5

    def begin(self, dialect, **keys):
        self.provider = self.lab()
        terms = {"client-subnet": SUBNET, **({"method": "GET"} if dialect == "doh" else {}), **keys}
        self.server = self.daemon([self.provider.provider(dialect, **terms)])

    def told(self):
        """Whether each request about the name had the subnet."""
        told = []
        for request in self.provider.requests()["recent"]:
            query = parse_qs(urlsplit(request["target"]).query)
            if "dns" in query:
                text = query["dns"][0]
                message = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
                if b"\x03www" in message:
                    told.append(OPTION in message)
            elif WWW in request["target"]:
                told.append("203.0.113" in request["target"])
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

    def test_without_subnets_in_the_settings_all_clients_share_the_answer(self):
        self.provider = self.lab()
        self.server = self.daemon([self.provider.provider("json")])
        for more in ((), ("+subnet=0",)):
            self.assertEqual("NOERROR", dig(self.server, WWW, "A", *more).status)
        self.assertEqual([False], self.told())
