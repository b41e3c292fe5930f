/** What every place that shows a run is made of. */
import { html, nothing } from "lit-html";
import { count, duration, sentence, significant } from "../ui/format.js";

/** @import { TemplateResult } from "lit-html" */
/** @import { Run, State } from "./run.js" */

/** Fractions of the time that a run trains: for those who want to watch, or to spare their machine. */
const SPEEDS = [
  { label: "Full speed", fraction: 1 },
  { label: "Half speed", fraction: 0.5 },
  { label: "Slow", fraction: 0.1 },
];

/**
 * @typedef {object} Action something that a reader can do with a run
 * @property {string} name for style sheets and tests
 * @property {string} label
 * @property {string} [title]
 * @property {boolean} [hidden]
 * @property {boolean} [disabled]
 * @property {boolean} [primary]
 * @property {boolean} [isDone] whether it was just done
 * @property {() => void} act
 */

/** Whether a run is under way. @param {State | undefined} state */
export const isActive = (state) => state === "preparing" || state === "running" || state === "paused";

/** @param {Action} action @param {string} [describedBy] @returns {TemplateResult} */
export const actionButton = (
  { name, label, title, hidden = false, disabled = false, primary = false, isDone = false, act },
  describedBy,
) =>
  html`<button
    type="button"
    data-action=${name}
    class=${primary ? "primary" : ""}
    title=${title ?? nothing}
    aria-describedby=${describedBy ?? nothing}
    ?hidden=${hidden}
    ?disabled=${disabled}
    ?data-done=${isDone}
    @click=${act}
    >${label}</button
  >`;

/**
 * How fast a run goes.
 * @param {Run | undefined} run
 * @param {{hidden?: boolean, describedBy?: string, choose: (fraction: number) => void}} options
 */
export const speedChoice = (run, { hidden = false, describedBy, choose }) =>
  html`<select
    aria-label="Speed"
    data-action="speed"
    aria-describedby=${describedBy ?? nothing}
    ?hidden=${hidden}
    @change=${(/** @type {Event} */ { target }) => choose(Number(/** @type {HTMLSelectElement} */ (target).value))}
  >
    ${SPEEDS.map(({ label, fraction }) => html`<option value=${fraction} ?selected=${fraction === (run?.speed ?? 1)}>${label}</option>`)}
  </select>`;

/**
 * How far a run is. Without a value the bar says that it does not know how long it takes.
 * @param {Run | undefined} run
 */
export function progressBar(run) {
  if (!run) return html`<progress max="1" aria-label="Training" hidden></progress>`;
  const { step, total } = run.progress;
  const value = run.state === "preparing" ? nothing : total ? step / total : 0;
  return html`<progress max="1" aria-label="Training" value=${value}></progress>`;
}

/**
 * Let the focus not fall to the top of the page with a button that goes: the first that is still there takes it.
 * @param {HTMLElement} place that the buttons are in
 * @param {readonly string[]} order of their names
 * @param {() => void} change hides, disables or removes some of them
 */
export function keepFocus(place, order, change) {
  const focused = /** @type {HTMLElement | null} */ (
    place.contains(document.activeElement) ? document.activeElement : null
  );
  change();
  if (!focused?.dataset.action || isThere(focused)) return;
  const buttons = /** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll("[data-action]"));
  for (const name of order) {
    const next = [...buttons].find((button) => button.dataset.action === name && isThere(button));
    if (next) return next.focus();
  }
}

/** @param {HTMLElement} button */
const isThere = (button) =>
  button.isConnected && !button.hidden && !(button instanceof HTMLButtonElement && button.disabled);

/**
 * How far a run is, in one line.
 * @param {Pick<Run, "state" | "progress" | "engine" | "report" | "failure">} run
 * @param {string | false} why it paused by itself, if it did
 */
export function statusLine({ state, progress, engine, report, failure }, why) {
  const { step, total, stepsPerSecond, secondsLeft, workers } = progress;
  const place = engine === "gpu" ? "GPU" : workers > 1 ? `CPU, ${workers} workers` : "CPU";
  const at = `Step ${count(step)} of ${count(total)}`;
  switch (state) {
    case "preparing":
      return "Drawing the images and fitting the exact denoisers…";
    case "failed": {
      const why = [failure?.message ?? "", failure?.hint ?? ""].filter((words) => words !== "").map(sentence);
      return `Stopped at step ${count(step)}: ${why.join(" ")}`;
    }
    case "cancelled":
      return `Cancelled at step ${count(step)}.`;
    case "paused":
      return `${at} · paused${why ? ` ${why}` : ""}`;
    case "done":
      return `Done in ${duration(report?.seconds ?? 0)} (${place}).`;
    default:
      return [
        at,
        ...(stepsPerSecond ? [`${significant(stepsPerSecond, 2)} steps/s`] : []),
        ...(secondsLeft === null || secondsLeft === undefined ? [] : [`${duration(secondsLeft)} left`]),
        place,
      ].join(" · ");
  }
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
