/** Figure III.2: the paths of all denoisers from the same noise, step by step. */
import { ends } from "../reports/gaussian-bias.js";
import { setEnd } from "../ui/controls.js";
import { divergence } from "../reports/divergence.js";
import { canvas, element, make, onPoint } from "../ui/dom.js";
import { count, fixed, significant } from "../ui/format.js";
import { decodeImages, drawPicture, pictureCount } from "../ui/images.js";
import { DENOISERS } from "../reports/denoisers.js";
import { cosineWith, memorized } from "../reports/report.js";
import { reportFigure } from "./report-figure.js";
import { runSlider } from "../ui/run-slider.js";
import { ALIKE, FEW_COPIES, MANY_COPIES } from "../reports/verdicts.js";

/**
 * @import { Bias, DenoiserId } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { Table } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {Report<"gaussian-bias">} BiasReport
 */

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"gaussian-bias">} source
 */
export function pathsFigure(root, page, source) {
  const { store, live } = page;
  const strips = DENOISERS.map(({ id }) => element(root, `path-${id}`));
  const labels = element(root, "path-sigmas");
  const showSteps = runSlider(element(root, "path-step"), store, "bias.step");
  /** The cells of each step, all rows and its noise level. @type {HTMLElement[][]} */
  let columns = [];

  /** As many columns as the sampler has steps. @param {number} steps */
  const layOut = (steps) => {
    if (columns.length === steps) return;
    columns = Array.from({ length: steps }, (_, step) => {
      const cells = [...DENOISERS.map(() => make("canvas", { ariaHidden: "true" })), make("span")];
      for (const cell of cells) onPoint(cell, () => store.set({ "bias.step": step + 1 }));
      return cells;
    });
    root.style.setProperty("--steps", String(steps));
    strips.forEach((strip, row) => strip.replaceChildren(...columns.map((cells) => cells[row])));
    labels.replaceChildren(...columns.map((cells) => cells[DENOISERS.length]));
  };

  reportFigure(root, page, source, {
    reads: ["bias.model", "bias.sample", "bias.step"],
    draw(report, values) {
      const model = ends(report)[values["bias.model"] === "few" ? 0 : 1];
      const { pathSigmas: sigmas, paths } = model;
      const diverged = divergence([model]);
      layOut(sigmas.length);
      const step = Math.min(values["bias.step"], sigmas.length) - 1;
      showSteps(
        sigmas.map((_, i) => i + 1),
        step + 1,
      );
      columns.forEach((cells, i) => {
        cells.forEach((cell) => cell.classList.toggle("selected", i === step));
        cells[DENOISERS.length].textContent = significant(sigmas[i], 2);
      });
      let samples = 1;
      for (const [row, { id }] of DENOISERS.entries()) {
        const path = paths[id];
        element(root, `walk-${id}`).toggleAttribute("data-missing", !path);
        if (!path) continue;
        /** @param {string} images */
        const pictures = (images) => decodeImages(report.shape, images);
        const ended = pictures(path.samples);
        samples = pictureCount(ended);
        const sample = (values["bias.sample"] - 1) % samples;
        path.denoised.forEach((images, i) =>
          drawPicture(/** @type {HTMLCanvasElement} */ (columns[i][row]), pictures(images), sample),
        );
        drawPicture(canvas(root, `${id}-now`), pictures(path.denoised[step]), sample);
        drawPicture(canvas(root, `${id}-ended`), ended, sample);
        drawPicture(canvas(root, `${id}-next`), pictures(path.nearest), sample);
      }
      live.set({
        "bias.model.n": count(model.n),
        "bias.model.diverged": diverged && `, which ${diverged},`,
        "bias.step": count(step + 1),
        "bias.step.sigma": significant(sigmas[step], 2),
        "bias.sample": `${((values["bias.sample"] - 1) % samples) + 1} of ${samples}`,
        ...Object.fromEntries(DENOISERS.map(({ id }) => [`bias.cosine.${id}`, fixed(cosine(model, id))])),
      });
      setEnd(root, "bias.sample", samples);
      page.contents.showNumbers(root, () => [distances(model)]);
      tell(report);
    },
  });

  /** @param {BiasReport} report */
  function tell(report) {
    const [few, many] = ends(report);
    /** Between the samples of a network's linear fit and of D_G. @param {Bias} model */
    const linearGaussian = ({ denoisers }) => denoisers.linear?.against.gaussian?.cosine.mean ?? NaN;
    /** @param {"few" | "many"} model @param {number} value */
    const of = (model, value) => ({ text: fixed(value), to: { "bias.model": model }, figure: "paths" });
    live.set({
      ...Object.fromEntries(
        DENOISERS.flatMap(({ id }) => [
          [`bias.few.cosine.${id}`, of("few", cosine(few, id))],
          [`bias.many.cosine.${id}`, of("many", cosine(many, id))],
        ]),
      ),
      "bias.few.cosine.linearGaussian": of("few", linearGaussian(few)),
      "bias.many.cosine.linearGaussian": of("many", linearGaussian(many)),
    });
    // A run that is under way has tested nothing yet, and a preview has no D_L.
    const fitted = report.final && few.denoisers.linear !== undefined && many.denoisers.linear !== undefined;
    const generalizes = report.final && memorized(many).mean < FEW_COPIES;
    const memorizes = report.final && memorized(few).mean > MANY_COPIES;
    live.claim(
      "bias.samples",
      generalizes && fitted ? Math.min(cosine(many, "linear"), cosine(many, "gaussian")) > ALIKE : undefined,
      [many],
    );
    live.claim(
      "bias.fewSamples",
      memorizes && fitted ? cosine(few, "linear") < cosine(many, "linear") - 0.1 : undefined,
      [few, many],
    );
    live.claim(
      "bias.leaves",
      memorizes && fitted
        ? linearGaussian(few) < linearGaussian(many) - 0.05 && linearGaussian(few) > cosine(few, "linear")
        : undefined,
      [few, many],
    );
    live.claim("bias.otherCopies", memorizes ? cosine(few, "empirical") < 0.95 : undefined, [few]);
  }
}

/** Between the samples of the network and of another denoiser. @param {Bias} model @param {DenoiserId} id */
const cosine = (model, id) => cosineWith(model, id)?.mean ?? NaN;

/**
 * How far the other denoisers' outputs are from the network's, step by step, over all samples.
 * @param {Bias} model
 * @returns {Table}
 */
function distances({ n, paths, pathSigmas }) {
  const others = DENOISERS.flatMap(({ id, symbol }) => {
    const path = paths[id];
    return path && id !== "trained" ? [{ symbol, path }] : [];
  });
  return {
    title: `Root mean square distance to the network's outputs in grey levels of 255, N = ${n}`,
    columns: ["Step", "σ", ...others.map(({ symbol }) => symbol)],
    rows: pathSigmas.map((sigma, step) => [
      step + 1,
      significant(sigma, 4),
      ...others.map(({ path }) => fixed(path.fromNetwork[step])),
    ]),
  };
}
