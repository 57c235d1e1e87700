"""A headless Chromium that tests drive: opens a page, looks at it, moves the pointer, presses keys, prints.

It speaks the Chrome DevTools Protocol over one web socket, without further software between.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import websocket

__all__ = ["Browser", "browser", "find_browser"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE = 60.0
"""Seconds to wait for the browser's answers."""


def find_browser() -> str | None:
    """Return the path of a Chromium, None if there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser(width: int = 1366, height: int = 768) -> Iterator[Browser]:
    """Run a browser with one window of the given size.

    Raises
    ------
    RuntimeError
        If it does not come up.
    """
    path = find_browser()
    assert path is not None, "no Chromium"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                   "--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={profile}",
                   f"--window-size={width},{height}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            socket = websocket.create_connection(_address(Path(profile)), timeout=_PATIENCE)
            try:
                yield Browser(socket, width, height)
            finally:
                socket.close()
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def _address(profile: Path) -> str:
    """Return the address of the first tab's web socket."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            port = (profile / "DevToolsActivePort").read_text().splitlines()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=_PATIENCE) as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            if tabs:
                return tabs[0]["webSocketDebuggerUrl"]
        except (OSError, IndexError):
            pass
        time.sleep(0.05)
    raise RuntimeError("the browser did not come up")


class Browser:
    """A tab.

    Attributes
    ----------
    problems : list of str
        Errors and warnings of the console, exceptions and failed requests of the pages opened so far.
    requests : list of str
        Addresses of everything that pages asked for.
    """

    def __init__(self, socket: websocket.WebSocket, width: int, height: int):
        self._socket = socket
        self._last = 0
        self._seen: set[str] = set()
        self.problems: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method: str, **parameters) -> dict:
        """Return the result of a command of the protocol.

        Raises
        ------
        RuntimeError
            If the browser refuses it.
        """
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._note(message)

    def _note(self, message: dict) -> None:
        method, what = message.get("method", ""), message.get("params", {})
        self._seen.add(method)
        if method == "Runtime.exceptionThrown":
            self.problems.append(what["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(part.get("value")) for part in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.problems.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Network.loadingFailed":
            self.problems.append(what["errorText"])

    def open(self, address: str) -> float:
        """Open a page and return the seconds until it was loaded, laid out and drawn."""
        self._seen.discard("Page.loadEventFired")
        started = time.perf_counter()
        self.call("Page.navigate", url=address)
        while "Page.loadEventFired" not in self._seen:
            self._note(json.loads(self._socket.recv()))
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.perf_counter() - started

    def ask(self, expression: str):
        """Return the value of a JavaScript expression; a promise is awaited.

        Raises
        ------
        RuntimeError
            If it throws.
        """
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def point(self, x: float, y: float, click: bool = False) -> None:
        """Move the pointer, and click there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, shift: bool = False) -> None:
        """Press a key, by its name in JavaScript."""
        code = {"Enter": 13, "Backspace": 8, "Tab": 9}.get(key, 0)
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 * shift}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def media(self, media: str = "", scheme: str = "light") -> None:
        """Show the page as for ``"print"``, or on a dark or light screen."""
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self) -> bytes:
        """Return what the window shows as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def printed(self) -> bytes:
        """Return the page printed, as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, generateTaggedPDF=False)["data"])
