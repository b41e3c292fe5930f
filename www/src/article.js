import { mountControls } from "./ui/controls.js";
import { byId, element } from "./ui/dom.js";
import { agreementFigure, agreementSource } from "./figures/agreement.js";
import { alignmentFigure } from "./figures/alignment.js";
import { clocksFigure } from "./figures/clocks.js";
import { denoiseFigure } from "./figures/denoise.js";
import { edgeFigure } from "./figures/edge.js";
import { emergenceFigure } from "./figures/emergence.js";
import { errorsFigure } from "./figures/errors.js";
import { heroFigure } from "./figures/hero.js";
import { modesFigure } from "./figures/modes.js";
import { leagueFigure } from "./figures/league.js";
import { mixturesFigure } from "./figures/mixtures.js";
import { pathsFigure } from "./figures/paths.js";
import { phaseFigure } from "./figures/phase.js";
import { randomFeatures } from "./figures/random-features.js";
import { samplesFigure } from "./figures/samples.js";
import { scoreDifferenceFigure } from "./figures/score-difference.js";
import { toyFigure } from "./figures/toy.js";
import { transitionFigure } from "./figures/transition.js";
import { windowFigure } from "./figures/window.js";
import { wienerFigure } from "./figures/wiener.js";
import { mountSteering } from "./ui/steer.js";
import { mountTerms } from "./ui/terms.js";
import { mountWhy } from "./ui/why.js";
import { labFigure } from "./figures/lab.js";
import { mountFigureTools } from "./export/figure-tools.js";
import { linkedRun } from "./runs/linked-run.js";
import { limitsSection } from "./figures/limits.js";
import { notesSection } from "./figures/notes.js";
import { trainingSet } from "./figures/training-set.js";
import { WorkBar } from "./ui/work-bar.js";
import { chosenRun } from "./reports/source.js";

/**
 * @import { Page } from "./figures/figure.js"
 * @import { ReportSource } from "./reports/source.js"
 */

/**
 * Bring the controls and figures of index.html to life.
 * @param {Page} page
 */
export function mountArticle(page) {
  const bias = chosenRun(page.store, "gaussian-bias", "bias.run");
  const emergence = chosenRun(page.store, "emergence", "emergence.run");
  const agreement = agreementSource(page.store);
  const clocks = chosenRun(page.store, "clocks", "clocks.run");
  const modes = chosenRun(page.store, "modes", "modes.run");
  /** Where reports are shown that have a figure of their own. @type {Map<string, {source: ReportSource<any>, figure: HTMLElement}>} */
  const places = new Map([
    ["gaussian-bias", { source: bias, figure: byId("score-difference") }],
    ["emergence", { source: emergence, figure: byId("phase") }],
    ["strong-generalization", { source: agreement, figure: byId("agreement") }],
    ["clocks", { source: clocks, figure: byId("clocks") }],
    ["modes", { source: modes, figure: byId("modes") }],
  ]);

  // Until now nothing would have handled them.
  for (const button of document.querySelectorAll("main button")) button.removeAttribute("disabled");
  mountControls(document, page.store);
  mountTerms(document);
  mountSteering(document, page.store);
  mountWhy(document);
  heroFigure(byId("hero"), page);
  toyFigure(byId("toy"), page);
  const work = new WorkBar(byId("work"), page.store, page.engine);
  denoiseFigure(byId("denoise"), page, (fitted) => work.settle(fitted));
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
  samplesFigure(byId("samples"), page);
  transitionFigure(byId("transition"), page);
  scoreDifferenceFigure(byId("score-difference"), page, bias);
  pathsFigure(byId("paths"), page, bias);
  alignmentFigure(byId("alignment"), page, bias);
  wienerFigure(byId("wiener"), page);
  emergenceFigure(byId("emergence"), page, emergence);
  phaseFigure(byId("phase"), page, emergence);
  agreementFigure(byId("agreement"), page, agreement);
  leagueFigure(byId("league"), page);
  edgeFigure(byId("edge"), page);
  mixturesFigure(byId("mixtures"), page);
  windowFigure(byId("window"), page);
  clocksFigure(byId("clocks"), page, clocks);
  randomFeatures(element(byId("clocks"), "features"), page);
  modesFigure(byId("modes"), page, modes);
  linkedRun(byId("linked-run"), page, lab);
  limitsSection(byId("limits-section"), page);
  notesSection(byId("notes-section"), page);
  mountFigureTools(document, page);
  page.engine.oncrash = () => void training.reload();
}
