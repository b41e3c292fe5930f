/** The lab: runs with every knob, over each other in one chart, kept in one table. */
import { dot, line, link, text } from "@observablehq/plot";
import { chart } from "../chart.js";
import { DENOISERS } from "../denoisers.js";
import { element, make, NARROW, part } from "../dom.js";
import { toFailure } from "../engine/protocol.js";
import { comesNear, showFailure } from "../figure.js";
import { showReport } from "../figure-tools.js";
import { count, fixed, percent, significant } from "../format.js";
import { inFrames } from "../frames.js";
import { COLUMNS } from "../gallery.js";
import { drawGrid } from "../images.js";
import { labelPlaces } from "../labels.js";
import { describe, labOptions, presetValues } from "../lab-runs.js";
import { isRepeatable, runLink } from "../permalink.js";
import { archiveName, openRun, packRun } from "../run-archive.js";
import { statusLine } from "../run-panel.js";
import { nearestStop } from "../run-slider.js";
import { decodeImages, loadRun } from "../runs.js";
import { copy, save } from "../save.js";
import { curve, levelOf, networks, sizes, transitionSentence } from "../sweep.js";

/**
 * @typedef {import("../report.js").Report} Report
 * @typedef {import("../report.js").Point} Point
 * @typedef {import("../sweep.js").Sweep} Sweep
 * @typedef {import("../permalink.js").RunOptions} RunOptions
 * @typedef {import("../engine/runner.js").Run} Run
 * @typedef {import("../engine/runner.js").State} State
 * @typedef {import("../engine/runner.js").Progress} Progress
 *
 * @typedef {object} Entry a run in the table: under way, kept by the browser, or opened from a file
 * @property {string} id
 * @property {string} letter
 * @property {number} index among all that there were, for its colour and its mark
 * @property {RunOptions} options
 * @property {Report} [report]
 * @property {Run} [run] while this page has it
 * @property {State} state
 * @property {Pick<Progress, "step" | "total">} progress
 * @property {boolean} kept by the browser
 * @property {boolean} shown
 * @property {HTMLTableRowElement} row
 * @property {() => void} update
 */

const COLOURS = 6;
const MARKS = /** @type {const} */ (["circle", "square", "triangle", "diamond", "star", "cross"]);
const HEIGHT = 260;
/** The noise level of the linearity. */
const SIGMA = 1;
/** How long a button says that it is done. */
const DONE_MS = 2500;

/** @type {Record<import("../parameters.js").Values["lab.measure"], {title: string, of: (point: Point, level: number) => number, gaussian: (point: Point, level: number) => number, format: (value: number) => string}>} */
const MEASURES = {
  gl: {
    title: "GL score: distance to the nearest training image",
    of: ({ closeness }) => closeness.gl.mean,
    gaussian: ({ closenessGaussian }) => closenessGaussian.gl.mean,
    format: (value) => fixed(value),
  },
  memorized: {
    title: "Copies among the samples",
    of: ({ closeness }) => closeness.memorized.mean,
    gaussian: ({ closenessGaussian }) => closenessGaussian.memorized.mean,
    format: (value) => percent(value),
  },
  linearity: {
    title: `Linearity at σ = ${SIGMA}`,
    of: ({ linearity }, level) => linearity[level].cosine.mean,
    gaussian: ({ linearityGaussian }, level) => linearityGaussian[level].cosine.mean,
    format: (value) => fixed(value, 3),
  },
  cosine: {
    title: "Cosine of the samples with the Gaussian’s, from the same noise",
    of: ({ cosineGaussian }) => cosineGaussian.mean,
    gaussian: () => 1,
    format: (value) => fixed(value, 3),
  },
};

/**
 * @param {HTMLElement} root
 * @param {import("../figure.js").Page} page
 * @param {object} article
 * @param {() => import("../report.js").DataRecipe | undefined} article.own the reader's own images
 * @param {(report: Report) => HTMLElement | undefined} article.show shows a report in its own figure, if it has one
 */
export function labFigure(root, page, { own, show }) {
  const { store, runner, live } = page;
  const errors = element(root, "lab-error");
  const body = element(root, "runs");
  /** @type {Entry[]} */
  const entries = [];
  let made = 0;

  /** @param {Pick<Entry, "id" | "options" | "report" | "run" | "state" | "progress" | "kept">} facts */
  const add = (facts) => {
    const index = made++;
    const letter = letterOf(index);
    /** @type {Entry} */
    const entry = { ...facts, index, letter, shown: true, row: make("tr"), update: () => {} };
    mountRow(entry);
    entries.unshift(entry);
    body.prepend(entry.row);
    redraw();
    return entry;
  };

  /** @param {Run} run */
  const follow = (run) => {
    const known = entries.find(({ id }) => id === run.id);
    const facts = { run, options: run.options, report: run.report, state: run.state, progress: run.progress, kept: true };
    const entry = known ? Object.assign(known, facts) : add({ id: run.id, ...facts });
    run.addEventListener("change", () => {
      const report = run.report ?? entry.report;
      const news = report !== entry.report;
      Object.assign(entry, { report, state: run.state, progress: run.progress });
      entry.update();
      if (news) redraw();
    });
    entry.update();
    return entry;
  };

  /** @param {RunOptions} options */
  const start = (options) => {
    errors.hidden = true;
    try {
      return follow(runner.start(options));
    } catch (thrown) {
      showFailure(errors, toFailure(thrown));
      return undefined;
    }
  };

  /** @param {Entry} entry */
  const mountRow = (entry) => {
    const choice = make("input", {
      type: "checkbox",
      checked: true,
      onchange: () => {
        entry.shown = choice.checked;
        redraw();
      },
    });
    const key = make("span", { className: "run-key" }, entry.letter);
    key.style.setProperty("--colour", colourOf(entry.index));
    const title = make("span", { className: "run-title" });
    const details = make("small");
    const state = make("td", { className: "run-state" });
    const outcome = make("td");
    /** @param {string} label @param {() => unknown} act @param {string} [done] */
    const button = (label, act, done) => {
      const press = make("button", { type: "button" }, label);
      press.addEventListener("click", async () => {
        try {
          await act();
          errors.hidden = true;
          if (!done) return;
          press.textContent = done;
          setTimeout(() => (press.textContent = label), DONE_MS);
        } catch (thrown) {
          showFailure(errors, toFailure(thrown));
        }
      });
      return press;
    };
    const go = button("", async () => {
      if (entry.run?.state === "paused") entry.run.resume();
      else if (entry.run && active(entry.run.state)) entry.run.pause();
      else follow(await runner.resumeSaved(entry.id));
      entry.update();
    });
    const zip = button("Save", () => exportRun(entry));
    zip.title = "One zip with configuration, report, samples, weights and citation";
    const link = button("Link", () => copy(runLink(store, entry.options, entry.report)), "Copied");
    link.title = "Copy a link that repeats this run and compares the numbers";
    const remove = button("Delete", async () => {
      entry.run?.cancel();
      if (entry.kept) await runner.forget(entry.id);
      entries.splice(entries.indexOf(entry), 1);
      entry.row.remove();
      redraw();
    });
    const actions = [go, zip, link, remove];
    for (const action of actions) action.setAttribute("aria-describedby", `run-${entry.index}`);
    title.id = `run-${entry.index}`;

    entry.row.append(
      make("th", { scope: "row" }, make("label", {}, choice, key, make("span", {}, title, details))),
      state,
      outcome,
      make("td", { className: "run-actions" }, ...actions),
    );
    entry.update = () => {
      const words = describe(entry.options, entry.report);
      title.textContent = words.title;
      details.textContent = words.details;
      const { step, total } = entry.progress;
      const at = `stopped at ${total > 0 ? percent(step / total) : "the beginning"}`;
      const { run } = entry;
      state.textContent = run ? `${statusLine(run, false)} ${run.notice ?? ""}` : entry.state === "done" ? "Done" : at;
      outcome.textContent = entry.report ? outcomeOf(entry.report) : "";
      go.hidden = entry.state === "done" || !entry.kept;
      go.textContent = entry.run && active(entry.run.state) ? (entry.run.state === "paused" ? "Go on" : "Pause") : "Resume";
      zip.disabled = !entry.report?.final;
      link.disabled = zip.disabled || !isRepeatable(entry.options);
      choice.disabled = !isSweep(entry.report);
    };
    entry.update();
  };

  /** @param {Entry} entry */
  const exportRun = async (entry) => {
    const { options, report, run } = entry;
    if (!report) return;
    const weights = await (run ?? (entry.kept ? await runner.resumeSaved(entry.id) : undefined))?.weights();
    const citation = element(document, "bibtex").textContent ?? "";
    const link = isRepeatable(options) ? runLink(store, options, report) : undefined;
    const facts = { options, report, date: new Date().toISOString(), link, weights: weights ?? [], citation };
    save(archiveName(options), await packRun(facts));
  };

  const train = part(root, "train", HTMLButtonElement);
  train.addEventListener("click", () => start(labOptions(store.values, own())));
  const showSeed = () => live.set({ "lab.seed": String(store.values["lab.seed"]) });
  store.subscribe(["lab.seed"], showSeed);
  showSeed();

  const results = element(root, "results");
  const shownSweeps = () =>
    entries
      .flatMap((entry) => (entry.shown && isSweep(entry.report) ? [{ entry, sweep: /** @type {Sweep} */ (entry.report) }] : []))
      .reverse();
  const drawChart = runsChart(element(root, "lab-chart"));
  const redraw = inFrames([
    () => {
      element(root, "empty").hidden = entries.length > 0;
      results.hidden = shownSweeps().length === 0;
      const latest = entries.find(({ report }) => report);
      if (latest?.report) showReport(root, latest.report, latest);
    },
    () => !results.hidden && drawChart({ runs: shownSweeps(), measure: store.values["lab.measure"] }),
    () => !results.hidden && drawSamples(element(root, "lab-samples"), shownSweeps(), store.values["lab.n"]),
  ]);
  store.subscribe(["lab.measure", "lab.n"], redraw);

  void comesNear(root).then(async () => {
    store.subscribe(["lab.preset"], () => void showPreset(root, store.values["lab.preset"]));
    void showPreset(root, store.values["lab.preset"]);
    const saved = await runner.saved();
    const strangers = saved.filter(({ id }) => entries.every((known) => known.id !== id));
    for (const run of strangers.reverse()) add({ ...run, kept: true });
    root.setAttribute("data-ready", "");
  });

  return {
    start,
    /**
     * Take files that are a saved run.
     * @param {File[]} files
     * @returns {Promise<boolean>} false when they are something else
     */
    async open(files) {
      if (files.length !== 1) return false;
      try {
        const archive = await openRun(files[0]);
        if (!archive) return false;
        errors.hidden = true;
        const { options, report } = archive;
        add({ id: `file-${made}`, options, report, state: "done", progress: { step: 0, total: 0 }, kept: false });
        live.announce(`Opened a run: ${describe(options, report).title}.`);
        (show(report) ?? root).scrollIntoView();
      } catch (thrown) {
        showFailure(errors, toFailure(thrown));
        root.scrollIntoView();
      }
      return true;
    },
  };
}

/** @param {State} state */
const active = (state) => state === "preparing" || state === "running" || state === "paused";

/** Whether a report is a list of networks over sizes. @param {Report | undefined} report */
const isSweep = (report) => report?.experiment === "transition" || report?.experiment === "gaussian-bias";

/** @param {Report} report */
function outcomeOf(report) {
  if (!report.final) return "";
  if (report.experiment === "transition") return transitionSentence(report);
  return "";
}

/** A, B, … Z, A2, B2, … @param {number} index */
const letterOf = (index) => String.fromCharCode(65 + (index % 26)) + (index < 26 ? "" : String(1 + Math.floor(index / 26)));

/** @param {number} index */
const colourOf = (index) => `var(--run-${1 + (index % COLOURS)})`;

/**
 * Say in each field what it is when it is left empty.
 * @param {HTMLElement} root
 * @param {import("../report.js").Preset} preset
 */
async function showPreset(root, preset) {
  const recorded = await loadRun(`transition-${preset}-faces`).catch(() => undefined);
  for (const [name, value] of Object.entries(recorded ? presetValues(recorded) : {})) {
    const input = root.querySelector(`[data-control="lab.${name}"] input`);
    if (input instanceof HTMLInputElement) input.placeholder = value;
  }
}

/**
 * One row of samples a run, so that the eye compares down the columns.
 * @param {HTMLElement} place
 * @param {{entry: Entry, sweep: Sweep}[]} runs
 * @param {number} wish
 */
function drawSamples(place, runs, wish) {
  const rows = runs.flatMap(({ entry, sweep }) => {
    const n = nearestStop(sizes(sweep), wish);
    const gallery = networks(sweep, n).find((point) => point.gallery)?.gallery;
    if (!gallery) return [];
    const canvas = make("canvas", { role: "img", ariaLabel: `Samples of run ${entry.letter} at N = ${n}` });
    const { width, height, rgba } = decodeImages(sweep.shape, gallery.samples);
    drawGrid(canvas, { width, height, rgba: rgba.subarray(0, 4 * width * height * COLUMNS) }, COLUMNS);
    const key = make("span", { className: "run-key" }, entry.letter);
    key.style.setProperty("--colour", colourOf(entry.index));
    return [key, canvas, make("span", { className: "lab-sample-n" }, `N = ${count(n)}`)];
  });
  place.replaceChildren(...rows);
}

/** @param {HTMLElement} root */
function runsChart(root) {
  /** @typedef {{runs: {entry: Entry, sweep: Sweep}[], measure: keyof typeof MEASURES}} Overlay */
  /** @param {Overlay} overlay */
  const spreads = ({ runs, measure }) =>
    runs.flatMap(({ entry, sweep }) =>
      curve(sweep, (point) => MEASURES[measure].of(point, levelOf(sweep, SIGMA))).map((spread) => ({
        ...spread,
        letter: entry.letter,
        colour: colourOf(entry.index),
        mark: MARKS[entry.index % MARKS.length],
      })),
    );
  return chart(
    root,
    /** @type {import("../chart.js").ChartSpec<Overlay>} */ ({
      name: "your runs",
      label: (overlay) =>
        `${MEASURES[overlay.measure].title}, against the number of training images, of ${overlay.runs.length} ` +
        `run${overlay.runs.length === 1 ? "" : "s"}: ` +
        overlay.runs.map(({ entry }) => `${entry.letter}, ${describe(entry.options, entry.report).title}`).join("; "),
      columns: ["Run", "N", "Mean", "Lowest seed", "Highest seed"],
      rows: (overlay) =>
        spreads(overlay).map(({ letter, n, mean, low, high }) => [letter, count(n), ...[mean, low, high].map((v) => significant(v, 4))]),
      options(overlay, width) {
        const { runs, measure } = overlay;
        const { title, gaussian, format } = MEASURES[measure];
        const points = spreads(overlay);
        const first = runs[0].sweep;
        const reference = curve(first, (point) => gaussian(point, levelOf(first, SIGMA)));
        const values = [...points.flatMap(({ low, high }) => [low, high]), ...reference.map(({ mean }) => mean)];
        // Shares start at 0; scores near 1 would be a flat line there.
        const low = measure === "gl" || measure === "memorized" ? 0 : Math.floor(20 * Math.min(...values)) / 20;
        const high = measure === "memorized" ? 1 : Math.ceil(10 * Math.max(...values)) / 10;
        const ends = runs.map(({ entry }) => points.filter(({ letter }) => letter === entry.letter).at(-1)).filter((end) => end !== undefined);
        const places = labelPlaces(
          ends.map(({ mean }) => mean),
          [low, high],
          HEIGHT - 70,
        );
        const lastX = Math.max(...points.map(({ n }) => n));
        return {
          height: HEIGHT,
          marginTop: 30,
          marginLeft: 44,
          marginRight: 30,
          marginBottom: 40,
          x: {
            type: "log",
            base: 2,
            label: "Training images N →",
            labelAnchor: "right",
            ticks: [...new Set(points.map(({ n }) => n))].filter((_, i, all) => width > NARROW || i % 2 === 0 || all.length < 6),
            tickFormat: (n) => count(n),
            tickSize: 4,
          },
          y: { domain: [low, high], label: null, ticks: 5, tickSize: 0, grid: true, tickFormat: format },
          marks: [
            text([title], { frameAnchor: "top-left", dx: -44, dy: -28, className: "chart-title", text: (words) => words }),
            line(reference, { x: "n", y: "mean", stroke: DENOISERS.gaussian.colour, strokeDasharray: DENOISERS.gaussian.dash, strokeWidth: 1.5 }),
            link(
              points.filter((point) => point.high > point.low),
              { x: "n", y1: "low", y2: "high", stroke: "colour", strokeWidth: 1.5, strokeOpacity: 0.6 },
            ),
            line(points, { x: "n", y: "mean", z: "letter", stroke: "colour", strokeWidth: 2 }),
            dot(points, { x: "n", y: "mean", symbol: "mark", fill: "colour", stroke: "var(--paper)", strokeWidth: 1, r: 4.5 }),
            text(ends, { x: () => lastX, y: (_, i) => places[i], text: "letter", textAnchor: "start", dx: 10, fill: "colour", fontWeight: "600" }),
          ],
        };
      },
    }),
  );
}
