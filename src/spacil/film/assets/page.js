// Policies and their env in the page. Names and rules are those of envs/mujoco_tasks.py.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const floats = (text) => new Float32Array(bytes(text).buffer);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const norm = (x) => Math.hypot(...x);

/** Uniform and normal numbers from a seed (mulberry32): the same for every panel. */
class Numbers {
  constructor(seed) { this.state = (seed * 2654435761) >>> 0; }
  uniform(low = 0, high = 1) {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return low + (high - low) * (((x ^ (x >>> 14)) >>> 0) / 4294967296);
  }
  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
}

/** The mean action of a network on raw states: normalise, tanh layers, bounds. */
class Policy {
  constructor(given) {
    Object.assign(this, given);
    this.layers = given.layers.map((layer) => ({
      weight: floats(layer.weight), bias: floats(layer.bias),
    }));
  }
  act(states) {
    let x = Float32Array.from(states, (s, i) => clamp((s - this.shift[i]) * this.scale[i], -10, 10));
    this.layers.forEach(({ weight, bias }, number) => {
      const isLast = number === this.layers.length - 1;
      x = bias.map((b, row) => {
        let sum = b;
        for (let i = 0, at = row * x.length; i < x.length; i++) sum += weight[at + i] * x[i];
        return isLast ? sum : Math.tanh(sum);
      });
    });
    return x.map((a, i) => clamp(a, this.low[i] ?? -Infinity, this.high[i] ?? Infinity));
  }
}

const OBSERVE = {
  visible_states(d, { num_hidden = 1, velocity_limit = null, first_force = null }) {
    const most = velocity_limit ?? Infinity;
    const seen = [...d.qpos.slice(num_hidden), ...d.qvel.map((v) => clamp(v, -most, most))];
    if (first_force !== null) seen.push(...d.cfrc_ext.slice(first_force).map((f) => clamp(f, -1, 1)));
    return seen;
  },
  reacher_states(d, { num_offsets }) {
    const angles = [...d.qpos.slice(0, 2)], offset = LANDMARK.offset_to_target(d);
    return [...angles.map(Math.cos), ...angles.map(Math.sin), ...d.qpos.slice(2),
      ...d.qvel.slice(0, 2), ...offset.slice(0, num_offsets)];
  },
};
const LANDMARK = {
  travelled: (d) => d.qpos[0],
  torso_x: (d) => d.xpos[3],
  offset_to_target: (d) => [0, 1, 2].map((i) => d.xpos[9 + i] - d.xpos[12 + i]),
};
const REWARD = {
  running_reward(before, d, action, isHealthy, dt, rule) {
    const { position = "travelled", alive_bonus, control_weight, contact_weight = 0 } = rule;
    const squares = (x) => x.reduce((sum, a) => sum + a * a, 0);
    let reward = (LANDMARK[position](d) - before) / dt - control_weight * squares([...action]);
    if (alive_bonus === "always" || (alive_bonus === "while healthy" && isHealthy)) reward += 1;
    if (contact_weight) reward -= contact_weight * squares([...d.cfrc_ext].map((f) => clamp(f, -1, 1)));
    return reward;
  },
  reaching_reward(before, d, action, isHealthy, dt, { distance_from }) {
    const offset = distance_from === "before" ? before : LANDMARK.offset_to_target(d);
    return -norm(offset) - norm([...action]) ** 2;
  },
};
const HEALTH = {
  always_healthy: () => true,
  hopper_is_healthy: ({ qpos, qvel }) =>
    qpos[1] > 0.7 && Math.abs(qpos[2]) < 0.2 &&
    [...qpos.slice(2), ...qvel].every((x) => Math.abs(x) < 100),
  walker_is_healthy: ({ qpos }) => qpos[1] > 0.8 && qpos[1] < 2 && Math.abs(qpos[2]) < 1,
  ant_is_healthy: ({ qpos }) => qpos[2] >= 0.2 && qpos[2] <= 1,
};
const START = {
  noisy_start(d, numbers, { scale, has_normal_velocities = false }) {
    for (let i = 0; i < d.qpos.length; i++) d.qpos[i] += numbers.uniform(-scale, scale);
    for (let i = 0; i < d.qvel.length; i++) {
      d.qvel[i] += has_normal_velocities ? scale * numbers.normal() : numbers.uniform(-scale, scale);
    }
  },
  reacher_start(d, numbers) {
    for (let i = 0; i < 2; i++) {
      d.qpos[i] += numbers.uniform(-0.1, 0.1);
      d.qvel[i] += numbers.uniform(-0.005, 0.005);
    }
    let goal;
    do goal = [numbers.uniform(-0.2, 0.2), numbers.uniform(-0.2, 0.2)]; while (norm(goal) >= 0.2);
    d.qpos.set(goal, 2);
  },
};

/** One simulation of the task, under what the sliders say. */
class Env {
  constructor(mujoco, task, policy) {
    Object.assign(this, { mujoco, task, policy });
    this.model = mujoco.MjModel.from_xml_string(task.model);
    this.physics = new mujoco.MjData(this.model);
    this.gravity = [...this.model.opt.gravity];
    this.friction = [...this.model.geom_friction];
    this.seesForces = task.observe.first_force != null || task.reward.contact_weight > 0;
    this.weight = [...this.model.body_mass].reduce((sum, mass) => sum + mass) * norm(this.gravity);
  }
  reset(seed, sliders) {
    this.numbers = new Numbers(seed + 1);
    this.mujoco.mj_resetData(this.model, this.physics);
    START[this.task.draw_start.name](this.physics, this.numbers, this.task.draw_start);
    this.begin(sliders);
  }
  begin(sliders) {
    this.mujoco.mj_forward(this.model, this.physics);
    const rest = this.policy.low.map((low, i) => clamp(0, low ?? 0, this.policy.high[i] ?? 0));
    Object.assign(this, { rest, commands: [], past: [], steps: 0, total: 0, isOver: false, fell: false });
    this.seen = this.measure(sliders);
  }
  observe() { return OBSERVE[this.task.observe.name](this.physics, this.task.observe); }
  measure({ noise }) {
    const drawn = this.task.noise_std.map((std) => std * this.numbers.normal());
    return this.observe().map((s, i) => (noise ? s + noise * (drawn[i] ?? 0) : s));
  }
  /** [o(t), a(t-1) ... a(t-H), o(t-1) ... o(t-P)] */
  input() {
    const { num_commands, num_past } = this.policy, input = [...this.seen];
    for (let back = 0; back < num_commands; back++) input.push(...(this.commands[back] ?? this.rest));
    for (let back = 0; back < num_past; back++) input.push(...(this.past[back] ?? this.past.at(-1) ?? this.seen));
    return input;
  }
  step(sliders) {
    const { mujoco, model, physics, task } = this;
    this.commands.unshift(this.policy.act(this.input()));
    this.commands.length = Math.min(this.commands.length, 16);
    const action = this.commands[sliders.delay] ?? this.rest;
    const before = LANDMARK[task.landmark.name](physics);
    physics.ctrl.set(action);
    model.opt.gravity.set(this.gravity.map((g) => g * sliders.gravity));
    model.geom_friction.set(this.friction.map((f, i) => (i % 3 ? f : f * sliders.friction)));
    const seconds = this.steps * task.step_seconds;
    const shove = seconds % 2 > 1.85 ? sliders.shove * this.weight * (seconds % 4 > 2 ? -1 : 1) : 0;
    physics.xfrc_applied[6] = shove;  // on the first body, along x
    for (let i = 0; i < task.frame_skip; i++) mujoco.mj_step(model, physics);
    if (this.seesForces) mujoco.mj_rnePostConstraint(model, physics);
    const isHealthy = HEALTH[task.is_healthy.name](physics);
    this.total += REWARD[task.reward.name](before, physics, action, isHealthy, task.step_seconds, task.reward);
    this.steps += 1;
    this.fell = !isHealthy;
    this.isOver = !isHealthy || this.steps >= task.horizon;
    this.past.unshift(this.seen);
    this.past.length = Math.min(this.past.length, 16);
    this.seen = this.measure(sliders);
    return action;
  }
}

/** The model's bodies on a flat canvas, as thick lines with a light side. */
class Scene {
  constructor(canvas, env) {
    Object.assign(this, { canvas, env, pen: canvas.getContext("2d") });
    this.fromAbove = env.task.is_seen_from_above;
    this.isFlat = env.model.nq < 12 && !this.fromAbove;
    this.centre = null;
  }
  /** World -> [x, y on the canvas, size of a metre there, depth] */
  place([x, y, z]) {
    const { width, height } = this.canvas, [cx, cy, cz] = this.centre;
    if (this.fromAbove) {
      const unit = width * 1.35;
      return [width / 2 + x * unit, height / 2 - y * unit, unit, -z];
    }
    if (this.isFlat) {
      const unit = width / 3.2;
      return [width / 2 + (x - cx) * unit, height * 0.78 - z * unit, unit, y];
    }
    const turn = -0.6, tilt = 0.35, distance = 4.2;  // seen from a corner, with perspective
    const [dx, dy, dz] = [x - cx, y - cy, z - cz];
    const right = dx * Math.cos(turn) - dy * Math.sin(turn);
    const away = dx * Math.sin(turn) + dy * Math.cos(turn);
    const depth = distance + away * Math.cos(tilt) - dz * Math.sin(tilt);
    const up = dz * Math.cos(tilt) + away * Math.sin(tilt);
    const unit = (width * 1.25) / Math.max(depth, 0.3);
    return [width / 2 + right * unit, height * 0.55 - up * unit, unit, depth];
  }
  line(from, to, thickness, colour, cap = "round") {
    const a = this.place(from), b = this.place(to), pen = this.pen;
    const wide = Math.max(thickness * (a[2] + b[2]), 2);
    const rim = `rgb(${colour.map((c) => c * 150).join()})`, face = `rgb(${colour.map((c) => c * 255).join()})`;
    const strokes = [[rim, wide, 0], [face, wide * 0.8, -wide * 0.04], ["#ffffff40", wide * 0.22, -wide * 0.2]];
    for (const [style, width, shift] of strokes) {
      Object.assign(pen, { strokeStyle: style, lineWidth: width, lineCap: cap });
      pen.beginPath();
      pen.moveTo(a[0], a[1] + shift);
      pen.lineTo(b[0] + 0.01, b[1] + shift);
      pen.stroke();
    }
  }
  ground(style) {
    const { pen, canvas } = this, [cx, cy] = this.centre;
    pen.fillStyle = style.getPropertyValue("--sky");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    Object.assign(pen, { strokeStyle: style.getPropertyValue("--grid"), lineWidth: 1 });
    if (this.fromAbove) return;
    if (this.isFlat) {
      const level = this.place([cx, 0, 0])[1];
      pen.fillStyle = style.getPropertyValue("--ground");
      pen.fillRect(0, level, canvas.width, canvas.height - level);
      for (let x = Math.floor(cx) - 3; x < cx + 4; x++) this.thin([x, 0, 0], [x - 0.25, 0, -0.35]);
      return;
    }
    for (let i = -4; i <= 4; i++) {
      const x = Math.round(cx) + i, y = Math.round(cy) + i;
      this.thin([x, Math.round(cy) - 4, 0], [x, Math.round(cy) + 4, 0]);
      this.thin([Math.round(cx) - 4, y, 0], [Math.round(cx) + 4, y, 0]);
    }
  }
  thin(from, to) {
    const a = this.place(from), b = this.place(to);
    this.pen.beginPath();
    this.pen.moveTo(a[0], a[1]);
    this.pen.lineTo(b[0], b[1]);
    this.pen.stroke();
  }
  draw() {
    const { model, physics } = this.env, { canvas, pen } = this;
    fit(canvas);
    const torso = [...physics.xpos.slice(3, 6)], style = getComputedStyle(document.documentElement);
    this.centre = this.centre && Math.abs(torso[0] - this.centre[0]) < 1.5
      ? this.centre.map((c, i) => c + 0.1 * (torso[i] - c)) : torso;
    this.ground(style);
    const types = model.geom_type, sizes = model.geom_size, colours = model.geom_rgba;
    const materials = model.geom_matid, shades = model.mat_rgba, at = physics.geom_xpos, turned = physics.geom_xmat;
    const pieces = [];
    for (let g = 0; g < model.ngeom; g++) {
      const [PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER] = [0, 2, 3, 4, 5];
      const [radius, half] = sizes.slice(3 * g, 3 * g + 2), centre = [...at.slice(3 * g, 3 * g + 3)];
      const rgba = materials[g] >= 0 ? shades.slice(4 * materials[g]) : colours.slice(4 * g);
      if (types[g] === PLANE || rgba[3] === 0) continue;
      const isLong = types[g] === CAPSULE || types[g] === CYLINDER;
      const reach = isLong ? half : types[g] === SPHERE || types[g] === ELLIPSOID ? 0 : half;
      const axis = [2, 5, 8].map((i) => turned[9 * g + i] * reach);
      pieces.push({
        from: centre.map((c, i) => c - axis[i]), to: centre.map((c, i) => c + axis[i]), radius,
        colour: [...rgba.slice(0, 3)], cap: types[g] === CYLINDER ? "butt" : "round",
        depth: this.place(centre)[3],
      });
    }
    pieces.sort((a, b) => b.depth - a.depth);
    for (const { from, to, radius, colour, cap } of pieces) this.line(from, to, radius, colour, cap);
    if (this.env.fell) {
      Object.assign(pen, { fillStyle: style.getPropertyValue("--ink"), font: `${canvas.height / 14}px system-ui`, textAlign: "center" });
      pen.fillText(`fell after ${(this.env.steps * this.env.task.step_seconds).toFixed(1)} s`, canvas.width / 2, canvas.height / 7);
    }
  }
}

function fit(canvas) {
  const sharp = Math.min(window.devicePixelRatio || 1, 2);
  const [width, height] = [canvas.clientWidth * sharp, canvas.clientHeight * sharp].map(Math.round);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
}

function curve(pen, values, x, y) {
  pen.beginPath();
  values.forEach((value, i) => (i ? pen.lineTo(x(i), y(value)) : pen.moveTo(x(i), y(value))));
  pen.stroke();
}

const SHOWN = 160, MEASURED = 100;

/** One policy: its picture, actions, spectrum and numbers. */
class Panel {
  constructor(shown, mujoco) {
    this.shown = shown;
    this.env = new Env(mujoco, data.task, new Policy(shown.policy));
    this.actions = [];
    this.falls = 0;
    const box = document.createElement("section");
    box.className = "panel";
    box.style.setProperty("--colour", shown.colour);
    box.innerHTML = `<h2></h2><canvas class="scene" role="img"></canvas>
      <dl><dt>shake now</dt><dd class="shake" title="mean |a(t+1) - a(t)| of the last ${MEASURED} steps"></dd>
      <dt>return so far</dt><dd class="total"></dd><dt>J, measured</dt><dd class="j"></dd><dt>falls</dt><dd class="falls"></dd></dl>
      <canvas class="trace" role="img" aria-label="actions"></canvas>
      <canvas class="spectrum" role="img" aria-label="spectrum of the actions"></canvas>`;
    const delay = shown.policy.delay;
    box.querySelector("h2").textContent = shown.name + (delay ? ` (made for a delay of ${delay})` : "");
    box.querySelector(".scene").setAttribute("aria-label", `${shown.name} in ${data.task.name}`);
    box.querySelector(".j").textContent = shown.j === null ? "-" : shown.j.toFixed(2);
    $("panels").append(box);
    this.box = box;
    this.scene = new Scene(box.querySelector(".scene"), this.env);
  }
  reset(seed, sliders) {
    this.env.reset(seed, sliders);
    this.actions = [];
  }
  tick(sliders) {
    if (this.env.isOver) return;
    this.actions.push([...this.env.step(sliders)]);
    if (this.actions.length > 256) this.actions.shift();
    this.falls += this.env.fell;
  }
  get shake() {
    const kept = this.actions.slice(-MEASURED - 1);
    const changes = kept.slice(1).map((a, t) => norm(a.map((x, i) => x - kept[t][i])));
    return changes.reduce((sum, x) => sum + x, 0) / Math.max(changes.length, 1);
  }
  /** Root of the power per frequency, up to half of the control rate, over all actions. */
  get spectrum() {
    const n = Math.min(this.actions.length, 128), kept = this.actions.slice(-n), half = n >> 1;
    if (n < 16) return [];
    return Array.from({ length: half }, (_, k) => {
      let power = 0;
      for (let i = 0; i < kept[0].length; i++) {
        let re = 0, im = 0;
        for (let t = 0; t < n; t++) {
          const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * t) / n), angle = (2 * Math.PI * (k + 1) * t) / n;
          re += window * kept[t][i] * Math.cos(angle);
          im += window * kept[t][i] * Math.sin(angle);
        }
        power += re * re + im * im;
      }
      return Math.sqrt(power) / n;
    });
  }
  draw(isSlow) {
    this.scene.draw();
    const [trace, spectrum] = [".trace", ".spectrum"].map((name) => this.box.querySelector(name));
    const { low, high } = this.env.policy, style = getComputedStyle(document.documentElement);
    fit(trace);
    const pen = trace.getContext("2d"), lanes = Math.min(low.length, 8), lane = trace.height / lanes;
    const kept = this.actions.slice(-SHOWN);
    pen.clearRect(0, 0, trace.width, trace.height);
    for (let i = 0; i < lanes; i++) {
      pen.fillStyle = style.getPropertyValue("--lane");
      pen.fillRect(0, i * lane + 1, trace.width, lane - 2);
      Object.assign(pen, { strokeStyle: this.shown.colour, lineWidth: 1.5 * (window.devicePixelRatio || 1) });
      const [least, most] = [low[i] ?? -1, high[i] ?? 1];
      curve(pen, kept.map((a) => a[i]), (t) => (t / SHOWN) * trace.width,
        (a) => (i + 1) * lane - 2 - ((a - least) / (most - least)) * (lane - 4));
    }
    if (!isSlow) return;
    fit(spectrum);
    const ink = spectrum.getContext("2d"), values = this.spectrum, { width, height } = spectrum;
    ink.clearRect(0, 0, width, height);
    Object.assign(ink, { fillStyle: this.shown.colour });
    values.forEach((value, k) => {
      const tall = Math.min(value * 3, 1) * (height - 14);
      ink.fillRect((k / values.length) * width, height - 12 - tall, width / values.length - 1, tall);
    });
    Object.assign(ink, { fillStyle: style.getPropertyValue("--soft"), font: "10px system-ui" });
    ink.fillText(`spectrum of the actions, 0 to ${(0.5 / data.task.step_seconds).toFixed(0)} Hz`, 2, height - 2);
    this.box.querySelector(".shake").textContent = this.shake.toFixed(3);
    this.box.querySelector(".total").textContent = this.env.total.toFixed(0);
    this.box.querySelector(".falls").textContent = this.falls;
  }
}

async function live() {
  const packed = new Blob([bytes(data.mujoco)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const mujoco = await loadMujoco({ wasmBinary: await new Response(packed).arrayBuffer() });
  const panels = data.panels.map((shown) => new Panel(shown, mujoco));
  const own = Math.max(...data.panels.map((shown) => shown.policy.delay));
  const inputs = [...document.querySelectorAll("#controls input")];
  const calm = { noise: 0, delay: own, shove: 0, gravity: 1, friction: 1, speed: 1 };
  const units = {
    noise: (x) => `${x} std`, delay: (x) => `${x} (${Math.round(x * data.task.step_seconds * 1000)} ms)`,
    shove: (x) => `${x} of its weight`, gravity: (x) => `${x}x`, friction: (x) => `${x}x`, speed: (x) => `${x}x`,
  };
  const sliders = { ...calm };
  let seed = data.seed, isPaused = false, owed = 0, last = null, frame = 0, waited = 0;
  const set = (values) => {
    Object.assign(sliders, values);
    for (const input of inputs) {
      input.value = sliders[input.id];
      input.parentElement.querySelector("output").textContent = units[input.id](sliders[input.id]);
    }
  };
  const restart = () => { waited = 0; panels.forEach((panel) => panel.reset(seed, sliders)); };
  const pause = () => { isPaused = !isPaused; $("pause").textContent = isPaused ? "Go on" : "Pause"; };
  inputs.forEach((input) => input.addEventListener("input", () => set({ [input.id]: +input.value })));
  $("pause").addEventListener("click", pause);
  $("again").addEventListener("click", () => { seed += 1; restart(); });
  $("calm").addEventListener("click", () => set(calm));
  document.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" && event.key !== " ") return;
    const change = { n: ["noise", 0.05], d: ["delay", 1], p: ["shove", 0.1] }[event.key.toLowerCase()];
    if (event.key === " ") pause();
    else if (event.key === "r") { seed += 1; restart(); }
    else if (event.key === "0") set(calm);
    else if (change) {
      const [name, step] = change, input = $(name);
      set({ [name]: clamp(+(sliders[name] + (event.shiftKey ? -step : step)).toFixed(2), +input.min, +input.max) });
    } else return;
    event.preventDefault();
  });
  $("controls").hidden = false;
  $("lead").textContent = "Turn up the noise or the delay, and watch which one shakes. All start alike and meet the same noise.";
  $("words").textContent = "Keys: space pauses, r starts anew, n noise, d delay, p shoves (with shift: less), 0 undoes. Noise in standard deviations of the demonstrated states; shoves push for 0.15 s every 2 s.";
  set(calm);
  restart();
  const tick = () => {
    const isOver = panels.every((panel) => panel.env.isOver);
    if (!isOver) panels.forEach((panel) => panel.tick(sliders));
    else if ((waited += 1) * data.task.step_seconds > 1) { seed += 1; restart(); }
  };
  const show = (now) => {
    if (!isPaused && last !== null) owed += sliders.speed * Math.min((now - last) / 1000, 0.1);
    last = now;
    const deadline = performance.now() + 40;
    while (owed >= data.task.step_seconds && performance.now() < deadline) {
      tick();
      owed -= data.task.step_seconds;
    }
    owed = Math.min(owed, 0.2);
    frame += 1;
    panels.forEach((panel) => panel.draw(frame % 6 === 1));
    requestAnimationFrame(show);
  };
  requestAnimationFrame(show);
  window.spacil = { panels, sliders, set, tick, pause };  // for tests, and for the curious
}

document.title = $("title").textContent = data.title;
if (data.film) {
  $("panels").innerHTML = `<video controls loop autoplay muted playsinline src="data:video/mp4;base64,${data.film}"></video>`;
  $("lead").textContent = "A recorded film, with the actions beneath: this env or these policies do not run in a browser.";
  document.querySelector("footer details").remove();
} else {
  live().catch((error) => { $("lead").textContent = `The page cannot run here: ${error}`; throw error; });
}
