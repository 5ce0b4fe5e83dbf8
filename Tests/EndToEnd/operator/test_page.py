# The status page in a real browser, under load: it draws, contacts no other host, shows untrusted text as text,
# explains a name, and can be read in any width, light and dark, with a keyboard.

import json
import threading

import scraping
from browser import Browser
from cases import Case
from paths import eventually, free_port, own_address
from wire import SERVFAIL, Datagrams

HOSTILE = "<img src=x onerror=stolen()>\"'&amp;\\u202e${stolen()}"
# The visible panels without any content.
BLANK = "[...document.querySelectorAll('.panel')].filter(panel => panel.checkVisibility() && " \
    "!panel.querySelector('path, tbody td, li, input')).map(panel => panel.textContent)"


class Load:
    """A client that causes hits, and sometimes a miss."""

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


class Opened(Case):
    """The base of the tests: the page is open, and queries arrive."""

    pages = "127.0.0.1:0"

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.share(Browser()).up()

    def setUp(self):
        self.provider = self.lab()
        self.server = self.daemon(
            [self.provider.provider("json"), self.provider.provider("doh", "doh")], pages=self.pages)
        self.load = Load(self.server)
        self.addCleanup(self.load.end)
        # The page of the previous test still asks its daemon, and reports that it is gone.
        self.visit("about:blank")
        self.browser.requests.clear()
        self.browser.complaints.clear()
        self.browser.resize(1280, 1000)
        self.visit(self.page)
        self.drawn("#rate path.area")

    @property
    def page(self):
        return self.server.page

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

    def is_shown(self, selector):
        return self.browser.value(f"document.querySelector({selector!r}).checkVisibility()")

    def choose(self, seconds):
        self.browser.value(f"document.querySelector('#spans input[value=\"{seconds}\"]').click()")


class StatusPage(Opened):
    expected_seconds = 60

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
            const name = {{name: claim.source, type: claim.source}};
            isPaused = true;
            const failure = {{...name, reason: claim.source, sources: [claim.source], age_s: 1, times: 2, over: false}};
            const evidence = [{{number: -2, seconds: 1, ...name, ...both}}];
            showNames({{asked: [{{...name, per_second: 1}}], failed: [failure], evidence}});
            showNetwork({{id: {HOSTILE!r}, words: {HOSTILE!r}, portal: {HOSTILE!r}}}, []);
            const script = document.createElement('script');
            script.textContent = 'stolen()';
            document.body.append(script);
        }})()""")
        self.assertEqual(0, self.count("img, b b, main script"))
        for place in ("#network", "#asked", "#failed", "#evidence"):
            self.assertIn("<img src=x", self.text(place))
        # The page's policy refuses the inserted script, so a script before it would have run by then.
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
        self.assertIn(", 5 s ago", self.browser.value("charts.rate.svg.getAttribute('aria-label')"))
        unnamed = "[...document.querySelectorAll('svg[role=img], [role=region], section, progress')].filter(each => " \
            "!each.getAttribute('aria-label') && !each.getAttribute('aria-labelledby')).length"
        self.assertEqual(0, self.browser.value(unnamed))
        unlabelled = "[...document.querySelectorAll('input, select, button')].filter(each => " \
            "!each.getAttribute('aria-label') && !each.textContent && !each.closest('label')).length"
        self.assertEqual(0, self.browser.value(unlabelled))
        self.assertEqual(3, self.count("#providers tr"))
        self.assertEqual([], self.browser.complaints)

    def test_no_panel_is_blank_and_a_sentence_says_what_there_is_none_of(self):
        eventually(lambda: self.is_shown("#asked-panel"), what="the names asked most")
        self.assertEqual([], self.browser.value(BLANK))
        for panel in ("failures", "failed", "evidence", "verdicts", "changes"):
            self.assertFalse(self.is_shown(f"#{panel}-panel"), panel)
        self.assertIn("No forged address was found.", self.text("#quiet"))
        with Datagrams(self.server.address) as client:
            self.assertEqual(SERVFAIL, client.ask("gone.elsewhere.example").rcode)
        eventually(lambda: self.is_shown("#failed-panel"), what="the name that failed")
        self.assertIn("gone.elsewhere.example A", self.text("#failed"))
        self.assertIn("failed: the upstream replied REFUSED", self.text("#failed"))
        self.assertRegex(self.text("#failed"), r"\(REFUSED: .*json.*\)")
        eventually(lambda: self.is_shown("#failures-panel"), what="the failures")
        self.assertEqual([], self.browser.value(BLANK))
        self.assertNotIn("No name has failed.", self.text("#quiet"))

    def test_charts_are_full_when_the_page_is_opened_again(self):
        eventually(lambda: len(self.history()["counts"]["cache"].split()) > 1, within=30, what="two steps of history")
        self.visit("about:blank")
        self.visit(self.page)
        # The zero of the axis is the time at which the page was opened.
        oldest = "Math.min(...charts.rate.samples.filter(each => each.values?.cache > 0).map(each => each.at))"
        eventually(lambda: self.browser.value(oldest + " < 0"), what="samples of before")
        for seconds, words in ((3600, "1 h"), (86400, "24 h")):
            self.choose(seconds)
            eventually(lambda: self.text("#spark-span") == words, what=words)
        self.choose(3600)
        self.drawn("#rate path.area")
        self.browser.value("charts.rate.svg.focus()")
        self.browser.press("ArrowLeft")
        self.assertRegex(self.browser.value("charts.rate.svg.getAttribute('aria-label')"), r", at \d\d:\d\d: cache")
        # The newest step may have this age when the next one is fetched. All of it runs in one step, so that the page
        # does not show its own numbers between them.
        self.assertEqual("Memory, now: RSS 2 KiB, private –, cache –", self.browser.value(
            "(charts.memory.show([{at: 75, values: {resident: 2048}}], 100), "
            "charts.memory.svg.getAttribute('aria-label'))"))
        self.assertEqual([], self.browser.complaints)

    def history(self):
        return json.loads(scraping.get(self.page, "/history.json").text)

    def test_a_name_is_explained_from_the_form_and_from_the_tables(self):
        self.assertFalse(self.is_shown("#explanation"))
        self.browser.value("(place('name').value = ' shop.lab.example ', place('type').value = 'AAAA', "
                           "document.querySelector('#explain button').click())")
        eventually(lambda: self.text("#explanation").startswith("shop.lab.example AAAA\n"), what="the explanation")
        self.assertEqual("explanation", self.browser.value("document.activeElement.id"))
        self.drawn("#asked button.name")
        self.browser.value("document.querySelector('#asked button.name').focus()")
        self.browser.press("Enter")
        eventually(lambda: self.text("#explanation").startswith("www.lab.example A\n"), what="the explanation")
        self.assertIn("providers", self.text("#explanation"))
        self.browser.value("place('close').click()")
        self.assertFalse(self.is_shown("#explanation"))
        self.assertEqual([], self.browser.complaints)
        self.browser.value("explain('a..b', 'A')")
        self.assertEqual('error: "a..b" is not a domain name; allowed: labels of 1 to 63 bytes with dots between them, '
                         '253 bytes in all', self.text("#explanation"))

    def test_a_pause_holds_what_is_shown_and_keeps_what_comes(self):
        pause = "document.getElementById('pause').click()"
        pressed = "document.getElementById('pause').getAttribute('aria-pressed')"
        # All of it runs in one turn of the browser, so that the page draws nothing between the click and the check.
        shown = self.browser.value(
            f"({pause}, [shown.tiles, place('tiles').textContent, history.length, charts.rate.samples.length])")
        self.assertEqual("true", self.browser.value(pressed))
        self.assertGreater(self.count("#tiles .tile"), 4)
        eventually(lambda: self.browser.value("history.length") >= shown[2] + 3, what="three more samples")
        self.assertEqual(shown[:2], self.browser.value("[shown.tiles, place('tiles').textContent]"))
        self.browser.value(pause)
        self.assertEqual("false", self.browser.value(pressed))
        eventually(lambda: self.text("#tiles") != shown[1], what="the tiles go on")
        self.assertGreaterEqual(self.browser.value("charts.rate.samples.length"), shown[3] + 3)

    def test_it_says_when_no_provider_answers(self):
        self.assertFalse(self.is_shown("#alert"))
        self.provider.fault("reset")
        eventually(lambda: self.text("#alert").startswith("No provider answers"), what="the outage")
        self.provider.reset()
        eventually(lambda: not self.is_shown("#alert"), within=60, what="the end of the outage")

    def test_it_says_when_the_daemon_is_gone(self):
        self.load.end()
        self.server.stop()
        eventually(lambda: self.text("#link") == "the daemon does not answer", what="the page notices")


class FromElsewhere(Opened):
    """A browser of another machine, as far as the daemon can tell: its address is not a loopback one."""

    expected_seconds = 10

    @classmethod
    def setUpClass(cls):
        if own_address() is None:
            cls.skipTest(cls, "this machine has no address beyond loopback")
        super().setUpClass()

    def setUp(self):
        self.pages = f"{own_address()}:{free_port()}"
        super().setUp()

    def test_it_shows_no_names_and_says_why(self):
        self.assertFalse(self.is_shown("#explain-panel"))
        self.assertIn("shown only to a browser on this machine", self.text("#quiet"))
        self.assertEqual([], self.browser.value(BLANK))
        self.assertFalse([path for path in self.browser.requests if "names" in path or "explain" in path])
        self.assertEqual([], self.browser.complaints)
        self.assertNotIn("www.lab.example", scraping.get(self.page, "/status.json").text)
        for path in ("/names.json", "/explain?name=www.lab.example"):
            refused = scraping.get(self.page, path)
            self.assertEqual(403, refused.status)
            self.assertIn("names are shown to clients on this machine only", refused.text)
