# The reports of `httpdnsctl fleet` and doctor, and the Redis files in etc/redis.

import json
import socket
import subprocess
import time

import paths
from cases import Case
from dig import dig
from fleets import Member, Redis, prefix
from paths import eventually
from programs import ctl


class Report(Case):
    expected_seconds = 3

    def setUp(self):
        self.provider = self.lab().provider("json")

    def member(self, redis, provider=None, **options):
        member = self.own(Member([provider or self.provider], redis, **options)).up()
        eventually(lambda: member.is_sharing, what="Redis is used")
        return member

    def report(self, member):
        return json.loads(ctl(member, "--json", "fleet").stdout)

    def test_the_members_and_what_they_share(self):
        redis = self.own(Redis("--maxmemory", "64mb", "--maxmemory-policy", "volatile-ttl")).up()
        members = [self.member(redis.server) for _ in range(2)]
        for member in members:
            dig(member, "www.lab.example", "A")
        eventually(lambda: len(self.report(members[0])["members"]) == 2, what="the other one is known")
        report = self.report(members[0])
        self.assertEqual((redis.server, "here", 1), (report["server"], report["site"], report["leases"]))
        self.assertEqual((0, 0, 0), (report["saved"], report["hit_share"], report["drift"]))
        self.assertEqual((64 << 20, "volatile-ttl"), (report["max_memory"], report["eviction_policy"]))
        self.assertGreater(report["call_ms"]["p50"], 0)
        self.assertEqual([True, False], [member["is_this"] for member in report["members"]])
        first, second = report["members"]
        self.assertEqual([socket.gethostname()] * 2, [first["member"], second["member"]])
        self.assertEqual((first["settings"], first["version"]), (second["settings"], second["version"]))
        self.assertRegex(first["settings"], "^[0-9a-f]{8}$")
        self.assertLessEqual(second["seen_s"], 11)
        self.assertEqual((1, 1), (self.report(members[1])["saved"], self.report(members[1])["hit_share"]))
        said = ctl(members[0], "fleet").stdout
        self.assertRegex(said, r"(?m)^fleet +site here \| unix:.* used$")
        self.assertRegex(said, r"(?m)^members +2 \| site here 2 \| version ")
        self.assertRegex(said, r"(?m) this one$")
        # The default user may run every command.
        self.assertIn("FLUSHALL", report["excess_rights"])
        self.assertIn("may do more than it needs: KEYS, FLUSHALL", ctl(members[0], "doctor").stdout)
        eventually(lambda: members[0].figures["members"] == 2, what="it counts both members")

    def test_other_settings_are_found(self):
        redis = self.own(Redis()).up()
        one, other = self.member(redis.server), self.member(redis.server, self.lab().provider("json"))
        self.member(redis.server, self.lab().provider("json"), site="there")
        eventually(lambda: len(self.report(one)["members"]) == 3, what="the others are known")
        self.assertEqual((1, 1), (self.report(one)["drift"], self.report(other)["drift"]))
        self.assertIn(f"1 member of site here with other settings: {socket.gethostname()}", ctl(one, "fleet").stdout)
        said = ctl(one, "doctor").stdout
        self.assertIn(f"other settings than this machine, in site here: {socket.gethostname()}", said)
        self.assertIn("has no memory limit", said)
        self.assertIn("has maxmemory-policy noeviction", said)

    def test_a_record_that_no_member_made_is_not_shown(self):
        redis = self.own(Redis()).up()
        one = self.member(redis.server)
        redis.command("zadd", prefix() + "n", int(time.time() * 1000), "stranger")
        redis.command("set", prefix() + "n:stranger", '{"member":"stranger"}')
        self.assertEqual([True], [member["is_this"] for member in self.report(one)["members"]])

    def test_without_redis_the_command_ends_soon(self):
        redis = self.own(Redis()).up()
        member = self.member(redis.server)
        redis.kill()
        eventually(lambda: not member.is_sharing)
        done = ctl(member, "fleet")
        self.assertEqual(0, done.returncode)
        self.assertRegex(done.stdout, r"(?m)^fleet +site here \| unix:.* not used: ")
        self.assertIn("warning: fleet: no answers are shared with the fleet: Redis at unix:", ctl(member, "doctor").stdout)

    def test_without_a_fleet_it_says_so(self):
        done = ctl(self.daemon([self.provider]), "fleet")
        self.assertEqual(
            (1, "error: there is no fleet; add [fleet] to the settings\n"), (done.returncode, done.stdout))


class Files(Case):
    def test_the_rights_in_the_file_are_enough_and_the_default_user_is_off(self):
        redis = self.own(Redis())
        rights = (paths.ROOT / "etc/redis/httpdnsd.acl").read_text().replace("PASSWORD", "secret")
        (redis.directory / "httpdnsd.acl").write_text(rights)
        redis.arguments = ("--aclfile", redis.directory / "httpdnsd.acl")
        redis.up()
        self.assertIn(b"NOAUTH", redis.command("get", "h1:t"))
        member = self.own(
            Member([self.lab().provider("json")], redis.server, password="secret", more='user = "httpdnsd"')).up()
        eventually(lambda: member.is_sharing, what="Redis is used")
        report = json.loads(ctl(member, "--json", "fleet").stdout)
        self.assertEqual(([], "noeviction", None), (
            report.get("excess_rights"), report["eviction_policy"], report.get("members_fault")))

    def test_the_unit_is_without_fault_and_its_exposure_is_small(self):
        unit = paths.ROOT / "etc/redis/httpdnsd-redis.service"
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
        self.assertEqual((0, ""), (verified.returncode, verified.stderr))
        secured = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], capture_output=True, text=True)
        self.assertEqual(0, secured.returncode, secured.stdout)
