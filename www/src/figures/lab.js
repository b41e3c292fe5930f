/** The lab: runs with every setting, over each other in one chart, kept in one table. */
import PRESET_TABLE from "../tables/presets.json" with { type: "json" };
import { fetchFile, toFailure } from "../engine/protocol.js";
import { openRun } from "../export/archive.js";
import { openReports } from "../export/report-file.js";
import { describe, labOptions, presetValues } from "../runs/lab-config.js";
import { defaults, keys, parameter } from "../state/parameters.js";
import { axisSlider } from "../ui/axis-slider.js";
import { inFrames } from "../ui/chart.js";
import { element, make, part } from "../ui/dom.js";
import { count, duration } from "../ui/format.js";
import { showFailure } from "../ui/notice.js";
import { distinct, nearestStop } from "../reports/nearest.js";
import { sizes } from "../reports/transition.js";
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
 * @import { Key, Values } from "../state/parameters.js"
 * @import { Page } from "./figure.js"
 * @import { Opened } from "../export/report-file.js"
 * @import { ShownRun } from "./lab-charts.js"
 */

/** How long a deleted run can be brought back. */
const UNDO_MS = 10_000;

/** What a reader may want to know first: changes of the quick preset. @type {Record<string, Partial<Values>>} */
export const SUGGESTIONS = {
  steps: { "lab.steps": String(2 * PRESET_TABLE.transition.quick.train.steps) },
  width: { "lab.width": "96", "lab.steps": String(2 * PRESET_TABLE.transition.quick.train.steps) },
  unet: { "lab.network": "unet", "lab.data": "mnist", "lab.width": "16", "lab.steps": "600", "lab.sizes": "16 64 256" },
};

/** The lab's settings as they are before the reader changes any. */
export const UNCHANGED = Object.fromEntries(
  keys.filter((key) => key.startsWith("lab.")).map((key) => [key, defaults()[key]]),
);

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
    deleted: undoNotice(element(root, "undo"), fail, () => train.focus()),
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
  const suggestions = [...root.querySelectorAll("[data-suggestion]")].map((button) => {
    const settings = { ...UNCHANGED, ...SUGGESTIONS[button.getAttribute("data-suggestion") ?? ""] };
    button.addEventListener("click", () => {
      store.set(settings);
      start(labOptions(store.values, own()));
    });
    return { settings, time: button.nextElementSibling?.lastElementChild };
  });
  const showSeed = () => live.set({ "lab.seed": String(store.values["lab.seed"]) });
  store.subscribe(["lab.seed"], showSeed);
  showSeed();

  const time = element(root, "time");
  /** Counts what the reader asked for; the latest counts. */
  let asked = 0;
  /** How long a run of these settings would take here. @param {Readonly<Values>} values */
  const timeOf = (values) => runner.estimate(labOptions(values, own()));
  /** Say how long the run would take here, and each that is suggested. */
  const showTime = async () => {
    const request = ++asked;
    const found = await timeOf(store.values);
    if (request !== asked) return;
    const place = found?.engine === "gpu" ? "this GPU" : "this machine";
    time.textContent = found ? `About ${duration(found.seconds)} on ${place}` : "";
    for (const { settings, time } of suggestions) {
      const its = await timeOf({ ...store.values, ...settings });
      if (time && its) time.textContent = `About ${duration(its.seconds)}.`;
    }
  };

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
  const showSizes = axisSlider(element(root, "lab-n"), store, "lab.n");
  const drawChart = runsChart(element(root, "lab-chart"));
  const redraw = inFrames([
    () => {
      element(root, "empty").hidden = table.entries.length > 0;
      results.hidden = shownSweeps().length === 0;
      const latest = table.entries.find(({ report }) => report);
      if (latest?.report) page.contents.showReport(root, latest.report, latest.options);
    },
    () => withSweeps((runs) => drawChart({ runs, measure: store.values["lab.measure"] })),
    () =>
      withSweeps((runs) => {
        // The sizes of all runs that are shown; a run without the one that is chosen shows its nearest.
        const stops = distinct(runs.flatMap(({ sweep }) => sizes(sweep)));
        const n = nearestStop(stops, store.values["lab.n"]);
        showSizes(
          stops.map((value) => ({ value, label: count(value) })),
          n,
        );
        drawRunSamples(element(root, "lab-samples"), runs, n);
      }),
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
    store.subscribe(
      keys.filter((key) => key.startsWith("lab.")),
      () => void showTime(),
    );
    void showTime();
    const saved = await runner.saved();
    const unknown = saved.filter(({ id }) => table.entries.every((entry) => entry.id !== id));
    for (const run of unknown.reverse()) table.add({ ...run, time: run.date.getTime(), saved: true });
    root.setAttribute("data-ready", "");
  });

  /**
   * Put runs from a file into the table, and show the reader the first.
   * @param {Opened[]} opened
   * @param {File} file
   * @param {boolean} keep whether they are to be there on the next visit
   */
  const add = (opened, file, keep) => {
    errors.hidden = true;
    // The first of them gets the first letter.
    for (const { options, report, note } of opened) {
      const facts = { id: `file-${crypto.randomUUID()}`, options, report, file, note };
      const entry = table.add({
        ...facts,
        state: "done",
        progress: { step: 0, total: 0 },
        saved: false,
        time: Date.now(),
      });
      if (keep) void runner.keep(facts).then((kept) => (entry.saved = kept));
    }
    const [{ options, report }] = opened;
    const { title } = describe(options, report);
    live.announce(opened.length === 1 ? `Opened a run: ${title}.` : `Opened ${count(opened.length)} runs: ${title}.`);
    (show(report, { options, file: file.name }) ?? root).scrollIntoView();
  };

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
        const opened = archive ? [archive] : await openReports(file);
        if (!opened) return false;
        add(opened, file, true);
      } catch (thrown) {
        fail(thrown);
        root.scrollIntoView();
      }
      return true;
    },
    /**
     * Take the report at an address relative to the page.
     * @param {string} address
     */
    async openAddress(address) {
      const name = address.split("/").at(-1) ?? address;
      try {
        const response = await fetchFile(new URL(address, document.baseURI), `The run “${address}”`);
        const file = new File([await response.blob()], name);
        const archive = await openRun(file);
        const opened = archive ? [archive] : await openReports(file);
        if (opened) add(opened, file, false);
      } catch (thrown) {
        fail(thrown);
        root.scrollIntoView();
      }
    },
  };
}

/**
 * The line that offers to bring a deleted run back, for a while.
 * @param {HTMLElement} place
 * @param {(thrown: unknown) => void} fail
 * @param {() => void} gone called when the line goes while the focus is on it
 * @returns {(letter: string, undo: () => void, finish: () => Promise<void>) => void}
 */
function undoNotice(place, fail, gone) {
  /** What is still to be deleted. @type {(() => void) | undefined} */
  let pending;
  addEventListener("pagehide", () => pending?.());
  return (letter, undo, finish) => {
    pending?.();
    const close = () => {
      clearTimeout(timer);
      pending = undefined;
      const focused = place.contains(document.activeElement);
      place.replaceChildren();
      if (focused) gone();
    };
    pending = () => {
      close();
      void finish().catch(fail);
    };
    const timer = setTimeout(pending, UNDO_MS);
    const button = make("button", { type: "button" }, "Undo");
    button.addEventListener("click", () => {
      close();
      undo();
    });
    place.replaceChildren(`Run ${letter} is deleted. `, button);
  };
}
