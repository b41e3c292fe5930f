/** The first picture: from copies to the Gaussian's images, as the training set grows. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { axisSlider } from "../ui/axis-slider.js";
import { chart } from "../ui/chart.js";
import { denoiser } from "../reports/denoisers.js";
import { isSound } from "../reports/divergence.js";
import { element } from "../ui/dom.js";
import { count, fixed, noted, percent, significant } from "../ui/format.js";
import { crosses, HALO } from "../ui/marks.js";
import { provenance } from "../reports/provenance.js";
import { cosineWith, levelOf, memorized } from "../reports/report.js";
import { rangeColumns, seedsSentence } from "../reports/seeds.js";
import { parameters } from "../state/parameters.js";
import { keepDrawn } from "./figure.js";
import { ReportSource } from "../reports/source.js";
import { reportFigure } from "./report-figure.js";
import { curve, networks, sizes, spread } from "../reports/transition.js";
import { ALIKE, MANY_COPIES, MIDDLE_SIGMA } from "../reports/verdicts.js";
import { drawSamples } from "../ui/images.js";
import { nearestStop } from "../reports/nearest.js";

/**
 * @import { Point } from "../../pkg/hidden_gaussian.js"
 * @import { Sweep } from "../reports/transition.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/** The recorded run of each data set. */
const RUNS = { cifar10: "transition-cifar-cifar10", faces: "transition-faithful-faces" };
const READS = /** @type {const} */ (["hero.data", "hero.n"]);
/** Up to this fraction of copies, the first figure says that the network does not copy. */
const NEW = 0.05;
/** Errors that differ by less than this fraction are called equal. */
const EQUAL = 0.03;

/**
 * @typedef {object} Curve
 * @property {string} label
 * @property {string} colour
 * @property {string} [dash]
 * @property {string} marker
 * @property {boolean} [hollow]
 * @property {(point: Point) => number} of
 */

/** What the chart shows, and how. @type {Curve[]} */
const CURVES = [
  { ...denoiser("empirical"), label: "Copies", of: (point) => memorized(point).mean },
  {
    ...denoiser("gaussian"),
    label: "Similarity to Gaussian",
    of: (point) => cosineWith(point, "gaussian")?.mean ?? NaN,
  },
];

/** The network's error on held-out images over the Gaussian's. @param {Point} point @param {number} level */
const errorRatio = ({ denoisers: { trained, gaussian } }, level) =>
  trained.error.heldOut[level].mean / (gaussian?.error.heldOut[level].mean ?? NaN);

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function heroFigure(root, page) {
  const { store, live } = page;
  const showSizes = axisSlider(element(root, "n"), store, "hero.n");
  const drawChart = heroChart(element(root, "chart"), (n) => store.set({ "hero.n": n }));
  const sentence = element(root, "sentence");
  const hint = element(root, "hint");

  /** @type {ReportSource<"transition">} */
  const source = new ReportSource(store, ["hero.data"], (values) => RUNS[values["hero.data"]]);
  reportFigure(root, page, source, {
    reads: ["hero.n"],
    draw(sweep, values) {
      const all = sizes(sweep);
      const n = nearestStop(all, values["hero.n"]);
      const { chosen, copies, cosine, verdict, words } = found(sweep, n);
      const level = levelOf(sweep, MIDDLE_SIGMA);
      const error = spread(chosen, (point) => errorRatio(point, level)).mean;
      showSizes(
        all.map((value) => ({ value, label: count(value) })),
        n,
      );
      // Only where there is nowhere else to go.
      hint.hidden = n !== all[0];
      drawSamples(root, sweep.shape, chosen[0]);
      drawChart({ sweep, n });
      sentence.dataset.verdict = verdict;
      sentence.textContent = words;
      live.set({
        "hero.n": count(n),
        "hero.memorized": percent(copies),
        "hero.cosine": fixed(cosine),
        "hero.quality": quality(error),
        "hero.sigma": significant(sweep.sigmas[level]),
        "hero.provenance": `${seedsSentence(chosen.length)} ${provenance(sweep)}`,
      });
      if (root.hasAttribute("data-ready")) {
        live.announce(`${words} Its error on new images, relative to the Gaussian’s: ${quality(error)}.`);
      }
      if (READS.some((key) => values[key] !== parameters[key].default)) root.setAttribute("data-moved", "");
    },
  });

  // On paper nobody moves the slider, so its other end stands beside. The first view does without these pictures: they come
  // when the reader changes something, or asks for the handout. Until then paper shows what the page was built with.
  const other = element(root, "other");
  keepDrawn(other, page, {
    reads: READS,
    ask: () => source.report(),
    draw(sweep) {
      const all = sizes(sweep);
      const last = all[all.length - 1];
      const { chosen, words } = found(sweep, nearestStop(all, store.values["hero.n"]) === last ? all[0] : last);
      drawSamples(other, sweep.shape, chosen[0], "other");
      element(root, "other-sentence").textContent = words;
    },
  });
}

/** What came of training on `n` images. @param {Sweep} sweep @param {number} n */
function found(sweep, n) {
  const chosen = networks(sweep, n);
  const [copies, cosine] = CURVES.map(({ of }) => spread(chosen, of).mean);
  const verdict = chosen.every(isSound) ? judge(copies, cosine) : "diverged";
  const words = `Trained on ${count(n)} images, the network ${say(verdict, copies)}.`;
  return { chosen, copies, cosine, verdict, words };
}

/** How good a denoiser of new images the network is, beside the Gaussian. @param {number} ratio of their errors */
function quality(ratio) {
  if (Math.abs(ratio - 1) < EQUAL) return "equal";
  return `${Math.round(100 * Math.abs(ratio - 1))}\u202f% ${ratio > 1 ? "higher" : "lower"}`;
}

/**
 * What the network does, by the fraction of copies among its samples and their cosine with D_G's.
 * @param {number} copies
 * @param {number} cosine
 */
function judge(copies, cosine) {
  if (copies >= MANY_COPIES) return "copies";
  if (copies > NEW) return "between";
  return cosine < ALIKE ? "new" : "alike";
}

/**
 * The same in words.
 * @param {"diverged" | ReturnType<typeof judge>} verdict
 * @param {number} copies
 */
function say(verdict, copies) {
  const counted = copies === 0 ? "no sample is a copy" : `${percent(copies)} of its samples are copies`;
  switch (verdict) {
    case "diverged":
      return "diverged";
    case "copies":
      return `copies them: ${counted}`;
    case "between":
      return `still copies some: ${counted}`;
    case "new":
      return `no longer copies: ${counted}`;
    case "alike":
      return `follows the Gaussian: ${counted}`;
  }
}

/**
 * @param {HTMLElement} root
 * @param {(n: number) => void} choose
 */
function heroChart(root, choose) {
  /** @type {number[]} */
  let stops = [];
  return chart(
    root,
    /** @type {ChartSpec<{sweep: Sweep, n: number}>} */ ({
      name: "the finding",
      label({ sweep }) {
        const ends = CURVES.map(({ label, of }) => {
          const values = curve(sweep, of);
          return `${label} from ${fixed(values[0].mean)} to ${fixed(values[values.length - 1].mean)}`;
        });
        const [first, last] = [sizes(sweep)[0], sizes(sweep).at(-1) ?? 0];
        return `From ${count(first)} to ${count(last)} training images: ${ends.join("; ")}`;
      },
      columns: ["Training images", ...CURVES.flatMap(({ label }) => [label, ...rangeColumns(label)])],
      rows({ sweep }) {
        const values = CURVES.map(({ of }) => curve(sweep, of));
        return sizes(sweep).map((n, i) => [
          noted(count(n), values[0][i].diverged),
          ...values.flatMap((list) => [fixed(list[i].mean, 3), fixed(list[i].low, 3), fixed(list[i].high, 3)]),
        ]);
      },
      pick: (x) => choose(nearestStop(stops, x)),
      options({ sweep, n }) {
        stops = sizes(sweep);
        return {
          height: 120,
          marginTop: 18,
          marginBottom: 6,
          marginLeft: 0,
          marginRight: 0,
          x: { type: "log", domain: [stops[0], stops[stops.length - 1]], axis: null },
          y: { domain: [0, 1], axis: null },
          r: { type: "identity" },
          marks: [
            ruleY([0.5, 1], { stroke: "var(--line)" }),
            text([0, 0.5, 1], {
              y: (y) => y,
              text: String,
              frameAnchor: "left",
              textAnchor: "end",
              dx: -9,
              fill: "var(--muted)",
            }),
            ruleY([0], { stroke: "var(--muted)", strokeDasharray: "4 3" }),
            // No held-out image counts as a copy, and samples from other noise have no direction in common.
            text([0], {
              y: (y) => y,
              text: () => "by chance: 0",
              frameAnchor: "right",
              dx: -14,
              dy: -8,
              fill: "var(--muted)",
            }),
            ruleX([n], { stroke: "var(--muted)", strokeDasharray: "2 3" }),
            ...CURVES.flatMap(({ label, colour, dash, marker: symbol, hollow, of }, i) => {
              const values = curve(sweep, of);
              const at = { x: "n", y: "mean" };
              return [
                ruleX(values, { x: "n", y1: "low", y2: "high", stroke: colour, strokeWidth: 1.5 }),
                line(values, { ...at, stroke: colour, strokeWidth: 2, strokeDasharray: dash }),
                dot(values, {
                  ...at,
                  symbol,
                  r: (value) => (value.n === n ? 5 : 2.5),
                  fill: hollow ? "var(--paper)" : colour,
                  stroke: colour,
                  strokeWidth: 1.75,
                }),
                crosses(values, at),
                // Copies begin at the top; the similarity ends there, far from them.
                text(i === 0 ? values.slice(0, 1) : values.slice(-1), {
                  ...at,
                  text: () => label,
                  textAnchor: i === 0 ? "start" : "end",
                  dx: i === 0 ? 10 : 0,
                  dy: i === 0 ? -10 : 16,
                  ...HALO,
                }),
              ];
            }),
          ],
        };
      },
    }),
  );
}
