# The alert rules for Prometheus: their form, when they fire, that the daemon has what they name, and their remedies.

import json
import re
import subprocess
import unittest

import paths
import scraping
import yaml
from cases import Case
from paths import eventually, free_port
from programs import ctl
from wire import Datagrams

RULES = paths.ROOT / "etc/prometheus/httpdnsd.rules.yml"
CASES = paths.ROOT / "Tests/EndToEnd/operator/alerts.yml"
# What Prometheus adds to each value that it reads.
OF_PROMETHEUS = {"job", "instance"}
# Without Redis and httpdnsd-nftset their metrics have no values.
WITHOUT_VALUES = {"httpdnsd_fleet_in_use", "httpdnsd_nftset_elements_total"}


def alerts():
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def selectors(expression):
    """The metrics of an expression, each with the labels that it compares: name, operator and value."""
    found = []
    for name, labels in re.findall(r"\b((?:httpdnsd|process)_\w+|up\b)(?:\{([^}]*)\})?", expression):
        found.append((name, re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', labels)))
    return found


class Rules(unittest.TestCase):
    def test_promtool_accepts_them(self):
        status, output = promtool("check", "rules", RULES)
        self.assertEqual(0, status, output)

    def test_each_fires_when_it_should_and_only_then(self):
        status, output = promtool("test", "rules", CASES)
        self.assertEqual(0, status, output)

    def test_each_has_cases_in_which_it_fires_and_in_which_it_does_not(self):
        firing, silent = set(), set()
        for group in yaml.safe_load(CASES.read_text())["tests"]:
            machines = set(re.findall(r'instance="(\w+)"', json.dumps(group["input_series"]).replace("\\", "")))
            self.assertTrue({"bad", "good"} <= machines, group["name"])
            for case in group["alert_rule_test"]:
                (firing if case["exp_alerts"] else silent).add(case["alertname"])
        names = [rule["alert"] for rule in alerts()]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual((set(names), set(names)), (firing, silent))

    def test_each_says_how_grave_it_is_since_when_its_value_and_the_remedy(self):
        for rule in alerts():
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
                self.assertRegex(rule["for"], r"^[1-9][0-9]*m$")
                description = rule["annotations"]["description"]
                self.assertTrue(rule["annotations"]["summary"])
                self.assertRegex(description, r"\bRun\b[a-z ]*: [a-z]")
                # The value of these is always the same.
                if rule["alert"] not in ("HttpdnsdDown", "HttpdnsdAbsent"):
                    self.assertIn("$value", description)


class Facts(Case):
    def setUp(self):
        provider = self.lab().provider("json")
        # No TLS server: a failure of the kind "tls".
        shadow = provider | {"name": "shadow", "shadow": 1.0, "url": provider["url"].replace("http:", "https:")}
        self.server = self.daemon(
            [provider | {"quota": "1000/month"}, shadow], pages="127.0.0.1:0",
            sections=f'[[nameserver]]\nname = "corp"\nservers = ["127.0.0.1:{free_port()}"]\nnames = ["corp.example"]\n'
                     f'[[notify]]\nurl = "http://127.0.0.1:{free_port()}/"\n')
        with Datagrams(self.server.address) as client:
            client.ask("www.lab.example")
        eventually(lambda: self.server.stats()["providers"][1]["failures"], what="the shadow provider fails")

    def test_the_daemon_has_each_metric_and_label_that_a_rule_names(self):
        text = scraping.get(self.server.page, "/metrics").text
        families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        values = scraping.values(text)
        for rule in alerts():
            metrics = selectors(rule["expr"])
            self.assertTrue(metrics, rule["alert"])
            for name, labels in metrics:
                if name == "up":
                    continue
                with self.subTest(rule["alert"], metric=name):
                    family = name.removesuffix("_bucket")
                    self.assertIn(family, families)
                    self.assertEqual(name.endswith("_bucket"), families[family] == "histogram")
                    self.check_labels(rule["expr"], name, labels, values)

    def check_labels(self, expression, name, labels, values):
        if name not in values:
            return self.assertIn(name, WITHOUT_VALUES)
        known = [dict(re.findall(r'(\w+)="([^"]*)"', each)) for each in values[name]]
        for label, _, value in labels:
            if label not in OF_PROMETHEUS:
                # A value, or several as a pattern.
                self.assertLessEqual(set(value.split("|")), {each[label] for each in known})
        # Those that every value is grouped or matched by; "le" and the like belong to another metric of the expression.
        grouped = set(re.findall(r"\w+", " ".join(re.findall(r"\b(?:by|on) \(([^)]*)\)", expression))))
        if len({metric for metric, _ in selectors(expression)}) == 1:
            self.assertLessEqual(grouped - OF_PROMETHEUS, set(known[0]))

    def test_each_command_of_a_remedy_is_one(self):
        known = set(re.findall(r"^(?:run by httpdnsctl: )?([a-z-]+)", ctl(self.server, "help").stdout, re.MULTILINE))
        named = set()
        for rule in alerts():
            named |= set(re.findall(r"httpdnsctl ([a-z-]+)", rule["annotations"]["description"]))
        self.assertGreater(len(named), 8)
        self.assertLessEqual(named, known)
