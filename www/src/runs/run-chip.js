/** The chips in the corner of the page: runs that train in figures which are out of sight, and the way back to each. */
import { html, nothing, render } from "lit-html";
import { count, duration } from "../ui/format.js";
import { make } from "../ui/dom.js";
import { isActive } from "./run-view.js";

/** @import { Run } from "./run.js" */

/** @typedef {{figure: HTMLElement, run: Run, isSeen: boolean, why: string}} Chip `why`: the run rests by itself */

/** What the chips are about, one per figure. @type {Map<HTMLElement, Chip>} */
const chips = new Map();
/** @type {HTMLElement | undefined} */
let place;

/**
 * Say how the run of a figure goes. It is shown while the figure is out of sight, and what came out until the reader has seen it.
 * @param {HTMLElement} figure
 * @param {Run | undefined} run undefined: there is none
 * @param {boolean} isSeen whether the figure is on the screen
 * @param {string} why the run rests by itself, if it does
 */
export function showChip(figure, run, isSeen, why) {
  const known = chips.get(figure);
  if (!run || run.state === "cancelled" || (isSeen && !isActive(run.state))) chips.delete(figure);
  // A run that was over before the reader left has nothing new to say.
  else if (isActive(run.state) || known?.run === run) chips.set(figure, { figure, run, isSeen, why });
  const shown = [...chips.values()].filter((chip) => !chip.isSeen);
  if (shown.length === 0 && !place) return;
  place ??= document.body.appendChild(make("aside", { className: "run-chips", ariaLabel: "Runs under way" }));
  place.hidden = shown.length === 0;
  render(shown.map(view), place);
}

/** @param {Chip} chip */
function view({ figure, run, why }) {
  const { state, progress } = run;
  const fraction = progress.total ? progress.step / progress.total : 0;
  return html`<a class="run-chip" data-state=${state} href=${`#${figure.id}`}>
    <span>${name(figure)} ${words(run, why)}</span>
    ${isActive(state) ? html`<progress max="1" aria-hidden="true" value=${fraction}></progress>` : nothing}
  </a>`;
}

/** @param {Run} run @param {string} why */
function words({ state, progress: { step, total, secondsLeft } }, why) {
  const percent = `${count(Math.floor((100 * step) / Math.max(1, total)))}\u202f%`;
  switch (state) {
    case "preparing":
      return "prepares to train…";
    case "paused":
      return `is paused at ${percent}${why && ` ${why}`}`;
    case "running":
      return `trains · ${percent}${secondsLeft ? ` · ${duration(secondsLeft)} left` : ""}`;
    case "failed":
      return "stopped: see why";
    default:
      return "has finished training";
  }
}

/** @param {HTMLElement} figure */
const name = (figure) => (figure.querySelector("figcaption b")?.textContent ?? "A figure").replace(/\.$/, "");
