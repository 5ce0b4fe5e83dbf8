# The README in English and Chinese: its commands, pasted in their order, have the output that it shows; its links lead
# to files; the settings in the Chinese one exist with these defaults.

import re
import subprocess
import tomllib
import unittest
from dataclasses import dataclass

import paths
import test_package
import test_run
import translation
from cases import Case
from machines import boots_machines
from paths import eventually

PASTED = "== end of a pasted block =="


@dataclass
class Block:
    """A block of commands."""

    section: str
    text: str
    # The output that README shows; "" if none.
    shown: str = ""


ENGLISH, CHINESE = "README.md", "README.zh-CN.md"


def blocks(document):
    """The indented blocks of README, each with the fenced block that follows it. One with a language is no output."""
    found, section, fence, was_blank = [], "", "", True
    for line in (paths.ROOT / document).read_text().splitlines():
        if line.startswith("```"):
            fence = "" if fence else line
        elif fence == "```":
            found[-1].shown += f"{line}\n"
        elif fence:
            continue
        elif line.startswith("## "):
            section = line[3:]
        elif line.startswith("    "):
            if was_blank:
                found.append(Block(section, ""))
            found[-1].text += f"{line[4:]}\n"
        was_blank = not line.startswith("    ")
    return found


def of(section, document=ENGLISH):
    return [block for block in blocks(document) if block.section == section]


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


class OnMachine(test_package.OnMachine):
    """The commands of a README's sections on a booted machine, whose provider knows the names of example.com."""

    expected_seconds = 40

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.start_lab()

    def run_commands(self, commands):
        """Runs them in their order and checks their outcome; yields each one that has run."""
        self.machine.copy(test_package.package(), f"/opt/{test_package.package().name}")
        self.assertTrue(commands[0].startswith("sudo apt install ./"))
        for command in commands:
            # The machine has neither sudo nor an index of Debian's packages, and it already has the package's
            # dependencies.
            command = re.sub("^sudo ", "", command).replace("apt ", "dpkg --")
            done = self.machine.run("sh", "-c", f"cd /opt; {command}", timeout=120)
            code, printed = next(
                (outcome for start, outcome in WITHOUT_INTERNET.items() if command.startswith(start)), (0, r"\A"))
            self.assertEqual(code, done.returncode, f"{command}\n{done.stdout}{done.stderr}")
            self.assertRegex(done.stdout, printed)
            if command.startswith("dpkg --install"):
                self.use_lab()
            if command.startswith("httpdnsctl system use"):
                self.assertInUse()
            if command.startswith("httpdnsctl explain"):
                self.assertIn("www.example.com", done.stdout)
            yield command

    def assertInUse(self):
        self.assertIn("nameserver 127.0.0.1", self.machine.read("/etc/resolv.conf").decode())

    def assertProviders(self, names):
        effective = self.machine.check("httpdnsd", "--print-effective")
        self.assertEqual(names, re.findall(r'(?m)^\[\[provider\]\]\nname = "(.*)"', effective))


@boots_machines
class Installation(OnMachine):
    def test_every_command_succeeds_in_order(self):
        resolv_conf = self.machine.read("/etc/resolv.conf")
        for _ in self.run_commands([line for block in of("Install it") for line in block.text.splitlines()]):
            pass
        self.assertEqual(resolv_conf, self.machine.read("/etc/resolv.conf"))
        self.assertProviders(["alidns"])


@boots_machines
class InstallationInChinese(OnMachine):
    def test_every_command_succeeds_in_order(self):
        resolv_conf = self.machine.read("/etc/resolv.conf")
        sections = ("安装", "设置", "守护进程停止时", "更改设置", "卸载")
        lines = [line for section in sections for block in of(section, CHINESE) for line in block.text.splitlines()]
        self.assertLessEqual({"scripts/package", "sudo httpdnsctl setup --replace"}, set(lines))
        # The first needs the sources, the second a terminal.
        lines = [line for line in lines if line not in ("scripts/package", "sudo httpdnsctl setup --replace")]
        for command in self.run_commands(lines):
            if command.startswith("httpdnsctl setup"):
                self.assertProviders(["alidns", "dnspod"])
                self.use_lab()
            if command.startswith("httpdnsctl verify"):
                # The daemon stops: the former resolver is in use again, and the next commands start and use it.
                self.machine.check("systemctl", "restart", "httpdnsd")
                self.assertInUse()
                self.machine.check("systemctl", "stop", "httpdnsd")
                eventually(lambda: self.machine.read("/etc/resolv.conf") == resolv_conf, what="resolv.conf is restored",
                           every=0.2)
            if command.startswith("httpdnsctl system restore"):
                self.assertEqual(resolv_conf, self.machine.read("/etc/resolv.conf"))
        self.assertEqual(0, self.machine.run("test", "!", "-e", "/etc/httpdnsd").returncode)


class Chinese(Case):
    def test_what_is_tried_is_as_in_english(self):
        english = [(block.text, block.shown) for block in of("Try it")]
        chinese = [(block.text, block.shown) for block in of("不安装，先试用", CHINESE)]
        self.assertEqual(english[:len(chinese)], chinese)

    def test_links_lead_to_files(self):
        for document in (ENGLISH, CHINESE):
            for link in re.findall(r"\]\(([^)]+)\)", (paths.ROOT / document).read_text()):
                self.assertTrue(link.startswith("https://") or (paths.ROOT / link).exists(), f"{document}: {link}")

    def test_settings_have_these_defaults(self):
        defaults = tomllib.loads((paths.ROOT / "etc/httpdnsd.toml").read_text())
        manual = translation.read("httpdnsd.toml.5").sections
        rows = re.findall(r"(?m)^\| `(\[.*?\])` \| (.*?) \|", (paths.ROOT / CHINESE).read_text())
        self.assertTrue(rows)
        for table, keys in rows:
            for text in re.findall(r"`(.*?)`", keys):
                key, _, value = text.partition(" = ")
                with self.subTest(f"{table} {key}"):
                    self.assertIn(key, [paragraph.tag.split(" = ")[0] for paragraph in manual[table]])
                    if value:
                        self.assertEqual(tomllib.loads(text)[key], defaults[table.strip("[]")][key])


if __name__ == "__main__":
    unittest.main()
