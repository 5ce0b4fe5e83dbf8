# The cache in its file: loaded after a restart, intact after any kill, set aside if damaged, readable by sqlite3.

import random
import signal
import subprocess
import time

from cases import Case
from paths import eventually
from programs import Daemon, ctl
from wire import NOERROR, Datagrams, query

KILLS = 200
# The number of kills during the daemon's usual work; the rest come while it writes at its end.
KILLS_AT_WORK = 5
# The number of kills after all entries are written.
KILLS_AFTER_WORK = 2
NAMES = 40
# The interval between an entry and its write: two seconds, and a margin for a busy machine.
INTERVAL_SECONDS = 2.6
LONGEST_WRITE_SECONDS = 0.02


class Store(Case):
    expected_seconds = 50

    def setUp(self):
        self.provider = self.lab()
        self.names = {f"kept{number}.lab.example": f"192.0.2.{number + 100}" for number in range(NAMES)}
        for name, address in self.names.items():
            self.provider.record(name, "A", address, ttl=3600)
        self.server = self.own(Daemon([self.provider.provider("json")]))
        self.file = self.server.directory / "cache.db"
        self.server.store = self.file

    def up(self):
        """Starts the daemon; returns the number of loaded answers."""
        since = len(self.server.log)
        self.server.up()
        return int(self.server.wait_for(r"^httpdnsd: (\d+) answers? loaded from", since=since).group(1))

    def ask(self, names):
        with Datagrams(self.server.address) as client:
            return {name: client.ask(name) for name in names}

    def assertRight(self, replies):
        for name, reply in replies.items():
            self.assertEqual((reply.rcode, reply.addresses), (NOERROR, {self.names[name]}), name)

    def sql(self, statement):
        done = subprocess.run(
            ["sqlite3", str(self.file), statement], capture_output=True, text=True, timeout=20, check=True)
        return done.stdout.splitlines()

    def set_aside(self):
        return sorted(path.name for path in self.file.parent.glob("cache.db.aside-*"))

    def test_restart_without_upstreams(self):
        self.server.up()
        self.assertRight(self.ask(self.names))
        self.server.stop()
        self.provider.kill()
        self.assertEqual(NAMES, self.up())
        replies = self.ask(self.names)
        self.assertRight(replies)
        for reply in replies.values():
            self.assertLessEqual(reply.answers[0][3], 3600)

    def test_sqlite3_reads_it_while_the_daemon_runs(self):
        # The kill waits until the daemon has created the file, because no other process may read it before.
        self.up()
        self.assertRight(self.ask(list(self.names)[:1]))
        name, address = next(iter(self.names.items()))
        # The first batch is written a little later.
        rows = eventually(lambda: self.sql(
            "SELECT name, type, addresses, code, expires_at > stored_at FROM entries"))
        self.assertEqual(rows, [f"{name}|A|{address}|NOERROR|1"])
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)

    def test_damaged_file(self):
        self.file.write_bytes(b"SQLite format 3\0" + random.Random(1).randbytes(20_000))
        self.server.up()
        self.assertRight(self.ask(self.names))
        eventually(lambda: self.set_aside() == ["cache.db.aside-1"])
        self.server.stop()
        self.assertEqual(self.sql("SELECT count(*) FROM entries"), [str(NAMES)])

    def test_kill_at_any_moment(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        # The entries that no kill may remove: those loaded before, and those stored for longer than the interval.
        certain, grown = 0, 0
        for round in range(KILLS):
            with self.subTest(seed=seed, round=round):
                back = self.up()
                self.assertGreaterEqual(back, certain)
                grown += back > certain
                certain = back
                known = chance.sample(sorted(self.names), 5)
                self.assertRight(self.ask(known))
                # New names give every round entries to write.
                new = [f"round{round}-{number}.any.lab.example" for number in range(10)]
                for reply in self.ask(new).values():
                    self.assertEqual(reply.addresses, {"192.0.2.99"})
                if round % (KILLS // KILLS_AT_WORK) == 0:
                    time.sleep(chance.uniform(0, INTERVAL_SECONDS))
                elif round % (KILLS // KILLS_AFTER_WORK) == 1:
                    time.sleep(INTERVAL_SECONDS)
                    certain += len(new)
                else:
                    self.server.signal(signal.SIGTERM)
                    time.sleep(chance.uniform(0, LONGEST_WRITE_SECONDS))
                self.server.kill()
                self.assertEqual(self.set_aside(), [])
        # Some kills came before the last batch was written and some after, so others may have come during it.
        self.assertGreater(grown, 0)
        self.assertLess(grown, KILLS - 1)
        self.assertEqual(self.sql("PRAGMA integrity_check"), ["ok"])
        self.server.up()
        self.assertRight(self.ask(self.names))
        self.server.stop()
        # All names were asked in the last round, which ended normally.
        self.provider.kill()
        self.up()
        self.assertRight(self.ask(self.names))

    def test_a_last_batch_is_written_whole(self):
        self.server.up()
        names = [*self.names, *(f"last{number}.any.lab.example" for number in range(200))]
        with Datagrams(self.server.address) as client:
            # One domain has at most 128 lookups at a time.
            for batch in (names[at:at + 100] for at in range(0, len(names), 100)):
                for name in batch:
                    client.send(query(name))
                for _ in batch:
                    self.assertEqual(NOERROR, client.receive().rcode)
        # All entries are still collected, or being written.
        self.server.stop()
        self.assertEqual(set(names), set(self.sql("SELECT name FROM entries")))
        self.assertEqual([], list(self.file.parent.glob("cache.db-*")))

    def test_what_is_flushed_does_not_come_back(self):
        self.server.up()
        flushed, kept, *_ = self.names
        below = f"a.{flushed}"
        self.provider.record(below, "A", "192.0.2.99", ttl=3600)
        self.ask([*self.names, below])
        self.server.stop()
        for arguments, removed, left in (([], "1 entry", {below, kept}), (["--tree"], "2 entries", {kept})):
            self.up()
            self.ask([flushed, below])
            self.assertEqual(f"removed {removed}\n", ctl(self.server, "flush", *arguments, flushed).stdout)
            self.server.stop()
            self.assertEqual(left, {flushed, below, kept} & set(self.sql("SELECT name FROM entries")))
        self.assertEqual(NAMES - 1, self.up())
        self.assertNotIn(flushed, ctl(self.server, "cache", "ls").stdout)
        ctl(self.server, "flush", "--all")
        self.server.stop()
        self.assertEqual([], self.sql("SELECT name FROM entries"))

    def test_a_row_that_somebody_edited_is_not_answered(self):
        self.server.up()
        self.assertRight(self.ask(self.names))
        self.server.stop()
        edited = next(iter(self.names))
        self.sql(f"UPDATE entries SET body = x'c00c000100010000ffff0004c6336401' WHERE name = '{edited}'")
        self.server.up()
        self.assertRight(self.ask(self.names))
