/** What the figures about networks over their training have in common: a run is recorded, and can be trained again here. */
import { divergenceSentence } from "../reports/divergence.js";
import { provenance } from "../reports/provenance.js";
import { offers } from "../runs/offers.js";
import { runPanel } from "../runs/run-panel.js";
import { element } from "../ui/dom.js";
import { count, sentences } from "../ui/format.js";
import { offerRecorded, reportFigure } from "./report-figure.js";

/**
 * @import { ClocksCourse, ModesCourse } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { LiveText } from "../ui/live.js"
 * @import { Page } from "./figure.js"
 */

/** Whether a network has curves by now. @param {ClocksCourse | ModesCourse} course */
export const hasCurves = ({ moments }) => moments.length > 1;

/**
 * Say of a sentence whether it holds, and hide it if this run does not test it: then it has no numbers, either.
 * @param {LiveText} live
 * @param {Parameters<LiveText["claim"]>} claim
 */
export function claimIfTested(live, ...claim) {
  live.claim(...claim);
  for (const place of document.querySelectorAll(`[data-claim="${claim[0]}"]`)) {
    if (place instanceof HTMLElement) place.hidden = place.dataset.verdict === "untested";
  }
}

/**
 * Show a sentence only where the run has what it says.
 * @param {string} name
 * @param {boolean} shown
 */
export function showSentence(name, shown) {
  for (const place of document.querySelectorAll(`[data-sentence="${name}"]`)) {
    if (place instanceof HTMLElement) place.hidden = !shown;
  }
}

/**
 * @template {"clocks" | "modes"} E
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<E>} source
 * @param {Parameters<typeof reportFigure<E>>[3] & {
 *   experiment: E,
 *   summary: (report: Report<E>) => string[],
 * }} figure `summary`: what came out, in sentences
 */
export function overTrainingFigure(root, page, source, { experiment, summary, reads, draw, say }) {
  /** @type {`${E}.run`} */
  const setting = `${experiment}.run`;
  /** The recorded run. @type {Report<E> | undefined} */
  let latest;
  void offerRecorded(root, page, setting, experiment);
  reportFigure(root, page, source, {
    reads: [setting, ...reads],
    draw(report, values, recorded) {
      latest = recorded ?? (report.record ? report : latest);
      panel.draw();
      draw(report, values, recorded);
      page.live.set({
        [`${experiment}.source`]: provenance(report, source.shownOrigin.file),
        [`${experiment}.samples`]: count(report.config.evaluation.samples),
      });
    },
    say,
  });
  const panel = runPanel(element(root, "run"), page, {
    experiment,
    seed: `${experiment}.seed`,
    instead: { label: "Train on faces instead", act: () => page.store.set({ [setting]: "main-faces" }) },
    offers: (seed) => latest && offers(experiment, page.store.values[setting], latest, seed),
    onReport: (report, run) =>
      source.show(report?.findings.some(hasCurves) ? report : undefined, { options: run.options }),
    summary: (report) => sentences(...summary(report), divergenceSentence(report)),
  });
  // A recorded run that the reader asks for takes the place of the live one.
  page.store.subscribe([setting], () => {
    latest = undefined;
    panel.layAside();
    panel.draw();
  });
}
