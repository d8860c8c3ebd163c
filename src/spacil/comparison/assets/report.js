"use strict";
// Turns each chart of the page's data into options of uPlot, which draws it.

const HEIGHT = 320;

function shown(value) {
  return value == null ? "–" : Number(value).toPrecision(4);
}

// Room around points, which would otherwise sit on the axes.
function padded(u, low, high) {
  return uPlot.rangeNum(low, high, 0.1, true);
}

function xScale(chart) {
  const hasDots = chart.series.some((one) => !one.is_joined);
  return { time: false, ...(hasDots ? { range: padded } : {}) };
}

// Rows of one colour are told apart by their lines and by their dots: full, hollow, hollow and small.
const LINES = [
  { name: "solid" },
  { name: "dashed", dash: [12, 4] },
  { name: "dotted", dash: [2, 3] },
];

function lineOf(one) {
  return LINES[one.num_alike % LINES.length];
}

function dotsOf(one) {
  const time = one.num_alike % LINES.length;
  return { show: true, size: time < 2 ? 9 : 6, fill: time === 0 ? one.colour : "#fff" };
}

// One series per column of the data: a row's mean, then the two edges of its band.
function seriesOf(chart) {
  const columns = [{ label: chart.x_label, value: (u, v) => shown(v) }];
  const bands = [];
  const edges = new Map(); // column of a mean -> columns of its band
  for (const one of chart.series) {
    columns.push({
      label: one.label,
      stroke: one.colour,
      width: 2,
      dash: lineOf(one).dash,
      line: lineOf(one).name,
      spanGaps: true,
      value: (u, v) => shown(v),
      ...(one.is_joined ? {} : { paths: () => null, points: dotsOf(one) }),
    });
    if (one.has_band) {
      const low = columns.length;
      const edge = { class: "band", stroke: "transparent", spanGaps: true, points: { show: false } };
      columns.push({ ...edge, label: one.label + ", lowest" });
      columns.push({ ...edge, label: one.label + ", highest" });
      bands.push({ series: [low + 1, low], fill: one.colour + "26" });
      edges.set(low - 1, [low, low + 1]);
    }
  }
  for (const label of chart.levels) {
    columns.push({
      label,
      stroke: "#444",
      dash: [6, 4],
      spanGaps: true,
      points: { show: false },
      value: (u, v) => shown(v),
    });
  }
  return { columns, bands, edges };
}

function draw(element, chart) {
  const { columns, bands, edges } = seriesOf(chart);
  const options = {
    width: element.clientWidth,
    height: HEIGHT,
    series: columns,
    bands,
    scales: { x: xScale(chart) },
    axes: [{ label: chart.x_label }, { label: chart.y_label, size: 70 }],
    legend: { markers: { dash: (u, column) => u.series[column].line ?? "solid" } },
    cursor: { focus: { prox: 24 } },
    hooks: {
      setSeries: [
        (u, column, change) => {
          if (change.show == null) return;
          for (const edge of edges.get(column) ?? []) u.setSeries(edge, { show: change.show });
        },
      ],
    },
  };
  const plot = new uPlot(options, chart.data, element);
  window.addEventListener("resize", () => {
    plot.setSize({ width: element.clientWidth, height: HEIGHT });
  });
  return plot;
}

const charts = JSON.parse(document.getElementById("charts").textContent);
// Reachable from the console, and by the tests.
window.plots = [...document.querySelectorAll("[data-chart]")].map((element) =>
  draw(element, charts[Number(element.dataset.chart)]),
);

// Buttons below each film: a browser's own controls would cover the traces at its bottom edge. They
// stay where no script runs. At rest a film shows its last frame, which has the numbers.
function screen(video) {
  const part = (tag, attributes) => Object.assign(document.createElement(tag), attributes);
  const play = part("button", { type: "button" });
  const slow = part("button", { type: "button" });
  const place = part("input", { type: "range", min: 0, max: 1000, ariaLabel: "time in the film" });
  const player = part("div", { className: "player" });
  player.append(play, slow, place);
  video.controls = false;
  video.parentElement.after(player);

  const tell = () => {
    play.textContent = video.paused ? "Play" : "Pause";
    slow.textContent = video.playbackRate < 1 ? "Real time" : "Slow motion";
    place.value = (1000 * video.currentTime) / (video.duration || 1);
  };
  const toggle = () => {
    if (!video.paused) return video.pause();
    if (video.played.length === 0) video.currentTime = 0;
    return video.play();
  };
  const rest = () => { video.currentTime = Math.max(0, video.duration - 0.1); };
  play.onclick = video.onclick = toggle;
  slow.onclick = () => { video.playbackRate = video.playbackRate < 1 ? 1 : 0.25; };
  place.oninput = () => { video.currentTime = (video.duration * place.value) / 1000; };
  for (const event of ["play", "pause", "timeupdate", "ratechange"]) video.addEventListener(event, tell);
  if (video.readyState >= 1) rest();
  else video.addEventListener("loadedmetadata", rest, { once: true });
  tell();
}

document.querySelectorAll("video").forEach(screen);
