# httpdnsctl setup: the four questions on a terminal, the same answers as flags, and the daemon with the written file.
# The machine has files of its own, port 53 and an address in a local network.

import base64
import json
import subprocess

import chinese
import paths
from cases import LAB_WWW, Case
from certificates import Authority
from lab import Lab
from paths import eventually
from programs import NSD, Program
from takeover import Overlaid
from terminal import Typist
from tls_server import Front

FILE = "/etc/httpdnsd/httpdnsd.toml"
KEY = "1234567890"
LAN = "192.168.77.1"
ACCOUNT = ("--providers", "none", "--account", "baidu", "--account-id", "1", "--lan", "no", "--take-over", "no")
FLAGS = ("--providers", "google", "--account", "no", "--lan", "no", "--take-over", "no")


def stamp(host, address, kind=2):
    """A DNS stamp (https://dnscrypt.info/stamps-specifications) with the digest of a certificate."""
    parts = [address.encode(), bytes(32), host.encode(), b"/dns-query"]
    content = bytes([kind]) + bytes(8) + b"".join(bytes([len(part)]) + part for part in parts)
    return "sdns://" + base64.urlsafe_b64encode(content).decode().rstrip("=")


class Machine(Case):
    expected_seconds = 15

    def setUp(self):
        self.place = Overlaid()
        self.addCleanup(self.place.close)
        self.place.run("mount", "-t", "tmpfs", "run", "/run")
        self.place.run("rm", "-rf", "/etc/httpdnsd", "/var/lib/httpdnsd")
        self.place.run("ip", "link", "add", "lan0", "type", "bridge")
        self.place.run("ip", "address", "add", f"{LAN}/24", "dev", "lan0")
        self.place.run("ip", "link", "set", "lan0", "up")
        self.place.write("/etc/resolv.conf", "nameserver 127.0.0.3\n")
        self.place.write("/etc/nsswitch.conf", "hosts: dns\n")

    def install(self):
        """Installs the parts of a package: a user, and a daemon that runs without a settings file."""
        self.place.run("useradd", "--system", "--user-group", "--no-create-home", "httpdnsd")
        self.own(NSD(host="127.0.0.3", port=53, prefix=self.place.prefix)).run()
        self.server = self.own(Program("httpdnsd"))
        self.start()

    def start(self, *prefix):
        since = len(self.server.log)
        self.server.start(paths.binaries / "httpdnsd", prefix=(*self.place.prefix, *prefix))
        self.server.wait_for("^httpdnsd: ready: ", since=since)

    def command(self, *words):
        return (paths.binaries / "httpdnsctl", *words)

    def run_setup(self, *words, prefix=()):
        return self.place.run(*prefix, *self.command("setup", *words))

    def ask(self, *words, environment=None):
        typist = Typist(*self.place.prefix, *self.command("setup", *words), environment=environment)
        self.addCleanup(typist.close)
        return typist

    def status_of(self, path):
        return self.place.run("stat", "-c", "%a %U", path).stdout.strip()

    def assertNothingWritten(self):
        self.assertEqual("", self.place.run("ls", "/etc/httpdnsd").stdout)


class Asked(Machine):
    def test_four_answers_make_the_settings_with_which_names_resolve(self):
        self.install()
        typist = self.ask()
        typist.answer("1. Which companies", "none")
        typist.answer("2. Do you have an account", "yes")
        typist.wait_for("8  baidu")
        typist.answer("Service: ", "y")
        typist.wait_for("choose a number")
        typist.answer("Service: ", "nonsense")
        typist.wait_for('found "nonsense"; allowed: no, alidns')
        typist.answer("Service: ", "8")
        typist.answer("Account id", "100")
        typist.answer("Key file [/etc/httpdnsd/baidu.key]: ", "")
        typist.answer("not shown: ", KEY)
        self.assertIn(f"2  {LAN}", typist.wait_for("3. Which machines") + typist.wait_for("another address [1]: "))
        typist.type("2\n")
        typist.answer("4. Shall this machine", "yes")
        summary = typist.wait_for("Write it? [yes]: ")
        for line in ("names go to  Baidu", "baidu, id 100, key in /etc/httpdnsd/baidu.key (new)", f"{LAN}:53", "take over    yes"):
            self.assertIn(line, summary)
        typist.type("\n")
        self.assertEqual(0, typist.end(), typist.shown)
        self.assertNotIn(KEY, typist.shown)
        self.assertIn("a restart is needed for server.listen, server.allow", typist.shown)
        self.assertIn("sudo systemctl restart httpdnsd", typist.shown)
        self.assertIn("this machine uses httpdnsd now", typist.shown)
        self.assertIn("nameserver 127.0.0.1\n", self.place.read("/etc/resolv.conf"))
        self.assertEqual("644 root", self.status_of(FILE))
        self.assertEqual("600 httpdnsd", self.status_of("/etc/httpdnsd/baidu.key"))
        self.assertNotIn(KEY, self.place.read(FILE))
        self.assertEqual(KEY + "\n", self.place.read("/etc/httpdnsd/baidu.key"))
        self.assertEqual(["baidu.key", "httpdnsd.toml"], self.place.run("ls", "-A", "/etc/httpdnsd").stdout.split())

    def test_the_daemon_asks_the_chosen_service_and_serves_the_network(self):
        self.install()
        lab = self.own(Lab(prefix=self.place.prefix)).up()
        typist = self.ask("--account", "baidu", "--url", f"http://{lab.http}/p/baidu/v4/resolve")
        typist.answer("1. Which companies", "none")
        typist.answer("Account id", "100")
        typist.answer("Key file", "")
        typist.answer("not shown: ", KEY)
        typist.answer("3. Which machines", LAN)
        typist.answer("4. Shall this machine", "no")
        typist.answer("Write it?", "yes")
        self.assertEqual(0, typist.end(), typist.shown)
        self.assertIn("settings reloaded", typist.shown)
        self.server.stop()
        self.start()
        for address in ("127.0.0.1", LAN):
            asked = self.place.run("dig", f"@{address}", "www.lab.example", "+short").stdout.split()
            # The machine's nameserver has another address for the name.
            self.assertEqual(LAB_WWW, set(asked), address)
        self.assertEqual("nameserver 127.0.0.3\n", self.place.read("/etc/resolv.conf"))

    def test_the_daemon_asks_the_provider_of_a_pasted_stamp(self):
        self.install()
        lab = self.own(Lab(prefix=self.place.prefix)).up()
        authority = Authority(self.server.directory)
        front = self.own(Front(lab, authority, ["doh"], prefix=self.place.prefix)).up()
        # The daemon finds an authority of the machine by the digest of its name.
        digest = self.place.run("openssl", "x509", "-noout", "-hash", "-in", authority.ca_file).stdout.strip()
        self.place.write(f"/etc/ssl/certs/{digest}.0", authority.ca_file.read_text())
        address = f"127.0.0.1:{front.ports['doh']}"
        typist = self.ask(*FLAGS[2:])
        typist.wait_for("2  dnspod")
        typist.answer("[1 2 3 4]: ", stamp("2.dnscrypt-cert.example", address, kind=1))
        typist.answer("it is for DNSCrypt, and setup takes DNS over HTTPS only", stamp("dns.google", address))
        self.assertIn("names go to  Google", typist.wait_for("Write it? [yes]: "))
        typist.type("\n")
        self.assertEqual(0, typist.end(), typist.shown)
        self.server.stop()
        self.start()
        asked = self.place.run("dig", "@127.0.0.1", "www.lab.example", "+short").stdout.split()
        # The machine's nameserver has another address for the name.
        self.assertEqual(LAB_WWW, set(asked), self.place.read(FILE))
        self.assertEqual({"dns.google"}, {request["sni"] for request in front.requests()})
        command = self.place.read(FILE).split("\n\n")[0]
        self.assertIn("--provider-addresses 'dns.google=127.0.0.1'", command)

    def test_the_addresses_of_a_pasted_url_are_resolved_once_and_confirmed(self):
        self.install()
        flags = FLAGS[2:]
        refused = self.run_setup("--providers", "quad9,https://only.system.example/dns-query", *flags)
        self.assertEqual(3, refused.returncode)
        self.assertIn("these answers are missing: --provider-addresses", refused.stderr)
        self.assertNothingWritten()
        for typed, address in (("", "203.0.113.77"), ("192.0.2.7", "192.0.2.7")):
            typist = self.ask("--replace", *flags)
            typist.answer("[1 2 3 4]: ", "6 https://only.system.example/dns-query")
            typist.answer("Addresses of only.system.example [203.0.113.77]: ", typed)
            typist.answer("Write it? [yes]: ", "")
            self.assertEqual(0, typist.end(), typist.shown)
            written = self.place.read(FILE)
            self.assertIn('url = "https://dns.quad9.net/dns-query"\naddresses = ["9.9.9.9", ', written)
            self.assertIn(f'url = "https://only.system.example/dns-query"\naddresses = ["{address}"]\n', written)
            same = self.run_setup(
                "--dry-run", "--providers", "quad9,https://only.system.example/dns-query", "--provider-addresses",
                f"only.system.example={address}", *flags)
            self.assertEqual((0, written), (same.returncode, same.stdout), same.stderr)
        typist = self.ask("--dry-run", *flags)
        typist.answer("[1 2 3 4]: ", "https://no.system.example/dns-query")
        typist.wait_for("This machine's resolver finds no address of no.system.example.")
        typist.answer("Addresses of no.system.example: ", "192.0.2.8")
        self.assertEqual(0, typist.end(), typist.shown)
        self.assertIn('addresses = ["192.0.2.8"]', typist.shown)

    def test_the_network_is_shut_out_without_a_restart(self):
        self.install()
        on = self.run_setup(*FLAGS[:-4], "--lan", LAN, "--take-over", "no")
        self.assertIn("a restart is needed for server.listen, server.allow", on.stdout)
        self.server.stop()
        self.start()
        off = self.run_setup("--replace", *FLAGS)
        self.assertEqual((0, ""), (off.returncode, off.stderr), off.stdout)
        self.assertIn("settings reloaded", off.stdout)
        self.assertNotIn("would fail", off.stdout)
        self.server.stop()
        self.start()
        self.assertIn("127.0.0.1:53", self.server.log)

    def test_in_chinese_no_english_sentence_is_left(self):
        self.install()
        typist = self.ask(environment=chinese.ENVIRONMENT)
        typist.answer("1. 哪些公司", "99")
        typist.wait_for("输入的是 99；可选范围：1 至 ")
        typist.answer("请回答，例如 1 3", "none")
        typist.answer("2. 您有 HTTPDNS 厂商的账号吗", "是")
        typist.answer("服务：", "8")
        typist.answer("账号 ID：", "100")
        typist.answer("密钥文件 [/etc/httpdnsd/baidu.key]：", "")
        typist.answer("（输入时不显示）：", KEY)
        typist.answer("3. 哪些机器", "2")
        typist.answer("4. 现在就让", "否")
        summary = typist.wait_for("写入该文件吗？ [是]：").splitlines()
        rows = summary[summary.index(FILE) + 1:-1]
        starts = {chinese.columns(line[:line.rindex("  ") + 2]) for line in rows}
        self.assertEqual((5, 1), (len(rows), len(starts)), rows)
        typist.type("是\n")
        self.assertEqual(0, typist.end(), typist.shown)
        self.assertEqual([], chinese.english(typist.shown), typist.shown)
        for line in typist.shown.splitlines():
            self.assertLessEqual(chinese.columns(line), 100, line)
        for part in (f"已写入 {FILE}", "设置已重新加载；以下各项需要重启才能生效：server.listen", "接下来请运行："):
            self.assertIn(part, typist.shown)
        self.assertTrue(self.place.read(FILE).isascii())

    def test_an_end_before_the_end_writes_nothing(self):
        for key in ("\x03", "\x04"):
            typist = self.ask()
            typist.answer("1. Which companies", "")
            typist.wait_for("2. Do you have an account")
            typist.wait_for("[1]: ")
            typist.type(key)
            self.assertEqual(1, typist.end())
            self.assertIn("nothing was written", typist.shown)
            self.assertNothingWritten()
        typist = self.ask(*FLAGS[:-2])
        typist.answer("4. Shall this machine", "no")
        typist.answer("Write it?", "no")
        self.assertEqual(1, typist.end())
        self.assertNothingWritten()

    def test_ctrl_c_at_the_key_writes_nothing(self):
        self.place.run("useradd", "--system", "httpdnsd")
        typist = self.ask("--account", "baidu", "--account-id", "1", "--key-file", "/etc/a.key", "--providers", "none")
        typist.wait_for("not shown: ")
        # The terminal does not echo after the prompt.
        self.assertFalse(typist.echoes)
        typist.type("\x03")
        self.assertEqual(1, typist.end())
        self.assertTrue(typist.echoes)
        self.assertNotIn("a.key", self.place.run("ls", "/etc").stdout)


class Flags(Machine):
    def test_without_a_terminal_missing_answers_are_named(self):
        ended = self.run_setup("--providers", "google")
        self.assertEqual((3, ""), (ended.returncode, ended.stdout))
        self.assertIn("these answers are missing: --account, --lan, --take-over", ended.stderr)
        ended = self.run_setup("--lan", "eth0")
        self.assertEqual(3, ended.returncode)
        self.assertIn('--lan: found "eth0"', ended.stderr)
        self.assertNothingWritten()

    def test_a_dry_run_prints_the_file_as_any_user(self):
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        ended = self.run_setup("--dry-run", *FLAGS, prefix=nobody)
        self.assertEqual((0, ""), (ended.returncode, ended.stderr))
        self.place.write("/etc/checked.toml", ended.stdout)
        shown = self.place.run(paths.binaries / "httpdnsd", "--config", "/etc/checked.toml", "--print-effective").stdout
        self.assertIn('name = "google"', shown)
        self.assertNotIn('name = "alidns"', shown)
        refused = self.run_setup(*FLAGS, prefix=nobody)
        self.assertEqual(1, refused.returncode)
        self.assertIn("run: sudo httpdnsctl setup", refused.stderr)
        lost = self.run_setup("--output", "/etc/no/such/file.toml", *FLAGS)
        self.assertEqual((1, "httpdnsctl: /etc/no does not exist; create it first, or name another file with --output\n"),
                         (lost.returncode, lost.stderr))
        self.place.run("install", "-d", "-o", "65534", "/etc/own")
        elsewhere = self.run_setup("--output", "/etc/own/file.toml", *FLAGS[:-2], prefix=nobody)
        self.assertEqual((0, ""), (elsewhere.returncode, elsewhere.stderr))
        written = self.place.read("/etc/own/file.toml")
        self.assertIn("#   httpdnsctl setup --replace --output /etc/own/file.toml --providers google", written)
        self.assertIn("httpdnsd --check --config /etc/own/file.toml\n", written)
        without_comment = [text.partition("\n\n")[2] for text in (ended.stdout, written)]
        self.assertEqual(*without_comment)
        self.assertEqual(ended.stdout, self.run_setup("--output", "-", *FLAGS, prefix=nobody).stdout)
        self.assertNothingWritten()

    def test_a_file_is_replaced_only_if_asked_for_and_is_kept(self):
        self.place.write(FILE, "# mine\n")
        self.place.run("chmod", "640", FILE)
        refused = self.run_setup(*FLAGS)
        self.assertEqual(1, refused.returncode)
        self.assertIn("exists; add --replace", refused.stderr)
        self.assertEqual("# mine\n", self.place.read(FILE))
        for number in (1, 2):
            ended = self.run_setup("--replace", "--json", *FLAGS)
            self.assertEqual((0, ""), (ended.returncode, ended.stderr))
            report = json.loads(ended.stdout)
            self.assertEqual((FILE, f"{FILE}.old-{number}", "absent"), (report["path"], report["former"], report["daemon"]))
            self.assertEqual(["sudo systemctl start httpdnsd", "sudo httpdnsctl system use"], report["next"])
        self.assertEqual("# mine\n", self.place.read(f"{FILE}.old-1"))
        self.assertEqual("640 root", self.status_of(f"{FILE}.old-1"))
        self.assertEqual("640 root", self.status_of(FILE))
        self.assertEqual(self.place.read(FILE), self.place.read(f"{FILE}.old-2"))

    def test_what_setup_does_not_ask_about_stays_and_the_rest_is_named(self):
        kept = """[[nameserver]]
name = "corp"
servers = ["192.0.2.53"]
names = ["corp.example"]

# Not to be lost.
[[rule]]
match = ["a.example"]
resolver = "corp"
"""
        provider = '[[provider]]\nname = "own"\nurl = "https://192.0.2.1/hunter2"\ndialect = "doh"\n'
        # The view has clients that the answers do not allow, and the rule names a removed provider.
        lost = ('\n[[view]]\nname = "children"\nclients = ["192.0.2.128/25"]\n'
                '\n[[rule]]\nmatch = ["b.example"]\nresolver = "own"\n')
        self.place.write(FILE, provider + kept + lost)
        named = ["lines 1 to 4: table provider", "lines 15 to 17: table view", "lines 19 to 21: table rule"]
        shown = self.run_setup("--replace", "--dry-run", *FLAGS)
        self.assertIn(kept, shown.stdout)
        self.assertEqual(["left out of the former file:", *(f"    {part}" for part in named)], shown.stderr.splitlines())
        ended = self.run_setup("--replace", "--json", *FLAGS)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertEqual(named, json.loads(ended.stdout)["left_out"])
        written = self.place.read(FILE)
        self.assertTrue(written.endswith("\n" + kept), written)
        self.assertNotIn("hunter2", written)
        self.assertEqual(shown.stdout, written)
        again = self.run_setup("--replace", *FLAGS)
        self.assertNotIn("left out", again.stdout)
        self.assertEqual(written, self.place.read(FILE))

    def test_what_is_not_a_regular_file_is_not_replaced(self):
        self.place.run("ln", "-s", "/proc/self/fd/1", "/etc/link.toml")
        self.place.run("mkfifo", "/etc/fifo.toml")
        for path in ("/dev/stdout", "/etc/link.toml", "/etc/fifo.toml", "/etc/ssl"):
            for flags in (FLAGS, ("--replace", *FLAGS)):
                refused = self.run_setup("--output", path, *flags)
                self.assertEqual((1, ""), (refused.returncode, refused.stdout))
                self.assertEqual(f"httpdnsctl: {path} is not a regular file; name another one with --output, or - for "
                                 "standard output\n", refused.stderr)
        redirected = self.place.run("sh", "-c", 'exec "$@" >/etc/output', "sh", *self.command("setup", "--replace", "--output", "/etc/link.toml", *FLAGS))
        self.assertEqual((1, ""), (redirected.returncode, self.place.read("/etc/output")))
        self.assertEqual("symbolic link\n", self.place.run("stat", "-c", "%F", "/etc/link.toml").stdout)

    def test_without_a_daemon_nothing_is_taken_over(self):
        ended = self.run_setup(*FLAGS[:-1], "yes")
        self.assertEqual((2, ""), (ended.returncode, ended.stderr))
        self.assertIn("no daemon answers now\nnothing was taken over; the resolver of this machine is unchanged\n"
                      "Next:\n    sudo systemctl start httpdnsd\n    sudo httpdnsctl system use\n",
                      ended.stdout)
        self.assertEqual("nameserver 127.0.0.3\n", self.place.read("/etc/resolv.conf"))

    def test_a_daemon_with_another_file_is_not_used(self):
        self.install()
        other = "/etc/other/httpdnsd.toml"
        self.place.run("mkdir", "/etc/other")
        ended = self.run_setup("--output", other, *FLAGS[:-1], "yes")
        self.assertEqual((1, ""), (ended.returncode, ended.stderr))
        self.assertIn(f"the running daemon reads {FILE}, and not this one\n", ended.stdout)
        self.assertIn("nothing was taken over; the resolver of this machine is unchanged\n", ended.stdout)
        self.assertIn(f"sudo httpdnsd --config {other}\n", ended.stdout)
        self.assertEqual("nameserver 127.0.0.3\n", self.place.read("/etc/resolv.conf"))

    def test_a_user_who_may_not_reload_is_told_so(self):
        self.install()
        self.place.write(FILE, "# theirs\n")
        self.place.run("chown", "-R", "65534:65534", "/etc/httpdnsd")
        ended = self.run_setup("--replace", *FLAGS[:-2], prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        self.assertEqual((0, ""), (ended.returncode, ended.stderr))
        self.assertIn("reload is for ", ended.stdout)
        self.assertIn("the running daemon has not read this file yet\n", ended.stdout)
        self.assertNotIn("refuses this file", ended.stdout)
        self.assertIn("Next:\n    sudo httpdnsctl reload\n    sudo httpdnsctl system use\n", ended.stdout)

    def test_every_spelling_of_the_daemons_file_is_its_file(self):
        self.install()
        for spelling in ("/etc/httpdnsd/./httpdnsd.toml", "//etc//httpdnsd//httpdnsd.toml", "/etc/ssl/../httpdnsd/httpdnsd.toml"):
            ended = self.run_setup("--json", "--replace", "--output", spelling, *FLAGS)
            report = json.loads(ended.stdout)
            self.assertEqual((FILE, "reloaded"), (report["path"], report["daemon"]), spelling)

    def test_a_pasted_key_is_refused_and_not_repeated(self):
        ended = self.run_setup(*ACCOUNT, "--key-file", KEY)
        self.assertEqual((3, ""), (ended.returncode, ended.stdout))
        self.assertIn("--key-file: a path that begins with / is needed", ended.stderr)
        self.assertNotIn(KEY, ended.stderr)
        self.assertNothingWritten()

    def test_a_refusal_of_the_daemon_is_shown(self):
        self.install()
        account = ("--account", "baidu", "--account-id", "1", "--key-file", "credential:baidu")
        ended = self.run_setup("--providers", "google", *account, "--lan", "no", "--take-over", "yes")
        self.assertEqual(1, ended.returncode)
        self.assertIn("provider baidu: key-file (a value that is not shown, because it may be a key): is read as "
                      "the name of a systemd credential", ended.stdout)
        self.assertIn("the running daemon refuses this file, and continues with its former settings", ended.stdout)
        self.assertIn(f"Next:\n    sudo rm {FILE}\n", ended.stdout)
        self.assertNotIn("would fail", ended.stdout)
        self.assertEqual("nameserver 127.0.0.3\n", self.place.read("/etc/resolv.conf"))

    def test_no_failed_restart_is_foretold_that_succeeds(self):
        """The service manager hands a credential over at the start only."""
        self.install()
        account = ("--account", "baidu", "--account-id", "1", "--key-file", "credential:baidu")
        ended = self.run_setup("--providers", "google", *account, "--lan", "no", "--take-over", "no")
        self.assertEqual(1, ended.returncode)
        self.assertIn("the running daemon refuses this file", ended.stdout)
        self.assertNotIn("would fail", ended.stdout)
        self.place.run("install", "-d", "-o", "httpdnsd", "/etc/credentials")
        self.place.write("/etc/credentials/baidu", KEY)
        self.server.stop()
        self.start("env", "CREDENTIALS_DIRECTORY=/etc/credentials")
        self.assertIn("providers google, baidu", self.server.log)

    def test_a_key_file_that_others_can_read_is_refused(self):
        self.install()
        self.place.write("/etc/open.key", KEY)
        refused = self.run_setup(*ACCOUNT, "--key-file", "/etc/open.key")
        self.assertEqual(3, refused.returncode)
        self.assertIn("/etc/open.key (key-file) is accessible to all users", refused.stderr)
        missing = self.run_setup(*ACCOUNT, "--key-file", "/etc/missing.key")
        self.assertEqual(1, missing.returncode)
        self.assertIn("install -m 600 -o httpdnsd KEYFILE /etc/missing.key", missing.stderr)
        self.assertNothingWritten()

    def test_a_key_file_that_holds_no_key_is_refused(self):
        self.place.run("useradd", "--system", "httpdnsd")
        self.place.run("mkfifo", "--mode=600", "/etc/a.key")
        self.place.run("install", "-m", "600", "-o", "httpdnsd", "/dev/null", "/etc/b.key")
        for path, reason in (("/etc/a.key", "is not a regular file"), ("/etc/b.key", "is empty"), ("/etc/c/", 'ends with "/"')):
            refused = self.run_setup(*ACCOUNT, "--key-file", path)
            self.assertEqual(3, refused.returncode)
            self.assertIn(f"--key-file: {path} {reason}; ", refused.stderr)
        self.assertNothingWritten()

    def test_a_directory_that_takes_no_files_is_named(self):
        refused = self.run_setup("--output", "/sys/a.toml", *FLAGS)
        self.assertEqual(1, refused.returncode)
        self.assertRegex(refused.stderr, "^httpdnsctl: (can't write /sys/a.toml: .*\nthe directory /sys is not writable"
                                         "|user 0 can't write /sys/a.toml; is its file system read-only[?]\n)")
        self.assertNotIn("immutable", refused.stderr)

    def test_without_providers_the_nameservers_of_the_network_answer(self):
        self.install()
        ended = self.run_setup("--providers", "none", "--account", "no", "--lan", "no", "--take-over", "yes")
        self.assertEqual((0, ""), (ended.returncode, ended.stderr))
        self.assertIn("this machine uses httpdnsd now", ended.stdout)
        eventually(lambda: self.place.run("getent", "hosts", "only.system.example").stdout.split()[:1] == ["203.0.113.77"],
                   what="the nameserver of before is asked")
        stats = json.loads(self.place.run(*self.command("--json", "stats")).stdout)
        self.server.stop()
        self.start()
        self.assertIn("; providers none; system resolver 127.0.0.3", self.server.log)
        checked = self.place.run(paths.binaries / "httpdnsd", "--check").stdout
        self.assertEqual(f"{FILE}: valid: no provider is asked, 0 rules\n", checked)
        self.assertEqual([0] * 4, [provider["requests"] for provider in stats["providers"]])


class Meanwhile(Machine):
    """Other programs that write the same files."""

    def test_a_file_that_appears_during_the_dialogue_stays(self):
        typist = self.ask(*FLAGS[:-2])
        typist.answer("4. Shall this machine", "no")
        typist.wait_for("Write it?")
        self.place.write(FILE, "# theirs\n")
        typist.type("yes\n")
        self.assertEqual(1, typist.end())
        self.assertIn(f"{FILE} has changed meanwhile; run setup again", typist.shown)
        self.assertEqual("# theirs\n", self.place.read(FILE))

    def test_a_file_that_is_edited_during_the_dialogue_stays(self):
        self.place.write(FILE, "# mine\n")
        typist = self.ask("--replace", *FLAGS[:-2])
        typist.answer("4. Shall this machine", "no")
        typist.wait_for("Write it?")
        self.place.write(FILE, "# mine, edited\n")
        typist.type("yes\n")
        self.assertEqual(1, typist.end())
        self.assertIn("has changed meanwhile", typist.shown)
        self.assertEqual(["httpdnsd.toml"], self.place.run("ls", "-A", "/etc/httpdnsd").stdout.split())
        self.assertEqual("# mine, edited\n", self.place.read(FILE))

    def test_a_key_that_appears_during_the_dialogue_stays(self):
        self.place.run("useradd", "--system", "httpdnsd")
        typist = self.ask(*ACCOUNT, "--key-file", "/etc/httpdnsd/a.key")
        typist.answer("not shown: ", KEY)
        typist.wait_for("Write it?")
        self.place.write("/etc/httpdnsd/a.key", "theirs\n")
        typist.type("yes\n")
        self.assertEqual(1, typist.end())
        self.assertIn("/etc/httpdnsd/a.key exists meanwhile, and is not overwritten; run setup again", typist.shown)
        self.assertEqual("theirs\n", self.place.read("/etc/httpdnsd/a.key"))
        self.assertEqual(["a.key"], self.place.run("ls", "-A", "/etc/httpdnsd").stdout.split())

    def test_a_key_is_named_if_the_settings_cannot_be_written_after_it(self):
        self.place.run("useradd", "--system", "httpdnsd")
        self.place.run("mkdir", "-p", "/etc/httpdnsd/.httpdnsd.toml.httpdnsd-new")
        typist = self.ask(*ACCOUNT, "--key-file", "/etc/httpdnsd/a.key")
        typist.answer("not shown: ", KEY)
        typist.answer("Write it?", "yes")
        self.assertEqual(1, typist.end())
        self.assertIn(f"can't write {FILE}: unlink: Is a directory (EISDIR)\n"
                      "the key is written already, to /etc/httpdnsd/a.key\n", typist.shown)

    def test_a_place_without_the_daemons_access_is_refused_at_the_question(self):
        self.place.run("useradd", "--system", "httpdnsd")
        self.place.run("chmod", "700", "/etc/ssl")
        typist = self.ask(*ACCOUNT)
        typist.answer("Key file", "/etc/ssl/a.key")
        typist.wait_for("httpdnsd can't search /etc/ssl to reach /etc/ssl/a.key; name a file in another directory")
        typist.answer("Key file", "/etc/none/such/a.key")
        typist.wait_for("/etc/none does not exist; create it first")
        typist.answer("Key file", FILE)
        typist.wait_for("is the settings file; a key has a file of its own")
        for copy in (f"{FILE}.old-1", "/etc/httpdnsd/.httpdnsd.toml.httpdnsd-new"):
            typist.answer("Key file", copy)
            typist.wait_for("may become a copy of the settings file; ")
        typist.wait_for("Key file")
        typist.type("\x03")
        self.assertEqual(1, typist.end())

    def test_a_user_without_root_gets_no_file_that_is_of_no_use(self):
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        self.place.run("useradd", "--system", "httpdnsd")
        self.place.run("install", "-d", "-o", "65534", "/etc/own")
        flags = ("--output", "/etc/own/file.toml", *ACCOUNT[:-2], "--key-file", "/etc/own/a.key")
        refused = self.run_setup(*flags, prefix=nobody)
        self.assertEqual(3, refused.returncode)
        self.assertIn("httpdnsd can't read a key that uid 65534 writes; run setup with sudo", refused.stderr)
        self.place.write("/etc/own/file.toml", "# root's\n")
        refused = self.run_setup("--output", "/etc/own/file.toml", "--replace", *FLAGS[:-2], prefix=nobody)
        self.assertEqual(1, refused.returncode)
        self.assertIn("user 65534 can't write /etc/own/file.toml; run: sudo httpdnsctl setup", refused.stderr)
        self.place.run("chown", "65534", "/etc/own/file.toml")
        refused = self.run_setup("--output", "/etc/own/file.toml", "--replace", *FLAGS[:-2], prefix=nobody)
        self.assertEqual((1, "httpdnsctl: can't write /etc/own/file.toml: fchown: Operation not permitted (EPERM)\nonly root "
                          "can give the new file the group of this one; run: sudo httpdnsctl setup\n"),
                         (refused.returncode, refused.stderr))
        self.assertEqual("# root's\n", self.place.read("/etc/own/file.toml"))
        self.assertEqual("file.toml\n", self.place.run("ls", "-A", "/etc/own").stdout)

    def test_an_edit_is_not_lost_while_the_file_is_replaced(self):
        """An editor takes no lock: it saves its file right before setup replaces it."""
        self.place.write(FILE, "# mine\n")
        self.place.write("/etc/edited", "# edited\n")
        slow = ("strace", "-o", "/dev/null", "-e", "inject=rename,renameat2:delay_enter=500000")
        editor = f"while ! [ -e {FILE}.old-1 ]; do sleep 0.01; done; mv /etc/edited {FILE}"
        edit = subprocess.Popen((*self.place.prefix, "timeout", "10", "sh", "-c", editor))
        ended = self.run_setup("--replace", *FLAGS, prefix=slow)
        self.assertEqual(0, edit.wait())
        self.assertEqual("# edited\n", self.place.read(FILE))
        self.assertEqual((1, f"httpdnsctl: {FILE} has changed meanwhile; run setup again\n"), (ended.returncode, ended.stderr))
        self.assertEqual(["httpdnsd.toml"], self.place.run("ls", "-A", "/etc/httpdnsd").stdout.split())

    def test_no_version_is_lost_when_six_write_at_once(self):
        self.place.write(FILE, "# mine\n")
        texts = {"# mine\n"}
        names = ("alidns", "dnspod", "google", "cloudflare", "alidns,google", "none")
        runs = [(*self.place.prefix, *self.command("setup", "--replace", "--providers", name, *FLAGS[2:])) for name in names]
        programs = [subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for run in runs]
        for name, program in zip(names, programs):
            _, error = program.communicate(timeout=60)
            if program.returncode:
                self.assertEqual((1, f"httpdnsctl: {FILE} has changed meanwhile; run setup again\n"),
                                 (program.returncode, error))
            else:
                texts.add(self.run_setup("--dry-run", "--providers", name, *FLAGS[2:]).stdout)
        self.assertGreater(len(texts), 1)
        files = self.place.run("ls", "-A", "/etc/httpdnsd").stdout.split()
        self.assertEqual(texts, {self.place.read(f"/etc/httpdnsd/{file}") for file in files})
        self.assertEqual(len(texts), len(files))
