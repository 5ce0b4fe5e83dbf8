# The JSON Schema of the settings, against the daemon: whatever the daemon accepts is valid, and the schema refuses what
# it can. The values are those of `WORDS`, for each key, and the bounds of each key.

import json
import re
import tempfile
import tomllib
import unittest

import jsonschema
import schema
from paths import ROOT
from test_process import httpdnsd

NUMBERS = [
    "true", "7", "0", "-1", "1.5", "65536", "99999999999", "1979-05-27", "[]", "[7]", "[true]", "[0]", "{}",
    "{zzz = 1}",
]
# Texts, which each key gets as they are, and keys with arrays also as the only element.
WORDS = [
    "", "5", "5s", "-5s", "5 s", "5S", "99999d", "0s", "1ms", "007s", "off", "1/s", "0/s", "1000001/s", "1/day",
    "0/day", "1000000000001/month", "1MiB", "65GiB", "64GiB", "1023KiB", "127.0.0.1", "127.0.0.1:53", "127.0.0.1:0",
    "127.0.0.1:65536", "256.0.0.1", "01.2.3.4", "::1", "[::1]", "[::1]:53", "fe80::1%eth0", "1:2:3:4:5:6:7:8",
    "::ffff:1.2.3.4", "12345::", "10.0.0.0/8", "10.0.0.0/33", "fd00::/8", "fd00::/129", "10.0.0.0/08", "auto", ".",
    "www.example.com", "www.example.com.", "*.example.com", "=a.example", ".example", "a..b", "bücher.example",
    "例え.テスト", "a_b.c-d", "123", "a.123", "a b", "root", "httpdns", "system", "-x", "12x", "..", "/etc/x", "etc/x",
    "unix:/x", "unix:x", "redis://127.0.0.1", "redis://127.0.0.1:0", "tls://10.0.0.1#a.example", "tls://10.0.0.1:853",
    "tls://10.0.0.1#10.0.0.1", "http://127.0.0.1:8080/x", "HTTPS://a.example/x", "https://u:p@a.example/",
    "https://a.example/?q", "https://a.example/#f", "https://[::1]:443/x", "https://::1/x", "https://a.example:0/",
    "ftp://a.example/", "https:///x", "https://bücher.example/x", "socks5h://u@127.0.0.1:1080", "socks5://127.0.0.1:80",
    "http://a.example:80", "http://u:p@127.0.0.1:80", "0 5 5060 sip.example.com", "0 5 65536 x", "00 5 5060 x",
    "inet#f#a", "4#ip#f#a", "f#a", "5#ip#f#a", "inet#1#a", r"\u0000", r"a\u0007", r"\u007f", "é", "a" * 33,
    "/" + "a" * 107, "/" + "a" * 4095, "nxdomain", "blocked", "never", "GET", "info", "json", "answers",
]
TABLES = [
    '{sdns-a = "x"}', '{a = "x"}', "{sdns-a = 1}", '{"sdns-" = "x"}', "{cname = true}", '{max-ttl = "0s"}',
    "{within = []}", '["a", "b", "c"]', '["/a", "/b"]', "[1, 2]",
]
# Values that only the daemon refuses. The patterns of addresses, prefixes and names are short; JSON has no integers.
BEYOND_PATTERNS = {
    ("[[provider]]", "addresses"): '["1::2::3"]', ("[server]", "allow"): '["10.0.0.1/8"]',
    ("", "local-zone"): f'"{"a" * 64}"', ("[server]", "threads"): "1.0",
}

PROVIDER = '[[provider]]\nname = "a"\ndialect = "json"\nurl = "https://192.0.2.1/resolve"\n'
NODES = '[[provider]]\nname = "a"\nurl = "https://192.0.2.1/"\n'
# Files that both refuse.
WRONG = [
    "nonsense = 1\n", "[cash]\n", "[cache]\nsizes = \"1MiB\"\n", "[[cache]]\n", "[provider]\n", "rule = 1\n",
    "[[rule]]\nmach = [\"a.example\"]\n", "[log]\nlevel = \"loud\"\n", "[stale]\nmax-age = \"1y\"\n",
    "[stale]\nmax-age = 60\n", "[server]\nlisten = []\n", "[[provider]]\n", PROVIDER.replace("name", "nom"),
    PROVIDER.replace("json", "jason"), PROVIDER + "port = 443\n", PROVIDER + 'region = "cn"\n',
    NODES + 'dialect = "alicloud"\n', NODES + 'dialect = "alicloud"\naccount = ""\n',
    NODES + 'dialect = "baidu"\naccount = "1"\n', NODES + 'dialect = "template"\n', PROVIDER * 33,
    PROVIDER + '[provider.template]\nquery = "q"\nv4 = "a"\n',
    NODES + 'dialect = "template"\n[provider.template]\nv4 = "a"\n', '[[nameserver]]\nname = "n"\n',
    '[[nameserver]]\nname = "n"\nservers = []\n', '[[view]]\nname = "v"\n', "[[notify]]\n",
    NODES + 'dialect = "alicloud-v2"\naccount = "1"\nkey-file = "/k"\ntags = ["a", "b", "c", "d", "e", "f"]\n',
    "[fleet]\n", '[fleet]\nserver = []\nsite = "a"\nkey-file = "/k"\n', '[fleet]\nserver = "unix:/s"\nsite = "a"\n',
    '[[rule]]\nmatch = ["a.example"]\nexpect = {cname = true, ttl = "1s"}\n',
    '[[rule]]\nmatch = ["a.example"]\nexpect = {cname = 1}\n',
]
# Files that only the daemon refuses: what they say is wrong only together with another key, table or element.
WRONG_TOGETHER = [
    '[cache]\nmin-ttl = "2h"\nmax-ttl = "1h"\n', '[[rule]]\nmatch = ["a.example"]\n', "[[rule]]\nstale = false\n",
    '[[rule]]\nmatch = ["a.example"]\nresolver = "nobody"\n',
    '[[rule]]\nmatch = ["a.example", "a.example"]\nstale = false\n',
    '[[rule]]\nmatch = ["a.example"]\ncname = "b.example"\nanswer = "nxdomain"\n', PROVIDER * 2,
    PROVIDER + "shadow = 1.0\n", PROVIDER + 'account = "1"\n',
    PROVIDER.replace("192.0.2.1", "dns.example").replace("https", "http"),
    '[server]\nlisten = ["127.0.0.1:53", "127.0.0.1:53"]\n', '[probe]\nports = [443, 443]\n',
    '[[view]]\nname = "v"\nclients = ["127.0.0.0/8"]\n',
    '[[nameserver]]\nname = "n"\nservers = ["192.0.2.1"]\nca-file = "/c"\n',
    '[fleet]\nserver = "unix:/s"\nsite = "a"\nkey-file = "/k"\nuser = "u"\n',
]


def refusals(file):
    """What the daemon says of a settings file, by line."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as settings:
        settings.write(file)
        settings.flush()
        done = httpdnsd("--print-effective", "--config", settings.name)
        found = re.findall(rf"{re.escape(settings.name)}:(\d+):\d+: (.*)", done.stderr)
    assert (done.returncode == 0) == (not found), done.stderr
    return [(int(line), text) for line, text in found]


def refused_keys(literals):
    """The keys whose value the daemon refuses. `literals` has the value of each key in TOML."""
    lines, places = [], {}
    for header in sorted({header for header, _ in literals}):
        if header == "[provider.template]" and "[[provider]]" not in lines:
            lines.append("[[provider]]")
        lines += [header] if header else []
        for (table, key), literal in literals.items():
            if table == header:
                lines.append(f"{key} = {literal}")
                places[len(lines)] = (table, key)
    return {places[line] for line, text in refusals("\n".join(lines) + "\n")
            if line in places and f"{places[line][1]}: " in text and "for the second time" not in text}


def bounds(description):
    """Values near the bounds of a quantity, with each unit; none for other values."""
    found = re.search(r"from (\d+)(\D*) to (\d+)(\D*) with its unit \(([^)]*)\)", description)
    if not found:
        return []
    least, least_unit, most, most_unit, units = found.groups()
    sizes = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "/s": 1,
             "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    ends = [int(least) * sizes[least_unit], int(most) * sizes[most_unit]]
    near = [(end // sizes[unit] + step, unit) for end in ends for unit in units.split(", ") for step in (-1, 0, 1, 9)]
    return [f"{number}{unit}" for number, unit in near if number >= 0]


class Schema(unittest.TestCase):
    expected_seconds = 12

    def test_the_file_is_what_the_program_prints(self):
        done = httpdnsd("--print-schema")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(schema.FILE.read_text(), done.stdout, "httpdnsd --print-schema >etc/httpdnsd.schema.json")
        jsonschema.Draft7Validator.check_schema(schema.document())

    def test_the_sample_and_the_effective_settings_are_valid(self):
        sample = (ROOT / "etc/httpdnsd.toml").read_text()
        self.assertEqual("#:schema file:///usr/share/httpdnsd/httpdnsd.schema.json", sample.splitlines()[0])
        for text in (sample, httpdnsd("--print-effective", "--config", ROOT / "etc/httpdnsd.toml").stdout):
            self.assertEqual([], schema.faults(text))

    def test_every_example_of_the_manual_is_valid(self):
        page = (ROOT / "etc/man/httpdnsd.toml.5").read_text()
        count = 0
        for section in re.split(r"(?m)^\.S[HS] ", page):
            header = section.split("\n")[0]
            for example in re.findall(r"(?s)\n\.EX\n(.*?)\n\.EE", section):
                example = example.replace(r"\-", "-").replace(r"\(dq", '"').replace(r"\e", "\\")
                with self.subTest(example):
                    count += 1
                    if header.startswith("[") and "[" not in [line[:1] for line in example.splitlines()]:
                        for key, value in tomllib.loads(example).items():
                            self.assertTrue(schema.accepts(header, key, value))
                    else:
                        self.assertEqual([], schema.faults(example))
        self.assertGreater(count, 15)

    def assertAgree(self, literals):
        """The daemon and the schema judge the value of each key alike."""
        # The daemon names up to a hundred faults.
        keys = list(literals)
        parts = [part for part in (keys[:72], keys[72:]) if part]
        refused = set().union(*(refused_keys({key: literals[key] for key in part}) for part in parts))
        for key, literal in literals.items():
            accepted = schema.accepts(*key, tomllib.loads(f"value = {literal}")["value"])
            # The daemon knows the names that `resolver` may have only after all tables.
            if accepted != (key not in refused) and key != ("[[rule]]", "resolver"):
                self.fail(f"{key} = {literal}: only the {'schema' if accepted else 'daemon'} accepts it")

    def test_each_value_of_each_key_is_judged_alike(self):
        for literal in NUMBERS + [f'"{word}"' for word in WORDS] + TABLES:
            self.assertAgree({key: literal for key in schema.keys()})
        arrays = [key for key, each in schema.keys().items() if '"array"' in json.dumps(each)]
        self.assertGreater(len(arrays), 20)
        for word in WORDS:
            self.assertAgree({key: f'["{word}"]' for key in arrays})

    def test_only_the_daemon_refuses_what_patterns_cannot_say(self):
        for (header, key), literal in BEYOND_PATTERNS.items():
            self.assertEqual({(header, key)}, refused_keys({(header, key): literal}))
            value = tomllib.loads(f"value = {literal}")["value"]
            self.assertTrue(schema.accepts(header, key, value))

    def test_bounds_of_quantities_are_judged_alike(self):
        values = {key: bounds(each["description"]) for key, each in schema.keys().items()}
        self.assertGreater(len([key for key, each in values.items() if each]), 15)
        for place in range(max(map(len, values.values()))):
            self.assertAgree({key: f'"{each[place]}"' for key, each in values.items() if len(each) > place})

    def test_wrong_files_are_refused_by_both(self):
        for text in WRONG:
            with self.subTest(text):
                self.assertTrue(refusals(text))
                self.assertTrue(schema.faults(text))

    def test_only_the_daemon_refuses_what_is_wrong_together(self):
        for text in WRONG_TOGETHER:
            with self.subTest(text):
                self.assertTrue(refusals(text))
                self.assertEqual([], schema.faults(text))
