/** Figure IV.2: samples, copies and similarity to the Gaussian, over training time and over width. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { denoiser } from "../reports/denoisers.js";
import { divergence } from "../reports/divergence.js";
import { canvas, element } from "../ui/dom.js";
import { count, fixed, list, noted, percent } from "../ui/format.js";
import { decodeImages, drawRow } from "../ui/images.js";
import { labelPlace } from "../ui/labels.js";
import { axisName, crosses, HALO } from "../ui/marks.js";
import { imagesOf, kindOf } from "../reports/describe.js";
import { provenance } from "../reports/provenance.js";
import { cosineWith, memorized } from "../reports/report.js";
import { estimateColumns, estimateValues, seedsSentence } from "../reports/seeds.js";
import { offerRecorded, reportFigure } from "./report-figure.js";
import { runSlider } from "../ui/run-slider.js";
import {
  atTheEnd,
  likeGaussian,
  overTime,
  peak,
  plane,
  seedsOf,
  standAt,
  widthOf,
  widthSizes,
} from "../reports/emergence.js";

/**
 * @import { Point } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { Ranged } from "../reports/seeds.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { Values } from "../state/parameters.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {Report<"emergence">} EmergenceReport
 * @typedef {{axis: "step" | "width", points: Point[], recorded: Point[], at: number}} Curves one network over time, or several over
 *   width; `recorded`: drawn faint behind a live run
 */

/** Samples in a row. */
const COLUMNS = 6;
const HEIGHT = 240;

/** What is drawn over time and over width. */
const CURVES = [
  {
    ...denoiser("gaussian"),
    name: "Similarity to Gaussian",
    value: (/** @type {Point} */ point) => /** @type {Ranged | undefined} */ (cosineWith(point, "gaussian")),
  },
  {
    ...denoiser("empirical"),
    name: "Copies",
    value: (/** @type {Point} */ point) => /** @type {Ranged | undefined} */ (memorized(point)),
  },
];

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"emergence">} source
 */
export function emergenceFigure(root, page, source) {
  const { store, live } = page;
  const showSteps = runSlider(element(root, "step"), store, "emergence.step");
  const showWidths = runSlider(element(root, "width"), store, "emergence.width");
  const showSizes = runSlider(element(root, "size"), store, "emergence.n");
  const drawOverTime = curvesChart(element(root, "over-time"), "over training time", (step) =>
    store.set({ "emergence.step": Math.round(step) }),
  );
  const drawOverWidth = curvesChart(element(root, "over-width"), "over width", (width) =>
    store.set({ "emergence.width": Math.round(width) }),
  );
  void offerRecorded(root, page, "emergence.run", "emergence");

  reportFigure(root, page, source, {
    reads: ["emergence.n", "emergence.width", "emergence.step"],
    draw(report, values, recorded) {
      const all = plane(report);
      const here = standAt(all, wanted(values));
      const { point } = here;
      const finals = atTheEnd(report, here.n);
      showSizes(here.sizes, here.n);
      showWidths(here.widths, here.width);
      showSteps(here.steps, here.step);
      const { trained: network, gaussian } = point.denoisers;
      for (const [name, images] of Object.entries({
        gaussian: gaussian?.samples,
        samples: network.samples,
        nearest: network.nearest,
      })) {
        if (images) drawRow(canvas(root, `row-${name}`), decodeImages(report.shape, images), COLUMNS);
      }
      drawOverTime({
        axis: "step",
        points: here.overTime,
        recorded: recorded ? standAt(likeOf(report, point, recorded), here).overTime : [],
        at: here.step,
      });
      // Widths are compared at some sizes only.
      root.toggleAttribute("data-one-width", finals.length === 0);
      if (finals.length > 0) {
        drawOverWidth({
          axis: "width",
          points: finals,
          recorded: recorded ? atTheEnd(recorded, here.n) : [],
          at: here.width,
        });
      }
      live.set({
        "emergence.source": provenance(report, source.shownOrigin.file),
        "emergence.seeds": seedsSentence(seedsOf(report), {
          range: "bars span their range, and the samples are the first seed’s",
        }),
        "emergence.networks": `${kindOf(report.config.train, true)} on ${imagesOf(report)}`,
        "emergence.n": count(here.n),
        "emergence.width": count(here.width),
        "emergence.widths.n": list(widthSizes(report).map(count)) || "no size",
        "emergence.epochs": noted(count(Math.round(point.epochs)), divergence([point])),
        "emergence.parameters": count(point.parameters),
        "emergence.cosine": fixed(likeGaussian(point)),
        "emergence.memorized": percent(memorized(point).mean),
        "emergence.finals.step": finals.length > 0 ? count(finals[0].step) : "–",
      });
      tell(report, here.n);
    },
    say(report, values) {
      const { n, width, step, point } = standAt(plane(report), wanted(values));
      return (
        `Width ${count(width)} after ${count(step)} steps on ${count(n)} images: similarity to the Gaussian’s ` +
        `samples ${fixed(likeGaussian(point))}, copies ${noted(percent(memorized(point).mean), divergence([point]))}.`
      );
    },
  });

  /** @param {EmergenceReport} report @param {number} n */
  function tell(report, n) {
    /** @param {Point | undefined} point */
    const cosine = (point) => (point ? likeGaussian(point) : NaN);
    const long = overTime(report)
      .filter((point) => point.n === n)
      .sort((a, b) => a.step - b.step);
    // Capacity shows best where the training set is not so small that every network leaves the Gaussian.
    const finals = atTheEnd(report, widthSizes(report).at(-1) ?? 0);
    const best = long.length > 0 ? peak(long) : undefined;
    const last = long.at(-1);
    const middle = finals.length > 0 ? peak(finals) : undefined;
    const [narrow, wide] = [finals[0], finals[finals.length - 1]];
    /** A number of one of the networks, which leads to it. @param {Point | undefined} point @param {(point: Point) => string} text */
    const of = (point, text) =>
      point
        ? {
            text: text(point),
            to: { "emergence.n": point.n, "emergence.width": widthOf(point), "emergence.step": point.step },
            figure: "emergence",
          }
        : "–";
    /** @param {Point} point */
    const similarity = (point) => fixed(cosine(point));
    live.set({
      "emergence.peak.step": of(best, ({ step }) => count(step)),
      "emergence.peak.cosine": of(best, similarity),
      "emergence.last.step": of(last, ({ step }) => count(step)),
      "emergence.last.cosine": of(last, similarity),
      "emergence.last.memorized": of(last, (point) => percent(memorized(point).mean)),
      "emergence.capacity.n": wide ? count(wide.n) : "–",
      "emergence.best.width": of(middle, (point) => count(widthOf(point))),
      "emergence.best.cosine": of(middle, similarity),
      "emergence.wide.width": of(wide, (point) => count(widthOf(point))),
      "emergence.wide.cosine": of(wide, similarity),
      "emergence.narrow.width": of(narrow, (point) => count(widthOf(point))),
      "emergence.narrow.cosine": of(narrow, similarity),
    });
    live.claim(
      "emergence.early",
      report.final && best && last ? best.step < last.step && cosine(last) < cosine(best) - 0.05 : undefined,
      long,
    );
    live.claim(
      "emergence.capacity",
      report.final && finals.length > 2 && middle ? cosine(wide) < cosine(middle) - 0.03 && middle !== wide : undefined,
      finals,
    );
    live.claim(
      "emergence.underfit",
      report.final && finals.length > 2 && middle
        ? cosine(narrow) < cosine(middle) - 0.03 && middle !== narrow
        : undefined,
      finals,
    );
  }
}

/** What the reader wants to see. @param {Readonly<Values>} values */
const wanted = (values) => ({
  n: values["emergence.n"],
  width: values["emergence.width"],
  step: values["emergence.step"],
});

/**
 * The recorded networks to compare a live one with: those whose learning rate went the same way.
 * @param {EmergenceReport} report
 * @param {Point} point of that report
 * @param {EmergenceReport} recorded
 */
const likeOf = (report, point, recorded) => {
  const isLong = overTime(report).some((one) => widthOf(one) === widthOf(point) && one.n === point.n);
  return isLong ? overTime(recorded) : plane(recorded);
};

/**
 * Copies and similarity to D_G, over the training steps or over the width.
 * @param {HTMLElement} root
 * @param {string} name
 * @param {(position: number) => void} choose
 */
function curvesChart(root, name, choose) {
  return chart(
    root,
    /** @type {ChartSpec<Curves>} */ ({
      name: `copies and similarity ${name}`,
      label({ axis, points, at }) {
        if (points.length === 0) return `Copies and similarity to the Gaussian ${name}: 0 networks so far`;
        const best = peak(points);
        return (
          `Copies and similarity to the Gaussian ${name}: the similarity is largest, ${fixed(likeGaussian(best))}, at ` +
          `${count(position(axis, best))}; chosen: ${count(at)}`
        );
      },
      columns: ["Steps", "Width", ...CURVES.flatMap(({ name }) => estimateColumns(name))],
      rows: ({ points }) =>
        points.map((point) => [
          noted(count(point.step), divergence([point])),
          count(widthOf(point)),
          ...CURVES.flatMap(({ value }) => estimateValues(value(point)).map((number) => fixed(number, 3))),
        ]),
      pick: choose,
      options({ axis, points, recorded, at }) {
        /** @param {Point[]} networks @param {typeof CURVES[number]} curve */
        const valuesOf = (networks, { value }) =>
          networks.map((point) => {
            const { mean = NaN, low = mean, high = mean } = value(point) ?? {};
            return { x: position(axis, point), y: mean, low, high, diverged: divergence([point]) };
          });
        const positions = [...points, ...recorded].map((point) => position(axis, point));
        const [first] = recorded;
        const note =
          first && `faint: recorded, N = ${count(first.n)}${axis === "step" ? `, width ${count(widthOf(first))}` : ""}`;
        return {
          height: HEIGHT,
          marginTop: 34,
          marginBottom: 40,
          marginLeft: 36,
          marginRight: 16,
          x: {
            type: "log",
            label: null,
            domain: positions.length > 0 ? [Math.min(...positions), Math.max(...positions)] : [1, 10],
            ticks: axis === "width" ? points.map(widthOf) : tens([...points, ...recorded]),
            tickFormat: count,
            tickSize: 4,
          },
          y: { domain: [0, 1], clamp: true, label: null, ticks: [0, 0.5, 1], tickSize: 0 },
          marks: [
            ruleY([0], { stroke: "var(--muted)" }),
            ruleY([1], { stroke: "var(--line)" }),
            ruleX(positions.includes(at) ? [at] : [], { stroke: "var(--line)" }),
            text(note ? [note] : [], {
              text: (words) => words,
              frameAnchor: "top-right",
              dy: -28,
              fill: "var(--muted)",
            }),
            axisName(axis === "step" ? "training steps" : "width"),
            ...CURVES.flatMap((curve, i) => {
              const { colour: stroke, dash: strokeDasharray, marker: symbol, hollow } = curve;
              const values = valuesOf(points, curve);
              const heights = CURVES.map((one) => valuesOf(points, one).map(({ y }) => y));
              const name = labelPlace(heights[i], heights.toSpliced(i, 1), 0.15);
              const chosen = values.filter(({ x }) => x === at);
              const fill = hollow ? "var(--paper)" : stroke;
              return [
                line(valuesOf(recorded, curve), {
                  x: "x",
                  y: "y",
                  stroke,
                  strokeWidth: 1.5,
                  strokeDasharray,
                  strokeOpacity: 0.45,
                  className: "recorded-behind",
                }),
                ruleX(values, { x: "x", y1: "low", y2: "high", stroke, strokeWidth: 1.5 }),
                line(values, { x: "x", y: "y", stroke, strokeWidth: 2, strokeDasharray }),
                dot(values, { x: "x", y: "y", r: 3, symbol, fill, stroke }),
                dot(chosen, {
                  x: "x",
                  y: "y",
                  r: 6,
                  symbol,
                  fill,
                  stroke: hollow ? stroke : "var(--paper)",
                  strokeWidth: 2,
                }),
                crosses(values, { x: "x", y: "y" }),
                text(chosen, {
                  x: "x",
                  y: "y",
                  text: ({ y }) => (i === 0 ? fixed(y) : percent(y)),
                  // Not on the axis.
                  dy: i === 0 || chosen.some(({ y }) => y < 0.15) ? -14 : 15,
                  ...HALO,
                }),
                text([values[name.at]], {
                  x: "x",
                  y: "y",
                  text: () => curve.name,
                  // Beyond the value of the chosen network, if that is there.
                  dy: (values[name.at]?.x === at ? 2 : 1) * (name.above ? -13 : 15),
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

/** The powers of ten among the training steps of these networks. @param {Point[]} points */
function tens(points) {
  const steps = points.map(({ step }) => step);
  return [10, 100, 1000, 10_000, 100_000].filter((ten) => ten >= Math.min(...steps) && ten <= Math.max(...steps));
}

/** @param {"step" | "width"} axis @param {Point} point */
const position = (axis, point) => (axis === "step" ? point.step : widthOf(point));
