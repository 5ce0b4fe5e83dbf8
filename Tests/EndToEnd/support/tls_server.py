# Providers at their vendors' names: TLS on a local port, nginx behind it, and the lab behind that.

from lab import KINDS
from paths import free_port, is_address
from programs import Nginx

SECURE_KINDS = [kind for kind in KINDS if KINDS[kind].vendor]


class Front(Nginx):
    """A web server with one port for each provider. Only the vendor's name is served, and no other is on its
    certificate; an address is not named in a handshake (RFC 6066 section 3)."""

    def __init__(self, lab, authority, kinds=SECURE_KINDS, prefix=()):
        self.lab = lab
        self.authority = authority
        self.ports = {kind: free_port() for kind in kinds}
        super().__init__("".join(map(self._block, kinds)), prefix)

    def _block(self, kind):
        vendor = KINDS[kind].vendor
        certificate, key = self.authority.certificate(vendor)
        wanted = "" if is_address(vendor) else vendor
        return f"""
    server {{
        listen 127.0.0.1:{self.ports[kind]} ssl http2;
        server_name "{vendor}";
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        if ($ssl_server_name != "{wanted}") {{ return 421; }}
        location / {{
            proxy_pass http://{self.lab.http}/p/{kind}/;
            proxy_buffering off;
        }}
    }}"""

    def provider(self, kind, **more):
        return self.lab.secure_provider(kind, self.ports[kind], **{"ca-file": str(self.authority.ca_file), **more})
