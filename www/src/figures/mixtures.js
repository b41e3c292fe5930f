/** Figure V.3: from the Gaussian to the memorizing denoiser, by mixtures of more and more Gaussians. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { loadLeague, missed, mixturesHelp, mixturesSentence, standingOf } from "../reports/league.js";
import { distinct, nearestStop } from "../reports/nearest.js";
import { provenance } from "../reports/provenance.js";
import { chart } from "../ui/chart.js";
import { element } from "../ui/dom.js";
import { count, fixed, significant } from "../ui/format.js";
import { labelPlaces } from "../ui/labels.js";
import { axisName, HALO, title } from "../ui/marks.js";
import { runSlider } from "../ui/run-slider.js";
import { keepDrawn } from "./figure.js";

/**
 * @import { Scores } from "../reports/league.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/** @typedef {{k: number, missed: number, missedError: number, error: number, errorError: number}} Point */
/** @typedef {{name: string, n: number, points: Point[]}} Set */
/** @typedef {{sets: Set[], sigma: number, field: "missed" | "error"}} Shown */

const HEIGHT = 280;
/** Where the axes may have ticks. */
const TICKS = {
  missed: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
  error: [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 5, 10, 20],
};
/** The sets side by side, how their curves are drawn, and what their images are called. */
const SETS = /** @type {const} */ ([
  ["main-faces", "Faces", "circle", undefined, "faces"],
  ["main-fashion", "Fashion", "star", "10 3 2 3", "clothes"],
  ["main-mnist", "MNIST", "triangle", "6 3", "digits"],
  ["cifar-cifar10", "CIFAR-10", "square", "2 3", "photographs"],
]);

/** @param {HTMLElement} root @param {Page} page */
export function mixturesFigure(root, page) {
  const { store, live } = page;
  const showLevels = runSlider(element(root, "mixtures-sigma"), store, "mixtures.sigma");
  const drawMissed = mixturesChart(element(root, "mixtures-missed"));
  const drawErrors = mixturesChart(element(root, "mixtures-error"));

  keepDrawn(root, page, {
    reads: ["mixtures.sigma"],
    ask: () => Promise.all(SETS.map(([run]) => loadLeague(run))),
    draw(reports) {
      // Those that all of them have.
      const levels = distinct(
        reports[0].sigmas.filter((level) => reports.every(({ sigmas }) => sigmas.includes(level))),
      );
      const sigma = nearestStop(levels, store.values["mixtures.sigma"]);
      showLevels(levels, sigma);
      const sets = reports.map((report, i) => {
        const { n, mixtures } = standingOf(report, "many");
        const level = report.sigmas.indexOf(sigma);
        return { name: SETS[i][1], n, points: mixtures.map((scores) => pointOf(scores, level)) };
      });
      drawMissed({ sets, sigma, field: "missed" });
      drawErrors({ sets, sigma, field: "error" });
      const gains = sets.map(bestOf).map(({ k, error }, i) => ({ images: SETS[i][4], k, gain: 1 - error }));
      live.set({
        "mixtures.sigma": significant(sigma),
        "mixtures.gains": mixturesSentence(gains),
        "mixtures.source": provenance(reports[0]),
      });
      live.claim(
        "mixtures.mnist",
        mixturesHelp(gains, ["digits", "clothes"]),
        reports.map((report) => standingOf(report, "many")),
      );
      root.dataset.origin = "recorded";
      page.contents.showReport(root, reports[0]);
    },
  });
}

/** The mixture that denoises best. @param {Set} set */
const bestOf = ({ points }) => points.reduce((a, b) => (b.error < a.error ? b : a));

/** @param {Scores} scores @param {number} level @returns {Point} */
const pointOf = ({ components = 1, prediction, error }, level) => ({
  k: components,
  missed: missed(prediction[level]),
  missedError: prediction[level].r2.standardError,
  error: error[level].mean,
  errorError: error[level].standardError,
});

/** @param {HTMLElement} root */
function mixturesChart(root) {
  /** @type {ReturnType<typeof chart> | undefined} */
  let draw;
  return (/** @type {Shown} */ shown) => {
    draw ??= chart(root, spec(shown.field));
    draw(shown);
  };
}

/** @param {"missed" | "error"} field @returns {ChartSpec<any>} */
function spec(field) {
  const what = field === "missed" ? "Unexplained, 1 − R²" : "Squared error, relative to the Gaussian’s";
  const error = field === "missed" ? "missedError" : "errorError";
  return /** @type {ChartSpec<Shown>} */ ({
    name: `mixtures of Gaussians: ${what}`,
    label: ({ sets, sigma }) =>
      `${what} over the number of Gaussians at noise level ${significant(sigma)}: ` +
      sets
        .map(
          ({ name, points }) => `on ${name} ${points.map((p) => `${fixed(p[field])} with ${count(p.k)}`).join(", ")}`,
        )
        .join("; "),
    columns: ["Data", "Gaussians K", what, `${what} ± s.e.`],
    rows: ({ sets }) =>
      sets.flatMap(({ name, points }) => points.map((p) => [name, count(p.k), fixed(p[field], 4), fixed(p[error], 4)])),
    options({ sets }) {
      const values = sets.flatMap(({ points }) => points.map((p) => p[field])).filter((value) => value > 0);
      const n = Math.max(...sets.map((set) => set.n));
      const [low, high] = [Math.min(...values) / 1.2, Math.max(...values) * 1.6];
      const ends = sets.map(({ name, points }) => ({ name, ...points[points.length - 1] }));
      const heights = ends.map((end) => Math.log(end[field]));
      const places = labelPlaces(heights, [Math.log(low), Math.log(high)], HEIGHT - 72);
      const names = ends.map((end, i) => ({ ...end, height: Math.exp(places[i]) }));
      return {
        height: HEIGHT,
        marginTop: 32,
        marginBottom: 40,
        marginLeft: 40,
        marginRight: 60,
        x: { type: "log", label: null, ticks: [1, 4, 16, 64, n], tickFormat: count, tickSize: 4 },
        y: {
          type: "log",
          // Room for the names of the two ends.
          domain: [low, high],
          label: null,
          ticks: TICKS[field].filter((tick) => tick >= Math.min(...values) / 1.2 && tick <= Math.max(...values) * 1.3),
          tickFormat: (/** @type {number} */ v) => significant(v, 2),
          tickSize: 0,
        },
        marks: [
          title(what, { dx: -40 }),
          axisName("Gaussians K"),
          ...(field === "error"
            ? [ruleY([1], { stroke: "var(--d-g)", strokeWidth: 1.5, strokeDasharray: "6 3" })]
            : []),
          ruleX([1, n], { stroke: "var(--line)" }),
          text([1, n], {
            x: (k) => k,
            text: (k) => (k === 1 ? "Gaussian" : "Memorizing"),
            textAnchor: "middle",
            frameAnchor: "top",
            dy: 6,
            fill: "var(--muted)",
          }),
          ...sets.flatMap(({ points }, i) => [
            line(points, { x: "k", y: field, stroke: "var(--d-mixture)", strokeWidth: 2, strokeDasharray: SETS[i][3] }),
            dot(points, { x: "k", y: field, r: 4, symbol: SETS[i][2], fill: "var(--d-mixture)" }),
          ]),
          text(names, { x: "k", y: "height", text: "name", textAnchor: "start", dx: 10, ...HALO }),
        ],
      };
    },
  });
}
