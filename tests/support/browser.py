"""A headless Chromium, driven over its debugging protocol: open a file, ask it, click in it."""

import base64
import contextlib
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """`with Browser(folder, width, height) as browser:`; the folder is its profile."""

    def __init__(self, folder: Path, width: int, height: int) -> None:
        assert CHROMIUM is not None
        self._size = (width, height)
        self._process = subprocess.Popen(
            [
                *(
                    CHROMIUM,
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-dev-shm-usage",
                ),
                *("--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._folder = folder
        self._closing = contextlib.ExitStack()
        self._count = 0
        self.complaints: list[str] = []
        """Errors and warnings on the console, and uncaught exceptions"""
        self.requests: list[str] = []
        """What it tried to load"""

    def __enter__(self) -> "Browser":
        with contextlib.ExitStack() as closing:
            closing.callback(self._end)
            self._socket = closing.enter_context(connect(self._address(), max_size=None))
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
            self.resize(*self._size)
            self._closing = closing.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def open(self, path: Path) -> None:
        self.call("Page.navigate", url=path.absolute().as_uri())
        deadline = time.monotonic() + 30
        while not self.ask("document.readyState === 'complete' && location.protocol === 'file:'"):
            assert time.monotonic() < deadline, "the page did not load"
            time.sleep(0.05)

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, clicks: int = 1) -> None:
        """`mousePressed`, `mouseReleased` or `mouseMoved` at a place of the window."""
        is_move = kind == "mouseMoved"
        self.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            clickCount=0 if is_move else clicks,
            **({} if is_move else {"button": "left"}),
        )

    def screenshot(self, path: Path) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == self._count:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._take_in(message.get("method", ""), message.get("params", {}))

    def _take_in(self, method: str, event: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(event["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning"):
            self.complaints.append(str(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.complaints.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def _address(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "the browser did not start"
            with contextlib.suppress(OSError, ValueError):
                port = int((self._folder / "DevToolsActivePort").read_text().splitlines()[0])
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                    pages = [page for page in json.load(answer) if page["type"] == "page"]
                if pages:
                    address: str = pages[0]["webSocketDebuggerUrl"]
                    return address
            time.sleep(0.1)
        raise AssertionError("the browser did not answer")
