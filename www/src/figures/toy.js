/** The picture before the equations: both exact denoisers of a few points in the plane. */
import { element, make } from "../ui/dom.js";
import { watchNear } from "./figure.js";
import { count, significant } from "../ui/format.js";
import { ellipse, fitGaussian, gaussian, memorizing, path, SIGMA_MAX, SIGMA_MIN, SIGMAS, spikes } from "./toy-model.js";

/**
 * @import { Table } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 * @import { Denoise, Point } from "./toy-model.js"
 */

/** The plane reaches from −REACH to REACH. */
const REACH = 2.8;
/** Where the training points stand at first. @type {readonly Point[]} */
const FIRST = [
  [-1.3, -0.7],
  [-0.8, 0.35],
  [0.1, 0.15],
  [0.55, 1.15],
  [1.4, 0.9],
];
const MOST_POINTS = 60;
/** How far from a point a finger may be, in pixels. */
const FINGER = 22;
/** Points of a drawn line are this far apart. */
const SPACING = 0.16;
const PATHS = 16;
/** Arrows per side. */
const ARROWS = 13;
/** Pixels of the shading per side; the browser smooths them. */
const SHADES = 56;
/** A path has ended at a training point if it comes this close. */
const COPY = 0.02;
const PLAY_MS = 6000;
const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {object} Panel one denoiser
 * @property {"empirical" | "gaussian"} id
 * @property {HTMLCanvasElement} canvas
 * @property {SVGElement} arrows
 * @property {SVGElement} paths
 * @property {SVGElement} dots
 * @property {SVGElement} points
 * @property {SVGSVGElement} svg
 */

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function toyFigure(root, page) {
  const { store, live } = page;
  const panels = [panel(root, "empirical"), panel(root, "gaussian")];
  /** The training points while they are dragged or drawn; between that the store has them. @type {Point[]} */
  let points = read(store.values["toy.points"]);
  /** @type {Map<Panel["id"], Point[][]>} */
  let walked = new Map();

  const keep = () => store.set({ "toy.points": write(points) });

  /** The paths depend on the points and the noise, not on σ. */
  const walk = () => {
    const starts = noise(store.values["toy.seed"], PATHS);
    walked = new Map(denoisers(points).map(({ id, denoise }) => [id, starts.map((start) => path(denoise, start))]));
    const ends = panels.map(({ id }) => endsAtPoints(walked.get(id) ?? [], points));
    live.set({
      "toy.paths": count(PATHS),
      "toy.points": count(points.length),
      "toy.copies.empirical": count(ends[0]),
      "toy.copies.gaussian": count(ends[1]),
    });
    live.claim("toy.copies", ends[0] === PATHS);
    live.claim("toy.new", points.length > 2 ? ends[1] <= 1 : undefined);
    page.contents.showNumbers(root, () => tables(points, walked));
  };

  const draw = () => {
    const sigma = store.values["toy.sigma"];
    const fit = fitGaussian(points);
    const shades = { empirical: spikes(points, sigma), gaussian: ellipse(fit, sigma) };
    for (const { id, denoise } of denoisers(points)) {
      const of = /** @type {Panel} */ (panels.find((panel) => panel.id === id));
      shade(of.canvas, shades[id]);
      drawArrows(of.arrows, denoise, sigma);
      drawPaths(of, walked.get(id) ?? [], sigma);
      drawPoints(of, points);
    }
    root.setAttribute("data-ready", "");
  };

  const change = () => {
    walk();
    draw();
  };

  for (const { svg } of panels) mountPointer(svg);
  store.subscribe(["toy.sigma"], draw);
  store.subscribe(["toy.points", "toy.seed"], () => {
    points = read(store.values["toy.points"]);
    change();
  });
  element(root, "reset").addEventListener("click", () => store.set({ "toy.points": "" }));
  element(root, "play").addEventListener("click", play);

  let drawn = false;
  watchNear(root, (isNear) => {
    if (!isNear || drawn) return;
    drawn = true;
    change();
  });

  /** Points are dragged, a click on the plane adds one, and a stroke draws others in their place. @param {SVGSVGElement} svg */
  function mountPointer(svg) {
    /** The point that is dragged; undefined while a line is drawn. @type {number | undefined} */
    let held;
    /** The line. @type {Point[]} */
    let stroke = [];
    let down = false;
    // A finger on the plane scrolls the page, but one on a point must not. `touch-action` of the circle is not enough.
    svg.addEventListener(
      "touchstart",
      (event) => {
        if (event.touches.length === 1 && near(svg, event.touches[0]) !== undefined) event.preventDefault();
      },
      { passive: false },
    );
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const at = place(svg, event);
      const isTouch = event.pointerType === "touch";
      const index = indexOf(event.target) ?? (isTouch ? near(svg, event) : undefined);
      if (index === undefined && isTouch) return;
      held = index;
      stroke = [at];
      down = true;
      if (index === undefined && points.length < MOST_POINTS) points = [...points, at];
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
      change();
    });
    svg.addEventListener("pointermove", (event) => {
      if (!down) return;
      const at = place(svg, event);
      if (held !== undefined) points = points.with(held, at);
      else if (
        stroke.length < MOST_POINTS &&
        stroke.every((point) => Math.hypot(point[0] - at[0], point[1] - at[1]) > SPACING)
      ) {
        // A shape takes the place of the points before it.
        points = stroke = [...stroke, at];
      } else return;
      change();
    });
    const end = () => {
      if (!down) return;
      down = false;
      keep();
    };
    // A tap adds a point, too.
    svg.addEventListener("click", (event) => {
      const { pointerType } = /** @type {PointerEvent} */ (event);
      if (pointerType !== "touch" || near(svg, event) !== undefined || points.length >= MOST_POINTS) return;
      points = [...points, place(svg, event)];
      keep();
    });
    svg.addEventListener("pointerup", end);
    svg.addEventListener("pointercancel", end);
    // The plane has captured the pointer, so the event does not name the point.
    svg.addEventListener("dblclick", ({ clientX, clientY }) =>
      remove(indexOf(document.elementFromPoint(clientX, clientY))),
    );
    svg.addEventListener("keydown", (event) => {
      const index = indexOf(event.target);
      if (index === undefined) return;
      if (event.key === "Delete" || event.key === "Backspace") {
        event.preventDefault();
        remove(index);
        return;
      }
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [x, y] = points[index];
      const by = event.shiftKey ? 0.25 : 0.05;
      points = points.with(index, inside([x + by * step[0], y + by * step[1]]));
      keep();
    });
  }

  /**
   * The point under a finger, which covers more than a point.
   * @param {SVGSVGElement} svg
   * @param {{clientX: number, clientY: number}} finger
   */
  function near(svg, finger) {
    const [x, y] = place(svg, finger);
    const reach = (FINGER * 2 * REACH) / svg.clientWidth;
    const distances = points.map((point) => Math.hypot(point[0] - x, point[1] - y));
    const nearest = Math.min(...distances);
    return nearest < reach ? distances.indexOf(nearest) : undefined;
  }

  /** @param {number | undefined} index */
  function remove(index) {
    if (index === undefined || points.length < 2) return;
    points = points.toSpliced(index, 1);
    keep();
  }

  /** Let the noise fall from the highest level to the lowest. */
  function play() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      store.set({ "toy.sigma": store.values["toy.sigma"] > 0.1 ? 0.05 : 1 });
      return;
    }
    const start = performance.now();
    /** @param {number} now */
    const frame = (now) => {
      const done = Math.min(1, (now - start) / PLAY_MS);
      store.set({ "toy.sigma": Number((SIGMA_MAX * (0.02 / SIGMA_MAX) ** done).toPrecision(3)) });
      if (done < 1) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
}

/** @param {readonly Point[]} points @returns {{id: Panel["id"], denoise: Denoise}[]} */
const denoisers = (points) => [
  { id: "empirical", denoise: memorizing(points) },
  { id: "gaussian", denoise: gaussian(fitGaussian(points)) },
];

/**
 * @param {HTMLElement} root
 * @param {Panel["id"]} id
 * @returns {Panel}
 */
function panel(root, id) {
  const canvas = make("canvas", { width: SHADES, height: SHADES, ariaHidden: "true" });
  const svg = node("svg", {
    viewBox: `${-REACH} ${-REACH} ${2 * REACH} ${2 * REACH}`,
    class: "toy-svg",
    role: "group",
  });
  svg.setAttribute("aria-label", `The plane with ${id === "empirical" ? "D_M" : "D_G"}`);
  const [arrows, paths, dots, points] = ["toy-arrows", "toy-paths", "toy-dots", "toy-points"].map((name) =>
    node("g", { class: name }),
  );
  svg.append(arrows, paths, dots, points);
  element(root, id).append(canvas, svg);
  return { id, canvas, arrows, paths, dots, points, svg: /** @type {SVGSVGElement} */ (svg) };
}

/**
 * Colour the plane where noisy points lie dense.
 * @param {HTMLCanvasElement} canvas
 * @param {(x: Point) => number} density
 */
function shade(canvas, density) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const [red, green, blue] = colour(canvas);
  const image = context.createImageData(SHADES, SHADES);
  for (let row = 0; row < SHADES; row++) {
    for (let column = 0; column < SHADES; column++) {
      const x = REACH * ((2 * (column + 0.5)) / SHADES - 1);
      const y = REACH * (1 - (2 * (row + 0.5)) / SHADES);
      image.data.set([red, green, blue, 170 * Math.min(1, density([x, y]))], 4 * (row * SHADES + column));
    }
  }
  context.putImageData(image, 0, 0);
}

/** The colour of the denoiser that an element belongs to. @param {Element} element */
function colour(element) {
  const probe = document.createElement("canvas").getContext("2d");
  if (!probe) return [0, 0, 0];
  probe.fillStyle = getComputedStyle(element).getPropertyValue("--colour").trim() || "#888";
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data];
}

/**
 * The direction in which each place of the plane is denoised. Long ways are drawn shorter, so that arrows do not cross.
 * @param {SVGElement} group
 * @param {Denoise} denoise
 * @param {number} sigma
 */
function drawArrows(group, denoise, sigma) {
  const longest = (1.5 * REACH) / ARROWS;
  const lines = [];
  for (let i = 0; i < ARROWS; i++) {
    for (let j = 0; j < ARROWS; j++) {
      const x = REACH * ((2 * (i + 0.5)) / ARROWS - 1);
      const y = REACH * ((2 * (j + 0.5)) / ARROWS - 1);
      const [dx, dy] = denoise([x, y], sigma);
      const [vx, vy] = [dx - x, dy - y];
      const length = Math.hypot(vx, vy);
      if (length < 1e-3) continue;
      const scale = (longest * Math.tanh(length)) / length;
      lines.push(arrow([x, y], [x + scale * vx, y + scale * vy]));
    }
  }
  group.replaceChildren(node("path", { d: lines.join("") }));
}

/** @param {Point} from @param {Point} to */
function arrow(from, to) {
  const [[x, y], [tx, ty]] = [onScreen(from), onScreen(to)];
  const [vx, vy] = [tx - x, ty - y];
  const head = 0.28;
  return (
    `M${places(x, y)}L${places(tx, ty)}` +
    `M${places(tx - head * (vx - 0.55 * vy), ty - head * (vy + 0.55 * vx))}L${places(tx, ty)}` +
    `L${places(tx - head * (vx + 0.55 * vy), ty - head * (vy - 0.55 * vx))}`
  );
}

/**
 * The paths so far as lines, and where they are at this noise level.
 * @param {Panel} panel
 * @param {Point[][]} walked
 * @param {number} sigma
 */
function drawPaths({ paths, dots }, walked, sigma) {
  const reached = SIGMAS.findIndex((level) => level <= sigma * 1.0001);
  const last = reached < 0 ? SIGMAS.length : reached;
  const line = (/** @type {Point[]} */ way) => `M${way.map((x) => places(...onScreen(x))).join("L")}`;
  paths.replaceChildren(
    ...walked.map((way) => node("path", { class: "ahead", d: line(way.slice(last)) })),
    ...walked.map((way) => node("path", { d: line(arrival(way.slice(0, last + 1))) })),
  );
  dots.replaceChildren(
    ...walked.map((way) => {
      const [cx, cy] = onScreen(way[Math.min(last, way.length - 1)]);
      return node("circle", { cx, cy, r: 0.055 });
    }),
  );
}

/**
 * A path from where it enters the plane on. The screen hides what lies outside; a saved figure would not.
 * @param {Point[]} way
 */
function arrival(way) {
  const first = way.findIndex((point) => beyond(point) <= 1);
  if (first <= 0) return first < 0 ? way.slice(-1) : way;
  const [outside, inside] = [way[first - 1], way[first]];
  const share = (1 - beyond(inside)) / (beyond(outside) - beyond(inside));
  /** @type {Point} */
  const edge = [inside[0] + share * (outside[0] - inside[0]), inside[1] + share * (outside[1] - inside[1])];
  return [edge, ...way.slice(first)];
}

/** How far out a point is; 1 at the edge of the plane. @param {Point} point */
const beyond = ([x, y]) => Math.max(Math.abs(x), Math.abs(y)) / REACH;

/** @param {Panel} panel @param {readonly Point[]} points */
function drawPoints({ id, points: group }, points) {
  const had = group.children.length;
  for (let i = had; i < points.length; i++) group.append(node("circle", { r: 0.1, "data-point": i }));
  for (let i = had; i > points.length; i--) group.lastElementChild?.remove();
  points.forEach((point, i) => {
    const [cx, cy] = onScreen(point);
    const circle = group.children[i];
    circle.setAttribute("cx", String(cx));
    circle.setAttribute("cy", String(cy));
    // The second plane shows the same points: one set of them is enough for the keyboard.
    if (id !== "empirical") return;
    circle.setAttribute("tabindex", "0");
    circle.setAttribute("role", "button");
    circle.setAttribute(
      "aria-label",
      `Training point ${i + 1} at ${point[0].toFixed(2)}, ${point[1].toFixed(2)}. Arrow keys move it, Delete removes it.`,
    );
  });
}

/** @param {string} tag @param {Record<string, string | number>} attributes @returns {SVGElement} */
function node(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return /** @type {SVGElement} */ (made);
}

/** The plane's y axis points up, the screen's down. @param {Point} point @returns {Point} */
const onScreen = ([x, y]) => [x, -y];

/** @param {number} x @param {number} y */
const places = (x, y) => `${x.toFixed(3)} ${y.toFixed(3)}`;

/** @param {Point} point @returns {Point} */
const inside = ([x, y]) => {
  const edge = REACH - 0.15;
  const clamp = (/** @type {number} */ value) => Math.min(edge, Math.max(-edge, Math.round(100 * value) / 100));
  return [clamp(x), clamp(y)];
};

/** Where in the plane the reader points. @param {SVGSVGElement} svg @param {{clientX: number, clientY: number}} event @returns {Point} */
function place(svg, { clientX, clientY }) {
  const { left, top, width } = svg.getBoundingClientRect();
  const scale = (2 * REACH) / width;
  return inside([(clientX - left) * scale - REACH, REACH - (clientY - top) * scale]);
}

/** The training point that an event is about. @param {EventTarget | null} target */
function indexOf(target) {
  const index = target instanceof Element ? target.getAttribute("data-point") : null;
  return index === null ? undefined : Number(index);
}

/** Points as the address has them; empty for the first ones. @param {readonly Point[]} points */
const write = (points) => points.map(([x, y]) => `${x}/${y}`).join(" ");

/** @param {string} text @returns {Point[]} */
const read = (text) =>
  text === ""
    ? [...FIRST]
    : text.split(" ").map((pair) => inside(/** @type {[number, number]} */ (pair.split("/").map(Number))));

/**
 * Points of strong noise, the same for both denoisers.
 * @param {number} seed
 * @param {number} many
 * @returns {Point[]}
 */
function noise(seed, many) {
  let state = (seed + 1) * 0x9e3779b9;
  // Mulberry32: a picture needs no better generator.
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
  };
  return Array.from({ length: many }, () => {
    const [radius, angle] = [SIGMA_MAX * Math.sqrt(-2 * Math.log(uniform())), 2 * Math.PI * uniform()];
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
}

/** @param {Point[][]} walked @param {readonly Point[]} points */
const endsAtPoints = (walked, points) =>
  walked.filter((way) => {
    const [x, y] = way[way.length - 1];
    return points.some((point) => Math.hypot(point[0] - x, point[1] - y) < COPY);
  }).length;

/**
 * @param {readonly Point[]} points
 * @param {Map<Panel["id"], Point[][]>} walked
 * @returns {Table[]}
 */
function tables(points, walked) {
  /** @param {Point} point */
  const coordinates = ([x, y]) => [significant(x, 4), significant(y, 4)];
  const [empirical = [], gaussian = []] = [walked.get("empirical"), walked.get("gaussian")];
  return [
    {
      title: "Training points",
      columns: ["Point", "x", "y"],
      rows: points.map((point, i) => [i + 1, ...coordinates(point)]),
    },
    {
      title: `Paths from σ = ${SIGMA_MAX} to ${SIGMA_MIN}, and on to 0`,
      columns: ["Path", "Start x", "Start y", "End with D_M x", "End with D_M y", "End with D_G x", "End with D_G y"],
      rows: empirical.map((way, i) => [
        i + 1,
        ...coordinates(way[0]),
        ...coordinates(way[way.length - 1]),
        ...coordinates(gaussian[i][gaussian[i].length - 1]),
      ]),
    },
  ];
}
