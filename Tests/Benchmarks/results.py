#!/usr/bin/env python3
"""The figures of `scripts/bench all`, as JSON, as a table and as a chart.

results.py collect LINES BENCHMARK...   LINES has one JSON object per figure and candidate; prints them with the machine
results.py table RESULTS                prints a table of a file that `collect` wrote
results.py chart RESULTS                prints an SVG bar chart of it; the same file gives the same bytes
"""

import datetime
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

OURS = "httpdnsd"
PACKAGES = {"dnsmasq": "dnsmasq-base"}  # Debian packages whose name differs from the candidate's


# MARK: figures

def collect(lines, benchmarks):
    figures = [json.loads(line) for line in lines.read_text().splitlines()]
    for benchmark in benchmarks:
        if not any(figure["benchmark"] == benchmark for figure in figures):
            sys.exit(f"results.py: no figures of benchmark {benchmark}")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": machine(),
        "versions": versions({figure["candidate"] for figure in figures}),
        "figures": figures,
    }


def machine():
    model = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "processor": model.group(1) if model else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": ".".join(platform.release().split(".")[:2]),
    }


def versions(candidates):
    """The Debian version of each candidate that is a package."""
    found = {}
    for candidate in sorted(candidates):
        query = ["dpkg-query", "--show", "--showformat=${Version}", PACKAGES.get(candidate, candidate)]
        result = subprocess.run(query, capture_output=True, text=True, check=False)
        if result.returncode == 0 and result.stdout:
            found[candidate] = result.stdout
    return found


def groups(results):
    """The figures in the order of measurement, each with its unit and its rows."""
    names = list(dict.fromkeys((figure["figure"], figure["unit"]) for figure in results["figures"]))
    return [(name, unit, rows(results, name, is_rate(unit))) for name, unit in names]


def rows(results, name, best_is_most):
    """The rows (candidate, value, ratio to httpdnsd's value): httpdnsd first, then its peers from the best to the
    worst."""
    values = {figure["candidate"]: figure["value"] for figure in results["figures"] if figure["figure"] == name}
    if OURS not in values:
        sys.exit(f"results.py: {name}: no value of {OURS}")
    sign = -1 if best_is_most else 1
    ranked = sorted(values, key=lambda candidate: (candidate != OURS, sign * values[candidate], candidate))
    return [(candidate, values[candidate], values[candidate] / values[OURS]) for candidate in ranked]


def is_rate(unit):
    return unit.endswith("/s")


def shown(value):
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


# MARK: table

def table(results):
    lines = [f"{'figure':<36}{'candidate':<12}{'value':>12} {'unit':<15}{'over httpdnsd':>13}"]
    for name, unit, ranked in groups(results):
        lines += [f"{name:<36}{candidate:<12}{shown(value):>12} {unit:<15}{ratio:>13.2f}"
                  for candidate, value, ratio in ranked]
    return "\n".join(lines)


# MARK: chart

WIDTH = 720
MARGIN = 20
LABEL_WIDTH = 90
BAR_WIDTH = 450
ROW_HEIGHT = 20
BAR_HEIGHT = 14
TITLE_HEIGHT = 26
PANEL_GAP = 14
HEADER_HEIGHT = 80

LEGEND = "After each bar: the value, and its ratio to httpdnsd. floor: an echo in C with the same system calls"

# The background is drawn, so that the text is readable on every page.
STYLE = """
.page { fill: #ffffff } .text { fill: #1f2328 } .note { fill: #59636e } .peer { fill: #8c959f } .ours { fill: #0969da }
text { font: 12px system-ui, sans-serif } .title { font-weight: 600 } .head { font-size: 15px; font-weight: 600 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .text { fill: #f0f6fc } .note { fill: #9198a1 } .peer { fill: #656c76 } .ours { fill: #4493f8 }
}
"""


def chart(results):
    """A chart of the figures of which less is better, which are all but rates."""
    panels = [group for group in groups(results) if not is_rate(group[1])]
    heights = [TITLE_HEIGHT + ROW_HEIGHT * len(ranked) + PANEL_GAP for _, _, ranked in panels]
    height = HEADER_HEIGHT + sum(heights)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' role="img" aria-labelledby="t">',
        '<title id="t">CPU time, latency and memory of httpdnsd and of other resolvers</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        text("text head", MARGIN, 28, "httpdnsd beside other resolvers (less is better)"),
        text("note", MARGIN, 48, conditions(results["machine"], results["date"])),
        text("note", MARGIN, 66, LEGEND),
    ]
    top = HEADER_HEIGHT
    for panel, panel_height in zip(panels, heights):
        parts += draw(panel, top)
        top += panel_height
    return "\n".join(parts + ["</svg>"])


def conditions(facts, date):
    return f"{facts['cores']} cores of {facts['processor']}, Linux {facts['kernel']}, {date}"


def draw(panel, top):
    name, unit, ranked = panel
    most = max(value for _, value, _ in ranked)
    parts = [text("text title", MARGIN, top + 16, f"{name[0].upper()}{name[1:]}, {unit.replace('us', 'µs')}")]
    for index, (candidate, value, ratio) in enumerate(ranked):
        y = top + TITLE_HEIGHT + ROW_HEIGHT * index
        width = max(1, round(BAR_WIDTH * value / most))
        kind = "ours" if candidate == OURS else "peer"
        left = MARGIN + LABEL_WIDTH
        label = shown(value) if candidate == OURS else f"{shown(value)}  ({ratio:.2f})"
        parts += [
            text("text", MARGIN, y + 11, candidate),
            f'<rect class="{kind}" x="{left}" y="{y}" width="{width}" height="{BAR_HEIGHT}" rx="2"/>',
            text("text", left + width + 8, y + 11, label),
        ]
    return parts


def text(kind, x, y, content):
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(content)}</text>'


# MARK: command line

def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("collect", "table", "chart"):
        sys.exit(__doc__)
    command, path = arguments[0], Path(arguments[1])
    if command == "collect":
        print(json.dumps(collect(path, arguments[2:]), indent=1))
    else:
        print({"table": table, "chart": chart}[command](json.loads(path.read_text())))


main(sys.argv[1:])
