# Real programs as children of a test: started on free ports with files in a directory of their own, ready when their
# log says so, and stopped by their process ID.

import atexit
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import paths
import schema
from paths import eventually, free_port

_running = set()


@atexit.register
def _kill_all():
    for process in list(_running):
        process.kill()


# A client of the control socket that runs as another user. The arguments are user, group, path and line.
_SOMEBODY_ELSE = """
import os, socket, sys
user, group = int(sys.argv[1]), int(sys.argv[2])
os.setgroups([])
os.setresgid(group, group, group)
os.setresuid(user, user, user)
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[3])
client.sendall(sys.argv[4].encode() + b"\\n")
while chunk := client.recv(65536):
    sys.stdout.write(chunk.decode())
"""


class Program:
    """A child process with a directory and a log of its output."""

    def __init__(self, name):
        self.name = name
        self.directory = Path(tempfile.mkdtemp(prefix=f"e2e-{name}-"))
        # Programs that drop their rights must be able to enter the directory, and the daemon to keep its store there.
        paths.entrust(self.directory).chmod(0o755)
        self.log_path = self.directory / "log"
        self.process = None
        self.last_words = ""

    def start(self, *command, prefix=(), **options):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*map(str, prefix), *map(str, command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)
        _running.add(self.process)

    @property
    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else self.last_words

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def wait_for(self, pattern, within=paths.PATIENCE, since=0):
        """The first match of `pattern` in the whole lines of the log from the offset `since`."""
        def look():
            # A line without an end may still grow.
            log = self.log[since:]
            found = re.search(pattern, log[:log.rfind("\n") + 1], re.MULTILINE)
            if not found and not self.is_running:
                raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.log}")
            return found
        return eventually(look, within, f"{self.name} says {pattern!r}")

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Kills the program at once."""
        if self.process:
            self.process.kill()
            self.process.wait()
            _running.discard(self.process)

    def stop(self, within=paths.PATIENCE):
        """Asks the program to end; returns its exit code."""
        if self.is_running:
            self.process.terminate()
            try:
                self.process.wait(within)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"{self.name} does not end on SIGTERM:\n{self.log}") from None
        _running.discard(self.process)
        return self.process.returncode if self.process else 0

    def close(self):
        try:
            self.stop()
        finally:
            self.last_words = self.log
            shutil.rmtree(self.directory, ignore_errors=True)


def _toml(value):
    """A value in TOML; JSON's strings, numbers, booleans and arrays are the same."""
    return json.dumps(value)


def _entries(table, name="provider"):
    """The lines of a table; those of the tables in it come last."""
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    lines = [f"{key} = {_toml(value)}" for key, value in table.items() if key not in tables]
    for key, value in tables.items():
        lines += [f"[{name}.{key}]", *_entries(value, f"{name}.{key}")]
    return lines


class Daemon(Program):
    """A process of httpdnsd. Its settings never name the machine's own resolver: without `system` the nameserver is a
    closed port."""

    def __init__(self, providers, system=None, host="127.0.0.1", listen=None, prefix=(), sections="", server="", store="", pages=None):
        super().__init__("httpdnsd")
        self.host = host
        self.port = free_port(host)
        bracketed = f"[{host}]" if ":" in host else host
        self.listen = listen or [f"{bracketed}:{self.port}"]
        self.providers = providers
        self.system = [f"127.0.0.1:{free_port()}"] if system is None else system
        self.control = self.directory / "control.sock"
        self.config = self.directory / "httpdnsd.toml"
        self.prefix = prefix
        self.sections = sections
        self.server = server
        # The file of the store; "": in memory only.
        self.store = store
        # The address of metrics and the status page, such as 127.0.0.1:0.
        self.pages = pages
        self.expected_exit = 0

    def settings(self):
        lines = ["[server]", f"listen = {_toml(self.listen)}", self.server]
        if os.geteuid() == 0 and "user = " not in self.server:
            lines += [f"user = {_toml(paths.DAEMON.pw_name)}"]
        lines += [""]
        for provider in self.providers:
            lines += ["[[provider]]", *_entries(provider), ""]
        if self.system != "resolv.conf":
            lines += ["[system-resolver]", f"servers = {_toml(self.system)}"]
        lines += ["[control]", f"socket = {_toml(str(self.control))}"]
        lines += [f"metrics-listen = {_toml(self.pages)}", ""] if self.pages else [""]
        # The directory differs from that of a daemon of this machine.
        if "[log]" not in self.sections:
            lines += ["[log]", f"recorder-directory = {_toml(str(self.directory))}", ""]
        store = f"[cache]\nstore = {_toml(str(self.store))}\n"
        lines += [self.sections.replace("[cache]\n", store) if "[cache]\n" in self.sections else store + self.sections, ""]
        return "\n".join(lines)

    def run(self):
        """Starts the daemon without waiting until it is ready."""
        self.config.write_text(self.settings())
        self.start(paths.binaries / "httpdnsd", "--config", self.config, prefix=self.prefix)
        return self

    def up(self):
        since = len(self.log)
        self.run()
        self.wait_for("^httpdnsd: ready: ", since=since)
        self.require_valid_settings()
        return self

    def require_valid_settings(self):
        """What the daemon accepts is valid by the schema, too."""
        if faults := schema.faults(self.config.read_text()):
            raise AssertionError("the schema refuses settings that the daemon accepts:\n" + "\n".join(faults))

    def close(self):
        try:
            code = self.stop()
            if code != self.expected_exit:
                raise AssertionError(f"httpdnsd ended with {code}:\n{self.log}")
        finally:
            super().close()

    @property
    def address(self):
        return (self.host, self.port)

    @property
    def page(self):
        """The URL of the status page."""
        return self.wait_for("^httpdnsd: metrics and the status page are at (.*)$").group(1)

    def ask_control(self, line):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(paths.PATIENCE)
            client.connect(str(self.control))
            client.sendall(line.encode() + b"\n")
            answer = b""
            while chunk := client.recv(65536):
                answer += chunk
            return answer.decode()

    def ask_control_as(self, user, group, line):
        """Asks over the control socket as another user, which needs root."""
        command = [sys.executable, "-c", _SOMEBODY_ELSE, str(user), str(group), str(self.control), line]
        done = subprocess.run(command, capture_output=True, text=True, timeout=paths.PATIENCE)
        return done.stdout + done.stderr

    def stats(self):
        return json.loads(self.ask_control("stats --json"))

    def own_bytes(self):
        """The memory of the daemon alone: without pages of its program, which are unmapped after the start."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) * 1024

    def failures(self, provider):
        return next(entry["failures"] for entry in self.stats()["providers"] if entry["name"] == provider)

    def reload(self, within=paths.PATIENCE):
        """Sends SIGHUP; returns the daemon's log lines about it."""
        since = len(self.log)
        self.signal(signal.SIGHUP)
        lines = self.wait_for("^httpdnsd: settings .*(\n  .*)*", within, since).group(0)
        if "not reloaded" not in lines:
            self.require_valid_settings()
        return lines


def ctl(daemon, *arguments):
    """Runs httpdnsctl to its end: with returncode, stdout and stderr."""
    command = [paths.binaries / "httpdnsctl", "--socket", daemon.control, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=paths.PATIENCE)


class Nameserver(Program):
    """The base of Debian's DNS servers: ready when it answers."""

    def __init__(self, name, host="127.0.0.1", port=None):
        super().__init__(name)
        self.host = host
        self.port = port or free_port(host)

    @property
    def server(self):
        return f"{self.host}:{self.port}"

    def answers(self):
        query = bytes.fromhex("abcd01000001000000000000") + b"\0\0\x02\0\x01"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.2)
            client.connect((self.host, self.port))
            try:
                client.send(query)
                return client.recv(4096)[:2] == query[:2]
            except OSError:
                return False

    def wait_until_it_answers(self, within=paths.PATIENCE):
        def answers():
            if not self.is_running:
                raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.log}")
            return self.answers()
        eventually(answers, within, f"{self.name} answers")
        return self


class NSD(Nameserver):
    """An authoritative server for "example.", which tests use as system resolver."""

    ZONE = """
        $ORIGIN example.
        $TTL 600
        @             SOA   ns hostmaster 1 7200 900 1209600 30
        @             NS    ns
        ns            A     192.0.2.54
        www.lab       A     203.0.113.10
        www.lab       AAAA  2001:db8:ffff::10
        lab           MX    10 mail.lab
        text.lab      TXT   "from nsd"
        *.any.lab     A     203.0.113.99
        only.system   A     203.0.113.77
    """

    def __init__(self, zone=None, prefix=(), **options):
        super().__init__("nsd", **options)
        lines = (zone or NSD.ZONE).strip().splitlines()
        (self.directory / "zone").write_text("\n".join(line.strip() for line in lines) + "\n")
        self.prefix = prefix
        (self.directory / "nsd.conf").write_text(f"""
server:
    ip-address: {self.host}@{self.port}
    username: ""
    chroot: ""
    zonesdir: "{self.directory}"
    database: ""
    pidfile: "{self.directory}/pid"
    xfrdfile: "{self.directory}/xfrd"
    zonelistfile: "{self.directory}/zonelist"
    cookie-secret-file: ""
    xfrdir: "{self.directory}"
    server-count: 1
    reuseport: no
    refuse-any: no
    rrl-ratelimit: 0
remote-control:
    control-enable: no
zone:
    name: "example."
    zonefile: "zone"
""")

    def run(self):
        self.start("nsd", "-d", "-c", self.directory / "nsd.conf", prefix=self.prefix)
        return self

    def kill(self):
        """The server's children answer until they notice their parent's end."""
        super().kill()
        eventually(lambda: not self.answers(), within=10)

    def up(self):
        return self.run().wait_until_it_answers()


class Unbound(Nameserver):
    """A resolver with local zones and no upstream. With a certificate and its key it speaks DNS over TLS only."""

    ZONES = """
    local-zone: "lab.example." static
    local-data: "www.lab.example. 600 IN A 203.0.113.20"
    local-data: 'text.lab.example. 600 IN TXT "from unbound"'
    """

    def __init__(self, zones=ZONES, certificate=None):
        super().__init__("unbound")
        self.is_secure = certificate is not None
        tls = "" if not certificate else """
    tls-port: {}
    tls-service-pem: "{}"
    tls-service-key: "{}"
""".format(self.port, *certificate)
        (self.directory / "unbound.conf").write_text(f"""
server:
    interface: {self.host}@{self.port}
    do-daemonize: no
    username: ""
    chroot: ""
    directory: "{self.directory}"
    pidfile: ""
    use-syslog: no
    num-threads: 1
    do-not-query-localhost: no
    module-config: "iterator"
    {tls}
    {zones}
    local-zone: "." refuse
remote-control:
    control-enable: no
""")

    def up(self):
        self.start("unbound", "-d", "-c", self.directory / "unbound.conf")
        if not self.is_secure:
            return self.wait_until_it_answers()
        self.wait_for("start of service")
        return self


class Dnsmasq(Nameserver):
    """A forwarder to one server, or to those of a file that it watches; with `lines` of settings."""

    def __init__(self, forward_to=None, resolv_file=None, prefix=(), lines=(), **options):
        super().__init__("dnsmasq", **options)
        self.prefix = prefix
        (self.directory / "dnsmasq.conf").write_text("\n".join([*lines, ""]))
        self.upstream = (
            [f"--resolv-file={resolv_file}"] if resolv_file else
            ["--no-resolv", "--server={}#{}".format(*forward_to)])

    def up(self):
        self.start(
            "dnsmasq", "--keep-in-foreground", f"--conf-file={self.directory}/dnsmasq.conf", "--no-hosts", "--user=root",
            "--bind-interfaces", f"--listen-address={self.host}", f"--port={self.port}", "--cache-size=0",
            *self.upstream, f"--pid-file={self.directory}/pid", "--log-queries", "--log-facility=-",
            prefix=self.prefix)
        self.wait_for("started")
        return self


class Nginx(Program):
    """A web server with the given `server` blocks, and a log line for each request."""

    def __init__(self, servers, prefix=()):
        super().__init__("nginx")
        self.prefix = prefix
        self.access_log = self.directory / "access.log"
        (self.directory / "nginx.conf").write_text(f"""
daemon off;
worker_processes 1;
pid {self.directory}/pid;
error_log stderr notice;
events {{ worker_connections 256; }}
http {{
    log_format seen '$server_name $host $ssl_server_name $server_protocol $connection $status';
    access_log {self.access_log} seen;
    client_body_temp_path {self.directory}/body;
    proxy_temp_path {self.directory}/proxy;
    fastcgi_temp_path {self.directory}/fastcgi;
    uwsgi_temp_path {self.directory}/uwsgi;
    scgi_temp_path {self.directory}/scgi;
    {servers}
}}
""")

    def up(self):
        self.start("nginx", "-c", self.directory / "nginx.conf", "-e", "stderr", prefix=self.prefix)
        self.wait_for("start worker process ")
        return self

    def requests(self):
        """The lines of the access log as dictionaries."""
        keys = ("server", "host", "sni", "protocol", "connection", "status")
        lines = self.access_log.read_text().splitlines() if self.access_log.exists() else []
        return [dict(zip(keys, line.split())) for line in lines]
