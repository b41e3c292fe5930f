/** What every place that shows a run is made of. */
import { make } from "../ui/dom.js";
import { count, duration, sentence, significant } from "../ui/format.js";

/** @import { Run, State } from "./run.js" */

/** Shares of the time that a run trains: for those who want to watch, or to spare their machine. */
const SPEEDS = [
  { label: "Full speed", share: 1 },
  { label: "Half speed", share: 0.5 },
  { label: "Slow", share: 0.1 },
];

/** Whether a run is under way. @param {State | undefined} state */
export const isActive = (state) => state === "preparing" || state === "running" || state === "paused";

/** How fast a run goes. @param {() => Run | undefined} run */
export function speedChoice(run) {
  const select = make(
    "select",
    {
      ariaLabel: "Speed",
      onchange() {
        const current = run();
        if (current) current.speed = Number(select.value);
      },
    },
    ...SPEEDS.map(({ label: name, share }) => make("option", { value: String(share) }, name)),
  );
  return select;
}

/** A bar that tells how far a run is. */
export function progressBar() {
  const bar = make("progress", { max: 1, value: 0, ariaLabel: "Training" });
  return {
    bar,
    /** @param {Run | undefined} run */
    show(run) {
      bar.hidden = !run;
      if (run && run.state !== "preparing") bar.value = run.progress.total ? run.progress.step / run.progress.total : 0;
      // Without a value the bar says that it does not know how long it takes.
      else bar.removeAttribute("value");
    },
  };
}

/**
 * Let the focus not fall to the top of the page with a button that goes: another takes it.
 * @param {HTMLElement[]} buttons the first of them that is still there takes the focus
 * @param {() => void} change hides or disables some of them
 */
export function keepFocus(buttons, change) {
  const focused = buttons.find((button) => button === document.activeElement);
  change();
  /** @param {HTMLElement} button */
  const gone = (button) => button.hidden || (button instanceof HTMLButtonElement && button.disabled);
  if (focused && gone(focused)) buttons.find((button) => !gone(button))?.focus();
}

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
  if (state === "failed") {
    const why = [failure?.message ?? "", failure?.hint ?? ""].filter((words) => words !== "").map(sentence);
    return `Stopped at step ${count(step)}: ${why.join(" ")}`;
  }
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
