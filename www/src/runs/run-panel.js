/** The panel under every figure that trains: start, pause, step, restart, cancel, and how far the run is. */
import { make } from "../ui/dom.js";
import { toFailure } from "../engine/protocol.js";
import { comesNear, showFailure } from "../figures/figure.js";
import { count } from "../ui/format.js";
import { isActive, keepFocus, progressBar, speedChoice, statusLine } from "./run-parts.js";
import { saveRun } from "../export/save-run.js";

/**
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Page } from "../figures/figure.js"
 * @import { ExperimentName, Report } from "../reports/report.js"
 * @import { Key } from "../state/parameters.js"
 * @import { Run } from "./run.js"
 * @import { Runner, SavedRun } from "./runner.js"
 */

/**
 * @typedef {Pick<SavedRun, "id" | "options" | "progress">} Unfinished
 *
 * @typedef {object} PanelOptions
 * @property {ExperimentName} experiment
 * @property {string} [label] of the button that starts
 * @property {Key} seed where the seed of the run is kept
 * @property {(seed: number) => Omit<RunOptions, "experiment" | "seed"> | undefined} settings what a run from this seed is to be;
 *   undefined while that is not known yet
 * @property {() => string} [about] what would be trained, in one sentence, while nothing is
 * @property {(report: Report | undefined, run: Run) => void} onReport each report, the last one final; undefined when a run
 *   starts, or is cancelled: nothing of it is to be seen
 * @property {(report: Report) => string} summary what came out, in one sentence
 */

/**
 * @param {HTMLElement} place
 * @param {Page} page
 * @param {PanelOptions} options
 */
export function runPanel(
  place,
  page,
  { experiment, label = "Train it here", seed, settings, about, onReport, summary },
) {
  const { store, live, runner } = page;
  /** @type {Run | undefined} */
  let run;
  /** The report that the figure shows. @type {Report | undefined} */
  let shown;
  /** Whether the run waits for the reader to come back. */
  let waiting = false;
  let visible = true;
  /** Runs that were not done when the page was last closed, or the figure came to show something else. @type {Unfinished[]} */
  let unfinished = [];
  /** The one of them that is about what the figure shows. @type {Unfinished | undefined} */
  let kept;

  /** Counts what the reader wished; the latest counts. */
  let wishes = 0;

  /** Run it, or whatever else makes a run. @param {() => Run | Promise<Run>} make */
  const begin = async (make) => {
    const wish = ++wishes;
    reset();
    errors.hidden = true;
    try {
      const next = await make();
      if (wish !== wishes) {
        if (next !== run) next.pause();
        return;
      }
      run = next;
      next.speed = Number(speed.value);
      next.addEventListener("change", () => run === next && follow(next));
      onReport(undefined, next);
      follow(next);
      attend();
      live.announce("Training has started.");
    } catch (thrown) {
      showFailure(errors, toFailure(thrown), () => void begin(make));
    }
  };
  /** The run that these settings and this seed make. @param {number} from @returns {RunOptions | undefined} */
  const wished = (from) => {
    const wanted = settings(from);
    return wanted && { experiment, seed: from, ...wanted };
  };
  const start = () =>
    void begin(() => {
      const wanted = wished(Number(store.values[seed]));
      if (!wanted)
        throw { kind: "BadInput", message: "The recorded run is not there yet", hint: "Try again in a moment." };
      return runner.start(wanted);
    });
  const reset = () => {
    const before = run;
    run = shown = undefined;
    waiting = false;
    if (!before) return;
    before.cancel();
    onReport(undefined, before);
    draw();
  };
  /** Another choice must not cost what was trained: coming back, the reader can go on with it. */
  const layAside = () => {
    const before = run;
    if (!before || !isActive(before.state)) return reset();
    run = shown = undefined;
    waiting = false;
    before.pause();
    unfinished.unshift(before);
    // It may be driven on or deleted from the lab.
    before.addEventListener("change", () => {
      if (!isActive(before.state)) unfinished = unfinished.filter((one) => one !== before);
      draw();
    });
    onReport(undefined, before);
    draw();
  };
  const proceed = () => {
    waiting = false;
    if (run?.state === "paused") run.resume();
    else if (run?.state === "running" || run?.state === "preparing") run.pause();
    else start();
  };
  /** @param {Run} changed */
  const follow = (changed) => {
    // From elsewhere, such as the lab.
    if (changed.state === "cancelled") return reset();
    // One who paused it after that does not want it to go on by itself.
    if (changed.state !== "paused") waiting = false;
    if (changed.report && changed.report !== shown) {
      shown = changed.report;
      onReport(shown, changed);
    }
    if (changed.state === "failed") showFailure(errors, toFailure(changed.failure), start);
    if (changed.state === "done" && shown) live.announce(summary(shown));
    draw();
  };
  /**
   * Live work is for those who look: when it goes out of sight it waits, unless the reader wants it to go on. One who then
   * lets it go on from elsewhere, such as the lab, does want that.
   */
  const attend = () => {
    const away = !keep.checked && (!visible || document.hidden);
    if (away && (run?.state === "running" || run?.state === "preparing")) {
      waiting = true;
      run.pause();
    } else if (!away && waiting) {
      waiting = false;
      run?.resume();
    }
  };

  /** @param {string} text @param {() => void} onclick */
  const button = (text, onclick) => make("button", { type: "button", onclick }, text);
  const main = button(label, proceed);
  main.classList.add("primary");
  const step = button("One step", () => run?.step());
  const restart = button("Restart", start);
  restart.title = "From the beginning, with the same seed: the same run again";
  const fresh = button("New seed", () => {
    store.set({ [seed]: crypto.getRandomValues(new Uint32Array(1))[0] });
    start();
  });
  fresh.title = "Train with other random numbers, to see how much is luck";
  const cancel = button("Cancel", () => {
    reset();
    main.focus();
  });
  const resume = button("", () => {
    if (!kept) return;
    const { id, options } = kept;
    unfinished = unfinished.filter((one) => one.id !== id);
    // So that to restart it is to have the same run again.
    store.set({ [seed]: options.seed });
    void begin(async () => {
      const known = await runner.resumeSaved(id);
      known.resume();
      return known;
    });
  });
  resume.title = "Go on with the run that was under way when you left it";
  const zip = button("Save run (zip)", () => {
    const saved = run;
    errors.hidden = true;
    void saved
      ?.weights()
      .then((weights) => saveRun(store, saved, weights))
      .catch((thrown) => showFailure(errors, toFailure(thrown)));
  });
  zip.title = "One zip with configuration, report, samples, weights and citation";
  const speed = speedChoice(() => run);
  const keep = make("input", { type: "checkbox", onchange: attend });
  const progress = progressBar();
  const status = make("p", { className: "run-status" });
  const notice = make("p", { className: "run-notice" });
  const errors = make("div", { className: "figure-error", role: "alert", hidden: true });
  place.append(
    make(
      "div",
      { className: "controls" },
      make(
        "div",
        { className: "run-buttons", role: "group", ariaLabel: "Training" },
        main,
        resume,
        step,
        restart,
        fresh,
        cancel,
        zip,
      ),
      speed,
      make("label", { className: "run-keep" }, keep, "Keep running when out of sight"),
    ),
    progress.bar,
    status,
    notice,
    errors,
  );

  const draw = () => keepFocus([main, resume, step, restart, cancel, zip], redraw);
  const redraw = () => {
    const state = run?.state;
    const active = isActive(state);
    main.textContent = !state ? label : state === "paused" ? "Go on" : active ? "Pause" : "Train again";
    step.hidden = restart.hidden = cancel.hidden = !active;
    step.disabled = state !== "paused";
    zip.hidden = state !== "done" || !shown?.final;
    progress.show(run);
    kept = run ? undefined : unfinished.find(({ options }) => same(wished(options.seed), options));
    resume.hidden = !kept;
    if (kept) resume.textContent = `Resume at step ${count(kept.progress.step)}`;
    const result = state === "done" && shown ? ` ${summary(shown)}` : "";
    status.textContent = run ? statusLine(run, waiting) + result : (about?.() ?? "");
    notice.textContent = run?.notice ?? "";
    place.dataset.state = state ?? "idle";
  };

  /** @type {HTMLElement} */
  const figure = place.closest("figure") ?? place;
  new IntersectionObserver((entries) => {
    visible = entries[entries.length - 1].isIntersecting;
    attend();
  }).observe(figure);
  document.addEventListener("visibilitychange", attend);
  draw();
  void comesNear(figure).then(async () => {
    const all = await runner.saved();
    unfinished = all.filter(({ options, state }) => options.experiment === experiment && state !== "done");
    draw();
  });

  return {
    /** The run that the panel is about, if there is one. */
    get run() {
      return run;
    },
    start,
    /** Pause the run and leave it: it is no longer about what the figure shows. */
    layAside,
    /** Say anew what would be trained. */
    draw,
  };
}

/**
 * Whether two pieces of plain data are the same, in whatever order their fields come.
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return a === b;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Array.isArray(a) === Array.isArray(b) && [...names].every((name) => same(a[name], b[name]));
}
