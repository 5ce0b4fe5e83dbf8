# The README: its commands, pasted in their order, have the output that it shows.

import re
import subprocess
import unittest
from dataclasses import dataclass

import paths
import test_package
import test_run
from machines import boots_machines

PASTED = "== end of a pasted block =="


@dataclass
class Block:
    """A block of commands."""

    section: str
    text: str
    # The output that README shows; "" if none.
    shown: str = ""


def blocks():
    """The indented blocks of README, each with the fenced block that follows it."""
    found, section, is_fenced, was_blank = [], "", False, True
    for line in (paths.ROOT / "README.md").read_text().splitlines():
        if line == "```":
            is_fenced = not is_fenced
        elif is_fenced:
            found[-1].shown += f"{line}\n"
        elif line.startswith("## "):
            section = line[3:]
        elif line.startswith("    "):
            if was_blank:
                found.append(Block(section, ""))
            found[-1].text += f"{line[4:]}\n"
        was_blank = not line.startswith("    ")
    return found


def of(section):
    return [block for block in blocks() if block.section == section]


def pattern(shown):
    """The pattern of a shown output: a line "..." stands for any lines, and "..." within a line for any characters."""
    lines = ["(?:.*\n)*" if line == "..." else ".*".join(re.escape(part) for part in line.split("...")) + "\n"
             for line in shown.splitlines()]
    return "".join(lines)


class Commands(test_run.Started):
    """The commands in a clone, as a user with two terminals."""

    expected_seconds = 20

    def test_what_is_pasted_prints_what_is_shown(self):
        first, *others = of("Try it")
        self.assertEqual("scripts/run --lab\n", first.text)
        self.open_terminal(*first.text.split()[1:])
        # The user reads on before pasting.
        self.measure_providers()
        pasted = "".join(f"{block.text}echo '{PASTED}'\n" for block in others)
        self.assertIn("-p 5300", pasted)
        done = subprocess.run(
            ["bash"], input=pasted.replace("-p 5300", f"-p {self.port}"), cwd=self.clone, text=True,
            capture_output=True, timeout=2 * paths.PATIENCE)
        self.assertEqual("", done.stderr)
        printed = done.stdout.split(f"{PASTED}\n")[:-1]
        self.assertEqual(len(others), len(printed))
        for block, text in zip(others, printed):
            self.assertNotEqual("", block.shown, block.text)
            self.assertRegex(text, rf"\A{pattern(block.shown)}\Z", block.text)


# The result of commands that need the Internet: exit code, and a part of the output.
WITHOUT_INTERNET = {
    "httpdnsctl doctor": (1, r"(?m)^fault: nameservers: .* does not answer \(no route\)"),
    "httpdnsctl verify": (1, r"(?m)^192\.0\.2\.81 +no result: .*: not a public address"),
}


@boots_machines
class Installation(test_package.OnMachine):
    """The commands on a booted machine, whose provider knows the names of example.com."""

    expected_seconds = 40

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.start_lab()

    def test_every_command_succeeds_in_order(self):
        self.machine.copy(test_package.package(), f"/opt/{test_package.package().name}")
        resolv_conf = self.machine.read("/etc/resolv.conf")
        commands = [line for block in of("Install it") for line in block.text.splitlines()]
        self.assertTrue(commands[0].startswith("sudo apt install ./"))
        for command in commands:
            # The machine has neither sudo nor an index of Debian's packages, and it already has the package's
            # dependencies.
            command = command.removeprefix("sudo ").replace("apt install", "dpkg --install")
            done = self.machine.run("sh", "-c", f"cd /opt; {command}", timeout=120)
            code, printed = next(
                (outcome for start, outcome in WITHOUT_INTERNET.items() if command.startswith(start)), (0, r"\A"))
            self.assertEqual(code, done.returncode, f"{command}\n{done.stdout}{done.stderr}")
            self.assertRegex(done.stdout, printed)
            if command.startswith("dpkg"):
                self.use_lab()
            if command.startswith("httpdnsctl system use"):
                self.assertIn("nameserver 127.0.0.1", self.machine.read("/etc/resolv.conf").decode())
            if command.startswith("httpdnsctl explain"):
                self.assertIn("www.example.com", done.stdout)
        self.assertEqual(resolv_conf, self.machine.read("/etc/resolv.conf"))
        effective = self.machine.check("httpdnsd", "--print-effective")
        self.assertEqual(["alidns"], re.findall(r'(?m)^\[\[provider\]\]\nname = "(.*)"', effective))


if __name__ == "__main__":
    unittest.main()
