# A certificate authority of the test's own, made with openssl.

import subprocess

from places import is_address


class Authority:
    """Writes into `directory`; `ca_file` is what a client has to trust."""

    def __init__(self, directory):
        self.directory = directory
        self.ca_file = directory / "ca.pem"
        self._key = directory / "ca.key"
        self._openssl(
            "req", "-x509", *self._new_key(self._key), "-out", self.ca_file, "-days", "2", "-subj", "/CN=Test CA",
            "-addext", "basicConstraints=critical,CA:TRUE")

    def certificate(self, *names, days=2):
        """PEM files (certificate, key) for these names and addresses."""
        base = self.directory / names[0]
        certificate, key, request = (base.with_name(f"{names[0]}.{suffix}") for suffix in ("pem", "key", "csr"))
        extensions = base.with_name(f"{names[0]}.ext")
        kinds = (f"{'IP' if is_address(name) else 'DNS'}:{name}" for name in names)
        extensions.write_text("subjectAltName=" + ",".join(kinds))
        self._openssl("req", *self._new_key(key), "-out", request, "-subj", f"/CN={names[0]}")
        self._openssl(
            "x509", "-req", "-in", request, "-CA", self.ca_file, "-CAkey", self._key, "-CAcreateserial",
            "-out", certificate, "-days", str(days), "-extfile", extensions)
        return certificate, key

    @staticmethod
    def _new_key(path):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path)

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
