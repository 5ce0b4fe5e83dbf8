# Chromium without a screen, driven over its DevTools pipe: a page's requests, console messages and looks.

import base64
import fcntl
import json
import os
import select
import time

import paths
from programs import Program

# The time-out of a start: Chromium is large and starts slowly on a busy machine.
START = 60.0


def _above_ten(descriptor):
    """Moves a descriptor above 10: Chromium's own are 3 and 4, and the shell makes them from these."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
    os.close(descriptor)
    return moved


class Browser(Program):
    """One page, with its console messages, faults and requests."""

    def __init__(self, width=1280, height=1000):
        super().__init__("chromium")
        self.size = (width, height)
        self.requests, self.complaints = [], []
        self._unread, self._number, self._replies, self._session = b"", 0, {}, None
        self._ends = []

    def up(self):
        commands, self._out = map(_above_ten, os.pipe())
        self._in, events = map(_above_ten, os.pipe())
        # A container has neither user namespaces for a sandbox nor room in /dev/shm.
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync",
                   "--hide-scrollbars", f"--user-data-dir={self.directory}/profile", "--remote-debugging-pipe"]
        self.start("bash", "-c", f'exec 3<&{commands} 4>&{events}; exec "$@"', "chromium", "chromium", *options,
                   "about:blank", pass_fds=(commands, events), env={**os.environ, "HOME": str(self.directory)})
        os.close(commands)
        os.close(events)
        self._ends = [self._in, self._out]
        target = self._call("Target.createTarget", START, url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", START, targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self.resize(*self.size)

    def close(self):
        for end in self._ends:
            os.close(end)
        self._ends = []
        super().close()

    def call(self, method, **parameters):
        return self._call(method, paths.PATIENCE, **parameters)

    def _call(self, method, within, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + within
        while self._number not in self._replies:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise AssertionError(f"chromium says nothing to {method}:\n{self.log[-2000:]}")
            self._read()
        reply = self._replies.pop(self._number)
        if "error" in reply:
            raise AssertionError(f"{method}: {reply['error']}")
        return reply["result"]

    def _read(self):
        chunk = os.read(self._in, 1 << 20)
        if not chunk:
            raise AssertionError(f"chromium has ended:\n{self.log[-2000:]}")
        *messages, self._unread = (self._unread + chunk).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._replies[message["id"]] = message
            else:
                self._note(message["method"], message["params"])

    def _note(self, event, details):
        if event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(details["exceptionDetails"].get("exception", details)["description"])
        elif event == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(details["args"]))
        elif event == "Log.entryAdded":
            self.complaints.append(details["entry"]["text"])

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        return self

    def wear(self, scheme):
        """Sets the colour scheme: "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.call("Page.navigate", url=url)
        return self

    def value(self, expression):
        """The value of a JavaScript expression as JSON."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def press(self, key):
        # A button is pressed by the character, not by the key.
        text = {"Enter": "\r"}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text)

    def picture(self, path):
        """A PNG of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))
