/** Figure I.1, under the slider: both denoisers' errors on this image at every noise level. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { DENOISERS, EXACT, HIGH_NOISE, LOW_NOISE } from "../reports/denoisers.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { fixed, significant } from "../ui/format.js";
import { fromFraction, parameters } from "../state/parameters.js";

/**
 * @import { SweepResult } from "../engine/protocol.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

const SIGMA = parameters["denoise.sigma"];
const LEVELS = 33;
const SIGMAS = Array.from({ length: LEVELS }, (_, i) => fromFraction(SIGMA, i / (LEVELS - 1)));
const LEVELS_PER_CALL = 3;
const KEYS = /** @type {const} */ (["sigmas", "empirical", "gaussian", "between", "effective"]);
/** Errors that the chart marks; the second is that of a guess of nothing, the standard deviation of the images. */
const HEIGHTS = [0, 0.5];
/** Labels stand left of here: to the right the curves run together. */
const LABELS_END = Math.round(0.7 * LEVELS);

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function errorsFigure(root, page) {
  const { store, live } = page;
  const draw = errorsChart(root);
  /** @type {SweepResult | undefined} */
  let latest;
  const redraw = () => latest && draw({ ...latest, sigma: store.values["denoise.sigma"] });
  store.subscribe(["denoise.sigma"], redraw);

  let running = new AbortController();
  liveFigure(root, page, {
    reads: [...SETTING, "denoise.split", "denoise.image", "denoise.seed"],
    async compute(values) {
      running.abort();
      const { signal } = (running = new AbortController());
      /** @type {SweepResult} */
      const whole = { sigmas: [], empirical: [], gaussian: [], between: [], effective: [] };
      // A few levels to a call, so that the slider's own calls are answered in between.
      for (let i = 0; i < LEVELS && !signal.aborted; i += LEVELS_PER_CALL) {
        const part = await page.engine
          .call(
            "sweep",
            {
              setting: setting(values),
              split: values["denoise.split"],
              image: values["denoise.image"] - 1,
              sigmas: SIGMAS.slice(i, i + LEVELS_PER_CALL),
              seed: values["denoise.seed"],
            },
            signal,
          )
          .catch((failure) => {
            if (failure.kind !== "Cancelled") throw failure;
          });
        if (!part) return undefined;
        for (const name of KEYS) whole[name].push(...part[name]);
      }
      return whole;
    },
    draw(result) {
      latest = result;
      redraw();
      const { sigmas, between, effective } = result;
      live.claim(
        "denoise.mean",
        sigmas.every((sigma, i) => sigma < HIGH_NOISE || between[i] < 0.1),
      );
      live.claim(
        "denoise.lookup",
        sigmas.every((sigma, i) => sigma > LOW_NOISE || effective[i] < 1.5),
      );
    },
  });
}

/** @param {HTMLElement} root */
function errorsChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<SweepResult & {sigma: number}>} */ ({
      name: "errors over the noise level",
      label: ({ empirical, gaussian }) =>
        `Error over the noise level: from ${fixed(empirical[0])} to ${fixed(empirical[LEVELS - 1])} for the empirical ` +
        `and from ${fixed(gaussian[0])} to ${fixed(gaussian[LEVELS - 1])} for the Gaussian denoiser`,
      columns: ["σ", "Empirical: error", "Gaussian: error", "Effective number of images"],
      rows: ({ sigmas, empirical, gaussian, effective }) =>
        sigmas.map((sigma, i) => [
          significant(sigma),
          fixed(empirical[i], 3),
          fixed(gaussian[i], 3),
          significant(effective[i]),
        ]),
      options(result) {
        const { sigmas, sigma, empirical, gaussian } = result;
        const top = Math.max(...empirical, ...gaussian);
        // Labels stand where the curves are furthest apart, above each curve if there is room between the two.
        const gaps = empirical.slice(2, LABELS_END).map((error, i) => Math.abs(error - gaussian[i + 2]));
        const labelAt = 2 + gaps.indexOf(Math.max(...gaps));
        const roomy = Math.max(...gaps) > 0.3 * top;
        const upper = empirical[labelAt] > gaussian[labelAt] ? "empirical" : "gaussian";
        return {
          height: 112,
          marginTop: 16,
          marginBottom: 16,
          marginLeft: 0,
          marginRight: 0,
          x: { type: "log", domain: [SIGMA.min, SIGMA.max], axis: null },
          y: { domain: [0, Math.max(top, ...HEIGHTS)], axis: null },
          marks: [
            ruleY(HEIGHTS, { stroke: "var(--line)" }),
            text(HEIGHTS, { y: (error) => error, text: String, frameAnchor: "right", dy: -6, fill: "var(--muted)" }),
            ruleX([sigma], { stroke: "var(--muted)", strokeDasharray: "2 3" }),
            text(["Error"], { text: (label) => label, frameAnchor: "top-left", dy: -12, fill: "var(--muted)" }),
            ...EXACT.flatMap((name) => {
              const { label, colour, dash } = DENOISERS[name];
              const points = sigmas.map((level, i) => ({ sigma: level, error: result[name][i] }));
              return [
                line(points, { x: "sigma", y: "error", stroke: colour, strokeWidth: 2, strokeDasharray: dash }),
                text([points[labelAt]], {
                  x: "sigma",
                  y: "error",
                  text: () => label,
                  dy: roomy || name === upper ? -9 : 10,
                  textAnchor: "start",
                }),
                dot([interpolate(points, sigma)], {
                  x: "sigma",
                  y: "error",
                  r: 4,
                  fill: colour,
                  stroke: "var(--paper)",
                  strokeWidth: 1.5,
                }),
              ];
            }),
          ],
        };
      },
    }),
  );
}

/**
 * The point of a curve at `sigma`, between its two neighbours on the log scale.
 * @param {{sigma: number, error: number}[]} points
 * @param {number} sigma
 */
function interpolate(points, sigma) {
  const after = Math.max(
    1,
    points.findIndex((point) => point.sigma >= sigma),
  );
  const [a, b] = [points[after - 1], points[after]];
  const share = Math.log(sigma / a.sigma) / Math.log(b.sigma / a.sigma);
  return { sigma, error: a.error + share * (b.error - a.error) };
}
