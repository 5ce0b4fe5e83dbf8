# The servers of the recovery benchmark: httpdnsd and its peers, each configured by expert choice to keep answering
# through failures, and their upstreams. The report prints the configuration from `how`.

import base64
import json
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "EndToEnd" / "support"))

from programs import Daemon, Program  # noqa: E402 (found by the path above)

HOST_NAME = "dns.google"
URL_PATH = "/dns-query"


class Upstream(Program):
    """A dnsdist as a DoH server at these addresses of the far side, which has one address for every name."""

    def __init__(self, internet, authority, addresses, answer):
        super().__init__("dnsdist")
        self.prefix = internet.prefix
        certificate, key = authority.certificate(HOST_NAME, file=f"{HOST_NAME}-{answer}")
        listeners = "\n".join(
            f'addDOHLocal("{address}:443", "{certificate}", "{key}", "{URL_PATH}")' for address in addresses)
        (self.directory / "conf").write_text(f"""{listeners}
setLocal("127.0.0.1:53")
setACL({{"0.0.0.0/0"}})
setSecurityPollSuffix("")
addAction(QTypeRule(DNSQType.A), SpoofAction("{answer}", {{ttl=300}}))
addAction(AllRule(), RCodeAction(DNSRCode.NOERROR))
""")

    def up(self):
        self.start("dnsdist", "--supervised", "--disable-syslog", "-C", self.directory / "conf", prefix=self.prefix)
        self.wait_for("Listening on .*:443")
        return self


class Peer(Program):
    """A resolver on the host that listens on a port of its loopback."""

    def __init__(self, name, how, networks, port):
        super().__init__(name)
        self.label, self.how, self.networks, self.port = name, how, networks, port

    def launch(self, *command, **options):
        self.start(*command, prefix=self.networks.host.prefix, **options)
        return self


class Ours(Daemon):
    def __init__(self, label, how, networks, port, groups):
        """groups: the addresses of each provider."""
        providers = [
            {"name": f"p{number}", "dialect": "doh", "url": f"https://{HOST_NAME}{URL_PATH}", "addresses": group,
             "ca-file": str(networks.authority.ca_file)} for number, group in enumerate(groups)]
        super().__init__(
            providers, system="resolv.conf", listen=[f"127.0.0.1:{port}"], prefix=networks.host.prefix,
            sections="[probe]\nenabled = false\n")
        self.label, self.how, self.port = label, how, port

    def launch(self):
        return self.up()


class SmartDNS(Peer):
    def __init__(self, networks, port, addresses):
        count = "both upstreams, which it asks at the same time" if len(addresses) > 1 else "the upstream alone"
        super().__init__("smartdns", f"{count}; it has no word for \"only when the others fail\"", networks, port)
        servers = "\n".join(
            f"server-https https://{address}{URL_PATH} -host-name {HOST_NAME} -http-host {HOST_NAME}"
            f" -tls-host-verify {HOST_NAME}" for address in addresses)
        (self.directory / "conf").write_text(f"""bind 127.0.0.1:{port}
{servers}
ca-file {networks.authority.ca_file}
cache-size 0
speed-check-mode none
response-mode fastest-response
dualstack-ip-selection no
log-level fatal
log-file /dev/null
audit-enable no
""")

    def launch(self):
        return super().launch("smartdns", "-f", "-c", self.directory / "conf", "-p", self.directory / "pid")


class DNSCryptProxy(Peer):
    def __init__(self, networks, port, addresses):
        how = f"{len(addresses)} DoH server{'s' * (len(addresses) > 1)} by stamp, no cache, the rest as delivered;" \
              " it never falls back to a plain resolver"
        super().__init__("dnscrypt-proxy", how, networks, port)
        names = [f"u{number}" for number in range(len(addresses))]
        stamps = "\n".join(
            f"[static.{name}]\nstamp = '{_stamp(address)}'" for name, address in zip(names, addresses))
        (self.directory / "conf").write_text(f"""listen_addresses = ['127.0.0.1:{port}']
server_names = {json.dumps(names)}
cache = false
netprobe_timeout = 0
ignore_system_dns = true
bootstrap_resolvers = ['192.0.2.53:53']
log_level = 2
[static]
{stamps}
""")

    def launch(self):
        trusted = {**os.environ, "SSL_CERT_FILE": str(self.networks.authority.ca_file), "SSL_CERT_DIR": "/nonexistent"}
        return super().launch("dnscrypt-proxy", "-config", self.directory / "conf", env=trusted)

    @staticmethod
    def is_installed():
        return shutil.which("dnscrypt-proxy") is not None


def _stamp(address):
    """A DNS stamp of a DoH server (dnscrypt.info/stamps-specifications), without promises and certificate hash."""
    def counted(text):
        return bytes([len(text)]) + text.encode()
    stamp = b"\x02" + bytes(8) + counted(address) + b"\0" + counted(HOST_NAME) + counted(URL_PATH)
    return "sdns://" + base64.urlsafe_b64encode(stamp).decode().rstrip("=")
