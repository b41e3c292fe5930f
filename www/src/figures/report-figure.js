/** Figures that draw the report of an experiment. */
import { make } from "../ui/dom.js";
import { comesNear, keepDrawn } from "./figure.js";
import { originOf } from "../reports/provenance.js";
import { loadIndex } from "../reports/recorded.js";
import { openPromise } from "../runs/timing.js";

/**
 * @import { ExperimentName } from "../../pkg/hidden_gaussian.js"
 * @import { IndexEntry } from "../reports/recorded.js"
 * @import { Report } from "../reports/report.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { Key, Values } from "../state/parameters.js"
 * @import { Page } from "./figure.js"
 */

/**
 * A figure that draws reports, which are fetched when they are first asked for. A live run is drawn over the recorded one.
 * @template {ExperimentName} E
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<E>} source
 * @param {{
 *   reads: readonly Key[],
 *   draw: (
 *     report: Report<E>,
 *     values: Readonly<Values>,
 *     recorded: Report<E> | undefined,
 *   ) => void,
 *   say?: (report: Report<E>, values: Readonly<Values>) => string,
 * }} figure `recorded`: the run to compare with, undefined when it is the one shown; `say`: what the reader has chosen, in one
 *   sentence
 */
export function reportFigure(root, page, source, { reads, draw, say }) {
  /** What the reader had chosen when the figure was last drawn. @type {string | undefined} */
  let before;
  const tellShown = runSwitch(root, page, source);
  const update = keepDrawn(root, page, {
    reads,
    async ask() {
      const [{ shown }, name] = [source, await source.name()];
      const report = await source.report();
      // The reader has chosen another run meanwhile, which will be drawn in its turn.
      if ((await source.name()) !== name) return undefined;
      // Without the recorded run, the live one is shown alone.
      return { report, shown, recorded: shown === "live" ? await source.recorded().catch(() => undefined) : undefined };
    },
    draw({ report, shown, recorded }) {
      const { values } = page.store;
      draw(report, values, recorded);
      tellShown(shown);
      root.dataset.origin = originOf(report, source.shownOrigin.file);
      page.contents.showReport(root, report, source.shownOrigin.options);
      // A run speaks for itself, when it starts and when it ends; what it draws in between is not told.
      const choice = JSON.stringify(reads.map((key) => values[key]));
      if (say && before !== undefined && choice !== before) page.live.announce(say(report, values));
      before = choice;
    },
  });
  source.subscribe(update);
}

/** Settled for all figures once the reader comes to the first: a choice that goes while one looks would move the figure. */
const first = openPromise();

/**
 * Let the control of a figure offer the runs that the host has.
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {Key} key what chooses the run
 * @param {IndexEntry["experiment"]} experiment
 */
export async function offerRecorded(root, page, key, experiment) {
  void comesNear(root).then(() => first.resolve());
  await first.promise;
  // Without the list, all are offered: one that is not there says so.
  const index = await loadIndex().catch(() => undefined);
  if (!index) return;
  const files = new Set(index.map(({ file }) => file));
  const labels = [...root.querySelectorAll(`[data-control="${key}"] label`)].map((label) => ({
    label: /** @type {HTMLElement} */ (label),
    run: label.querySelector("input")?.value ?? "",
  }));
  const there = labels.filter(({ run }) => files.has(`${experiment}-${run}.json`));
  for (const { label, run } of labels) label.hidden = !files.has(`${experiment}-${run}.json`);
  if (there.length > 0 && !there.some(({ run }) => run === page.store.values[key])) {
    page.store.set({ [key]: there[0].run });
  }
}

/**
 * The line that says which run a figure shows, once there are two, with the button that shows the other.
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<any>} source
 * @returns {(shown: ReportSource<any>["shown"]) => void}
 */
function runSwitch(root, page, source) {
  const words = make("span");
  const button = make("button", {
    type: "button",
    onclick() {
      source.turn();
      page.live.announce(source.shown === "live" ? "The new run is shown." : "The recorded run is shown.");
    },
  });
  button.dataset.action = "switch-run";
  const line = make("p", { className: "shown-run", hidden: true }, words, button);
  root.querySelector("figcaption")?.before(line);
  return (shown) => {
    line.hidden = !shown;
    words.textContent = shown === "live" ? "Shown: the new run." : "Shown: the recorded run.";
    button.textContent = shown === "live" ? "Show the recorded run" : "Show the new run";
  };
}
