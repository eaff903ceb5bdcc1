"""A headless Chromium, steered through a pair of pipes (--remote-debugging-pipe: JSON messages that end in a zero byte,
https://chromedevtools.github.io/devtools-protocol/), so that nothing but the browser itself is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
         "--remote-debugging-pipe", "about:blank"]


def find():
    """The path of a browser, or None; IND_BROWSER names one."""
    return os.environ.get("IND_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, path, seconds=60):
        self.seconds, self.number, self.buffer, self.problems, self.events = seconds, 0, b"", [], []
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        self.profile = tempfile.mkdtemp(prefix="ind-browser-")

        def pipes():  # it reads from 3 and writes to 4
            high = [os.dup2(fd, fd + 100) for fd in (to_read, to_write)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen([path, *FLAGS[:-1], f"--user-data-dir={self.profile}", FLAGS[-1]],
                                        close_fds=False, preexec_fn=pipes,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        """The next message; what the page complains of, and what it asks the network for, is noted."""
        until = time.monotonic() + self.seconds
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.read, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(given["exceptionDetails"]))
        if method == "Runtime.consoleAPICalled":
            self.problems.append(str(given["args"]))
        if method == "Log.entryAdded":
            self.problems.append(given["entry"]["text"] + " " + given["entry"].get("url", ""))
        if method == "Network.requestWillBeSent" and not given["request"]["url"].startswith(("file:", "data:")):
            self.problems.append("asks for " + given["request"]["url"])
        if method == "Page.javascriptDialogOpening":
            self.problems.append("opens a dialog")
        return message

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer.get("method"))

    def wait(self, event):
        while event not in self.events:
            self.events.append(self.receive().get("method"))

    def open(self, url, width=1200, height=800, dark=False):
        self.problems.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        for place in ["about:blank", url]:  # by way of another page: a new #fragment alone loads nothing
            self.events.clear()
            self.call("Page.navigate", url=place)
            self.wait("Page.loadEventFired")

    def value(self, expression):
        """The value of a JavaScript expression in the page, as JSON has it."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def click(self, selector):
        """Presses the mouse in the middle of what is visible of the element, wherever that is on the screen."""
        name = json.dumps(selector)
        self.value(f"document.querySelector({name}).scrollIntoView({{block: 'center'}})")
        x, y = self.value(f"(() => {{ const r = document.querySelector({name}).getBoundingClientRect();"
                          " return [r.left + Math.min(r.width, 60) / 2, r.top + r.height / 2]; })()")
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def settle(self):
        """Until two frames were drawn: events that a click causes have run."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def type(self, selector, text):
        """Replaces the text of an input as a person would."""
        self.value(f"(document.querySelector({json.dumps(selector)}).focus(),"
                   f" document.querySelector({json.dumps(selector)}).select())")
        self.call("Input.insertText", text=text)
        self.settle()

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
