/** The lab: runs with every knob, over each other in one chart, kept in one table. */
import { dot, line, link, text } from "@observablehq/plot";
import { onPress } from "../ui/buttons.js";
import { chart, onAxis } from "../ui/chart.js";
import { DENOISERS } from "../reports/denoisers.js";
import { divergence, divergenceSentence } from "../reports/divergence.js";
import { element, make, NARROW, part } from "../ui/dom.js";
import { toFailure } from "../engine/protocol.js";
import { comesNear, showFailure, watchNear } from "./figure.js";
import { showReport } from "../export/figure-tools.js";
import { count, fixed, noted, percent, sentence, sentences, significant } from "../ui/format.js";
import { inFrames } from "../ui/frames.js";
import { COLUMNS } from "../ui/gallery.js";
import { drawRow } from "../ui/images.js";
import { labelPlaces } from "../ui/labels.js";
import { describe, labOptions, presetValues } from "../runs/lab-config.js";
import { crosses } from "../ui/marks.js";
import { parameters } from "../state/parameters.js";
import { isRepeatable, runLink } from "../state/permalink.js";
import { openRun } from "../export/archive.js";
import { isActive, keepFocus, progressBar, speedChoice, statusLine } from "../runs/run-parts.js";
import { nearestStop } from "../ui/run-slider.js";
import { decodeImages } from "../reports/recorded.js";
import { copy, save } from "../export/save.js";
import { saveRun } from "../export/save-run.js";
import { peak } from "../reports/emergence.js";
import { curve, levelOf, networks, sizes, transitionSentence } from "../reports/transition.js";

/**
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { DataRecipe, Findings, Point, Report } from "../reports/report.js"
 * @import { Sweep } from "../reports/transition.js"
 * @import { Progress, Run, State } from "../runs/run.js"
 * @import { Key, Place, Values } from "../state/parameters.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
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
 * @property {number} time when it came
 * @property {File} [file] that it was opened from
 * @property {boolean} shown
 * @property {HTMLTableRowElement} row
 * @property {() => void} update
 */

const COLOURS = 6;
const MARKS = /** @type {const} */ (["circle", "square", "triangle", "diamond", "star", "cross"]);
const HEIGHT = 260;
/** The noise level of the linearity. */
const SIGMA = 1;

/** @type {Record<Values["lab.measure"], {title: string, of: (point: Point, level: number) => number, gaussian: (point: Point, level: number) => number, format: (value: number) => string}>} */
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
 * @param {Page} page
 * @param {object} article
 * @param {() => DataRecipe | undefined} article.own the reader's own images
 * @param {(report: Report) => HTMLElement | undefined} article.show shows a report in its own figure, if it has one
 */
export function labFigure(root, page, { own, show }) {
  const { store, runner, live } = page;
  const errors = element(root, "lab-error");
  const body = element(root, "runs");
  /** @type {Entry[]} */
  const entries = [];
  let made = 0;
  let near = false;

  /** @param {Pick<Entry, "id" | "options" | "report" | "run" | "state" | "progress" | "kept" | "time" | "file">} facts */
  const add = (facts) => {
    const index = made++;
    const letter = letterOf(index);
    /** @type {Entry} */
    const entry = { ...facts, index, letter, shown: true, row: make("tr"), update: () => {} };
    mountRow(entry);
    // The latest first, also when those of earlier visits come later.
    const older = entries.findIndex(({ time }) => time <= entry.time);
    if (older < 0) {
      entries.push(entry);
      body.append(entry.row);
    } else {
      entries[older].row.before(entry.row);
      entries.splice(older, 0, entry);
    }
    redraw();
    return entry;
  };
  /** @param {Entry} entry */
  const drop = (entry) => {
    const at = entries.indexOf(entry);
    if (at < 0) return;
    const focused = entry.row.contains(document.activeElement);
    entries.splice(at, 1);
    entry.row.remove();
    const next = entries[at] ?? entries[at - 1];
    // Not on the next Delete: Enter pressed twice must not delete two.
    if (focused) /** @type {HTMLElement} */ (next?.row.querySelector("input:enabled, button:not([hidden])") ?? train).focus();
    redraw();
  };

  /**
   * @param {Run} run
   * @param {boolean} [aloud] whether to tell when it is over; a panel that started it does so itself
   */
  const follow = (run, aloud = false) => {
    const known = entries.find(({ id }) => id === run.id);
    const facts = { run, options: run.options, report: run.report, state: run.state, progress: run.progress, kept: true };
    const entry = known ? Object.assign(known, facts) : add({ id: run.id, time: Date.now(), ...facts });
    if (known) redraw();
    run.addEventListener("change", () => {
      if (entry.run !== run) return;
      if (run.state === "cancelled") return drop(entry);
      const report = run.report ?? entry.report;
      const news = report !== entry.report;
      const over = run.state !== entry.state && (run.state === "done" || run.state === "failed");
      Object.assign(entry, { report, state: run.state, progress: run.progress });
      entry.update();
      if (news) redraw();
      if (over && aloud) live.announce(sentences(`Run ${entry.letter}: ${statusLine(run, false)}`, report ? outcomeOf(report) : ""));
    });
    entry.update();
    return entry;
  };

  /** @param {RunOptions} options */
  const start = (options) => {
    errors.hidden = true;
    try {
      return follow(runner.start(options), true);
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
    const status = make("span");
    const progress = progressBar();
    const speed = speedChoice(() => entry.run);
    const outcome = make("td", { className: "run-outcome" });
    /** @param {string} label @param {() => unknown} act @param {string} [done] */
    const button = (label, act, done) => {
      const press = make("button", { type: "button" }, label);
      onPress(press, errors, act, done);
      return press;
    };
    const go = button("", async () => {
      if (entry.run?.state === "paused") entry.run.resume();
      else if (entry.run && isActive(entry.run.state)) entry.run.pause();
      else follow(await runner.resumeSaved(entry.id), true);
      entry.update();
    });
    const step = button("One step", () => entry.run?.step());
    const restart = button("Restart", async () => {
      const { id, run } = entry;
      if (!run) return;
      const again = runner.restart(run);
      entry.id = again.id;
      follow(again, true);
      again.speed = Number(speed.value);
      await runner.forget(id);
    });
    restart.title = "From the beginning, with the same seed: the same run again";
    const view = button("Show", () => entry.report && show(entry.report)?.scrollIntoView());
    view.title = "Show it in its own figure";
    const zip = button("Save", () => exportRun(entry));
    zip.title = "One zip with configuration, report, samples, weights and citation";
    const link = button("Link", () => copy(runLink(store, entry.options, entry.report)), "Copied");
    const remove = button("Delete", async () => {
      const { id, kept } = entry;
      drop(entry);
      entry.run?.cancel();
      if (kept) await runner.forget(id);
    });
    const actions = [go, step, restart, view, zip, link, remove];
    for (const action of [...actions, speed]) action.setAttribute("aria-describedby", `run-${entry.index}`);
    title.id = `run-${entry.index}`;

    entry.row.append(
      make("th", { scope: "row" }, make("label", {}, choice, key, make("span", {}, title, details))),
      make("td", { className: "run-state" }, status, progress.bar),
      outcome,
      make("td", { className: "run-actions" }, speed, ...actions),
    );
    entry.update = () => keepFocus([go, zip, remove, step, restart, speed], redrawRow);
    const redrawRow = () => {
      const about = describe(entry.options, entry.report);
      title.textContent = about.title;
      details.textContent = about.details;
      const { progress: reached } = entry;
      const at = `Stopped at ${reached.total > 0 ? percent(reached.step / reached.total) : "the beginning"}`;
      const { run, report } = entry;
      const active = isActive(run?.state);
      const words = run ? `${statusLine(run, false)} ${run.notice ?? ""}` : entry.state === "done" ? "Done" : at;
      // Words that stay are left alone, so that they can be selected.
      if (status.textContent !== words) status.textContent = words;
      progress.show(active ? run : undefined);
      outcome.textContent = report ? outcomeOf(report) : "";
      // A run that failed before anything was planned can only be begun again.
      const stillborn = (run?.state ?? entry.state) === "failed" && reached.total === 0;
      go.hidden = entry.state === "done" || !entry.kept || stillborn;
      go.textContent = active ? (run?.state === "paused" ? "Go on" : "Pause") : "Resume";
      step.hidden = run?.state !== "paused";
      restart.hidden = !active && run?.state !== "failed";
      speed.hidden = !active;
      zip.hidden = link.hidden = !report?.final;
      view.hidden = !report?.final || !hasFigure(report);
      link.disabled = !isRepeatable(entry.options);
      link.title = link.disabled
        ? "Nobody else has these images"
        : "Copy a link that repeats this run and compares the numbers";
      choice.disabled = !isSweep(report);
    };
    entry.update();
  };

  /** @param {Entry} entry */
  const exportRun = async (entry) => {
    // What came from a file goes as it came: with its weights, and with the machine that it was made on.
    if (entry.file) return save(entry.file.name, entry.file);
    const run = entry.run ?? (await runner.resumeSaved(entry.id));
    await saveRun(store, entry, await run.weights());
  };

  const train = part(root, "train", HTMLButtonElement);
  train.addEventListener("click", () => {
    // Fields of other experiments are hidden, and not used.
    const bad = root.querySelector('[aria-invalid="true"]:not([hidden] *)');
    if (!(bad instanceof HTMLInputElement)) return start(labOptions(store.values, own()));
    // Not with a value that the reader did not type.
    bad.closest("details")?.setAttribute("open", "");
    bad.focus();
    const name = bad.labels?.[0]?.textContent ?? "";
    const message = `${name} cannot be “${bad.value}”`;
    showFailure(errors, { kind: "BadInput", message, hint: "Correct it, or leave it empty for the preset’s value." });
  });
  const showSeed = () => live.set({ "lab.seed": String(store.values["lab.seed"]) });
  store.subscribe(["lab.seed"], showSeed);
  showSeed();

  const results = element(root, "results");
  const shownSweeps = () =>
    entries
      .flatMap((entry) => (entry.shown && isSweep(entry.report) ? [{ entry, sweep: /** @type {Sweep} */ (entry.report) }] : []))
      .reverse();
  /** Draws them, if the reader can see them and there are any: from one frame to the next the last may go. @param {(runs: ReturnType<typeof shownSweeps>) => void} draw */
  const withSweeps = (draw) => {
    const runs = near ? shownSweeps() : [];
    if (runs.length > 0) draw(runs);
  };
  const drawChart = runsChart(element(root, "lab-chart"));
  const redraw = inFrames([
    () => {
      element(root, "empty").hidden = entries.length > 0;
      results.hidden = shownSweeps().length === 0;
      const latest = entries.find(({ report }) => report);
      if (latest?.report) showReport(root, latest.report, latest);
    },
    () => withSweeps((runs) => drawChart({ runs, measure: store.values["lab.measure"] })),
    () => withSweeps((runs) => drawSamples(element(root, "lab-samples"), runs, store.values["lab.n"])),
  ]);
  store.subscribe(["lab.measure", "lab.n"], redraw);
  // Runs of the figures above are in the table too, and are drawn when the reader comes to see them.
  watchNear(root, (isNear) => {
    near = isNear;
    if (near) redraw();
  });
  runner.addEventListener("run", (event) => {
    const { detail: run } = /** @type {CustomEvent<Run>} */ (event);
    if (run.state !== "cancelled" && entries.every((entry) => entry.run !== run)) follow(run);
  });

  const showFields = () => {
    for (const place of root.querySelectorAll("[data-control]")) {
      const { of } = /** @type {Place} */ (
        parameters[/** @type {Key} */ (place.getAttribute("data-control"))]
      );
      if (place instanceof HTMLElement) place.hidden = of !== undefined && !of.includes(store.values["lab.experiment"]);
    }
  };
  store.subscribe(["lab.experiment"], showFields);
  showFields();

  /** Say in each field what it is when it is left empty. */
  const showPreset = () => {
    for (const [key, value] of Object.entries(presetValues(store.values, own()))) {
      const input = root.querySelector(`[data-control="${key}"] input[type="text"]`);
      if (input instanceof HTMLInputElement) input.placeholder = value;
    }
  };

  void comesNear(root).then(async () => {
    store.subscribe(["lab.experiment", "lab.preset", "lab.data", "lab.network", "lab.size"], showPreset);
    showPreset();
    const saved = await runner.saved();
    const strangers = saved.filter(({ id }) => entries.every((known) => known.id !== id));
    for (const run of strangers.reverse()) add({ ...run, time: run.date.getTime(), kept: true });
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
        const progress = { step: 0, total: 0 };
        const [file] = files;
        add({ id: `file-${made}`, options, report, state: "done", progress, kept: false, time: Date.now(), file });
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

/** Whether a report is a list of networks over sizes. @param {Report | undefined} report */
const isSweep = (report) => report?.experiment === "transition" || report?.experiment === "gaussian-bias";

/** Whether it has a figure above that shows more of it than the lab does. @param {Report} report */
const hasFigure = (report) => report.experiment !== "transition";

/** What came out, in a sentence or two. @param {Report} report */
const outcomeOf = (report) => sentences(foundIn(report), divergenceSentence(report));

/** @param {Report} report */
function foundIn(report) {
  if (!report.final) return "";
  if (report.experiment === "transition") return transitionSentence(report);
  /** @type {Findings} */
  const { "gaussian-bias": biases, emergence, "strong-generalization": agreements } = { ...NOTHING, [report.experiment]: report.findings };
  const sittings = [...emergence.overTime, ...emergence.overWidth];
  /** @param {{n: number, value: number | undefined}[]} values */
  const list = (values) => values.map(({ n, value }) => `${fixed(value ?? NaN)} at N = ${count(n)}`).join(", ");
  if (biases.length > 0) return sentence(`Cosine with the linear fit: ${list(biases.map(({ n, cosineLinear }) => ({ n, value: cosineLinear?.mean })))}`);
  if (agreements.length > 0) return sentence(`Cosine of the two: ${list(agreements.map(({ n, cosine }) => ({ n, value: cosine.mean })))}`);
  if (sittings.length === 0) return "";
  const best = peak(sittings);
  return `Most like the Gaussian after ${count(best.step)} steps: cosine ${fixed(best.cosineGaussian.mean)}.`;
}

/** @type {Findings} */
const NOTHING = { transition: [], "gaussian-bias": [], emergence: { overWidth: [], overTime: [] }, "strong-generalization": [] };

/** A, B, … Z, A2, B2, … @param {number} index */
const letterOf = (index) => String.fromCharCode(65 + (index % 26)) + (index < 26 ? "" : String(1 + Math.floor(index / 26)));

/** @param {number} index */
const colourOf = (index) => `var(--run-${1 + (index % COLOURS)})`;

/**
 * One row of samples a run, so that the eye compares down the columns.
 * @param {HTMLElement} place
 * @param {{entry: Entry, sweep: Sweep}[]} runs
 * @param {number} wish
 */
function drawSamples(place, runs, wish) {
  const rows = runs.flatMap(({ entry, sweep }) => {
    const n = nearestStop(sizes(sweep), wish);
    const point = networks(sweep, n).find(({ gallery }) => gallery);
    if (!point) return [];
    const canvas = make("canvas", { role: "img", ariaLabel: `Samples of run ${entry.letter} at N = ${n}` });
    drawRow(canvas, decodeImages(sweep.shape, point.gallery.samples), COLUMNS);
    const key = make("span", { className: "run-key" }, entry.letter);
    key.style.setProperty("--colour", colourOf(entry.index));
    return [key, canvas, make("span", { className: "lab-sample-n" }, noted(`N = ${count(n)}`, divergence([point])))];
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
    /** @type {ChartSpec<Overlay>} */ ({
      name: "your runs",
      label: (overlay) =>
        `${MEASURES[overlay.measure].title}, against the number of training images, of ${overlay.runs.length} ` +
        `run${overlay.runs.length === 1 ? "" : "s"}: ` +
        overlay.runs.map(({ entry }) => `${entry.letter}, ${describe(entry.options, entry.report).title}`).join("; "),
      columns: ["Run", "N", "Mean", "Lowest seed", "Highest seed"],
      rows: (overlay) =>
        spreads(overlay).map(({ letter, n, mean, low, high, diverged }) => [
          letter,
          noted(count(n), diverged),
          ...[mean, low, high].map((v) => significant(v, 4)),
        ]),
      options(overlay, width) {
        const { runs, measure } = overlay;
        const { title, gaussian, format } = MEASURES[measure];
        const points = spreads(overlay);
        const first = runs[0].sweep;
        const reference = curve(first, (point) => gaussian(point, levelOf(first, SIGMA)));
        const values = onAxis([...points.flatMap(({ low, high }) => [low, high]), ...reference.map(({ mean }) => mean)]);
        // Shares start at 0; scores near 1 would be a flat line there.
        const low = measure === "gl" || measure === "memorized" ? 0 : Math.floor(20 * Math.min(...values)) / 20;
        const high = measure === "memorized" ? 1 : Math.ceil(10 * Math.max(...values)) / 10;
        const ends = runs.map(({ entry }) => points.findLast(({ letter, mean }) => letter === entry.letter && !Number.isNaN(mean))).filter((end) => end !== undefined);
        // Letters stand at the ends of their curves, apart from each other.
        const labels = [...new Set(ends.map(({ n }) => n))].flatMap((n) => {
          const group = ends.filter((end) => end.n === n);
          const places = labelPlaces(
            group.map(({ mean }) => mean),
            [low, high],
            HEIGHT - 70,
          );
          return group.map((end, i) => ({ ...end, place: places[i] }));
        });
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
            crosses(points, { x: "n", y: "mean" }),
            text(labels, { x: "n", y: "place", text: "letter", textAnchor: "start", dx: 10, fill: "colour", fontWeight: "600" }),
          ],
        };
      },
    }),
  );
}
