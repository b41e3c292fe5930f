import { mountControls } from "./controls.js";
import { byId } from "./dom.js";
import { denoiseFigure } from "./figures/denoise.js";
import { errorsFigure } from "./figures/errors.js";
import { samplesFigure } from "./figures/samples.js";
import { trajectoryFigure } from "./figures/trajectory.js";
import { mountFigureTools } from "./figure-tools.js";
import { trainingSet } from "./training-set.js";

/**
 * Bring the controls and figures of index.html to life.
 * @param {import("./figure.js").Page} page
 */
export function mountArticle(page) {
  mountControls(document, page.store);
  denoiseFigure(byId("denoise"), page);
  errorsFigure(byId("errors"), page);
  const training = trainingSet(byId("training-set"), byId("drop-notice"), page);
  trajectoryFigure(byId("trajectory"), page);
  samplesFigure(byId("samples"), page);
  mountFigureTools(document, page);
  page.engine.oncrash = () => void training.reload();
}
