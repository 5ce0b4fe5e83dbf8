# The status page in a real browser, under load: it draws, contacts no other host, shows untrusted text as text, and can
# be read in any width, light and dark, with a keyboard.

import threading

from browser import Browser
from cases import Case
from places import eventually
from wire import Datagrams

HOSTILE = "<img src=x onerror=stolen()>\"'&amp;\\u202e${stolen()}"
TABLES = ("providers", "evidence", "changes", "percentiles")


class Load:
    """Hits, and now and then a miss."""

    def __init__(self, server, every=0.004):
        self.stop = threading.Event()
        self.server, self.every = server, every
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        with Datagrams(self.server.address) as client:
            number = 0
            while not self.stop.wait(self.every):
                number += 1
                name = f"n{number}.any.lab.example" if number % 20 == 0 else "www.lab.example"
                client.ask(name)

    def end(self):
        self.stop.set()
        self.thread.join()


class StatusPage(Case):
    expected_seconds = 25

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.share(Browser()).up()

    def setUp(self):
        self.provider = self.lab()
        self.server = self.daemon(
            [self.provider.provider("json"), self.provider.provider("doh", "doh")], pages="127.0.0.1:0")
        self.load = Load(self.server)
        self.addCleanup(self.load.end)
        # The page of the test before still asks its daemon, and complains that it is gone.
        self.visit("about:blank")
        self.browser.requests.clear()
        self.browser.complaints.clear()
        self.browser.resize(1280, 1000)
        self.visit(self.server.page)
        self.drawn("#rate path.area")

    def visit(self, url):
        self.browser.open(url)
        there = f"document.readyState == 'complete' && location.href == {url!r}"
        eventually(lambda: self.browser.value(there), what=f"{url} is there")

    def drawn(self, selector):
        eventually(lambda: self.count(selector), what=f"{selector} is drawn", every=0.2)

    def count(self, selector):
        return self.browser.value(f"document.querySelectorAll({selector!r}).length")

    def text(self, selector):
        return self.browser.value(f"document.querySelector({selector!r}).textContent")

    def test_charts_draw_under_load_and_nobody_else_is_asked(self):
        for chart in ("share", "latency"):
            self.drawn(f"#{chart} path.curve")
        rate = eventually(lambda: self.browser.value(
            "Math.max(...charts.rate.samples.map(sample => sample.values?.cache ?? 0))"), what="a rate")
        self.assertGreater(rate, 10)
        self.assertEqual("live", self.text("#link"))
        self.assertIn("doh", self.text("#providers"))
        for path in self.browser.requests:
            self.assertTrue(path.startswith((self.server.page, "data:")), path)
        self.assertEqual([], self.browser.complaints)

    def refusals(self):
        self.browser.value("0")  # what it says comes with an answer
        return sum("Content Security Policy" in said for said in self.browser.complaints)

    def test_a_portal_is_told_of_once_and_not_second_by_second(self):
        self.browser.value("""(() => {
            isPaused = true;  // the daemon's own figures know of no portal
            window.said = [];
            new MutationObserver(() => said.push(place('alert').textContent))
                .observe(place('alert'), {childList: true, characterData: true, subtree: true});
        })()""")
        for seconds in range(3):
            self.browser.value(f"""showNetwork({{id: 'x', words: '', portal: 'suspected for {seconds} s, for at most '
                + '{60 - seconds} s more: sign in to the network, at portal.example'}}, [])""")
        self.assertEqual(
            ["Captive portal: sign in to the network, at portal.example"], self.browser.value("window.said"))
        self.assertFalse(self.browser.value("place('alert').hidden"))
        self.browser.value("showNetwork({id: 'x', words: '', portal: undefined}, [])")
        self.assertTrue(self.browser.value("place('alert').hidden"))
        self.assertEqual("", self.text("#alert"))

    def test_words_of_strangers_stay_words(self):
        claim = f"{{source: {HOSTILE!r}, address: {HOSTILE!r}, verdict: {HOSTILE!r}, detail: {HOSTILE!r}}}"
        self.browser.value(f"""(() => {{
            window.stolen = () => document.title = 'stolen';
            const claim = {claim};
            const both = {{mismatched: claim, verified: claim}};
            showEvidence([{{number: -1, seconds: 1, name: claim.source, type: 'A', ...both}}]);
            showVerdicts({{verdicts: {{{HOSTILE!r}: 3}}, done: 3, quarantined: 0, running: 0, waiting: 0}});
            showNetwork({{id: {HOSTILE!r}, words: {HOSTILE!r}, portal: {HOSTILE!r}}}, []);
            const script = document.createElement('script');
            script.textContent = 'stolen()';
            document.body.append(script);
        }})()""")
        self.assertEqual(0, self.count("img, b b, main script"))
        self.assertIn("<img src=x", self.text("#network"))
        # The script that was put in is refused by the page's policy, and what stood before it would have run by then.
        eventually(lambda: self.refusals(), what="the policy's complaint")
        self.assertEqual("httpdnsd", self.browser.value("document.title"))
        self.assertEqual(1, self.refusals())

    def test_it_is_read_in_every_width_and_scheme_and_with_a_keyboard(self):
        grounds = set()
        for scheme in ("light", "dark"):
            self.browser.wear(scheme)
            grounds.add(self.browser.value("getComputedStyle(document.documentElement).backgroundColor"))
            for width in (400, 800, 1920):
                self.browser.resize(width, 900)
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
        self.assertEqual(2, len(grounds))
        self.assertTrue(self.text("#version"))
        self.assertRegex(self.browser.value("charts.rate.svg.getAttribute('aria-label')"), r"per second, now: cache \d")
        self.browser.value("charts.rate.svg.focus()")
        self.browser.press("ArrowLeft")
        self.assertIn("5 s ago", self.browser.value("charts.rate.svg.getAttribute('aria-label')"))
        unnamed = "[...document.querySelectorAll('svg[role=img], [role=region], section, progress')].filter(each => " \
            "!each.getAttribute('aria-label') && !each.getAttribute('aria-labelledby')).length"
        self.assertEqual(0, self.browser.value(unnamed))
        for table in TABLES:
            self.assertGreater(self.count(f"#{table} tr"), 0, table)
        self.assertEqual([], self.browser.complaints)

    def test_a_pause_holds_what_is_shown_and_keeps_what_comes(self):
        pause = "document.getElementById('pause').click()"
        pressed = "document.getElementById('pause').getAttribute('aria-pressed')"
        # In one turn of the browser: nothing is drawn between the click and the look.
        shown = self.browser.value(f"({pause}, [shown.tiles, place('tiles').textContent, history.length])")
        self.assertEqual("true", self.browser.value(pressed))
        self.assertGreater(self.count("#tiles .tile"), 4)
        eventually(lambda: self.browser.value("history.length") >= shown[2] + 3, what="three more samples")
        self.assertEqual(shown[:2], self.browser.value("[shown.tiles, place('tiles').textContent]"))
        self.browser.value(pause)
        self.assertEqual("false", self.browser.value(pressed))
        eventually(lambda: self.text("#tiles") != shown[1], what="the tiles go on")
        samples = "Math.min(charts.rate.samples.length, history.length)"
        self.assertGreaterEqual(self.browser.value(samples), shown[2] + 3)

    def test_it_says_when_the_daemon_is_gone(self):
        self.load.end()
        self.server.stop()
        eventually(lambda: self.text("#link") == "the daemon does not answer", what="the page notices")
