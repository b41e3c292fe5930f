/** The panel under every figure that trains: start, pause, step, restart, cancel, and how far the run is. */
import { html, nothing, render } from "lit-html";
import { toFailure } from "../engine/protocol.js";
import { comesNear } from "../figures/figure.js";
import { count, sentence } from "../ui/format.js";
import { actionButton, isActive, keepFocus, progressBar, same, speedChoice, statusLine } from "./run-view.js";
import { saveRun } from "../export/archive.js";

/**
 * @import { ExperimentName } from "../../pkg/hidden_gaussian.js"
 * @import { Failure, RunOptions } from "../engine/protocol.js"
 * @import { Page } from "../figures/figure.js"
 * @import { Report } from "../reports/report.js"
 * @import { Key } from "../state/parameters.js"
 * @import { Run } from "./run.js"
 * @import { SavedRunInfo } from "./runner.js"
 * @import { Action } from "./run-view.js"
 */

/** Which button takes the focus of one that goes. */
const FOCUS = ["main", "resume", "step", "restart", "cancel", "save"];

/**
 * @typedef {Pick<SavedRunInfo, "id" | "options" | "progress">} Unfinished
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
  let saved;
  let speed = 1;
  let keepRunning = false;
  /** What went wrong last, and what would try it again. @type {{why: Failure, retry?: () => void} | undefined} */
  let failure;
  /** Counts what the reader asked for; the latest counts. */
  let requests = 0;

  /** @param {unknown} thrown @param {() => void} [retry] */
  const fail = (thrown, retry) => {
    failure = { why: toFailure(thrown), retry };
    draw();
  };

  /** Run it, or whatever else makes a run. @param {() => Run | Promise<Run>} make */
  const begin = async (make) => {
    const request = ++requests;
    reset();
    failure = undefined;
    try {
      const next = await make();
      if (request !== requests) {
        if (next !== run) next.pause();
        return;
      }
      run = next;
      next.speed = speed;
      next.addEventListener("change", () => run === next && follow(next));
      onReport(undefined, next);
      follow(next);
      attend();
      live.announce("Training has started.");
    } catch (thrown) {
      fail(thrown, () => void begin(make));
    }
  };
  /** The run that these settings and this seed make. @param {number} from @returns {RunOptions | undefined} */
  const wanted = (from) => {
    const rest = settings(from);
    return rest && { experiment, seed: from, ...rest };
  };
  const start = () =>
    void begin(() => {
      const options = wanted(Number(store.values[seed]));
      if (!options)
        throw { kind: "BadInput", message: "The recorded run is not there yet", hint: "Try again in a moment." };
      return runner.start(options);
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
  /** Another choice must not cost what was trained: coming back, the reader can resume it. */
  const layAside = () => {
    const before = run;
    if (!before || !isActive(before.state)) return reset();
    run = shown = undefined;
    waiting = false;
    before.pause();
    unfinished.unshift(before);
    // It may be resumed or deleted in the lab.
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
    // One who paused it after that does not want it to resume by itself.
    if (changed.state !== "paused") waiting = false;
    if (changed.report && changed.report !== shown) {
      shown = changed.report;
      onReport(shown, changed);
    }
    if (changed.state === "failed") failure = { why: toFailure(changed.failure), retry: start };
    if (changed.state === "done" && shown) live.announce(summary(shown));
    draw();
  };
  /**
   * Live work is for those who look: when it goes out of sight it waits, unless the reader wants it to keep running. One who
   * then resumes it from elsewhere, such as the lab, does want that.
   */
  const attend = () => {
    const away = !keepRunning && (!visible || document.hidden);
    if (away && (run?.state === "running" || run?.state === "preparing")) {
      waiting = true;
      run.pause();
    } else if (!away && waiting) {
      waiting = false;
      run?.resume();
    }
  };

  const newSeed = () => {
    store.set({ [seed]: crypto.getRandomValues(new Uint32Array(1))[0] });
    start();
  };
  const cancel = () => {
    reset();
    /** @type {HTMLElement | null} */ (place.querySelector('[data-action="main"]'))?.focus();
  };
  const resume = () => {
    if (!saved) return;
    const { id, options } = saved;
    unfinished = unfinished.filter((one) => one.id !== id);
    // So that to restart it is to have the same run again.
    store.set({ [seed]: options.seed });
    void begin(async () => {
      const known = await runner.resumeSaved(id);
      known.resume();
      return known;
    });
  };
  const saveZip = () => {
    const done = run;
    failure = undefined;
    void done
      ?.weights()
      .then((weights) => saveRun(store, done, weights))
      .catch((thrown) => fail(thrown));
  };
  /** @param {number} fraction */
  const setSpeed = (fraction) => {
    speed = fraction;
    if (run) run.speed = fraction;
  };

  /** @returns {Action[]} */
  const actions = () => {
    const state = run?.state;
    const active = isActive(state);
    return [
      {
        name: "main",
        label: !state ? label : state === "paused" ? "Resume" : active ? "Pause" : "Train again",
        primary: true,
        act: proceed,
      },
      {
        name: "resume",
        label: `Resume at step ${count(saved?.progress.step ?? 0)}`,
        title: "Resume the run that was under way when you left it",
        hidden: !saved,
        act: resume,
      },
      { name: "step", label: "One step", hidden: !active, disabled: state !== "paused", act: () => run?.step() },
      {
        name: "restart",
        label: "Restart",
        title: "From the beginning, with the same seed: the same run again",
        hidden: !active,
        act: start,
      },
      {
        name: "seed",
        label: "New seed",
        title: "Train with other random numbers, to see how much is chance",
        act: newSeed,
      },
      { name: "cancel", label: "Cancel", hidden: !active, act: cancel },
      {
        name: "save",
        label: "Save run (zip)",
        title: "One zip with configuration, report, samples, weights and citation",
        hidden: state !== "done" || !shown?.final,
        act: saveZip,
      },
    ];
  };

  const draw = () => {
    saved = run ? undefined : unfinished.find(({ options }) => same(wanted(options.seed), options));
    keepFocus(place, FOCUS, () => render(view(), place));
    place.dataset.state = run?.state ?? "idle";
    place.dataset.step = String(run?.progress.step ?? 0);
  };
  const view = () => {
    const result = run?.state === "done" && shown ? ` ${summary(shown)}` : "";
    return html`<div class="controls">
        <div class="run-buttons" role="group" aria-label="Training">${actions().map((action) => actionButton(action))}</div>
        ${speedChoice(run, { choose: setSpeed })}
        <label class="run-keep"
          ><input
            type="checkbox"
            data-action="keep"
            .checked=${keepRunning}
            @change=${(/** @type {Event} */ { target }) => {
              keepRunning = /** @type {HTMLInputElement} */ (target).checked;
              attend();
            }}
          />Keep running when out of sight</label
        >
      </div>
      ${progressBar(run)}
      <p class="run-status" data-part="run-status">${run ? statusLine(run, waiting) + result : (about?.() ?? "")}</p>
      <p class="run-notice" data-part="run-notice" ?hidden=${!run?.notice}>${run?.notice ?? ""}</p>
      <div class="figure-error" role="alert" data-kind=${failure?.why.kind ?? nothing} ?hidden=${!failure}>${failure ? failureText(failure) : nothing}</div>`;
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

/** @param {{why: Failure, retry?: () => void}} failure */
const failureText = ({ why: { message, hint }, retry }) =>
  html`<p><strong>${sentence(message)}</strong>${hint ? ` ${sentence(hint)}` : ""}</p>
    ${retry ? html`<button type="button" data-action="retry" @click=${retry}>Try again</button>` : nothing}`;
