# The limits of questions, names, connections and descriptors: all possible answers are given, the other clients get a
# failure in time, and the daemon recovers.

import os
import random
import threading
import time
import unittest

import paths
import wire
from cases import LAB_WWW, Case
from dig import dig
from namespace import Namespace
from paths import eventually
from programs import Daemon, ctl
from wire import Datagrams, Stream, opt, query

# StreamConnection.maxInFlight, and the time-out of stub resolvers.
IN_FLIGHT, PATIENCE = 64, 5


class Flood(Case):
    expected_seconds = 8

    def test_more_names_at_once_than_are_asked(self):
        """Every question gets a reply within a client's patience, though no upstream replies."""
        provider = self.lab()
        provider.fault("hang")
        server = self.daemon([provider.provider("json"), provider.provider("doh")])
        connections = [Stream(server.address) for _ in range(20)]
        began = time.monotonic()
        for number, client in enumerate(connections):
            self.addCleanup(client.socket.close)
            client.send(*(query(f"f{number}-{id}.any.lab.example", id=id, edns=opt()) for id in range(IN_FLIGHT)))
        errors = []
        for client in connections:
            replies = [client.receive() for _ in range(IN_FLIGHT)]
            self.assertEqual(set(range(IN_FLIGHT)), {reply.id for reply in replies})
            self.assertEqual({wire.SERVFAIL}, {reply.rcode for reply in replies})
            errors += [reply.extended_error for reply in replies]
        self.assertLess(time.monotonic() - began, PATIENCE * paths.slack())
        # The code 14 means not ready (RFC 8914): the request found no connection.
        self.assertLessEqual(set(errors), {14, 22, 23})
        eventually(lambda: server.stats()["inflight"] == 0)
        self.assertSums(server.stats())
        provider.reset()
        eventually(lambda: dig(server, "www.lab.example", "A").data == LAB_WWW, within=35, every=0.2)


class Cache(Case):
    expected_seconds = 5
    needs_release = True

    def test_a_full_cache_forgets_and_stays_within_its_size(self):
        provider = self.lab()
        server = self.daemon([provider.provider("doh")], sections='[cache]\nsize = "1MiB"')
        names = [f"{number:05}.{'x' * 60}.{'y' * 60}.{'z' * 60}.any.lab.example" for number in range(4000)]
        with Stream(server.address) as client:
            for start in range(0, len(names), IN_FLIGHT):
                block = names[start:start + IN_FLIGHT]
                client.send(*(query(name, id=start) for name in block))
                for _ in block:
                    self.assertEqual({"192.0.2.99"}, client.receive().addresses)
        stats = server.stats()
        self.assertEqual(4000, stats["cache"]["insertions"])
        self.assertGreater(stats["cache"]["evictions"], 500)
        self.assertLessEqual(stats["cache"]["bytes"], 1 << 20)
        self.assertEqual(4000, stats["cache"]["entries"] + stats["cache"]["evictions"])
        with Datagrams(server.address) as client:
            self.assertEqual({"192.0.2.99"}, client.ask(names[-1]).addresses)
        self.assertEqual(1, server.stats()["responses"]["cache"])


class Descriptors(Case):
    expected_seconds = 4

    def test_running_out_of_descriptors(self):
        provider = self.lab()
        server = self.daemon([provider.provider("json")], prefix=("prlimit", "--nofile=40:40"))
        dig(server, "www.lab.example", "A")
        clients = []
        for _ in range(60):
            clients.append(Stream(server.address, timeout=1))
            self.addCleanup(clients[-1].socket.close)
        with Datagrams(server.address) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
            # A missing descriptor for a request is a failure in time, too.
            self.assertIn(client.ask("miss.any.lab.example").rcode, (wire.NOERROR, wire.SERVFAIL))
        for stream in clients:
            stream.socket.close()
        eventually(lambda: dig(server, "later.any.lab.example", "A").data == {"192.0.2.99"})
        with Stream(server.address) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        self.assertSums(server.stats())

    def test_the_soft_limit_is_raised_to_the_hard_one_and_told(self):
        server = self.daemon([self.lab().provider("json")], prefix=("prlimit", "--nofile=256:3000"))
        self.assertEqual(3000, server.stats()["process"]["max_fds"])
        self.assertRegex(ctl(server, "status").stdout, r"files +\d+ open, 3,000 allowed")

    def test_no_descriptor_is_lost(self):
        provider = self.lab()
        server = self.daemon([provider.provider("json")])
        dig(server, "www.lab.example", "A")
        before = server.stats()["process"]["open_fds"]
        for number in range(100):
            with Stream(server.address) as client:
                client.send(query(f"lost{number}.any.lab.example"))
                if number % 2:
                    client.receive()
        eventually(lambda: server.stats()["process"]["open_fds"] <= before + 2)


class Restless(Case):
    expected_seconds = 5

    def test_reloads_under_load_cost_no_answer(self):
        provider = self.lab()
        pairs = [[provider.provider("json"), provider.provider("doh")],
                 [provider.provider("doh"), provider.provider("dnspod")]]
        server = self.daemon(pairs[0])
        stop, failed = threading.Event(), []

        def ask(seed):
            chance = random.Random(seed)
            with Datagrams(server.address) as client:
                while not stop.is_set():
                    reply = client.ask(f"r{chance.randrange(100_000)}.any.lab.example")
                    if reply.addresses != {"192.0.2.99"}:
                        failed.append(reply)
        askers = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
        for asker in askers:
            asker.start()
        try:
            for number in range(30):
                server.providers = pairs[number % 2]
                server.config.write_text(server.settings())
                self.assertIn("settings reloaded", server.reload())
                self.assertSums(server.stats())
        finally:
            stop.set()
            for asker in askers:
                asker.join()
        self.assertEqual([], failed)
        self.assertGreater(server.stats()["queries"]["total"], 100)


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
class NoNetwork(Case):
    def test_without_any_route(self):
        """An offline laptop: a failure at once, no upstream is queried, and the daemon stays intact."""
        inside = Namespace()
        self.addCleanup(inside.remove)
        away = {"name": "away", "dialect": "json", "url": "http://203.0.113.1/resolve"}
        server = self.own(Daemon([away], system=["203.0.113.2"], prefix=inside.prefix))
        server.listen = ["127.0.0.1:53"]
        server.up()
        for name in ("a.example", "b.example"):
            began = time.monotonic()
            said = inside.run("dig", "+tries=1", "+time=6", "@127.0.0.1", name).stdout
            self.assertIn("status: SERVFAIL", said)
            self.assertLess(time.monotonic() - began, 2)
        self.assertEqual({}, server.failures("away"))
        self.assertEqual(0, server.stats()["system"]["requests"])
