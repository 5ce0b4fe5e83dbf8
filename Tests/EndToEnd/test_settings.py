# Each setting changes what the daemon does.

from pathlib import Path

from cases import LAB_WWW, Case
from digging import dig
from fakes import FakeProvider
from lab import Lab
from places import eventually, free_port
from programs import Daemon
from wire import Datagrams


class Effects(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()

    def serve(self, **options):
        return self.daemon([self.provider.provider("json")], **options)

    def ttl(self, server, name):
        reply = dig(server, name, "A")
        return int((reply.answer or reply.section("AUTHORITY"))[0][1])

    @staticmethod
    def threads(server):
        tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
        return {(task / "comm").read_text().strip() for task in tasks}

    def test_threads(self):
        for count in (1, 3):
            server = self.serve(server=f"threads = {count}")
            # A thread names itself, when it comes to run.
            wanted = {"httpdnsd", *(f"serve-{number}" for number in range(count))}
            eventually(lambda: self.threads(server) == wanted, what=f"threads {wanted}")
            self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_several_addresses(self):
        ports = [free_port(), free_port("::1")]
        server = self.serve(listen=[f"127.0.0.1:{ports[0]}", f"127.0.0.2:{ports[0]}", f"[::1]:{ports[1]}"])
        for address in (("127.0.0.1", ports[0]), ("127.0.0.2", ports[0]), ("::1", ports[1])):
            with Datagrams(address) as client:
                self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)

    def test_ttl_bounds(self):
        server = self.serve(sections='[cache]\nmin-ttl = "90s"\nmax-ttl = "2m"\nnegative-max-ttl = "7s"')
        self.assertEqual(120, self.ttl(server, "www.lab.example"))
        self.assertEqual(90, self.ttl(server, "short.lab.example"))
        self.assertLessEqual(self.ttl(server, "nothing.lab.example"), 7)

    def test_an_account_goes_to_dnspod(self):
        heads = []

        def respond(head):
            heads.append(head)
            return b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n198.51.100.7,300"
        fake = FakeProvider(respond)
        self.addCleanup(fake.close)
        server = self.daemon([{**fake.provider("dnspod"), "account": "4711"}])
        self.assertEqual({"198.51.100.7"}, dig(server, "www.lab.example", "A").data)
        self.assertRegex(heads[0], rb"^GET /query\?.*id=4711")
        self.assertRegex(heads[0], rb"[?&]dn=www\.lab\.example")

    def test_no_control_socket(self):
        server = self.own(Daemon([self.provider.provider("json")]))
        server.control = ""
        server.up()
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual([], list(server.directory.glob("*.sock")))

    def test_log_level(self):
        server = self.own(Daemon([self.provider.provider("json")], sections='[log]\nlevel = "error"')).run()
        eventually(lambda: dig(server, "+time=1", "www.lab.example", "A").data == LAB_WWW)
        self.assertEqual("", server.log)

    def test_level_debug_tells_of_every_request_that_failed(self):
        lab = self.own(Lab()).up()
        lab.fault("status", value=500)
        server = self.daemon([lab.provider("json")], sections='[log]\nlevel = "debug"')
        for name in ("a.any.lab.example", "b.any.lab.example"):
            dig(server, "+time=1", name, "A")
        eventually(lambda: "provider json fails: HTTP status 500" in server.log)
        eventually(lambda: "a request to json failed: HTTP status 500" in server.log)

    def test_only_the_clients_that_are_allowed(self):
        server = self.serve(server='allow = ["127.0.3.0/24"]')
        with Datagrams(server.address, source="127.0.3.200") as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        with Datagrams(server.address) as stranger:
            self.assertEqual(5, stranger.ask("www.lab.example").rcode)
