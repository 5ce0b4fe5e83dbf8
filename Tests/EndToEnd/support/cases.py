# What every test has: programs that end with it, and the message that a name should get.

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
    """A [[rule]]; keys with underscores, values as in TOML."""
    lines = [f"{key.replace('_', '-')} = {value}" for key, value in keys.items()]
    return "\n".join(["[[rule]]", "match = [" + ", ".join(f'"{name}"' for name in match) + "]", *lines, ""])


class Case(unittest.TestCase):
    """A test with programs of its own, or of its class. `run` shows their logs when it fails."""

    programs = ()
    # Of the class; the longest are begun first.
    expected_seconds = 1
    # The debug build is too slow for what it measures.
    needs_release = False

    @classmethod
    def share(cls, program):
        """Runs for all tests of the class."""
        cls.addClassCleanup(program.close)
        cls.programs = (*cls.programs, program)
        return program

    def own(self, program):
        """Runs for this test only."""
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
        """The accounting identity of `stats`."""
        responses, dropped = sum(stats["responses"].values()), sum(stats["dropped"].values())
        self.assertEqual(
            stats["queries"]["total"], responses + dropped + stats["inflight"],
            f"responses {stats['responses']}, dropped {stats['dropped']}, inflight {stats['inflight']}")
        self.assertEqual(stats["queries"]["total"], stats["queries"]["udp"] + stats["queries"]["tcp"])
        self.assertGreaterEqual(stats["inflight"], 0)
