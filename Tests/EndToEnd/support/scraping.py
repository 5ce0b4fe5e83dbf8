# The HTTP listener of the daemon, for a scraper and for other clients.

import http.client
import re
import urllib.parse

import paths

_VALUE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})? (\S+)$')


def get(url, path="/", method="GET", **headers):
    """The response, with its body as `text`."""
    where = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=paths.PATIENCE)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        response.text = response.read().decode()
        return response
    finally:
        connection.close()


def values(text):
    """The values of each metric by their labels, as they are written."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = _VALUE.match(line).groups()
            found.setdefault(name, {})[labels or ""] = float(value)
    return found


def total(metrics, name):
    return sum(metrics["httpdnsd_" + name].values())


def is_balanced(metrics):
    """Whether the accounting identity holds in Prometheus's metrics."""
    answered, dropped = total(metrics, "responses_total"), total(metrics, "dropped_total")
    return total(metrics, "queries_total") == answered + dropped + total(metrics, "inflight")
