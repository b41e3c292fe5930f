/** What the figures about networks over their training have in common: a run is recorded, and a small one can be trained here. */
import { divergenceSentence } from "../reports/divergence.js";
import { provenance } from "../reports/provenance.js";
import { runPanel } from "../runs/run-panel.js";
import { QUICK_FACES } from "../state/data-sets.js";
import { element } from "../ui/dom.js";
import { count, sentences } from "../ui/format.js";
import { offerRecorded, reportFigure } from "./report-figure.js";

/**
 * @import { ClocksCourse, ModesCourse } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { Page } from "./figure.js"
 */

/** Whether a network has curves by now. @param {ClocksCourse | ModesCourse} course */
export const hasCurves = ({ moments }) => moments.length > 1;

/**
 * @template {"clocks" | "modes"} E
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<E>} source
 * @param {Parameters<typeof reportFigure<E>>[3] & {
 *   experiment: E,
 *   about: string,
 *   summary: (report: Report<E>) => string[],
 * }} figure `about`: what would be trained here; `summary`: what came out, in sentences
 */
export function overTrainingFigure(root, page, source, { experiment, about, summary, reads, draw, say }) {
  void offerRecorded(root, page, `${experiment}.run`, experiment);
  reportFigure(root, page, source, {
    reads: [`${experiment}.run`, ...reads],
    draw(report, ...rest) {
      draw(report, ...rest);
      page.live.set({
        [`${experiment}.source`]: provenance(report, source.shownOrigin.file),
        [`${experiment}.samples`]: count(report.config.evaluation.samples),
      });
    },
    say,
  });
  runPanel(element(root, "run"), page, {
    experiment,
    seed: `${experiment}.seed`,
    offers: (seed) => [
      { label: "Train it here", about, options: { experiment, preset: "quick", seed, data: QUICK_FACES } },
    ],
    onReport: (report, run) =>
      source.show(report?.findings.some(hasCurves) ? report : undefined, { options: run.options }),
    summary: (report) => sentences(...summary(report), divergenceSentence(report)),
  });
}
