# Each setting changes what the daemon does.

import os
import re
import subprocess
import tempfile
from pathlib import Path

import paths
from cases import LAB_WWW, Case
from dig import dig
from fakes import FakeProvider
from lab import Lab
from paths import eventually, free_port
from programs import Daemon, ctl
from test_process import httpdnsd
from test_programs import NamespaceCase
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
            # A thread sets its own name when it begins to run.
            wanted = {"httpdnsd", "log", *(f"serve-{number}" for number in range(count))}
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

    def test_a_parser_that_crashes_or_hangs_does_not_end_the_daemon(self):
        directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        directory.chmod(0o755)
        library = directory / "broken-parser.so"
        subprocess.run(
            ["g++", "-shared", "-fPIC", "-o", library, paths.SUPPORT / "broken-parser.cpp"], check=True)
        server = self.own(Daemon([self.provider.provider("json")], prefix=("env", f"LD_PRELOAD={library}"))).up()
        self.assertIn("system calls filtered", ctl(server, "status").stdout)
        # The sound parser refuses each of these files, too.
        faults = {
            "abort": "signal 6 ended the parser in a child process",
            "segv": "signal 11 ended the parser in a child process",
            "hang": "the parser did not end within 2 s in a child process",
            "memory": "signal 11 ended the parser in a child process",
        }
        good = server.settings()
        for key, fault in faults.items():
            with self.subTest(key):
                server.config.write_text(f"{key} = 1\n{key} = 2\n{good}")
                answer = ctl(server, "reload")
                self.assertEqual(1, answer.returncode)
                remedy = "undo the last change of the file, and report this: httpdnsctl report-bug"
                self.assertIn(f"{server.config}: {fault}; {remedy}", answer.stdout + answer.stderr)
                self.assertIn("settings not reloaded, the old ones stay in force", server.reload())
                self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        server.config.write_text("other = 1\nother = 2\n" + good)
        self.assertIn("2:9: syntax: this was defined before", server.reload())
        server.config.write_text(good)
        self.assertIn("settings reloaded", server.reload())
        # No child process is left.
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
        self.assertEqual("", children)

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
        # The names belong to two sites, because one site may cause the status by itself.
        for name in ("a.any.lab.example", "b.other.example"):
            dig(server, "+time=1", name, "A")
        eventually(lambda: "provider json is down: HTTP status 500" in server.log)
        eventually(lambda: "request to json failed: HTTP status 500" in server.log)

    def test_only_the_clients_that_are_allowed(self):
        server = self.serve(server='allow = ["127.0.3.0/24"]')
        with Datagrams(server.address, source="127.0.3.200") as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        with Datagrams(server.address) as stranger:
            self.assertEqual(5, stranger.ask("www.lab.example").rcode)


# A file in which every key of a provider, its template and a rule is wrong; the comments hold the expected complaints.
MISTAKES = """\
only-listed = "yes"                         # only-listed: found "yes"; allowed: true or false
direct-only = 1                             # direct-only: found 1; allowed: true or false
[[provider]]
name = "a b"                                # provider.name: found "a b"; allowed: 1 to 32 letters, digits,
dialect = "volcegine"                       # provider.dialect: found "volcegine"; ...; did you mean "volcengine"?
url = "https://user:hunter2@192.0.2.1/"     # provider.url: found a value that is not shown...; allowed: "https://HOST
addresses = ["dns.example"]                 # provider.addresses: found "dns.example"; allowed: an IPv4 or IPv6 address
sni = "☃.example"                           # provider.sni: found "☃.example"; allowed: ...; IDNA2008 refuses it: string
verify-name = "*.example"                   # provider.verify-name: found "*.example"; allowed: a host name or an IP
host = "a/b"                                # provider.host: found "a/b"; allowed: "HOST" or "HOST:PORT"
ca-file = "ca.pem"                          # provider.ca-file: found "ca.pem"; allowed: an absolute path
account = 1234                              # provider.account: found a value that is not shown
access-key = "LTAI 1"                       # provider.access-key: found a value that is not shown
key-file = "keys/a"                         # provider.key-file: found a value that is not shown, because it may be
cipher = "aes"                              # provider.cipher: found "aes"; allowed: "none", "cbc", "gcm"
cipher-key-file = ".."                      # provider.cipher-key-file: found a value that is not shown, because it may
expiring = "true"                           # provider.expiring: found "true"; allowed: ...; leave out the quotes
region = "globl"                            # provider.region: found "globl"; allowed: ...; did you mean "global"?
service-nodes = 0                           # provider.service-nodes: found 0; allowed: true or false
client-subnet = "192.0.2.7/24"              # provider.client-subnet: found "192.0.2.7/24"; ...: write "192.0.2.0/24"
proxy = "http://u:hunter2@192.0.2.1:3128"   # provider.proxy: found a value that is not shown...proxy-key-file
proxy-key-file = "a:b"                      # provider.proxy-key-file: found a value that is not shown
method = "get"                              # provider.method: found "get"; allowed: "GET", "POST"
budget = 50                                 # provider.budget: found 50; allowed: ...: write "50/s"
shadow = 5                                  # provider.shadow: found 5; allowed: a number from 0.001 to 1.0
idle = "11m"                                # provider.idle: found "11m"; allowed: a duration from 1s to 10m
connection-requests = 0                     # provider.connection-requests: found 0; allowed: an integer from 1 to
[provider.template]
query = ""                                  # provider.template.query: found a value that is not shown
headers = "A: b"                            # provider.template.headers: found a value that is not shown
max-names = 21                              # provider.template.max-names: found 21; allowed: an integer from 1 to 20
lifetime = 300                              # provider.template.lifetime: found 300; allowed: ...: write "300s"
digest = "sha1"                             # provider.template.digest: found "sha1"; allowed: "none", "md5", "sha256",
signed = ["é"]                              # provider.template.signed: found a value that is not shown
sort = "false"                              # provider.template.sort: found "false"; allowed: ...; leave out the quotes
join = 1                                    # provider.template.join: found a value that is not shown
v4 = 4                                      # provider.template.v4: found 4; allowed: 0 to 2000 printable ASCII
v6 = []                                     # provider.template.v6: found an array; allowed: 0 to 2000 printable ASCII
ttl = 60                                    # provider.template.ttl: found 60; allowed: 0 to 2000 printable ASCII
success = true                              # provider.template.success: found true; allowed: 0 to 2000 printable ASCII
[[rule]]
match = ["*.example"]                       # rule.match: found "*.example"; allowed: ...: write "example"
resolver = true                             # rule.resolver: found true; allowed: "httpdns", "system", "link" or the
family = "ip4"                              # rule.family: found "ip4"; allowed: ...; did you mean "ipv4"?
allow-private = "yes"                       # rule.allow-private: found "yes"; allowed: true or false
stale = 0                                   # rule.stale: found 0; allowed: true or false
stale-negative = 1                          # rule.stale-negative: found 1; allowed: true or false
prefetch = "no"                             # rule.prefetch: found "no"; allowed: true or false
min-ttl = "8d"                              # rule.min-ttl: found "8d"; allowed: a duration from 0s to 168h
max-ttl = 60                                # rule.max-ttl: found 60; allowed: ...: write "60s"
fallback-addresses = ["[::1]"]              # rule.fallback-addresses: found "[::1]"; allowed: an IPv4 or IPv6 address
"""


class Mistakes(Case):
    def check(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            checked = httpdnsd("--check", "--config", file.name)
            lines = checked.stderr.replace(f"httpdnsd: {file.name}:", "").splitlines()
            return checked.returncode, checked.stdout, lines

    def test_no_secret_is_repeated(self):
        start = '[[provider]]\nname = "x"\ndialect = "dnspod-aes"\nurl = "http://192.0.2.1/d"\naccount = "1"\n'
        for line in ('key-file = ["s3cret"', "key-file = [\ns3cret\n]", "key = s3cret", '"key\\u002dfile" = s3cret',
                     "proxy = http://user:s3cret@192.0.2.2:80", 'access-key = "s3cret+/="', 'key-file = "/s3cret+/="',
                     '[provider.template]\nheaders = "Authorization: s3cret"'):
            code, out, found = self.check(start + line + "\n")
            self.assertEqual((1, ""), (code, out))
            self.assertNotIn("s3cret", "\n".join(found))

    def test_each_is_named_with_line_and_remedy(self):
        code, out, found = self.check(MISTAKES)
        self.assertEqual((1, ""), (code, out))
        expected = []
        for number, line in enumerate(MISTAKES.splitlines(), 1):
            _, _, words = line.partition("# ")
            if words:
                expected.append(rf"{number}:\d+: " + re.escape(words).replace(re.escape("..."), ".*"))
        self.assertEqual(len(expected), len(found), "\n".join(found))
        for pattern, complaint in zip(expected, found):
            self.assertRegex(complaint, rf"^{pattern}")
        self.assertNotIn("hunter2", "\n".join(found))

    def test_keys_that_contradict_each_other(self):
        code, _, found = self.check(
            '[[provider]]\nname = "emas"\ndialect = "alicloud-v2"\nurl = "https://203.107.1.1"\ncipher = "gcm"\n'
            '[[rule]]\nmatch = ["a.example"]\nresolver = "emass"\n')
        self.assertEqual(1, code)
        self.assertEqual([
            '1:1: this [[provider]] has no account; dialect "alicloud-v2" needs the id that the vendor gave you: '
            'write account = "ID"',
            '1:1: this [[provider]] has no key-file; dialect "alicloud-v2" needs a file with the account\'s token or '
            'key: write key-file = "/etc/httpdnsd/alicloud-v2.key"',
            '5:10: provider.cipher: found without cipher-key-file; name the file with the AES key there',
            '8:12: rule.resolver: found "emass"; allowed: "httpdns", "system", "link", "emas"; did you mean "emas"?',
        ], found)


def facts(lines):
    """The facts of `explain` by their labels."""
    found, label = {}, ""
    for line in lines:
        label = line[:9].strip() or label
        found.setdefault(label, []).append(line[9:])
    return found


class Foretold(Case):
    def test_check_says_what_the_daemon_says_after_its_start(self):
        lab = self.own(Lab()).up()
        server = self.daemon([lab.provider("json"), lab.provider("doh")], system=["127.0.0.1:9"], sections=(
            '[[rule]]\nmatch = ["corp.example"]\nresolver = "system"\nstale = false\n'
            '[[rule]]\nmatch = ["a.corp.example"]\nresolver = "doh"\nfallback-addresses = ["192.0.2.1"]\n'
            '[network]\nwatch = false\n'))
        for question in ("www.example.com A", "corp.example AAAA", "b.a.corp.example A", "www.example.com MX",
                         "www.example.com ANY", "localhost A", "x.local A", "abc.onion AAAA", "1.0.0.127.in-addr.arpa PTR",
                         "Bücher.example A"):
            words = question.split()
            done = httpdnsd("--config", server.config, "--check", "--explain", *words)
            self.assertEqual(0, done.returncode)
            foretold = facts(done.stdout.splitlines()[2:])
            said = facts(ctl(server, "explain", *words).stdout.splitlines()[1:])
            for label in ("route", "rule", "expired", "next"):
                if question != "www.example.com ANY" or label != "expired":
                    self.assertEqual(said.get(label), foretold.get(label), f"{question}: {label}")


RULES = """\
direct-only = true
[[rule]]
match = ["corp.example"]
resolver = "system"
stale = false
[[rule]]
match = ["apps.corp.example"]
resolver = "alidns"
[[rule]]
match = ["www.apps.corp.example"]
resolver = "system"
"""
NOT_PROXIED = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}


class Explained(NamespaceCase):
    """The predictions of `--check --explain`, in a namespace with its own hosts and resolv.conf."""

    def setUp(self):
        self.inside = self.namespace(resolv_conf="nameserver 192.0.2.53\n")
        folder = tempfile.TemporaryDirectory(prefix="e2e-explain-")
        self.addCleanup(folder.cleanup)
        Path(folder.name).chmod(0o755)
        self.settings = Path(folder.name) / "httpdnsd.toml"
        self.settings.write_text(RULES)

    def check(self, *arguments, environment=NOT_PROXIED):
        return subprocess.run(
            [*self.inside.prefix, paths.binaries / "httpdnsd", "--config", self.settings, "--check", *arguments],
            env=environment, capture_output=True, text=True, timeout=paths.PATIENCE)

    def explain(self, name, *type, **options):
        """The facts by their labels."""
        done = self.check("--explain", name, *type, **options)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        first, question, *lines = done.stdout.splitlines()
        self.assertRegex(first, r": valid: 4 providers, \d rules?$")
        self.assertEqual(f"{name} {(type or ['A'])[0]}", question)
        return facts(lines)

    def test_the_way_of_a_name(self):
        said = self.explain("www.example.com")
        self.assertEqual(["providers; no rule matches"], said["route"])
        self.assertEqual(["alidns, dnspod, google, the system resolver"], said["order"])
        self.assertEqual("asks alidns", said["next"][0])
        said = self.explain("wiki.corp.example", "AAAA")
        self.assertEqual(["the system resolver, by a rule"], said["route"])
        combined, origin = said["rule"]
        self.assertEqual("corp.example: resolver = system, stale = false", combined)
        self.assertRegex(origin, r"^corp.example: line \d+ of /.*\.toml$")
        self.assertEqual(["expired answers are not used"], said["expired"])
        self.assertEqual(["alidns only, by a rule"], self.explain("a.apps.corp.example")["route"])
        self.assertEqual(["the system resolver, by a rule"], self.explain("www.apps.corp.example")["route"])

    def test_names_that_no_provider_gets(self):
        hosts = self.inside.files / "hosts"
        hosts.write_text("127.0.0.1 localhost\n192.0.2.55 new.example\n")
        self.assertEqual(["answered by the daemon: 192.0.2.55"], self.explain("new.example")["next"])
        self.assertEqual(["answered by the daemon: no such name"], self.explain("abc.onion")["next"])
        for name in "printer.local", "printer":
            self.assertEqual(["the system resolver; local name"], self.explain(name)["route"])
        proxied = self.explain("www.example.com", environment=NOT_PROXIED | {"https_proxy": "http://192.0.2.1:3128"})
        self.assertEqual(["the system resolver for all names (direct-only)"], proxied["route"])
        self.settings.write_text('only-listed = true\n[[rule]]\nmatch = ["shop.example"]\nresolver = "httpdns"\n')
        self.assertEqual(["providers, by a rule"], self.explain("www.shop.example")["route"])
        self.assertEqual(
            ["the system resolver; no rule lists the name (only-listed)"], self.explain("www.example.com")["route"])

    def test_without_a_nameserver_and_with_one(self):
        self.settings.write_text('[[rule]]\nmatch = ["corp.example"]\nresolver = "system"\n')
        resolv_conf = self.inside.files / "resolv.conf"
        # The only nameserver is the daemon itself.
        resolv_conf.write_text("nameserver 127.0.0.1\n")
        self.assertRegex(self.explain("corp.example")["next"][0], "^SERVFAIL at once, with EDE 22: ")
        resolv_conf.write_text("nameserver 192.0.2.53\n")
        self.assertEqual("asks the system resolver", self.explain("corp.example")["next"][0])

    def test_wrong_settings_are_said_alone_and_wrong_usage_before_them(self):
        self.settings.write_text("[server]\nthread = 2\n")
        done = self.check("--explain", "www.example.com")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r"^httpdnsd: .*:2:1: unknown key \"thread\".*\n$")
        for arguments, said in (["a..b"], "not a domain name"), (["a", "AB"], "not a record type; allowed: A, "):
            done = self.check("--explain", *arguments)
            self.assertEqual((3, ""), (done.returncode, done.stdout))
            self.assertIn(said, done.stderr)
        for arguments, said in ((["--explain", "a.example"], "--explain needs --check"),
                                (["--check", "--explain", "a.example", "--version"], "--explain needs --check"),
                                (["--explain", "--check"], "--explain needs a name"),
                                (["--check", "--explain", "a", "--explain", "b"], "--explain is given twice")):
            done = httpdnsd(*arguments)
            self.assertEqual((3, ""), (done.returncode, done.stdout))
            self.assertRegex(done.stderr, rf"^httpdnsd: {said}.*\n$")
