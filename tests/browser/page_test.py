"""The page of `taco-trace report --html` in headless Chromium.

Called by tests/it/page.rs with two pages: three weeks of five agents, and runs whose names are hostile.
Nothing waits for a time: each step waits until the page says what it should.
"""

import json
import sys
import unittest
from pathlib import Path

from webdriver import Browser

DAYS, HOSTILE = (Path(path).resolve().as_uri() for path in sys.argv[1:3])

ROWS = "return [...document.querySelectorAll('#rows .run')]"
STATUS = "return document.querySelector('#status').firstChild.parentNode.innerText"
DATA = "return JSON.parse(document.querySelector('#data').textContent)"


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Browser())
        cls.browser.open(DAYS)
        cls.data = cls.browser.script(DATA)

    def setUp(self):
        self.browser.cdp("Emulation.clearDeviceMetricsOverride")
        self.browser.media("", prefers_color_scheme="light")

    def tearDown(self):
        errors = [entry for entry in self.browser.log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual(errors, [])
        # Whatever was asked for: the files themselves, and what Chromium has of its own for an empty tab.
        for entry in self.browser.log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertTrue(url.startswith(("file:///", "data:", "about:", "chrome:")), url)

    def load(self, page=DAYS, state=""):
        self.browser.open("about:blank")
        self.browser.open(page + state)
        self.browser.wait("return document.documentElement.dataset.ready")

    def drawn(self):
        return self.browser.script(ROWS + ".map(row => row.dataset.run)")

    def runs(self, fits):
        return [run for run in self.data["runs"] if fits(run)]

    def assert_found(self, fits):
        """The page has found these runs and no other; their number, and the first hundred of them."""
        wanted = self.runs(fits)
        total = len(self.data["runs"])
        self.browser.wait(f"return document.querySelector('#status').innerText.includes('{total}건 가운데 {len(wanted)}건')")
        drawn = self.drawn()
        self.assertTrue(set(drawn) <= {run["id"] for run in wanted})
        self.assertGreaterEqual(len(drawn), min(100, len(wanted)))
        return wanted

    def choose(self, name, value):
        self.browser.script(
            "const field = document.querySelector(`[name=${arguments[0]}]`); field.value = arguments[1];"
            "field.dispatchEvent(new Event('input', {bubbles: true}))",
            name,
            value,
        )

    def name(self, run, key):
        return None if run[key] is None else self.data["names"][run[key]]

    def tools(self, run):
        return [self.data["names"][tool] for tool in run["tools"]]

    def test_first_sight_shows_what_needs_attention(self):
        self.load()
        found = self.assert_found(lambda run: run["v"] != 5)
        self.assertEqual(self.drawn(), [run["id"] for run in sorted(found, key=lambda run: run["at"], reverse=True)])

    def test_filters_narrow_the_runs_and_the_fragment_keeps_them(self):
        self.load()
        self.choose("verdict", "all")
        self.assert_found(lambda run: True)
        self.choose("agent", "규정 질의 에이전트")
        own = self.assert_found(lambda run: self.name(run, "agent") == "규정 질의 에이전트")
        self.assertGreater(len(own), 10)
        self.choose("tool", "search_regulation")
        self.choose("from", "2026-10-01")
        self.choose("to", "2026-10-09")

        def fits(run):
            return (
                self.name(run, "agent") == "규정 질의 에이전트"
                and "search_regulation" in self.tools(run)
                and "2026-10-01" <= run["at"][:10] <= "2026-10-09"
            )

        self.assertGreater(len(self.assert_found(fits)), 0)
        state = self.browser.script("return location.hash")
        self.load(state=state)
        self.assert_found(fits)
        self.assertEqual(self.browser.script("return document.querySelector('[name=tool]').value"), "search_regulation")
        self.browser.click("[type=reset]")
        self.assert_found(lambda run: run["v"] != 5)
        self.assertEqual(self.browser.script("return location.hash"), "")

    def test_a_verdict_beside_another_counts_too(self):
        self.load()
        self.choose("verdict", "error-hidden")
        found = self.assert_found(lambda run: 4 in [run["v"], *run.get("also", [])])
        self.assertTrue(any(run["v"] != 4 for run in found))

    def test_search_finds_every_word(self):
        self.load()
        self.browser.type("[name=q]", "BUDGET_api 정수가")

        def fits(run):
            says = self.data["texts"][run["says"]]
            return run["v"] != 5 and "budget_api" in self.tools(run) and "정수가" in says

        self.assertGreater(len(self.assert_found(fits)), 0)
        self.browser.clear("[name=q]")
        self.browser.type("[name=q]", self.data["runs"][0]["id"])
        self.choose("verdict", "all")
        self.assert_found(lambda run: run["id"] == self.data["runs"][0]["id"])
        self.choose("q", "없는 낱말")
        self.assert_found(lambda run: False)
        self.assertIn("조건에 맞는 실행이 없습니다", self.browser.script("return document.querySelector('#status').innerText"))

    def test_tiles_and_bars_and_candidates_lead_to_their_runs(self):
        self.load()
        self.browser.click(".tile.k2")
        self.assert_found(lambda run: 2 in [run["v"], *run.get("also", [])])
        self.assertEqual(self.browser.script("return document.querySelector('.tile.k2').getAttribute('aria-current')"), "true")
        self.browser.click(".tile.k2")
        self.assert_found(lambda run: run["v"] != 5)
        link = self.browser.script("return document.querySelector('.chart a').getAttribute('href')")
        self.browser.click(".chart a .k5")
        day = link.split("from=")[1][:10]
        self.assert_found(lambda run: run["at"].startswith(day))
        tool = self.browser.script("return document.querySelector('.recurring th a').innerText")
        self.browser.click(".recurring th a")
        self.assert_found(lambda run: tool in self.tools(run) and 1 in [run["v"], *run.get("also", [])])

    def test_each_column_sorts_both_ways(self):
        self.load(state="#verdict=all")
        keys = {
            "time": lambda run: run["at"],
            "verdict": lambda run: run["v"],
            "calls": lambda run: run["calls"],
            "ms": lambda run: run["ms"],
        }
        runs = {run["id"]: run for run in self.data["runs"]}
        for column in ["agent", "tool", "calls", "ms", "verdict", "time"]:
            for _ in range(2):
                self.browser.click(f"th[data-sort={column}] button")
                way = self.browser.wait(f"return document.querySelector('th[data-sort={column}]').getAttribute('aria-sort')")
                sorted_heads = self.browser.script("return document.querySelectorAll('[aria-sort]').length")
                self.assertEqual(sorted_heads, 1)
                if column in keys:
                    values = [keys[column](runs[run]) for run in self.drawn()]
                    self.assertEqual(values, sorted(values, reverse=way == "descending"), (column, way))
            self.assertIn(f"sort={column}" if column != "time" else "dir=asc", self.browser.script("return location.hash") or "dir=asc")
        # In the order of the Korean alphabet, which that of the code points is for whole syllables.
        self.browser.click("th[data-sort=agent] button")
        names = [self.name(runs[run], "agent") or "" for run in self.drawn()]
        known = [name for name in names if name]
        self.assertEqual(known, sorted(known))

    def test_a_run_opens_by_mouse_and_closes_by_escape(self):
        self.load(state="#verdict=retry-over-limit")
        run = self.runs(lambda run: run["v"] == 3)[0]
        self.browser.click(f"tr[data-run='{run['id']}'] .says")
        shown = self.browser.wait("const panel = document.querySelector('#panel'); return panel && panel.innerText")
        finding = run["found"][0]
        for text in [run["id"], *finding["rows"][0], *(call[0] for call in finding["calls"]), run["fix"], finding["args"]]:
            self.assertIn(text, shown)
        bars = self.browser.script("return document.querySelectorAll('#panel .bar').length")
        self.assertEqual(bars, len(run["spans"]))
        marked = self.browser.script("return document.querySelectorAll('#panel .evidence').length")
        self.assertEqual(marked, len(finding["calls"]))
        self.assertIn(run["id"], self.browser.script("return location.hash"))
        self.browser.press("Escape")
        self.browser.wait("return !document.querySelector('#panel')")
        self.assertEqual(self.browser.script("return document.activeElement.closest('tr').dataset.run"), run["id"])
        self.assertNotIn(run["id"], self.browser.script("return location.hash"))

    def test_waterfall_has_the_places_and_lengths_of_the_spans(self):
        run = self.runs(lambda run: run["v"] == 3)[0]
        self.load(state=f"#verdict=all&run={run['id']}")
        boxes = self.browser.wait(
            "const bars = [...document.querySelectorAll('#panel .line:not(.axis)')];"
            "return bars.length && bars.map(line => { const t = line.querySelector('.track').getBoundingClientRect(),"
            " b = line.querySelector('.bar').getBoundingClientRect(); return [(b.left - t.left) / t.width, b.width / t.width, t.width] })"
        )
        total = max(span[5] + span[6] for span in run["spans"])
        for (left, width, pixels), span in zip(boxes, run["spans"], strict=True):
            self.assertAlmostEqual(left, span[5] / total, delta=2 / pixels)
            self.assertAlmostEqual(width, max(span[6] / total, 3 / pixels), delta=2 / pixels)

    def test_runs_open_by_keyboard(self):
        self.load()
        self.browser.press("Tab")
        self.assertEqual(self.browser.script("return document.activeElement.className"), "skip")
        self.browser.press("Enter")
        self.browser.wait("return document.activeElement.id === 'runs'")
        for _ in range(30):
            self.browser.press("Tab")
            if self.browser.script("return document.activeElement.className") == "open-run":
                break
        first, second = self.drawn()[:2]
        self.assertEqual(self.browser.script("return document.activeElement.closest('tr').dataset.run"), first)
        outline = self.browser.script("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid")
        for key in ("Enter", "Space"):
            self.browser.press(key)
            self.browser.wait("return document.querySelector('#panel')")
            self.assertEqual(self.browser.script("return document.activeElement.getAttribute('aria-expanded')"), "true")
            self.browser.press(key)
            self.browser.wait("return !document.querySelector('#panel')")
        self.browser.press("ArrowDown")
        self.assertEqual(self.browser.script("return document.activeElement.closest('tr').dataset.run"), second)
        self.browser.press("ArrowUp")
        self.browser.press("Space")
        self.browser.wait("return document.querySelector('#panel')")
        self.browser.press("Escape")
        self.browser.wait("return !document.querySelector('#panel')")

    def test_further_rows_come_while_scrolling(self):
        self.load(state="#verdict=all")
        total = len(self.data["runs"])
        self.assertLess(len(self.drawn()), total)
        self.browser.wait(f"document.querySelector('#more').scrollIntoView(); {ROWS}.length === {total}")
        self.assertTrue(self.browser.script("return document.querySelector('#more').hidden"))

    def test_hostile_names_are_text(self):
        self.load(HOSTILE, "#verdict=all")
        self.assertFalse(self.browser.has_alert())
        data = self.browser.script(DATA)
        for run in data["runs"]:
            self.browser.script("document.querySelector(`tr[data-run='${arguments[0]}'] .open-run`).click()", run["id"])
            shown = self.browser.wait("const panel = document.querySelector('#panel'); return panel && panel.innerText")
            for tool in run["tools"]:
                self.assertIn(data["names"][tool], shown)
        whole = self.browser.script("return document.body.innerText")
        for name in ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "\"'><svg onload=alert(3)>"]:
            self.assertIn(name, whole)
            self.choose("agent", name)
            self.browser.wait(f"{ROWS}.length > 0")
        self.assertEqual(self.browser.script("return document.querySelectorAll('script, img, iframe, object').length"), 2)
        self.assertFalse(self.browser.has_alert())
        # Candidates with hostile names lead to their runs too.
        for place in range(self.browser.script("return document.querySelectorAll('.recurring th a').length")):
            self.browser.script("document.querySelectorAll('.recurring th a')[arguments[0]].click()", place)
            self.browser.wait(f"{ROWS}.length > 0")

    def test_policy_stops_what_a_page_could_load(self):
        self.load()
        refused = self.browser.script(
            "const seen = []; document.addEventListener('securitypolicyviolation', event => seen.push(event.effectiveDirective));"
            "window.seen = seen; const image = new Image(); image.src = 'http://127.0.0.1:1/x.png'; document.body.append(image);"
            "const script = document.createElement('script'); script.textContent = 'window.ran = true'; document.body.append(script);"
            "return window.ran === undefined"
        )
        self.assertTrue(refused)
        self.browser.wait("return window.seen.includes('img-src') && window.seen.some(d => d.startsWith('script-src'))")
        # What was just tried is told in the log, and no fault of the page.
        self.browser.log("browser")
        self.browser.log("performance")

    def test_nothing_was_asked_for(self):
        self.load()
        self.assertEqual(self.browser.script("return performance.getEntriesByType('resource').map(entry => entry.name)"), [])

    def test_light_and_dark(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        self.load()
        self.assertEqual(self.browser.script(ground), "rgb(255, 255, 255)")
        self.browser.media("", prefers_color_scheme="dark")
        dark = self.browser.wait(f"const ground = (() => {{ {ground} }})(); return ground !== 'rgb(255, 255, 255)' && ground")
        self.browser.click("#theme")
        self.browser.wait(f"return (() => {{ {ground} }})() === 'rgb(255, 255, 255)'")
        self.load()
        self.assertEqual(self.browser.script(ground), "rgb(255, 255, 255)", "what was chosen stays")
        self.browser.click("#theme")
        self.browser.wait(f"return (() => {{ {ground} }})() === '{dark}'")
        self.browser.script("localStorage.clear()")

    def test_contrast_is_enough_to_read(self):
        for scheme in ("light", "dark"):
            self.browser.media("", prefers_color_scheme=scheme)
            self.load(state="#verdict=args-mismatch")
            self.browser.click(".open-run")
            self.browser.wait("return document.querySelector('#panel')")
            poor = self.browser.script(CONTRAST)
            self.assertEqual(poor, [], scheme)

    def test_phone_has_room(self):
        for page in (DAYS, HOSTILE):
            self.browser.size(390, 844, phone=True)
            self.load(page, "#verdict=all")
            widths = "return [document.documentElement.scrollWidth, innerWidth]"
            self.assertEqual(self.browser.script(widths), [390, 390])
            for run in self.drawn()[:10]:
                self.browser.script("document.querySelector(`tr[data-run='${arguments[0]}'] .open-run`).click()", run)
                self.browser.wait("return document.querySelector('#panel')")
                self.assertEqual(self.browser.script(widths), [390, 390], run)

    def test_desktop_has_room(self):
        for width in (768, 1024, 1280, 1920):
            for page in (DAYS, HOSTILE):
                self.browser.size(width, 900)
                self.load(page, "#verdict=all")
                self.browser.script("document.querySelector('.open-run').click()")
                self.assertLessEqual(self.browser.script("return document.documentElement.scrollWidth - innerWidth"), 0, width)

    def test_less_motion_is_less_motion(self):
        self.load()
        self.browser.media("", prefers_reduced_motion="reduce")
        durations = "return getComputedStyle(document.querySelector('.tile')).transitionDuration"
        self.browser.wait(f"return (() => {{ {durations} }})() === '0s'")

    def test_print_has_pages_and_no_controls(self):
        self.load(state="#verdict=all")
        pdf = self.browser.pdf()
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertGreater(pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page "), 3)
        # All rows are there for paper, not the first hundred.
        self.assertEqual(len(self.drawn()), len(self.data["runs"]))
        self.browser.media("print")
        shown = "return [...document.querySelectorAll('.controls, .filter, .more, .data')].filter(part => part.checkVisibility()).length"
        self.assertEqual(self.browser.script(shown), 0)
        for part in (".chart", ".tiles", ".recurring", "#table"):
            self.assertTrue(self.browser.script("return document.querySelector(arguments[0]).checkVisibility()", part), part)

    def test_names_for_those_who_do_not_see(self):
        self.load()
        self.browser.click(".open-run")
        tree = self.browser.cdp("Accessibility.getFullAXTree")["nodes"]
        nameless = [
            node["role"]["value"]
            for node in tree
            if not node.get("ignored")
            and node["role"]["value"] in ("button", "link", "combobox", "searchbox", "image", "Date", "columnheader")
            and not node.get("name", {}).get("value", "").strip()
        ]
        self.assertEqual(nameless, [])
        ids = "const ids = [...document.querySelectorAll('[id]')].map(part => part.id); return ids.filter((id, at) => ids.indexOf(id) !== at)"
        self.assertEqual(self.browser.script(ids), [])


# Every text that is shown against what is painted behind it: 4.5 to 1, or 3 to 1 where it is large.
CONTRAST = """
const parts = (color) => color.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 })
  .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = parts(getComputedStyle(at).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const poor = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let text = walker.nextNode(); text; text = walker.nextNode()) {
  const element = text.parentElement;
  if (!text.data.trim() || !element.checkVisibility() || element.closest('script, style, .hidden, .skip, option, title, desc')) continue;
  const style = getComputedStyle(element), svg = element.closest('svg');
  const [a, b] = [light(parts(svg ? style.fill : style.color)), light(ground(svg || element))].sort((x, y) => y - x);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < (large ? 3 : 4.5)) poor.push([text.data.trim().slice(0, 30), element.className, ratio.toFixed(2)]);
}
return poor;
"""

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
