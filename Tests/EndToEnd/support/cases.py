# The base of all tests: programs that end with the test, and its messages.

import unittest

from lab import Lab
from paths import free_port
from programs import NSD, Daemon

LAB_WWW = {"192.0.2.10", "192.0.2.11"}
SYSTEM_WWW = {"203.0.113.10"}


def closed_provider(dialect="json"):
    """A provider at a port without a listener."""
    return {"name": "closed", "dialect": dialect, "url": f"http://127.0.0.1:{free_port()}/resolve"}


def rule(*match, **keys):
    """A [[rule]] table. Underscores in keys become hyphens; values are written as in TOML."""
    lines = [f"{key.replace('_', '-')} = {value}" for key, value in keys.items()]
    return "\n".join(["[[rule]]", "match = [" + ", ".join(f'"{name}"' for name in match) + "]", *lines, ""])


class Case(unittest.TestCase):
    """A test with programs of its own, or of its class. `run` shows their logs if the test fails."""

    programs = ()
    # The expected time of the class; the longest classes begin first.
    expected_seconds = 1
    # Whether the debug build is too slow for the measurement.
    needs_release = False

    @classmethod
    def share(cls, program):
        """Runs the program for all tests of the class."""
        cls.addClassCleanup(program.close)
        cls.programs = (*cls.programs, program)
        return program

    def own(self, program):
        """Runs the program for this test only."""
        self.addCleanup(program.close)
        self.programs = (*self.programs, program)
        return program

    def lab(self, **options):
        return self.own(Lab(**options)).up()

    def nsd(self, **options):
        return self.own(NSD(**options)).up()

    def daemon(self, providers, **options):
        return self.own(Daemon(providers, **options)).up()

    def assertSums(self, stats):
        """Checks the accounting identity of `stats`."""
        responses, dropped = sum(stats["responses"].values()), sum(stats["dropped"].values())
        self.assertEqual(
            stats["queries"]["total"], responses + dropped + stats["inflight"],
            f"responses {stats['responses']}, dropped {stats['dropped']}, inflight {stats['inflight']}")
        self.assertEqual(stats["queries"]["total"], stats["queries"]["udp"] + stats["queries"]["tcp"])
        self.assertGreaterEqual(stats["inflight"], 0)
