import { mountControls } from "./ui/controls.js";
import { byId } from "./ui/dom.js";
import { agreementFigure, agreementSource } from "./figures/agreement.js";
import { alignmentFigure } from "./figures/alignment.js";
import { denoiseFigure } from "./figures/denoise.js";
import { emergenceFigure, emergenceSource } from "./figures/emergence.js";
import { errorsFigure } from "./figures/errors.js";
import { heroFigure } from "./figures/hero.js";
import { pathsFigure } from "./figures/paths.js";
import { phaseFigure } from "./figures/phase.js";
import { samplesFigure } from "./figures/samples.js";
import { biasSource, scoreDifferenceFigure } from "./figures/score-difference.js";
import { toyFigure } from "./figures/toy.js";
import { trajectoryFigure } from "./figures/trajectory.js";
import { transitionFigure } from "./figures/transition.js";
import { wienerFigure } from "./figures/wiener.js";
import { mountTerms } from "./ui/terms.js";
import { labFigure } from "./figures/lab.js";
import { mountFigureTools } from "./export/figure-tools.js";
import { linkedRun } from "./runs/linked-run.js";
import { limitsSection } from "./figures/limits.js";
import { notesSection } from "./figures/notes.js";
import { trainingSet } from "./figures/training-set.js";

/**
 * @import { Page } from "./figures/figure.js"
 * @import { ReportSource } from "./reports/source.js"
 */

/**
 * Bring the controls and figures of index.html to life.
 * @param {Page} page
 */
export function mountArticle(page) {
  const bias = biasSource(page.store);
  const emergence = emergenceSource(page.store);
  const agreement = agreementSource(page.store);
  /** Where reports are shown that have a figure of their own. @type {Map<string, {source: ReportSource<any>, figure: HTMLElement}>} */
  const places = new Map([
    ["gaussian-bias", { source: bias, figure: byId("score-difference") }],
    ["emergence", { source: emergence, figure: byId("emergence") }],
    ["strong-generalization", { source: agreement, figure: byId("agreement") }],
  ]);

  // Until now nothing would have handled them.
  for (const button of document.querySelectorAll("main button")) button.removeAttribute("disabled");
  mountControls(document, page.store);
  mountTerms(document);
  heroFigure(byId("hero"), page);
  toyFigure(byId("toy"), page);
  denoiseFigure(byId("denoise"), page);
  errorsFigure(byId("errors"), page);
  const lab = labFigure(byId("lab"), page, {
    own: () => training.own,
    show(report, origin) {
      const place = places.get(report.experiment);
      place?.source.show(report, origin);
      return place?.figure;
    },
  });
  const training = trainingSet(byId("training-set"), byId("drop-notice"), page, lab.open);
  trajectoryFigure(byId("trajectory"), page);
  samplesFigure(byId("samples"), page);
  transitionFigure(byId("transition"), page);
  scoreDifferenceFigure(byId("score-difference"), page, bias);
  pathsFigure(byId("paths"), page, bias);
  alignmentFigure(byId("alignment"), page, bias);
  wienerFigure(byId("wiener"), page);
  emergenceFigure(byId("emergence"), page, emergence);
  phaseFigure(byId("phase"), page, emergence);
  agreementFigure(byId("agreement"), page, agreement);
  linkedRun(byId("linked-run"), page, lab.start);
  limitsSection(byId("limits-section"), page);
  notesSection(byId("notes-section"), page);
  mountFigureTools(document, page);
  page.engine.oncrash = () => void training.reload();
}
