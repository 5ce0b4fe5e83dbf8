# Listen addresses that appear after the start, as by DHCP, and disappear again.

import json
import os
import unittest

import paths
import test_package
from cases import LAB_WWW
from lab import Lab
from machines import boots_machines
from paths import eventually
from programs import Daemon
from test_programs import NamespaceCase

LAN, LAN_6 = "192.0.2.77", "2001:db8::77"

# Gives the machine its address 8 s after the boot, as DHCP may.
LATE_LAN = f"""
[Service]
ExecStart=/bin/sh -c "ip link add lan type veth peer name cable && ip link set lan up && ip link set cable up \
    && sleep 8 && ip address add {LAN}/24 dev lan"
RemainAfterExit=yes

[Install]
WantedBy=multi-user.target
"""


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
class LateAddress(NamespaceCase):
    def setUp(self):
        self.inside = self.namespace()
        provider = self.own(Lab(prefix=self.inside.prefix)).up()
        self.listen = [f"{LAN}:53", f"[{LAN_6}]:53"]
        self.server = self.own(Daemon(
            [provider.provider("json")], listen=[*self.listen, "127.0.0.1:53"], prefix=self.inside.prefix,
            server='allow = ["192.0.2.0/24", "2001:db8::/32", "127.0.0.0/8"]')).up()

    def address(self, change, address):
        self.assertEqual(0, self.inside.run("ip", "address", change, address, "dev", "lo").returncode)

    def missing(self):
        return json.loads(self.ctl("--json", "status").stdout).get("missing_listeners")

    def ctl(self, *arguments):
        return self.inside.run(paths.binaries / "httpdnsctl", "--socket", self.server.control, *arguments)

    def answers(self, address, *options):
        found = self.inside.run("dig", f"@{address}", "www.lab.example", "+short", "+tries=1", "+time=2", *options)
        return set(found.stdout.split()) == LAB_WWW

    def test_it_is_served_as_soon_as_it_is_there(self):
        self.server.wait_for(f"listening on {LAN}:53, but no interface has this address")
        self.assertTrue(self.answers("127.0.0.1"))
        self.assertEqual(self.listen, self.missing())
        self.assertIn("no interface has the address", self.ctl("status").stdout)

        self.address("add", f"{LAN}/32")
        self.address("add", f"{LAN_6}/128")
        self.server.wait_for(rf"listening on {LAN}:53: an interface has this address now")
        self.assertTrue(self.answers(LAN))
        self.assertTrue(self.answers(LAN, "+tcp"))
        self.assertTrue(self.answers(LAN_6))
        self.assertTrue(self.answers(LAN_6, "+tcp"))
        self.assertIsNone(self.missing())

        before = len(self.server.log)
        self.address("delete", f"{LAN}/32")
        self.server.wait_for(f"listening on {LAN}:53, but no interface has this address", since=before)
        self.assertEqual([f"{LAN}:53"], self.missing())

    def test_the_doctor_asks_no_other_machine_that_has_it(self):
        config = self.server.config
        done = self.inside.run(paths.binaries / "httpdnsctl", "--socket", self.server.control, "--json", "doctor", "--config", config, timeout=60)
        findings = [one["text"] for one in json.loads(done.stdout)["findings"] if one["subject"] == "daemon"]
        for place in self.listen:
            for transport in ("UDP", "TCP"):
                self.assertIn(f"{place} over {transport}: no interface has the address", findings)


@boots_machines
class Boot(test_package.OnMachine):
    """A machine that serves its LAN and uses the daemon itself."""

    expected_seconds = 50

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.start_lab()

    def answers(self, address):
        found = self.machine.run("dig", f"@{address}", "www.lab.example", "+short", "+tries=1", "+time=1")
        return set(found.stdout.split()) == LAB_WWW

    def missing(self):
        return json.loads(self.machine.check("httpdnsctl", "status", "--json")).get("missing_listeners")

    def test_an_address_that_comes_8_s_after_the_boot_is_served_without_a_restart(self):
        self.install_package()
        self.machine.write("/etc/httpdnsd/httpdnsd.toml", f"""
            [server]
            listen = ["127.0.0.1:53", "{LAN}:53"]
            allow = ["127.0.0.0/8", "192.0.2.0/24"]
            {test_package.SETTINGS}""")
        self.machine.check("systemctl", "restart", "httpdnsd")
        self.assertServes()
        self.use_for_the_machine()
        self.machine.write("/etc/systemd/system/late-lan.service", LATE_LAN)
        self.machine.check("systemctl", "enable", "late-lan")

        self.machine.reboot()
        self.start_lab()
        self.assertEqual("active", self.property("ActiveState"))
        self.assertEqual([f"{LAN}:53"], self.missing())
        self.assertServes()
        eventually(lambda: self.answers(LAN), what="the daemon answers at the late address", every=0.2)
        self.assertIsNone(self.missing())
        self.assertEqual("0", self.property("NRestarts"))
        self.assertIn("nameserver 127.0.0.1", self.machine.read("/etc/resolv.conf").decode())
        for found in ", but no interface has this address", ": an interface has this address now":
            eventually(lambda: f"listening on {LAN}:53{found}" in self.machine.journal("--unit=httpdnsd"), what=found)


if __name__ == "__main__":
    unittest.main()
