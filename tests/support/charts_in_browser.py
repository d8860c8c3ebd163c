"""What is drawn on the charts of a report, and where, in a headless browser."""

from browser import Browser
from matplotlib.colors import to_rgb


def ink(window: Browser, chart: int, colour: str) -> int:
    """Pixels of a colour on a chart's canvas."""
    rgb = [round(255 * part) for part in to_rgb(colour)]
    found: int = window.ask(
        f"""(() => {{
          const canvas = plots[{chart}].root.querySelector("canvas");
          const copy = new OffscreenCanvas(canvas.width, canvas.height)
            .getContext("2d", {{ willReadFrequently: true }});
          copy.drawImage(canvas, 0, 0);
          const {{ data }} = copy.getImageData(0, 0, canvas.width, canvas.height);
          let count = 0;
          for (let i = 0; i < data.length; i += 4)
            if ({" && ".join(f"Math.abs(data[i + {k}] - {part}) < 6" for k, part in enumerate(rgb))}
                && data[i + 3] > 200) count++;
          return count;
        }})()"""
    )
    return found


def place(window: Browser, selector: str, chart: int = 0) -> dict[str, float]:
    """The rectangle of an element of a chart, scrolled into view."""
    found: dict[str, float] = window.ask(
        f"""(() => {{
          const element = plots[{chart}].root.querySelector("{selector}");
          element.scrollIntoView({{ block: "center" }});
          const {{ left, top, width, height }} = element.getBoundingClientRect();
          return {{ left, top, width, height }};
        }})()"""
    )
    return found


def frames(window: Browser) -> None:
    """Wait until what was asked for is drawn."""
    window.ask("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
