# The Chinese pages of the manual: they say what the English ones say, and are displayed.

import subprocess
import unittest

import paths
import translation
from cases import Case

# Changes that a translation must not have, each in httpdnsd.toml(5), and what is reported.
FAULTS = (
    ("\\fBkeep\\fR = []\n", "", '[prefetch]: nothing translates .TP "keep = []"'),
    ('\\fBidle\\fR = "10s"', '\\fBidle\\fR = "11s"', '[[provider]]: nothing translates .TP "idle = "10s""'),
    ("\\fBmax\\-names\\fR = 1\n", "\\fBmax\\-names\\fR = 2\n", "has max-names = 2 in place of max-names = 1"),
    ("最迟在 4.5 秒后", "最迟在 4 秒后", '[[provider]]: .TP "timeout": the translation lacks 4.5 秒 (4.5 s)'),
    ("在 10 秒之内需要上游", "在 10 毫秒之内需要上游", "the translation lacks 10 秒 (10 s)"),
    (".SH 视图\n", ".SH 观点\n", "no section 视图"),
    ("httpdnsctl flush \\-\\-fleet", "httpdnsctl flush", "the translation lacks httpdnsctl flush --fleet"),
    (".I /run/systemd/netif/links", ".I /run/systemd/netif", "the translation lacks /run/systemd/netif/links"),
    ("stale = false\n", "stale = true\n", "+stale = true"),
    ("它的应答只用于比较，从不采用，", "Its answers are compared and never used, ", "the translation is in English"),
    (".BR 预期应答 。", ".BR 应答 。", "does not name the section 预期应答 (EXPECTED ANSWERS)"),
)


class Pages(Case):
    expected_seconds = 2

    def assertNone(self, findings, heading):
        findings = list(findings)
        if findings:
            self.fail("\n".join([heading, *findings]))

    def test_they_have_the_names_values_and_numbers_of_the_english_pages(self):
        for name in translation.PAGES:
            with self.subTest(name):
                found = translation.differences(translation.read(name), translation.read(name, "zh_CN"))
                self.assertNone(found, f"etc/man/zh_CN/{name}:")

    def test_no_english_paragraph_has_changed_since_it_was_translated(self):
        known = translation.DIGESTS.read_text().splitlines()
        for name in translation.PAGES:
            with self.subTest(name):
                self.assertNone(
                    translation.changed_since(name, translation.read(name), known),
                    f"correct etc/man/zh_CN/{name}, then run Tests/EndToEnd/support/translation.py; changed:")

    def test_each_kind_of_fault_is_found(self):
        english = translation.read("httpdnsd.toml.5")
        chinese = (translation.ROOT / "etc/man/zh_CN/httpdnsd.toml.5").read_text()
        for right, wrong, reported in FAULTS:
            with self.subTest(reported):
                self.assertIn(right, chinese)
                found = translation.differences(english, translation.Page(chinese.replace(right, wrong, 1)))
                self.assertIn(reported, "\n".join(found))

    def test_a_changed_english_paragraph_is_found(self):
        source = (translation.ROOT / "etc/man/httpdnsd.8").read_text()
        self.assertIn("An error before it is ready ends it.", source)
        page = translation.Page(source.replace("An error before it is ready ends it.", "An error ends it."))
        changed = list(translation.changed_since("httpdnsd.8", page, translation.DIGESTS.read_text().splitlines()))
        self.assertEqual(['DESCRIPTION: .PP "It runs in the foreground and logs to standard error. An err"'], changed)

    def test_groff_and_mandoc_display_them_at_any_width(self):
        for name in translation.PAGES:
            for width in (44, 60, 80, 132):
                for command in (f"preconv -e UTF-8 {name} | tbl | groff -man -mzh -T utf8 -r LL={width}n",
                                f"mandoc -T utf8 -O width={width} {name}"):
                    shown = subprocess.run(
                        ["sh", "-c", f"{command} | head --bytes=1000000 | col -bx"], capture_output=True, text=True,
                        cwd=translation.ROOT / "etc/man/zh_CN", timeout=paths.PATIENCE).stdout
                    lines = {line.strip() for line in shown.splitlines()}
                    self.assertEqual(set(), translation.read(name, "zh_CN").sections.keys() - lines, command)


if __name__ == "__main__":
    unittest.main()
