/** Figure III.2: the ways of D_θ, D_L, D_G and D_M from the same noise, step by step. */
import { ends } from "../reports/gaussian-bias.js";
import { setEnd } from "../ui/controls.js";
import { divergence } from "../reports/divergence.js";
import { canvas, element, make, onPoint } from "../ui/dom.js";
import { showNumbers } from "../export/figure-tools.js";
import { count, fixed, significant } from "../ui/format.js";
import { drawPicture, pictureCount } from "../ui/images.js";
import { reportFigure } from "../reports/source.js";
import { runSlider } from "../ui/run-slider.js";
import { decodeImages } from "../reports/recorded.js";
import { ALIKE, FEW_COPIES, MANY_COPIES } from "../reports/verdicts.js";

/**
 * @import { Pictures } from "../engine/protocol.js"
 * @import { Bias, Path, Report } from "../reports/report.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { Table } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {Report<"gaussian-bias">} BiasReport
 * @typedef {Path["denoiser"]} Denoiser
 */

const ROWS = /** @type {const} */ (["trained", "linear", "gaussian", "empirical"]);

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"gaussian-bias">} source
 */
export function pathsFigure(root, page, source) {
  const { store, live } = page;
  const strips = Object.fromEntries(ROWS.map((name) => [name, element(root, `path-${name}`)]));
  const labels = element(root, "path-sigmas");
  const showSteps = runSlider(element(root, "path-step"), store, "bias.step");
  /** The cells of each step, all rows and its noise level. @type {HTMLElement[][]} */
  let columns = [];

  /** As many columns as the sampler has steps. @param {number} steps */
  const layOut = (steps) => {
    if (columns.length === steps) return;
    columns = Array.from({ length: steps }, (_, step) => {
      const cells = [...ROWS.map(() => make("canvas", { ariaHidden: "true" })), make("span")];
      for (const cell of cells) onPoint(cell, () => store.set({ "bias.step": step + 1 }));
      return cells;
    });
    root.style.setProperty("--steps", String(steps));
    ROWS.forEach((name, row) => strips[name].replaceChildren(...columns.map((cells) => cells[row])));
    labels.replaceChildren(...columns.map((cells) => cells[ROWS.length]));
  };

  reportFigure(root, page, source, {
    reads: ["bias.model", "bias.sample", "bias.step"],
    draw(report, values) {
      const model = ends(report)[values["bias.model"] === "few" ? 0 : 1];
      const { sigmas } = model.paths[0];
      const diverged = divergence([model]);
      layOut(sigmas.length);
      const step = Math.min(values["bias.step"], sigmas.length) - 1;
      showSteps(
        sigmas.map((_, i) => i + 1),
        step + 1,
      );
      columns.forEach((cells, i) => {
        cells.forEach((cell) => cell.classList.toggle("selected", i === step));
        cells[ROWS.length].textContent = significant(sigmas[i], 2);
      });
      let samples = 1;
      for (const [row, name] of ROWS.entries()) {
        const path = model.paths.find(({ denoiser }) => denoiser === name);
        element(root, `walk-${name}`).toggleAttribute("data-missing", !path);
        if (!path) continue;
        /** @param {string} images */
        const pictures = (images) => decodeImages(report.shape, images);
        const ended = pictures(path.samples);
        samples = pictureCount(ended);
        const sample = (values["bias.sample"] - 1) % samples;
        path.denoised.forEach((images, i) =>
          drawPicture(/** @type {HTMLCanvasElement} */ (columns[i][row]), pictures(images), sample),
        );
        drawPicture(canvas(root, `${name}-now`), pictures(path.denoised[step]), sample);
        drawPicture(canvas(root, `${name}-ended`), ended, sample);
        drawPicture(canvas(root, `${name}-next`), pictures(path.nearest), sample);
      }
      live.set({
        "bias.model.n": count(model.n),
        "bias.model.diverged": diverged && `, which ${diverged},`,
        "bias.step": count(step + 1),
        "bias.step.sigma": significant(sigmas[step], 2),
        "bias.sample": `${((values["bias.sample"] - 1) % samples) + 1} of ${samples}`,
        "bias.cosine.linear": fixed(model.cosineLinear?.mean ?? NaN),
        "bias.cosine.gaussian": fixed(model.cosineGaussian.mean),
        "bias.cosine.empirical": fixed(model.cosineEmpirical.mean),
      });
      setEnd(root, "bias.sample", samples);
      showNumbers(root, () => [distances(report, model)]);
      tell(report);
    },
  });

  /** @param {BiasReport} report */
  function tell(report) {
    const [few, many] = ends(report);
    live.set({
      "bias.few.cosine.gaussian": fixed(few.cosineGaussian.mean),
      "bias.few.cosine.empirical": fixed(few.cosineEmpirical.mean),
      "bias.few.cosine.linear": fixed(few.cosineLinear?.mean ?? NaN),
      "bias.few.cosine.linearGaussian": fixed(few.cosineLinearGaussian?.mean ?? NaN),
      "bias.many.cosine.gaussian": fixed(many.cosineGaussian.mean),
      "bias.many.cosine.linear": fixed(many.cosineLinear?.mean ?? NaN),
      "bias.many.cosine.linearGaussian": fixed(many.cosineLinearGaussian?.mean ?? NaN),
    });
    // A run that is under way has tested nothing yet.
    const generalizes = report.final && many.closeness.memorized.mean < FEW_COPIES;
    const memorizes = report.final && few.closeness.memorized.mean > MANY_COPIES;
    live.claim(
      "bias.samples",
      generalizes && many.cosineLinear ? Math.min(many.cosineLinear.mean, many.cosineGaussian.mean) > ALIKE : undefined,
      [many],
    );
    live.claim(
      "bias.fewSamples",
      memorizes && few.cosineLinear && many.cosineLinear
        ? few.cosineLinear.mean < many.cosineLinear.mean - 0.1
        : undefined,
      [few, many],
    );
    live.claim(
      "bias.leaves",
      memorizes && few.cosineLinear && few.cosineLinearGaussian && many.cosineLinearGaussian
        ? few.cosineLinearGaussian.mean < many.cosineLinearGaussian.mean - 0.05 &&
            few.cosineLinearGaussian.mean > few.cosineLinear.mean
        : undefined,
      [few, many],
    );
    live.claim("bias.otherCopies", memorizes ? few.cosineEmpirical.mean < 0.95 : undefined, [few]);
  }
}

/**
 * How far the other denoisers' answers are from the network's, step by step, over all samples.
 * @param {BiasReport} report
 * @param {Bias} model
 * @returns {Table}
 */
function distances({ shape }, { n, paths }) {
  const [first, ...others] = ROWS.flatMap((name) => paths.find(({ denoiser }) => denoiser === name) ?? []);
  /** @param {string} a @param {string} b images */
  const apart = (a, b) => {
    const [ours, theirs] = [a, b].map((images) => decodeImages(shape, images).rgba);
    // The fourth of each four is opacity, which is the same.
    const sum = ours.reduce((all, value, i) => all + (value - theirs[i]) ** 2, 0);
    return Math.sqrt(sum / (0.75 * ours.length));
  };
  return {
    title: `Root mean square distance to the network's answers in grey levels of 255, N = ${n}`,
    columns: ["Step", "σ", ...others.map(({ denoiser }) => LETTERS[denoiser])],
    rows: first.sigmas.map((sigma, step) => [
      step + 1,
      significant(sigma, 4),
      ...others.map(({ denoised }) => fixed(apart(first.denoised[step], denoised[step]))),
    ]),
  };
}

/** @type {Record<Denoiser, string>} */
const LETTERS = { trained: "D_θ", linear: "D_L", gaussian: "D_G", empirical: "D_M" };
