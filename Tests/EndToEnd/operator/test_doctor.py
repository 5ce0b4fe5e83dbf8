# The command httpdnsctl doctor: no finding on a healthy machine, and each staged fault with its remedy. The machine is
# a network namespace with files of its own, where the daemon has port 53.

import json
import os
import shlex
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
from pathlib import Path

import chinese
import overlay
import paths
from cases import Case
from certificates import Authority
from fakes import FakeNameserver, reply
from lab import Lab
from namespace import Namespace
from paths import eventually
from programs import Daemon, Dnsmasq
from web_sites import Handmade, keeps_silent

US, NAMESERVER, SECURE, ELSEWHERE = "127.0.0.1", "127.0.0.3", "127.0.0.4", "127.0.0.9"
PUBLIC = "198.51.100.1"
DNSKEY = 48
# Data that exceeds a packet.
LONG = b"\x01" * 3000


def answers(query, is_stream):
    """A correct nameserver: a long answer goes over TCP, or to clients with enough room."""
    kind = int.from_bytes(query[13:15], "big")
    return [reply(query, [(".", DNSKEY, 60, LONG)] if kind == DNSKEY else [])]


class Machine(Case):
    """A healthy machine; each test adds one fault and runs the doctor."""

    def setUp(self):
        self.inside = Namespace(resolv_conf=f"nameserver {US}\n")
        self.addCleanup(self.inside.remove)
        self.directory = Path(tempfile.mkdtemp())
        self.directory.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.authority = Authority(self.directory / "authority")
        self.nameserver = self.fake(answers)
        provider = self.own(Lab(prefix=self.inside.prefix))
        provider.control = "127.0.0.1:0"
        provider.up()
        self.secure("good.example", self.authority.certificate("good.example"))
        self.server = self.own(Daemon(
            [provider.provider("dnspod"), self.https("good.example")], system=[f"{NAMESERVER}:53"], host=US,
            listen=[f"{US}:53"], prefix=self.inside.prefix))
        self.server.port = 53

    # MARK: what is on it

    def fake(self, respond, host=NAMESERVER):
        nameserver = self.inside.within(lambda: FakeNameserver(respond, (host, 53)))
        self.addCleanup(lambda: nameserver.close())
        return nameserver

    def secure(self, name, pair, host=SECURE, serve=None):
        """A web server at port 443 that completes handshakes."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)

        def shake(connection):
            with context.wrap_socket(connection, server_side=True) as tls:
                tls.recv(1)

        site = self.inside.within(lambda: Handmade((host, 443), serve or shake))
        self.addCleanup(site.close)
        return site

    def https(self, name, host=SECURE, **more):
        return {"name": name, "dialect": "doh", "url": f"https://{name}/dns-query", "addresses": [host],
                "ca-file": str(self.authority.ca_file), **more}

    def file(self, name, content=""):
        path = self.directory / name
        path.write_text(content)
        return path

    # MARK: what is seen

    def examine(self, staged="", config=None, prefix=()):
        """The doctor's report without its notes. `staged` is a script that runs first, in a mount namespace."""
        config = config or self.server.config
        if not config.exists():
            config.write_text(self.server.settings())
        command = [
            *self.inside.prefix, "env", "-u", "SSL_CERT_FILE", "-u", "SSL_CERT_DIR",
            "unshare", "--mount", "sh", "-ec", staged + '\nexec "$@"', "sh", *prefix,
            paths.binaries / "httpdnsctl", "--socket", self.server.control, "--json", "doctor", "--config", config]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=paths.PATIENCE)
        self.assertEqual("", done.stderr)
        report = json.loads(done.stdout)
        findings = [finding for finding in report["findings"] if finding["gravity"] != "note"]
        self.assertEqual(1 if findings else 0, done.returncode, done.stdout)
        self.assertIn("resolv.conf", report["checked"])
        return findings

    def assertFinds(self, subject, text, remedy, findings, others=()):
        """Checks that there is this finding, and otherwise only expected ones of the subjects in `others`."""
        matching = [one for one in findings if one["subject"] == subject and text in one["text"]]
        self.assertEqual(1, len(matching), f"{subject}: {text}: {findings}")
        self.assertIn(remedy, matching[0]["remedy"])
        self.assertEqual(sorted([subject, *others]), sorted(one["subject"] for one in findings), findings)

    def changed_settings(self, change):
        """A changed copy of the daemon's file, which the daemon does not read."""
        return self.file("other.toml", change(self.server.settings()))


class Up(Machine):
    """The doctor's checks while the daemon runs."""

    expected_seconds = 45

    def setUp(self):
        super().setUp()
        self.server.up()

    def test_nothing_on_a_healthy_machine(self):
        self.assertEqual([], self.examine())
        text = self.inside.run(
            paths.binaries / "httpdnsctl", "--socket", self.server.control, "doctor", "--config", self.server.config)
        self.assertEqual(0, text.returncode)
        self.assertIn("found no problem; checked: settings, daemon, port 53, ", text.stdout)

    def test_a_daemon_that_hangs(self):
        self.server.signal(signal.SIGSTOP)
        self.addCleanup(self.server.signal, signal.SIGCONT)
        self.assertFinds("daemon", "answers neither", "systemctl restart httpdnsd", self.examine())

    def test_nothing_where_another_resolver_asks_the_daemon(self):
        between = self.own(Dnsmasq((US, 53), prefix=self.inside.prefix, host="127.0.0.2", port=53)).up()
        (self.inside.files / "resolv.conf").write_text(f"nameserver {between.host}\n")
        self.assertEqual([], self.examine())

    def test_a_port_that_is_silent(self):
        rules = f"table inet t {{ chain c {{ type filter hook input priority 0; ip daddr {US} tcp dport 53 drop; }}; }}"
        done = self.inside.run("nft", rules)
        self.assertEqual("", done.stderr)
        self.assertFinds("daemon", f"{US}:53 over TCP: no answer", "nft list ruleset", self.examine())

    def test_resolv_conf_that_nobody_can_change(self):
        path = self.inside.files / "resolv.conf"
        path.write_text("nameserver 192.0.2.1\n")
        subprocess.run(["chattr", "+i", path], check=True)
        self.addCleanup(subprocess.run, ["chattr", "-i", path], check=True)
        self.assertFinds("resolv.conf", "not the daemon", "chattr -i /etc/resolv.conf", self.examine())

    def test_resolv_conf_for_root_only(self):
        (self.inside.files / "resolv.conf").chmod(0o600)
        self.assertFinds("resolv.conf", "readable only for root", "chmod 644", self.examine())

    def test_what_resolv_conf_says(self):
        many = "".join(f"nameserver 192.0.2.{number}\n" for number in range(1, 4))
        for content, text, remedy in (
            ("nameserver 192.0.2.1\n", "names 192.0.2.1, not the daemon", "httpdnsctl system use"),
            (f"nameserver {US}\nnameserver 192.0.2.1\n", "in addition to the daemon", "httpdnsctl system use"),
            ("# nothing\n", "names no nameserver", "httpdnsctl system use"),
            ("nameserver 127.0.0.11\n", "Docker's own resolver", f"--dns {US}"),
            (f"nameserver {US}\nnameserver router.lan\n", "no addresses: router.lan", "takes one address"),
            (f"nameserver 192.0.2.1\nnameserver {US}\n", "names 192.0.2.1 before the daemon", "httpdnsctl system use"),
            (f"search lan\r\nnameserver {US}\r\n", "end with CR LF", "sed -i 's/\\r$//'"),
        ):
            with self.subTest(content):
                (self.inside.files / "resolv.conf").write_text(content)
                self.assertFinds("resolv.conf", text, remedy, self.examine())
        (self.inside.files / "resolv.conf").write_text(f"nameserver {US}\n{many}")
        self.assertFinds("resolv.conf", "names 4 nameservers", "remove the rest", self.examine(), ["resolv.conf"])

    def test_resolv_conf_that_leads_nowhere(self):
        staged = "umount /etc/resolv.conf; {}; ln -sf ../run/gone/resolv.conf /etc/resolv.conf"
        self.assertFinds(
            "resolv.conf", "is a link to ../run/gone/resolv.conf", "rm /etc/resolv.conf",
            self.examine(staged.format(self.overlaid("/etc"))))
        staged = "umount /etc/resolv.conf; {}; rm -f /etc/resolv.conf"
        self.assertFinds(
            "resolv.conf", "is missing", "httpdnsctl system use", self.examine(staged.format(self.overlaid("/etc"))))

    def overlaid(self, directory):
        """A script that mounts an overlay on the directory, and ends here unless the overlay is there."""
        base = Path(tempfile.mkdtemp(dir=self.directory))
        subprocess.run(["mount", "-t", "tmpfs", "none", base], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", base], check=True)
        (base / "upper").mkdir()
        (base / "work").mkdir()
        token = overlay.new_token()
        (base / "upper" / overlay.FILE).write_text(token)
        mount = f"mount -t overlay none {directory} -o lowerdir={directory},upperdir={base}/upper,workdir={base}/work"
        return f"{mount}; {shlex.join(overlay.guard(token, directory))} true"

    def test_resolv_conf_rewritten_after_it_was_taken_over(self):
        (self.inside.files / "resolv.conf").write_text("nameserver 192.0.2.1\n")
        staged = self.overlaid("/var/lib") + "; mkdir /var/lib/httpdnsd-system; touch /var/lib/httpdnsd-system/record"
        self.assertFinds("resolv.conf", "rewritten since: it names 192.0.2.1", "system use", self.examine(staged))

    def test_nobody_behind_the_daemon(self):
        config = self.changed_settings(lambda text: text.replace(f'servers = ["{NAMESERVER}:53"]', "servers = []"))
        staged = "mount -t tmpfs none /run/systemd 2>/dev/null || true"
        self.assertFinds("resolv.conf", "no system resolver", "[system-resolver]", self.examine(staged, config))

    def test_what_nsswitch_says(self):
        for content, text in (
            ("hosts: files\n", "without dns"), ("hosts: dns files\n", "DNS overrides /etc/hosts"),
            ("hosts: files [NOTFOUND=return] dns\n", "dns is not reached"), ("passwd: files\n", "no hosts line"),
        ):
            with self.subTest(content):
                (self.inside.files / "nsswitch.conf").write_text(content)
                self.assertFinds("nsswitch", text, "hosts: files dns", self.examine())

    def test_settings_that_the_daemon_refuses(self):
        config = self.changed_settings(lambda text: text.replace("[server]\n", "[server]\nlissten = \"\u001b[2J\"\n"))
        findings = self.examine(config=config)
        self.assertTrue(findings and "settings" in {one["subject"] for one in findings}, findings)
        self.assertNotIn("\u001b", json.dumps(findings, ensure_ascii=False))
        config = self.changed_settings(lambda text: text.replace("[server]\n", "[server]\nthreds = 1\n"))
        # The doctor ignores the built-in providers, because the daemon does not use them.
        self.assertFinds("settings", "other.toml:2:1: ", "httpdnsd --check", self.examine(config=config))

    def test_programs_of_this_machine_that_are_refused(self):
        allow = '[server]\nallow = ["192.0.2.0/24"]\n'
        config = self.changed_settings(lambda text: text.replace("[server]\n", allow))
        self.assertFinds("daemon", "server.allow has no loopback network", '"127.0.0.0/8"', self.examine(config=config))

    def redirect(self, port):
        rules = "; ".join(f"ip daddr {US} {kind} dport 53 redirect to :{port}" for kind in ("udp", "tcp"))
        done = self.inside.run("nft", f"table ip n {{ chain o {{ type nat hook output priority -100; {rules}; }}; }}")
        self.assertEqual("", done.stderr)

    def test_a_firewall_that_leads_to_another_program(self):
        self.own(Dnsmasq((NAMESERVER, 53), prefix=self.inside.prefix, host=US, port=5353)).up()
        self.redirect(5353)
        self.assertFinds("port 53", "another program answers, although the daemon holds the port",
                         "a firewall redirects port 53", self.examine())

    def test_a_firewall_that_leads_to_another_daemon(self):
        other = self.own(Daemon(self.server.providers, system=[f"{NAMESERVER}:53"], host=US, listen=[f"{US}:5353"],
                                prefix=self.inside.prefix))
        other.port = 5353
        other.up()
        self.redirect(5353)
        self.assertFinds("port 53", "another httpdnsd answers at this daemon's addresses: it has counted 2 queries",
                         "a firewall redirects port 53", self.examine())

    def with_providers(self, *providers):
        self.server.providers = [*self.server.providers, *providers]
        return self.file("providers.toml", self.server.settings())

    def test_providers_that_are_not_reached(self):
        self.secure("silent", self.authority.certificate("silent.example"), "127.0.0.5", keeps_silent)
        self.secure("other", self.authority.certificate("other.example"), "127.0.0.6")
        self.secure("self", self.authority.self_signed("selfmade.example"), "127.0.0.7")
        for name, host, gravity, text, remedy in (
            ("closed.example", ELSEWHERE, "fault", "connection refused", "another address"),
            ("silent.example", "127.0.0.5", "fault", "no TLS reply", "another network"),
            ("named.example", "127.0.0.6", "fault", "the certificate is for other.example", "TLS is intercepted"),
            ("selfmade.example", "127.0.0.7", "fault", "self-signed certificate", "ca-file must contain"),
            ("far.example", "203.0.113.1", "fault", "there is no IPv4 route to far.example", "none needed"),
        ):
            with self.subTest(name):
                before = list(self.server.providers)
                config = self.with_providers(self.https(name, host))
                self.server.providers = before
                if host == "203.0.113.1":
                    # Other hosts are reachable by the same family.
                    remedy = "ip route"
                self.assertFinds("providers", text, remedy, self.examine(config=config))

    def test_one_address_of_a_provider(self):
        config = self.with_providers({**self.https("good.example"), "name": "two"} | {"addresses": [SECURE, ELSEWHERE]})
        found = self.examine(config=config)
        self.assertFinds("providers", f"two at {ELSEWHERE}:443 (https): connection refused", "firewall", found)
        self.assertEqual("warning", found[0]["gravity"])

    def test_a_clock_that_is_wrong(self):
        """The certificates of all providers begin later, so the clock is wrong."""
        for number, name in enumerate(("one.example", "two.example")):
            self.secure(name, self.authority.certificate(name, begins=30), f"127.0.0.{20 + number}")
        self.server.providers = [
            self.https(name, f"127.0.0.{20 + number}") for number, name in enumerate(("one.example", "two.example"))]
        config = self.file("clock.toml", self.server.settings())
        self.assertFinds("clock", "are not valid yet", "timedatectl set-ntp true", self.examine(config=config))

    def test_no_authorities(self):
        empty = self.file("empty.crt")
        hide = "mount -t tmpfs tmpfs /etc/ssl/certs"
        self.assertFinds("CA store", "does not exist", "apt install ca-certificates", self.examine(hide))
        self.assertFinds(
            "CA store", "holds no certificate", "apt install ca-certificates",
            self.examine(f"{hide}; cp {empty} /etc/ssl/certs/ca-certificates.crt"))
        # The directory has the authorities, too, and the daemon finds them there.
        self.assertEqual([], self.examine(f"mount --bind {empty} /etc/ssl/certs/ca-certificates.crt"))
        config = self.changed_settings(lambda text: text + '\n[probe]\nca-file = "/nonexistent/ca.pem"\n')
        self.assertFinds("CA store", "/nonexistent/ca.pem", "remove probe.ca-file", self.examine(config=config))

    def test_nameservers(self):
        refusal = lambda query, is_stream: [reply(query, flags=0x8185)]
        no_streams = lambda query, is_stream: [] if is_stream else [reply(query)]
        short_only = lambda query, is_stream: answers(query, is_stream) if is_stream or b"\x00\x30" != query[13:15] else []
        for respond, subject, text, remedy in (
            (refusal, "nameservers", f"{NAMESERVER}:53 refuses", "access list"),
            (no_streams, "nameservers", "does not answer over TCP", "TCP port 53"),
            (short_only, "UDP fragments", "are lost", "edns-buffer-size: 1232"),
            (lambda query, is_stream: [], "nameservers", "does not answer (silence)", "[system-resolver]"),
        ):
            with self.subTest(text):
                self.nameserver.respond = respond
                self.assertFinds(subject, text, remedy, self.examine())

    def test_nameservers_with_a_name(self):
        corp = self.fake(answers, "127.0.0.7")
        text = '\n[[nameserver]]\nname = "corp"\nservers = ["{}"]\nnames = ["corp.example"]\n'
        config = self.changed_settings(lambda settings: settings + text.format(corp.server))
        self.assertNotIn("corp", str(self.examine(config=config)))
        for respond, words, remedy in (
            (lambda query, is_stream: [reply(query, flags=0x8185)], "of nameserver corp refuses", "access list"),
            (lambda query, is_stream: [] if is_stream else [reply(query)], "does not answer over TCP", "firewall"),
            (lambda query, is_stream: [], "of nameserver corp does not answer (silence)", "connect its network"),
        ):
            with self.subTest(words):
                corp.respond = respond
                self.assertFinds("nameservers", words, remedy, self.examine(config=config))
        forwarder = self.own(Dnsmasq((US, 53), prefix=self.inside.prefix, host="127.0.0.8", port=53)).up()
        config = self.changed_settings(lambda settings: settings + text.format(forwarder.server))
        self.assertFinds("nameservers", "forwards queries to the daemon", "remove it", self.examine(config=config))

    def test_a_terminal_is_told_what_is_waited_for(self):
        self.nameserver.respond = lambda query, is_stream: []
        ours, theirs = os.openpty()
        command = [*self.inside.prefix, paths.binaries / "httpdnsctl", "--socket", self.server.control, "doctor",
                   "--config", self.server.config]
        began = time.monotonic()
        done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=theirs, timeout=paths.PATIENCE)
        os.close(theirs)
        said = os.read(ours, 65536).decode()
        os.close(ours)
        self.assertEqual(1, done.returncode)
        self.assertIn(f"httpdnsctl: waiting for {NAMESERVER}:53 over UDP\r\n", said)
        self.assertLess(time.monotonic() - began, 10)

    def test_a_user_who_sees_less_is_told_nothing_wrong(self):
        private = self.directory / "private"
        private.mkdir(mode=0o700)
        (private / "key").write_text("secret\n")
        config = self.with_providers({
            "name": "keyed", "dialect": "dnspod-des", "account": "1", "key-file": str(private / "key"),
            "url": self.server.providers[0]["url"]})
        program = shutil.copy(paths.binaries / "httpdnsctl", self.directory)
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        done = self.inside.run(*user, program, "--socket", self.server.control, "doctor", "--config", config)
        self.assertIn("found no problem", done.stdout)
        self.assertEqual(0, done.returncode)

    def test_a_nameserver_that_asks_the_daemon(self):
        self.server.stop()
        self.nameserver.close()
        self.nameserver.close = lambda: None
        forwarder = self.own(Dnsmasq((US, 53), prefix=self.inside.prefix, host=NAMESERVER, port=53)).up()
        self.server.up()
        self.server.wait_for(f"nameserver {forwarder.server} forwards queries back to this daemon")
        found = [one for one in self.examine() if one["subject"] != "nameservers"]
        self.assertFinds("daemon", f"the nameserver {NAMESERVER}:53 forwards queries back to the daemon", "another upstream", found)

    def test_half_of_ipv6(self):
        for command in (["link", "add", "half", "type", "veth", "peer", "name", "other"], ["link", "set", "half", "up"],
                        ["link", "set", "other", "up"],
                        ["addr", "add", "2001:db8::1/64", "dev", "half", "nodad"]):
            self.assertEqual(0, self.inside.run("ip", *command).returncode)
        self.assertFinds("IPv6", "no default route", "accept_ra", self.examine())
        self.inside.run("ip", "-6", "addr", "flush", "dev", "half")
        self.inside.run("ip", "-6", "addr", "add", "fe80::1/64", "dev", "half", "nodad")
        self.assertEqual(0, self.inside.run("ip", "-6", "route", "add", "default", "dev", "half").returncode)
        self.assertFinds("IPv6", "no global address", "filter-aaaa", self.examine())

    def test_small_buffers(self):
        small = self.file("rmem", "65536\n")
        self.assertFinds(
            "receive buffers", "net.core.rmem_max is 65536", "sysctl --system",
            self.examine(f"mount --bind {small} /proc/sys/net/core/rmem_max"))

    def test_files_of_the_wrong_people(self):
        key = self.file("key", "secret\n")
        with_key = {"name": "keyed", "dialect": "dnspod-des", "account": "1", "key-file": str(key),
                    "url": self.server.providers[0]["url"]}
        config = self.with_providers(with_key)
        key.chmod(0o644)
        self.assertFinds("files", "is accessible to all users", f"chmod o= {key}", self.examine(config=config))
        key.chmod(0o600)
        self.assertFinds(
            "files", f"{key} (key-file of keyed) can't be read by daemon", f"chgrp daemon {key}",
            self.examine(config=config))
        with config.open("a") as file:
            file.write(f'[[notify]]\nurl = "http://127.0.0.1:9/token"\nkey-file = "{key}"\n')
        self.assertIn(
            f"{key} (key-file of http://127.0.0.1:9) can't be read by daemon",
            [one["text"] for one in self.examine(config=config)])
        names = self.file("names", "a.example\n")
        names.chmod(0o600)
        gone = self.directory / "gone"
        with config.open("a") as file:
            file.write(f'[[rule]]\nmatch-file = ["{names}", "{gone}"]\nstale = false\n')
        found = [(one["text"], one["remedy"]) for one in self.examine(config=config)]
        self.assertIn((f"{names} (match-file) can't be read by daemon", f"chmod a+r {names}"), found)
        self.assertIn(f"{gone} (match-file) does not exist", [text for text, _ in found])
        config.chmod(0o600)
        found = self.examine(config=config)
        self.assertIn(f"{config} can't be read by daemon", [one["text"] for one in found])

    def test_a_program_that_will_write_resolv_conf(self):
        program = self.directory / "dhclient"
        shutil.copy("/bin/sleep", program)
        staged = "mount -t tmpfs none /etc/dhcp 2>/dev/null || true"

        def runs(*prefix):
            process = subprocess.Popen([*prefix, str(program), "60"])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            eventually(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "dhclient\n")

        runs()
        self.assertEqual([], self.examine(staged), "it runs in another network, as in a container")
        runs(*self.inside.prefix)
        self.assertFinds(
            "rewriters", "dhclient will write resolv.conf", "supersede domain-name-servers", self.examine(staged))


class Wide(Machine):
    """A daemon that serves other machines, too."""

    def test_nothing_where_it_listens_for_others(self):
        self.assertEqual(0, self.inside.run("ip", "addr", "add", f"{PUBLIC}/32", "dev", "lo").returncode)
        self.server.listen.append(f"{PUBLIC}:53")
        self.server.server = 'allow = ["127.0.0.0/8", "198.51.100.0/24"]'
        self.server.up()
        self.assertEqual([], self.examine())


class Down(Machine):
    """The doctor's checks while the daemon does not run."""

    expected_seconds = 16

    def test_nothing_but_that_it_is_down(self):
        found = self.examine()
        self.assertFinds("daemon", "does not run", "systemctl start httpdnsd", found)
        self.assertEqual("fault", found[0]["gravity"])

    def test_in_chinese_no_english_sentence_is_left(self):
        (self.inside.files / "resolv.conf").write_text("nameserver 127.0.0.11\noptions rotate\n")
        self.own(Dnsmasq((NAMESERVER, 53), prefix=self.inside.prefix, host=US, port=53)).up()
        config = self.file("many.toml", self.server.settings() + '\n[[rule]]\nmatch-file = ["/no/names"]\nstale = false\n')
        command = [paths.binaries / "httpdnsctl", "--socket", self.server.control]
        told = self.inside.run(*chinese.SETTING, *command, "doctor", "--config", config)
        self.assertEqual((1, ""), (told.returncode, told.stderr))
        self.assertEqual([], chinese.english(told.stdout), told.stdout)
        for part in ("故障：守护进程：没有运行：", "故障：53 端口：", "已被 dnsmasq (pid ", "警告：resolv.conf：指向 Docker 自带的解析器",
                     "/no/names（match-file）不存在。处理办法：创建该文件", "\n已检查：设置、守护进程、53 端口、"):
            self.assertIn(part, told.stdout)
        as_json = [self.inside.run(*prefix, *command, "--json", "doctor", "--config", config).stdout
                   for prefix in ((), chinese.SETTING)]
        self.assertEqual(*(json.loads(text) for text in as_json))
        other = self.inside.run("env", "LC_ALL=zh_CN.GB18030", *command, "doctor", "--config", config).stdout
        self.assertTrue(other.isascii(), other)

    def test_who_has_the_port(self):
        dnsmasq = self.own(Dnsmasq((NAMESERVER, 53), prefix=self.inside.prefix, host=US, port=53)).up()
        found = self.examine()
        self.assertFinds(
            "port 53", f"held by dnsmasq (pid {dnsmasq.process.pid})", "systemctl disable --now dnsmasq", found, ["daemon"])

    def test_a_daemon_that_the_first_question_would_start(self):
        """The socket of httpdnsd.socket listens, and gets no query."""
        held = self.inside.within(lambda: FakeNameserver(lambda query, is_stream: [], (US, 53)))
        self.addCleanup(held.close)
        self.assertIn("daemon", [one["subject"] for one in self.examine()])
        self.assertTrue(held.queries)
        held.queries.clear()
        manager = self.file("systemctl", "#!/bin/sh\necho active\necho inactive\nexit 3\n")
        manager.chmod(0o755)
        staged = f"mount --bind {manager} /usr/bin/systemctl"
        self.assertEqual([], self.examine(staged))
        self.assertEqual([], held.queries)
        manager.write_text("#!/bin/sh\necho active\necho failed\nexit 3\n")
        self.assertIn("does not run", str(self.examine(staged)))

    def test_a_daemon_that_listens_elsewhere(self):
        config = self.changed_settings(lambda text: text.replace(f'"{US}:53"', f'"{US}:5300"'))
        self.assertFinds("port 53", "listens at 127.0.0.1:5300", "server.listen", self.examine(config=config), ["daemon"])

    def test_a_container_without_the_right_to_the_port(self):
        found = self.examine(prefix=["setpriv", "--bounding-set=-net_bind_service"])
        self.assertFinds("container", "port 53 is not permitted", "--cap-add NET_BIND_SERVICE", found, ["daemon"])
