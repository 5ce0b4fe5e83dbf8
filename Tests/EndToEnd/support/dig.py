# The program dig, with its output as values.

import re
import subprocess
from dataclasses import dataclass


@dataclass
class Dug:
    text: str
    seconds: float

    @property
    def status(self):
        found = re.search(r"status: (\w+)", self.text)
        return found.group(1) if found else None

    @property
    def flags(self):
        return set(re.search(r"flags: ([\w ]*)", self.text).group(1).split())

    def section(self, title):
        """The records of a section as lists of owner, TTL, class, type, data."""
        found = re.search(rf";; {title} SECTION:\n(.*?)(\n\n|\n;;|\Z)", self.text, re.DOTALL)
        return [line.split(None, 4) for line in found.group(1).splitlines()] if found else []

    @property
    def answer(self):
        return self.section("ANSWER")

    @property
    def data(self):
        return {record[4] for record in self.answer}

    @property
    def types(self):
        return [record[3] for record in self.answer]

    @property
    def has_opt(self):
        return "OPT PSEUDOSECTION" in self.text

    @property
    def extended_error(self):
        found = re.search(r"EDE: (\d+)", self.text)
        return int(found.group(1)) if found else None

    @property
    def size(self):
        return int(re.search(r"MSG SIZE  rcvd: (\d+)", self.text).group(1))


def dig(daemon, *arguments):
    """Asks one question by dig, which waits 6 s and sends it once."""
    command = ["dig", f"@{daemon.host}", "-p", str(daemon.port), "+time=6", "+tries=1", "+qr", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    reply = done.stdout.split(";; Got answer:", 1)
    text = reply[1] if len(reply) == 2 else done.stdout + done.stderr
    found = re.search(r"Query time: (\d+) msec", text)
    return Dug(text, int(found.group(1)) / 1000 if found else 0.0)
