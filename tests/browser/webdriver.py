"""A browser driven over the WebDriver protocol with nothing but the standard library."""

import base64
import http.client
import json
import re
import subprocess
import tempfile

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Space": " ", "Escape": "\ue00c", "Tab": "\ue004", "ArrowDown": "\ue015", "ArrowUp": "\ue013"}
WAIT_SECONDS = 30


class Browser:
    """One headless Chromium with a profile of its own, which can reach no network: its proxy is a closed port."""

    def __init__(self, chromedriver="chromedriver"):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(
            [chromedriver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.port = self._port()
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--disable-background-networking",
            "--no-first-run",
            "--force-prefers-reduced-motion",
            "--lang=ko-KR",
            "--proxy-server=http://127.0.0.1:1",
            "--window-size=1280,900",
            f"--user-data-dir={self.profile.name}",
        ]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "unhandledPromptBehavior": "ignore",
            "timeouts": {"script": 2 * WAIT_SECONDS * 1000},
        }
        self.session = ""
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + answer["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._send("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(timeout=WAIT_SECONDS)
            self.profile.cleanup()

    def _port(self):
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise RuntimeError("chromedriver did not start")

    def _send(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        text = json.dumps(body if body is not None else {}) if method == "POST" else None
        connection.request(method, path, text, {"Content-Type": "application/json"})
        response = connection.getresponse()
        value = json.loads(response.read())["value"]
        connection.close()
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}")
        return value

    def _at(self, method, path, body=None):
        return self._send(method, self.session + path, body)

    def open(self, url):
        self._at("POST", "/url", {"url": url})

    def script(self, text, *arguments):
        return self._at("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def wait(self, text, *arguments):
        """Until the script says something true, asked anew for each picture that is drawn; the answer."""
        asked = (
            "const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1), start = performance.now();"
            f"const ask = () => {{ const value = (function () {{ {text} }})(...given);"
            f"if (value || performance.now() - start > {WAIT_SECONDS * 1000}) done(value || null);"
            "else requestAnimationFrame(ask) }; ask()"
        )
        value = self._at("POST", "/execute/async", {"script": asked, "args": list(arguments)})
        if not value:
            raise AssertionError(f"never became true: {text} {arguments}")
        return value

    def find(self, css):
        return self._at("POST", "/element", {"using": "css selector", "value": css})

    def click(self, css):
        self._at("POST", f"/element/{self.find(css)[ELEMENT]}/click")

    def type(self, css, text):
        self._at("POST", f"/element/{self.find(css)[ELEMENT]}/value", {"text": text})

    def clear(self, css):
        self._at("POST", f"/element/{self.find(css)[ELEMENT]}/clear")

    def press(self, key):
        """A key for whatever has the focus."""
        value = KEYS[key]
        actions = [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._at("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def has_alert(self):
        try:
            self._at("GET", "/alert/text")
            return True
        except RuntimeError:
            return False

    def log(self, kind):
        return self._at("POST", "/se/log", {"type": kind})

    def cdp(self, command, **parameters):
        return self._at("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height, phone=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def media(self, medium="", **features):
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.cdp("Emulation.setEmulatedMedia", media=medium, features=listed)

    def screenshot(self, path, full=True):
        shot = self.cdp("Page.captureScreenshot", captureBeyondViewport=full, format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def pdf(self):
        return base64.b64decode(self.cdp("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
