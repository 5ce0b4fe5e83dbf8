# A fleet on this machine: a real redis-server, and daemons that share their answers by it.

import hashlib
import hmac
import re
import socket
import subprocess

import paths
from cases import Case
from dig import dig
from paths import eventually
from programs import Daemon, Program

KEY = "0123456789abcdef0123456789abcdef"


def prefix(key=KEY):
    """The prefix in Redis of the names of a fleet with this key."""
    return "h1:" + hmac.new(key.encode(), b"httpdnsd fleet key id", hashlib.sha256).hexdigest()[:8] + ":"


class Redis(Program):
    """A redis-server process at a UNIX socket."""

    def __init__(self, *arguments):
        super().__init__("redis-server")
        self.path = self.directory / "redis.sock"
        self.arguments = arguments

    def up(self, prefix=()):
        since = len(self.log)
        self.start(
            "redis-server", "--port", "0", "--unixsocket", self.path, "--unixsocketperm", "777", "--save", "",
            "--appendonly", "no", "--dir", self.directory, *self.arguments, prefix=prefix)
        self.wait_for("(?i)ready to accept connections", since=since)
        return self

    @property
    def server(self):
        return f"unix:{self.path}"

    def command(self, *words):
        done = subprocess.run(
            ["redis-cli", "-s", str(self.path), "--raw", *map(str, words)], capture_output=True,
            timeout=paths.PATIENCE)
        return done.stdout[:-1]

    def keys(self):
        return self.command("keys", "*").decode().split()

    def entries(self):
        """The keys of shared answers."""
        return [key for key in self.keys() if re.fullmatch("h1:[0-9a-f]{8}:e:[0-9a-f]{32}", key)]

    def of_kind(self, kind):
        """The keys of a kind, such as "b" for the turns of a budget."""
        return [key for key in self.keys() if re.fullmatch(f"h1:[0-9a-f]{{8}}:{kind}:[0-9a-f]{{32}}", key)]

    def put(self, key, value, milliseconds=60_000):
        """Stores a value of arbitrary bytes."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.path))
            words = [b"SET", key.encode(), value, b"PX", b"%d" % milliseconds]
            client.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            assert client.recv(100) == b"+OK\r\n"

    def info(self, name):
        """A number of INFO."""
        lines = self.command("info", "all").decode().splitlines()
        return float(next(line.split(":")[1] for line in lines if line.startswith(f"{name}:")))


class Member(Daemon):
    """A process of httpdnsd with [fleet]. `redis` is its server, or a list of servers. On a busy machine, Redis may
    take longer than the default of 5 ms, so `read_timeout` sets another one; None keeps the default."""

    def __init__(
            self, providers, redis, site="here", keys=(KEY,), password=None, read_timeout="100ms", more="", sections="",
            **options):
        super().__init__(providers, **options)
        files = [self.secret(f"key{number}", key) for number, key in enumerate(keys)]
        lines = ["[fleet]", f"server = {self._quoted(redis)}", f'site = "{site}"', f"key-file = {self._quoted(files)}"]
        if password is not None:
            lines.append(f'password-file = "{self.secret("password", password)}"')
        if read_timeout is not None:
            lines.append(f'read-timeout = "{read_timeout}"')
        self.sections = "\n".join([sections, *lines, more, ""])

    def secret(self, name, text):
        path = self.directory / name
        path.write_text(text)
        paths.entrust(path).chmod(0o600)
        return str(path)

    @staticmethod
    def _quoted(texts):
        return f'"{texts}"' if isinstance(texts, str) else "[" + ", ".join(f'"{text}"' for text in texts) + "]"

    @property
    def figures(self):
        return self.stats()["fleet"]

    @property
    def is_sharing(self):
        return self.figures["in_use"] == 1


class FleetCase(Case):
    """One Redis and one provider, for members that `member` starts."""

    def setUp(self):
        self.redis = self.own(Redis()).up()
        self.provider = self.lab()
        for name in ("a", "b", "c", "d"):
            self.provider.record(f"{name}.lab.example", "A", "192.0.2.50", ttl=60)

    def member(self, redis=None, start=True, **options):
        member = self.own(Member([self.provider.provider("json")], redis or self.redis.server, **options))
        if start:
            member.up()
            eventually(lambda: member.is_sharing, what="Redis is used")
        return member

    def address(self, daemon, name):
        return [record[4] for record in dig(daemon, name, "A").answer]

    def changed(self, name="a.lab.example"):
        """Changes the provider's address, so that it differs from the members'."""
        self.provider.record(name, "A", "192.0.2.70", ttl=600)
