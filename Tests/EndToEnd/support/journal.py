# A journal for a daemon of its own: the socket of the native protocol, in a mount namespace with an empty /run. It needs
# root. Its parser of entries is written from systemd's description of the protocol.

import os
import socket
import tempfile

import paths

_ENTER = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal
[ -z "$0" ] || mount --bind "$0" /run/systemd/journal
exec "$@"
"""


def private_run(journal=""):
    """A prefix that runs a command with an empty /run, and the journal's socket of this directory, if any. Without root
    the machine's own /run is left."""
    return ("unshare", "--mount", "sh", "-c", _ENTER, str(journal)) if os.geteuid() == 0 else ()


class Journal:
    def __init__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="e2e-journal-")
        os.chmod(self._directory.name, 0o755)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self._directory.name + "/socket")
        os.chmod(self._directory.name + "/socket", 0o666)
        self.socket.settimeout(paths.PATIENCE)
        self.prefix = private_run(self._directory.name)

    def close(self):
        self.socket.close()
        self._directory.cleanup()

    def until(self, event):
        """The entries up to the one of an event, which is the last."""
        entries = [self.entry()]
        while entries[-1]["HTTPDNSD_EVENT"] != [event]:
            entries.append(self.entry())
        return entries

    def entry(self):
        """The next entry: the values of each field."""
        data, fields = self.socket.recv(1 << 20), {}
        while data:
            line, _, rest = data.partition(b"\n")
            name, is_short, value = line.partition(b"=")
            if is_short:
                data = rest
            else:
                size = int.from_bytes(rest[:8], "little")
                value, end, data = rest[8:8 + size], rest[8 + size:9 + size], rest[9 + size:]
                assert end == b"\n", end
            fields.setdefault(name.decode(), []).append(value.decode())
        return fields
