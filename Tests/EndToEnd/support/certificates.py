# A certificate authority of the test's own, made with openssl.

import subprocess
from datetime import datetime, timedelta, timezone

from paths import is_address

# The command `openssl ca` requires a list of issued certificates, which these tests do not use.
_SETTINGS = """
[ca]
default_ca = ours
[ours]
database = {directory}/issued
new_certs_dir = {directory}
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = optional
"""


def _utc(days):
    return (datetime.now(timezone.utc) + timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")


class Authority:
    """An authority whose files are in `directory`; clients have to trust `ca_file`. Each authority needs a directory of
    its own."""

    def __init__(self, directory, name="Test CA", issuer=None):
        """Makes an intermediate authority if there is an `issuer`, else a root."""
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.name = name
        self.ca_file = directory / "ca.pem"
        self._key = directory / "ca.key"
        self._settings = directory / "ca.conf"
        self._settings.write_text(_SETTINGS.format(directory=directory))
        (directory / "issued").touch()
        if issuer:
            request = directory / "ca.csr"
            self._openssl("req", *self._new_key(self._key), "-out", request, "-subj", f"/CN={name}")
            issuer.sign(request, self.ca_file, "basicConstraints=critical,CA:TRUE")
        else:
            self._openssl(
                "req", "-x509", *self._new_key(self._key), "-out", self.ca_file, "-days", "2", "-subj", f"/CN={name}",
                "-addext", "basicConstraints=critical,CA:TRUE")

    def certificate(self, *names, days=2, begins=0, file=None, is_named_apart=True):
        """Issues PEM files (certificate, key) for these names and addresses, the first of which is the subject. The
        certificate is valid for `days` from today, or from `begins` days later; a negative number of days means that it
        has ended. Without `is_named_apart`, the names are in the subject only, as before 2017."""
        base = self.directory / (file or names[0])
        certificate, key, request = (base.with_name(f"{base.name}.{suffix}") for suffix in ("pem", "key", "csr"))
        kinds = (f"{'IP' if is_address(name) else 'DNS'}:{name}" for name in names)
        self._openssl("req", *self._new_key(key), "-out", request, "-subj", f"/CN={names[0]}")
        extensions = "subjectAltName=" + ",".join(kinds) if is_named_apart else "basicConstraints=CA:FALSE"
        self.sign(request, certificate, extensions, days, begins)
        return certificate, key

    def self_signed(self, name):
        """A self-signed certificate, not issued by this authority."""
        certificate, key = self.directory / f"{name}.self.pem", self.directory / f"{name}.self.key"
        self._openssl(
            "req", "-x509", *self._new_key(key), "-out", certificate, "-days", "2", "-subj", f"/CN={name}",
            "-addext", f"subjectAltName=DNS:{name}")
        return certificate, key

    def sign(self, request, certificate, extensions, days=2, begins=0):
        file = request.with_suffix(".ext")
        file.write_text(extensions + "\n")
        # The certificate must be valid also for a clock that is slightly slow.
        first = min(begins, days) - (0 if begins > 0 else 0.1)
        self._openssl(
            "ca", "-batch", "-notext", "-config", self._settings, "-cert", self.ca_file, "-keyfile", self._key,
            "-in", request, "-out", certificate, "-extfile", file,
            "-startdate", _utc(first), "-enddate", _utc(begins + days))

    @staticmethod
    def _new_key(path):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path)

    @staticmethod
    def _openssl(*arguments):
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"openssl {arguments[0]} failed:\n{done.stderr}")
