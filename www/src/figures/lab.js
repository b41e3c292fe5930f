/** The lab: runs with every setting, over each other in one chart, kept in one table. */
import { toFailure } from "../engine/protocol.js";
import { openRun } from "../export/archive.js";
import { describe, labOptions, presetValues } from "../runs/lab-config.js";
import { parameter } from "../state/parameters.js";
import { inFrames } from "../ui/chart.js";
import { element, part } from "../ui/dom.js";
import { showFailure } from "../ui/notice.js";
import { comesNear, watchNear } from "./figure.js";
import { drawRunSamples, isSweep, runsChart } from "./lab-charts.js";
import { RunTable } from "./lab-table.js";

/**
 * @import { Recipe as DataRecipe } from "../../pkg/hidden_gaussian.js"
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 * @import { Origin } from "../reports/source.js"
 * @import { Run } from "../runs/run.js"
 * @import { Place } from "../state/parameter-kinds.js"
 * @import { Key } from "../state/parameters.js"
 * @import { Page } from "./figure.js"
 * @import { ShownRun } from "./lab-charts.js"
 */

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {object} article
 * @param {() => DataRecipe | undefined} article.own the reader's own images
 * @param {(report: Report, origin: Origin) => HTMLElement | undefined} article.show shows a report in its own figure, if it has one
 */
export function labFigure(root, page, { own, show }) {
  const { store, runner, live } = page;
  const errors = element(root, "lab-error");
  const train = part(root, "train", HTMLButtonElement);
  const results = element(root, "results");
  let near = false;
  const fail = (/** @type {unknown} */ thrown) => showFailure(errors, toFailure(thrown));

  const table = new RunTable(element(root, "runs"), page, {
    change: () => redraw(),
    failure: fail,
    empty: () => train.focus(),
    show: ({ report, options, file }) => report && show(report, { options, file: file?.name })?.scrollIntoView(),
  });

  /** @param {RunOptions} options */
  const start = (options) => {
    errors.hidden = true;
    try {
      return table.follow(runner.start(options), true);
    } catch (thrown) {
      fail(thrown);
      return undefined;
    }
  };

  train.addEventListener("click", () => {
    // Fields of other experiments are hidden, and not used.
    const bad = root.querySelector('[aria-invalid="true"]:not([hidden] *)');
    if (!(bad instanceof HTMLInputElement)) return start(labOptions(store.values, own()));
    // Not with a value that the reader did not type.
    bad.closest("details")?.setAttribute("open", "");
    bad.focus();
    const name = bad.labels?.[0]?.textContent ?? "";
    const hint = "Correct it, or leave it empty for the preset’s value.";
    fail({ kind: "BadInput", message: `${name} cannot be “${bad.value}”`, hint });
  });
  const showSeed = () => live.set({ "lab.seed": String(store.values["lab.seed"]) });
  store.subscribe(["lab.seed"], showSeed);
  showSeed();

  /** @returns {ShownRun[]} */
  const shownSweeps = () =>
    table.entries
      .flatMap((entry) => (entry.shown && isSweep(entry.report) ? [{ entry, sweep: entry.report }] : []))
      .reverse();
  /** Draws them, if the reader can see them and there are any: from one frame to the next the last may go. @param {(runs: ShownRun[]) => void} draw */
  const withSweeps = (draw) => {
    const runs = near ? shownSweeps() : [];
    if (runs.length > 0) draw(runs);
  };
  const drawChart = runsChart(element(root, "lab-chart"));
  const redraw = inFrames([
    () => {
      element(root, "empty").hidden = table.entries.length > 0;
      results.hidden = shownSweeps().length === 0;
      const latest = table.entries.find(({ report }) => report);
      if (latest?.report) page.contents.showReport(root, latest.report, latest.options);
    },
    () => withSweeps((runs) => drawChart({ runs, measure: store.values["lab.measure"] })),
    () => withSweeps((runs) => drawRunSamples(element(root, "lab-samples"), runs, store.values["lab.n"])),
  ]);
  store.subscribe(["lab.measure", "lab.n"], redraw);
  // Runs of the figures above are in the table too, and are drawn when the reader comes to see them.
  watchNear(root, (isNear) => {
    near = isNear;
    if (near) redraw();
  });
  runner.addEventListener("run", (event) => {
    const { detail: run } = /** @type {CustomEvent<Run>} */ (event);
    if (run.state !== "cancelled" && table.entries.every((entry) => entry.run !== run)) table.follow(run);
  });

  const showFields = () => {
    for (const place of root.querySelectorAll("[data-control]")) {
      const { of } = /** @type {Place} */ (parameter(/** @type {Key} */ (place.getAttribute("data-control"))));
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
    const unknown = saved.filter(({ id }) => table.entries.every((entry) => entry.id !== id));
    for (const run of unknown.reverse()) table.add({ ...run, time: run.date.getTime(), saved: true });
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
      const [file] = files;
      try {
        const archive = await openRun(file);
        if (!archive) return false;
        errors.hidden = true;
        const { options, report } = archive;
        const id = `file-${crypto.randomUUID()}`;
        table.add({
          id,
          options,
          report,
          state: "done",
          progress: { step: 0, total: 0 },
          saved: false,
          time: Date.now(),
          file,
        });
        live.announce(`Opened a run: ${describe(options, report).title}.`);
        (show(report, { options, file: file.name }) ?? root).scrollIntoView();
      } catch (thrown) {
        fail(thrown);
        root.scrollIntoView();
      }
      return true;
    },
  };
}
