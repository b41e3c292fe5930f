/** Figure I.1, under the slider: the denoisers' errors on this image at every noise level. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { FITTED } from "../reports/denoisers.js";
import { mapDenoisers } from "../reports/map-denoisers.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { fixed, significant } from "../ui/format.js";
import { parameters } from "../state/parameters.js";
import { fromFraction } from "../state/slider-scale.js";

/**
 * @import { SweepResult } from "../engine/protocol.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

const SIGMA = parameters["denoise.sigma"];
const LEVELS = 33;
const SIGMAS = Array.from({ length: LEVELS }, (_, i) => fromFraction(SIGMA, i / (LEVELS - 1)));
const LEVELS_PER_CALL = 3;
const LISTS = /** @type {const} */ (["sigmas", "between", "effective"]);
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
      const whole = { sigmas: [], errors: {}, between: [], effective: [] };
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
        for (const name of LISTS) whole[name].push(...part[name]);
        mapDenoisers(part.errors, (errors, id) => (whole.errors[id] ??= []).push(...errors));
      }
      return whole;
    },
    draw(result) {
      latest = result;
      redraw();
      const { high, low } = decisive(result);
      live.set({ "denoise.high": significant(high ?? NaN, 2), "denoise.low": significant(low ?? NaN, 2) });
      live.claim("denoise.mean", high !== undefined);
      live.claim("denoise.lookup", low !== undefined);
    },
  });
}

/**
 * Between which noise levels it is decided which image appears: from `high` on most images contribute and the denoisers agree, up
 * to `low` there is but one. Undefined where that is so at no level.
 * @param {SweepResult} result
 */
function decisive({ sigmas, between, effective }) {
  const most = Math.max(...effective) / 2;
  const first = sigmas.findLastIndex((_, i) => between[i] >= 0.1 || effective[i] < most) + 1;
  const several = effective.findIndex((count) => count >= 1.5);
  return { high: sigmas[first], low: several > 0 ? sigmas[several - 1] : undefined };
}

/** @param {HTMLElement} root */
function errorsChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<SweepResult & {sigma: number}>} */ ({
      name: "errors over the noise level",
      label: (result) =>
        `Error over the noise level: ` +
        curves(result)
          .map(({ label, points }) => `${label} from ${fixed(points[0].error)} to ${fixed(points[LEVELS - 1].error)}`)
          .join("; "),
      columns: [
        "σ (error of doing nothing)",
        ...FITTED.map(({ short }) => `${short}: error`),
        "Effective number of images",
      ],
      rows: ({ sigmas, errors, effective }) =>
        sigmas.map((sigma, i) => [
          significant(sigma),
          ...FITTED.map(({ id }) => fixed(errors[id]?.[i] ?? NaN, 3)),
          significant(effective[i]),
        ]),
      options(result) {
        const { sigma } = result;
        const all = curves(result);
        const top = Math.max(...all.flatMap(({ points }) => points.map(({ error }) => error)));
        // Labels stand where the curves are furthest apart, above each curve if there is room between them.
        const gaps = all[0].points
          .slice(2, LABELS_END)
          .map((_, i) => leastGap(all.map(({ points }) => points[i + 2].error)));
        const labelAt = 2 + gaps.indexOf(Math.max(...gaps));
        const roomy = Math.max(...gaps) > 0.3 * top;
        const high = Math.max(top, ...HEIGHTS);
        // The error of the noisy image itself is its noise, up to the top of the chart.
        const nothing = [...SIGMAS.filter((sigma) => sigma < high), high].map((sigma) => ({ sigma, error: sigma }));
        const highest = Math.max(...all.map(({ points }) => points[labelAt].error));
        return {
          height: 112,
          marginTop: 16,
          marginBottom: 16,
          marginLeft: 0,
          marginRight: 0,
          x: { type: "log", domain: [SIGMA.min, SIGMA.max], axis: null },
          y: { domain: [0, high], axis: null },
          marks: [
            ruleY(HEIGHTS, { stroke: "var(--line)" }),
            text(HEIGHTS, { y: (error) => error, text: String, frameAnchor: "right", dy: -6, fill: "var(--muted)" }),
            line(nothing, { x: "sigma", y: "error", stroke: "var(--muted)", strokeDasharray: "1 3" }),
            text(nothing.slice(-1), {
              x: "sigma",
              text: () => "Do nothing",
              frameAnchor: "top",
              textAnchor: "start",
              dy: -12,
              fill: "var(--muted)",
            }),
            ruleX([sigma], { stroke: "var(--muted)", strokeDasharray: "2 3" }),
            text(["Error"], { frameAnchor: "top-left", dy: -12, fill: "var(--muted)" }),
            ...all.flatMap(({ short, colour, dash, points }) => {
              return [
                line(points, { x: "sigma", y: "error", stroke: colour, strokeWidth: 2, strokeDasharray: dash }),
                text([points[labelAt]], {
                  x: "sigma",
                  y: "error",
                  text: () => short,
                  dy: roomy || points[labelAt].error === highest ? -9 : 10,
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

/** The error of each denoiser at each level. @param {SweepResult} result */
const curves = ({ sigmas, errors }) =>
  FITTED.flatMap((row) => {
    const list = errors[row.id];
    return list ? [{ ...row, points: sigmas.map((sigma, i) => ({ sigma, error: list[i] })) }] : [];
  });

/** The smallest distance between two of several numbers. @param {number[]} values */
function leastGap(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.min(...sorted.slice(1).map((value, i) => value - sorted[i]));
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
  const fraction = Math.log(sigma / a.sigma) / Math.log(b.sigma / a.sigma);
  return { sigma, error: a.error + fraction * (b.error - a.error) };
}
