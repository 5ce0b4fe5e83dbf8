# A thousand clients with one question: one request upstream, and a reply of its own for each client.

import random
import selectors
import time

from cases import Case
from paths import eventually
from wire import Datagrams, Message, opt, query, question

NAME = "popular.any.lab.example"
CLIENTS = 1000


class Coalescing(Case):
    expected_seconds = 3

    def setUp(self):
        self.provider = self.lab()
        # A second provider would get a hedge when the first is slow.
        self.server = self.daemon([self.provider.provider("json")])
        self.chance = random.Random(2)

    def mixed_case(self):
        return "".join(self.chance.choice((letter.upper(), letter.lower())) for letter in NAME)

    def edns(self, number):
        unknown = opt(options=b"\xfd\xe9\0\0")
        choices = (None, opt(), opt(payload=512), opt(payload=4096, do=True), opt(payload=0), unknown)
        return choices[number % len(choices)]

    def ask_all(self, names):
        """Sends all questions at once; the replies by client."""
        clients = [Datagrams(self.server.address, source=f"127.0.1.{number % 200 + 1}") for number in range(CLIENTS)]
        selector = selectors.DefaultSelector()
        replies = {}
        try:
            for number, client in enumerate(clients):
                selector.register(client.socket, selectors.EVENT_READ, number)
                client.send(query(names[number], id=number, edns=self.edns(number)))
            deadline = time.monotonic() + 6
            while len(replies) < CLIENTS and time.monotonic() < deadline:
                for key, _ in selector.select(0.1):
                    replies.setdefault(key.data, []).append(Message(key.fileobj.recv(65535)))
            return replies
        finally:
            selector.close()
            for client in clients:
                client.socket.close()

    def assertEveryone(self, replies, names):
        """Checks that each client has one reply: with its own letters, and with OPT exactly if it sent one."""
        self.assertEqual(CLIENTS, len(replies))
        for number, (reply, *more) in replies.items():
            self.assertEqual([], more)
            self.assertEqual((number, 0, {"192.0.2.99"}), (reply.id, reply.rcode, reply.addresses))
            self.assertEqual(question(names[number]), reply.question)
            self.assertEqual(self.edns(number) is not None, reply.opt is not None)

    def test_a_thousand_identical_questions_make_one_request(self):
        self.provider.fault("delay", name=NAME, value=300)
        names = [self.mixed_case() for _ in range(CLIENTS)]
        self.assertEveryone(self.ask_all(names), names)
        self.assertEqual(1, self.provider.asked(NAME))
        stats = self.server.stats()
        self.assertEqual(1, stats["providers"][0]["requests"])
        self.assertEqual(CLIENTS, stats["responses"]["provider"] + stats["responses"]["cache"])
        self.assertGreater(stats["responses"]["provider"], CLIENTS // 2)
        self.assertSums(stats)
        # The second replies come from the cache.
        self.assertEveryone(self.ask_all(names), names)
        self.assertEqual(CLIENTS, self.server.stats()["responses"]["cache"] - stats["responses"]["cache"])
        self.assertEqual(1, self.provider.asked(NAME))

    def test_an_answer_that_comes_amid_the_questions_is_asked_for_once(self):
        for place in range(5):
            name = f"amid-{place}.any.lab.example"
            replies = self.ask_all([name] * CLIENTS)
            self.assertEqual({"192.0.2.99"}, set().union(*(reply.addresses for reply, *_ in replies.values())))
            self.assertEqual((CLIENTS, 1), (len(replies), self.provider.asked(name)))
        self.assertSums(self.server.stats())

    def test_a_thousand_failures_are_one_request_too(self):
        self.provider.fault("status", name=NAME, value=500)
        replies = self.ask_all([self.mixed_case() for _ in range(CLIENTS)])
        self.assertEqual(CLIENTS, len(replies))
        self.assertEqual({2}, {reply.rcode for reply, *_ in replies.values()})
        eventually(lambda: self.server.stats()["inflight"] == 0)
        # Questions after the failure are new ones, because it is not remembered yet.
        self.assertLess(self.provider.asked(NAME), CLIENTS // 10)
        self.assertSums(self.server.stats())
