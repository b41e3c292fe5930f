/** The bar at the top of every figure that trains: start, pause, step, restart, cancel, and how far the run is. */
import { html, nothing, render } from "lit-html";
import { toFailure } from "../engine/protocol.js";
import { comesNear } from "../figures/figure.js";
import { count, duration, sentence } from "../ui/format.js";
import { watchAttendance } from "./attendance.js";
import { showChip } from "./run-chip.js";
import { actionButton, isActive, keepFocus, progressBar, same, speedChoice, statusLine } from "./run-view.js";
import { saveRun } from "../export/archive.js";

/**
 * @import { ExperimentName } from "../../pkg/hidden_gaussian.js"
 * @import { Failure, RunOptions } from "../engine/protocol.js"
 * @import { Page } from "../figures/figure.js"
 * @import { Report } from "../reports/report.js"
 * @import { Key } from "../state/parameters.js"
 * @import { Reason } from "./attendance.js"
 * @import { Offer } from "./offers.js"
 * @import { Run, State } from "./run.js"
 * @import { SavedRunInfo } from "./runner.js"
 * @import { Action } from "./run-view.js"
 */

/** What the panel says while the recorded run, which a run repeats, is still being fetched. */
const ASKED = "Starts as soon as the recorded run has arrived…";

/** Which button takes the focus of one that goes. */
const FOCUS = ["main", "resume", "other", "step", "restart", "cancel", "save"];
/** A run that takes longer than so many seconds is not the first that a reader is offered. */
const TOO_LONG = 300;
/** One that takes longer than this is for fast GPUs: the reader is shown another way. */
const FAR_TOO_LONG = 1800;

/**
 * @typedef {Pick<SavedRunInfo, "id" | "options" | "progress"> & {state: State}} Left
 *
 * @typedef {object} PanelOptions
 * @property {ExperimentName} experiment
 * @property {Key} seed where the seed of the run is kept
 * @property {(seed: number) => Offer[] | undefined} offers what can be trained from this seed, the recorded networks first;
 *   undefined while that is not known yet
 * @property {{label: string, act: () => void}} [instead] what to do where everything would take far too long
 * @property {(report: Report | undefined, run: Run) => void} onReport each report, the last one final; undefined when a run
 *   starts, or is cancelled: nothing of it is to be seen
 * @property {(report: Report) => string} summary what came out, in one sentence
 */

/**
 * @param {HTMLElement} place
 * @param {Page} page
 * @param {PanelOptions} options
 */
export function runPanel(place, page, { experiment, seed, offers, instead, onReport, summary }) {
  const { store, live, runner } = page;
  /** @type {Run | undefined} */
  let run;
  /** The report that the figure shows. @type {Report | undefined} */
  let shown;
  /** Why the run rests by itself, if it does. @type {Reason} */
  let why = "";
  let visible = true;
  /** Runs from before the page was last closed, or the figure came to show something else: the latest first. @type {Left[]} */
  let left = [];
  /** The one of them that is about what the figure shows. @type {Left | undefined} */
  let saved;
  let speed = 1;
  /** The label of the offer that was started last. @type {string | undefined} */
  let started;
  /** Whether the reader has asked for a run that is not known yet: it starts when it is. */
  let asked = false;
  /** How long each offer would take here. @type {Map<string, {seconds: number, engine: "cpu" | "gpu"}>} */
  const estimates = new Map();
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
      onReport(undefined, next);
      run = next;
      next.speed = speed;
      next.addEventListener("change", () => run === next && follow(next));
      follow(next);
      if (next.state !== "done") live.announce("Training has started.");
    } catch (thrown) {
      fail(thrown, () => void begin(make));
    }
  };
  /** What can be trained; what takes too long comes second. */
  const choices = () => {
    const all = offers(Number(store.values[seed])) ?? [];
    const [first, second] = all;
    const isLong = first && (estimates.get(keyOf(first))?.seconds ?? 0) > TOO_LONG;
    return isLong && second ? [second, first] : all;
  };
  /** Start an offer by its label: without one, that which was started last, or else the first. @param {string} [label] */
  const start = (label = started) => {
    const all = choices();
    const offer = all.find((one) => one.label === label) ?? all[0];
    if (offer) {
      started = offer.label;
      return void begin(() => runner.start(offer.options));
    }
    requests++;
    reset();
    failure = undefined;
    asked = true;
    draw();
  };
  const reset = () => {
    const before = run;
    run = shown = undefined;
    why = "";
    asked = false;
    if (!before) return;
    before.cancel();
    onReport(undefined, before);
    draw();
  };
  /** Another choice must not cost what was trained: coming back, the reader can resume it. */
  const layAside = () => {
    asked = false;
    const before = run;
    if (!before || !isKept(before)) return reset();
    run = shown = undefined;
    why = "";
    before.pause();
    left.unshift(before);
    // It may be resumed or deleted in the lab.
    before.addEventListener("change", () => {
      if (!isKept(before)) left = left.filter((one) => one !== before);
      draw();
    });
    onReport(undefined, before);
    draw();
  };
  const proceed = () => {
    why = "";
    if (run?.state === "paused") run.resume();
    else if (run?.state === "running" || run?.state === "preparing") run.pause();
    else start();
  };
  /** @param {Run} changed */
  const follow = (changed) => {
    // From elsewhere, such as the lab.
    if (changed.state === "cancelled") return reset();
    // One who paused it after that does not want it to resume by itself.
    if (changed.state !== "paused") why = "";
    if (changed.report && changed.report !== shown) {
      shown = changed.report;
      onReport(shown, changed);
    }
    if (changed.state === "failed") failure = { why: toFailure(changed.failure), retry: () => start() };
    if (changed.state === "done" && shown) live.announce(summary(shown));
    // It has shown how fast this machine is.
    if (changed.state === "done") estimates.clear();
    draw();
  };
  /**
   * A run goes on while the reader reads on. It rests when there is a reason, and resumes when that has gone; a reader who
   * resumes it before that has decided.
   * @param {Reason} reason
   */
  const attend = (reason) => {
    if (reason && (run?.state === "running" || run?.state === "preparing")) {
      run.pause();
      why = reason;
    } else if (!reason && why) {
      why = "";
      run?.resume();
    }
    draw();
  };

  const newSeed = () => {
    store.set({ [seed]: crypto.getRandomValues(new Uint32Array(1))[0] });
    start();
  };
  const cancel = () => {
    reset();
    draw();
    /** @type {HTMLElement | null} */ (place.querySelector('[data-action="main"]'))?.focus();
  };
  const resume = () => {
    if (!saved) return;
    const { id, options } = saved;
    left = left.filter((one) => one.id !== id);
    // So that to restart it is to have the same run again.
    store.set({ [seed]: options.seed });
    started = offerLike(options)?.label;
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

  /** What the reader needs at once, and what only some do. @returns {{first: Action[], more: Action[]}} */
  const actions = () => {
    const state = run?.state;
    const active = isActive(state);
    const [offer, other] = choices();
    return {
      first: [
        {
          name: "resume",
          ...(saved?.state === "done"
            ? { label: "Show your run", title: "Show the run that you trained here before" }
            : {
                label: `Resume at step ${count(saved?.progress.step ?? 0)}`,
                title: "Resume the run that was under way when you left it",
              }),
          primary: true,
          hidden: !saved,
          act: resume,
        },
        {
          name: "main",
          label: !state
            ? (offer?.label ?? "Train it here")
            : state === "paused"
              ? "Resume"
              : active
                ? "Pause"
                : "Train again",
          primary: !saved,
          disabled: asked,
          hidden: isMissing(),
          act: proceed,
        },
        {
          name: "other",
          label: other?.label === "Train it here" ? "Train the recorded networks" : (other?.label ?? ""),
          hidden: Boolean(run) || !other,
          act: () => start(other?.label),
        },
        {
          name: "instead",
          label: instead?.label ?? "",
          hidden: Boolean(run) || !instead || !isFarTooLong(),
          act: () => instead?.act(),
        },
        { name: "cancel", label: "Cancel", hidden: !active && !asked, act: cancel },
        {
          name: "save",
          label: "Save run (zip)",
          title: "One zip with configuration, report, samples, weights and citation",
          hidden: state !== "done" || !shown?.final,
          act: saveZip,
        },
      ],
      more: [
        { name: "step", label: "One step", hidden: !active, disabled: state !== "paused", act: () => run?.step() },
        {
          name: "restart",
          label: "Restart",
          title: "From the beginning, with the same seed: the same run again",
          hidden: !active,
          act: () => start(),
        },
        {
          name: "seed",
          label: "New seed",
          title: "Train with other random numbers, to see how much is chance",
          hidden: isMissing(),
          act: newSeed,
        },
      ],
    };
  };
  /** Whether even what is offered first would take an age. */
  const isFarTooLong = () =>
    choices()
      .slice(0, 1)
      .some((offer) => (estimates.get(keyOf(offer))?.seconds ?? 0) > FAR_TOO_LONG);
  /** Whether it is known that nothing can be trained. */
  const isMissing = () => !run && offers(0)?.length === 0;

  /** The offer that a run came from. @param {RunOptions} options */
  const offerLike = (options) => offers(options.seed)?.find((offer) => same(offer.options, options));
  const draw = () => {
    if (asked && offers(0)) {
      asked = false;
      if (choices().length > 0) return start();
    }
    saved = run ? undefined : left.find(({ options }) => offerLike(options));
    keepFocus(place, FOCUS, () => render(view(), place));
    place.dataset.state = run?.state ?? (asked ? "asked" : "idle");
    place.dataset.step = String(run?.progress.step ?? 0);
    showChip(figure, run, visible, why);
    if (!run && isNear) void measure();
  };
  /** Find out how long what is offered would take. */
  const measure = async () => {
    for (const offer of choices()) {
      if (estimates.has(keyOf(offer))) continue;
      const found = await runner.estimate(offer.options);
      if (!found || estimates.has(keyOf(offer))) return;
      estimates.set(keyOf(offer), found);
      draw();
    }
  };
  /** What would be trained, and how long that takes here. */
  const about = () => {
    if (isMissing()) return "This page does not have these images: to train networks here, choose another run.";
    const [offer, other] = choices();
    if (!offer) return "";
    const [time, otherTime] = [offer, other].map((one) => one && estimates.get(keyOf(one)));
    const rest =
      otherTime && otherTime.seconds > TOO_LONG
        ? ` ${other.label === "Train it here" ? "The recorded networks" : "The others"} would take ${duration(otherTime.seconds)}.`
        : "";
    if (!time) return `${offer.about}.`;
    const here = `${offer.about}: about ${duration(time.seconds)} on ${time.engine === "gpu" ? "this GPU" : "this machine"}`;
    return isFarTooLong() ? `${here}; a fast GPU takes minutes. The recorded run is shown below.` : `${here}.${rest}`;
  };
  const view = () => {
    const result = run?.state === "done" && shown ? ` ${summary(shown)}` : "";
    const { first, more } = actions();
    return html`<div class="run-bar">
        <div class="run-buttons" role="group" aria-label="Training">${first.map((action) => actionButton(action))}</div>
        <p class="run-status" data-part="run-status">${run ? statusLine(run, why) + result : asked ? ASKED : about()}</p>
        <details class="run-more" ?hidden=${isMissing()}>
          <summary data-action="more">More</summary>
          <div class="run-buttons" role="group" aria-label="More about training">
            ${more.map((action) => actionButton(action))} ${speedChoice(run, { choose: setSpeed })}
          </div>
        </details>
      </div>
      ${progressBar(run)}
      <p class="run-notice" data-part="run-notice" ?hidden=${!run?.notice}>${run?.notice ?? ""}</p>
      <div class="figure-error" role="alert" data-kind=${failure?.why.kind ?? nothing} ?hidden=${!failure}>${failure ? failureText(failure) : nothing}</div>`;
  };

  /** @type {HTMLElement} */
  const figure = place.closest("figure") ?? place;
  let isNear = false;
  new IntersectionObserver((entries) => {
    visible = entries[entries.length - 1].isIntersecting;
    showChip(figure, run, visible, why);
  }).observe(figure);
  watchAttendance(document, navigator, attend);
  draw();
  void comesNear(figure).then(async () => {
    isNear = true;
    const all = await runner.saved();
    // What was opened from a file is not the reader's own.
    left = all.filter(({ options, file }) => options.experiment === experiment && !file);
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

/** Whether a run can be shown or resumed later. @param {{state: State}} run */
const isKept = ({ state }) => isActive(state) || state === "done";

/** @param {Offer} offer */
const keyOf = ({ options }) => JSON.stringify(options);

/** @param {{why: Failure, retry?: () => void}} failure */
const failureText = ({ why: { message, hint }, retry }) =>
  html`<p><strong>${sentence(message)}</strong>${hint ? ` ${sentence(hint)}` : ""}</p>
    ${retry ? html`<button type="button" data-action="retry" @click=${retry}>Try again</button>` : nothing}`;
