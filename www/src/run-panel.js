/** The panel under every figure that trains: start, pause, step, restart, cancel, and how far the run is. */
import { make } from "./dom.js";
import { toFailure } from "./engine/protocol.js";
import { showFailure } from "./figure.js";
import { count, duration, sentence, significant } from "./format.js";

/**
 * @typedef {import("./report.js").Report} Report
 * @typedef {import("./report.js").ExperimentName} ExperimentName
 * @typedef {import("./engine/protocol.js").RunOptions} RunOptions
 * @typedef {import("./engine/runner.js").Run} Run
 * @typedef {import("./engine/runner.js").Runner} Runner
 * @typedef {import("./engine/runner.js").SavedRun} SavedRun
 *
 * @typedef {object} PanelOptions
 * @property {ExperimentName} experiment
 * @property {string} [label] of the button that starts
 * @property {import("./parameters.js").Key} seed where the seed of the run is kept
 * @property {() => Omit<RunOptions, "experiment" | "seed"> | undefined} settings what a run that starts now is to be; undefined
 *   while that is not known yet
 * @property {() => string} [about] what would be trained, in one sentence, while nothing is
 * @property {(report: Report | undefined, run: Run) => void} onReport each report, the last one final; undefined when a run
 *   starts, or is cancelled: nothing of it is to be seen
 * @property {(report: Report) => string} summary what came out, in one sentence
 */

/** Shares of the time that a run trains: for those who want to watch, or to spare their machine. */
const SPEEDS = [
  { label: "Full speed", share: 1 },
  { label: "Half speed", share: 0.5 },
  { label: "Slow", share: 0.1 },
];

/**
 * @param {HTMLElement} place
 * @param {import("./figure.js").Page} page
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
  /** Runs of earlier visits that were not done. @type {SavedRun[]} */
  let unfinished = [];
  /** The one of them that is about what the figure shows. @type {SavedRun | undefined} */
  let kept;

  /** Run it, or whatever else makes a run. @param {() => Run | Promise<Run>} make */
  const begin = async (make) => {
    reset();
    errors.hidden = true;
    try {
      const next = await make();
      run = next;
      next.speed = Number(speed.value);
      next.addEventListener("change", () => run === next && follow(next));
      onReport(undefined, next);
      follow(next);
      live.announce("Training has started.");
    } catch (thrown) {
      showFailure(errors, toFailure(thrown), start);
    }
  };
  const start = () =>
    void begin(() => {
      const wanted = settings();
      if (!wanted)
        throw { kind: "BadInput", message: "The recorded run is not there yet", hint: "Try again in a moment." };
      return runner.start({ experiment, seed: Number(store.values[seed]), ...wanted });
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
  const proceed = () => {
    waiting = false;
    if (run?.state === "paused") run.resume();
    else if (run?.state === "running" || run?.state === "preparing") run.pause();
    else start();
  };
  /** @param {Run} changed */
  const follow = (changed) => {
    if (changed.report && changed.report !== shown) {
      shown = changed.report;
      onReport(shown, changed);
    }
    if (changed.state === "failed") showFailure(errors, toFailure(changed.failure), start);
    if (changed.state === "done" && shown) live.announce(summary(shown));
    attend();
    draw();
  };
  /** Live work is for those who look: out of sight it waits, unless the reader wants it to go on. */
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
    const id = kept?.id;
    if (!id) return;
    unfinished = unfinished.filter((one) => one.id !== id);
    void begin(() => runner.resumeSaved(id));
  });
  resume.title = "Go on with the run that was under way when this page was last closed";
  const speed = make(
    "select",
    { ariaLabel: "Speed", onchange: () => run && (run.speed = Number(speed.value)) },
    ...SPEEDS.map(({ label: name, share }) => make("option", { value: String(share) }, name)),
  );
  const keep = make("input", { type: "checkbox", onchange: attend });
  const bar = make("progress", { max: 1, value: 0, ariaLabel: "Training" });
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
      ),
      speed,
      make("label", { className: "run-keep" }, keep, "Keep running when out of sight"),
    ),
    bar,
    status,
    notice,
    errors,
  );

  const draw = () => {
    const state = run?.state;
    const active = state === "preparing" || state === "running" || state === "paused";
    main.textContent = !state ? label : state === "paused" ? "Go on" : active ? "Pause" : "Train again";
    step.hidden = restart.hidden = cancel.hidden = !active;
    step.disabled = state !== "paused";
    bar.hidden = !run;
    if (run && state !== "preparing") bar.value = run.progress.total ? run.progress.step / run.progress.total : 0;
    // Without a value the bar says that it does not know how long it takes.
    else bar.removeAttribute("value");
    const wanted = run ? undefined : settings();
    kept = unfinished.find(({ options: { preset, data } }) => wanted?.preset === preset && same(wanted.data, data));
    resume.hidden = !kept;
    if (kept) resume.textContent = `Resume at step ${count(kept.progress.step)}`;
    const result = state === "done" && shown ? ` ${summary(shown)}` : "";
    status.textContent = run ? statusLine(run, waiting) + result : (about?.() ?? "");
    notice.textContent = run?.notice ?? "";
    place.dataset.state = state ?? "idle";
  };

  new IntersectionObserver((entries) => {
    visible = entries[entries.length - 1].isIntersecting;
    attend();
  }).observe(place.closest("figure") ?? place);
  document.addEventListener("visibilitychange", attend);
  draw();
  void runner.saved().then((all) => {
    unfinished = all.filter(({ options, state }) => options.experiment === experiment && state !== "done");
    draw();
  });

  return {
    /** The run that the panel is about, if there is one. */
    get run() {
      return run;
    },
    start,
    /** Cancel and forget the run: it is no longer about what the figure shows. */
    reset,
    /** Say anew what would be trained. */
    draw,
  };
}

/** @param {unknown} a @param {unknown} b plain data */
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/**
 * How far a run is, in one line.
 * @param {Pick<Run, "state" | "progress" | "engine" | "report" | "failure">} run
 * @param {boolean} waiting whether it is paused because the reader looks elsewhere
 */
export function statusLine({ state, progress, engine, report, failure }, waiting) {
  const { step, total, stepsPerSecond, secondsLeft, workers } = progress;
  const place = engine === "gpu" ? "GPU" : workers > 1 ? `CPU, ${workers} workers` : "CPU";
  const at = `Step ${count(step)} of ${count(total)}`;
  if (state === "preparing") return "Drawing the images and fitting the exact denoisers…";
  if (state === "failed") return `Stopped at step ${count(step)}: ${sentence(failure?.message ?? "")}`;
  if (state === "cancelled") return `Cancelled at step ${count(step)}.`;
  if (state === "paused") return `${at} · paused${waiting ? " while out of sight" : ""}`;
  if (state === "done") return `Done in ${duration(report?.seconds ?? 0)} (${place}).`;
  return [
    at,
    ...(stepsPerSecond ? [`${significant(stepsPerSecond, 2)} steps/s`] : []),
    ...(secondsLeft === null || secondsLeft === undefined ? [] : [`${duration(secondsLeft)} left`]),
    place,
  ].join(" · ");
}
