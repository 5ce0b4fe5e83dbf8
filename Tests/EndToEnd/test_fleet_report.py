# What `httpdnsctl fleet` and doctor say of a fleet, and the files for its Redis in etc/redis.

import json
import subprocess

import places
from cases import Case
from digging import dig
from fleets import Member, Redis
from places import eventually
from programs import ctl


class Report(Case):
    expected_seconds = 3

    def member(self, redis, **options):
        member = self.own(Member([self.lab().provider("json")], redis, **options)).up()
        eventually(lambda: member.is_sharing, what="Redis is used")
        return member

    def test_a_member_tells_what_it_shares(self):
        redis = self.own(Redis()).up()
        members = [self.member(redis.server) for _ in range(2)]
        dig(members[0], "www.lab.example", "A")
        report = json.loads(ctl(members[0], "--json", "fleet").stdout)
        self.assertEqual((redis.server, "here", 1), (report["server"], report["site"], report["leases"]))
        self.assertEqual([True], [member["is_this"] for member in report["members"] if member["is_this"]])
        self.assertEqual((0, 0), (report["saved"], report["hit_share"]))
        said = ctl(members[0], "fleet").stdout
        self.assertRegex(said, r"(?m)^fleet +site here \| unix:.* used$")
        self.assertRegex(said, r"(?m) this one$")

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
        done = ctl(self.daemon([self.lab().provider("json")]), "fleet")
        self.assertEqual(
            (1, "error: there is no fleet; add [fleet] to the settings\n"), (done.returncode, done.stdout))


class Files(Case):
    def test_the_rights_in_the_file_are_enough_and_the_default_user_is_off(self):
        redis = self.own(Redis())
        rights = (places.ROOT / "etc/redis/httpdnsd.acl").read_text().replace("PASSWORD", "secret")
        (redis.directory / "httpdnsd.acl").write_text(rights)
        redis.arguments = ("--aclfile", redis.directory / "httpdnsd.acl")
        redis.up()
        self.assertIn(b"NOAUTH", redis.command("get", "h1:t"))
        member = self.own(
            Member([self.lab().provider("json")], redis.server, password="secret", more='user = "httpdnsd"')).up()
        eventually(lambda: member.is_sharing, what="Redis is used")

    def test_the_unit_is_without_fault_and_its_exposure_is_small(self):
        unit = places.ROOT / "etc/redis/httpdnsd-redis.service"
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
        self.assertEqual((0, ""), (verified.returncode, verified.stderr))
        secured = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], capture_output=True, text=True)
        self.assertEqual(0, secured.returncode, secured.stdout)
