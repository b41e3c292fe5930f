/** Figure IV.1: networks of every width at every moment of their training, their samples and their scores. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { QUICK_FACES } from "../state/data-sets.js";
import { divergence, divergenceSentence, isSound } from "../reports/divergence.js";
import { canvas, element } from "../ui/dom.js";
import { count, fixed, noted, percent, sentences } from "../ui/format.js";
import { decodeImages, drawRow } from "../ui/images.js";
import { axisName, crosses, HALO, title } from "../ui/marks.js";
import { memorizedColour } from "../ui/memorized.js";
import { provenance } from "../reports/provenance.js";
import { memorized, trained } from "../reports/report.js";
import { ReportSource } from "../reports/source.js";
import { reportFigure } from "./report-figure.js";
import { runPanel } from "../runs/run-panel.js";
import { runSlider } from "../ui/run-slider.js";
import { atTheEnd, likeGaussian, peak, plane, standAt, widthOf } from "../reports/emergence.js";

/**
 * @import { Comparison, Estimate, Point } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { Values } from "../state/parameters.js"
 * @import { Store } from "../state/store.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {Report<"emergence">} EmergenceReport
 * @typedef {{axis: "step" | "width", points: Point[], recorded: Point[], at: number, top: number}} Curves one network
 *   over time, or several over width; `recorded`: drawn faint behind a live run; `top`: of the axis
 * @typedef {{points: Point[], current: Point}} Map
 */

/** Samples in a row. */
const COLUMNS = 6;
const MAP_HEIGHT = 270;
const CURVES_HEIGHT = 560;
const MARGIN = { marginLeft: 40, marginRight: 12 };
/** The scores that are drawn over time and over width, each from 0 to 1 but the distance. */
/** @type {{name: string, value: (point: Point) => Estimate}[]} */
const SCORES = [
  { name: "Cosine to the Gaussian’s samples", value: (point) => gaussianOf(point).cosine },
  { name: "Distance to the Gaussian’s samples", value: (point) => gaussianOf(point).distance },
  { name: "Copies", value: (point) => memorized(point) },
  { name: "GL score", value: (point) => trained(point).closeness.gl },
];

/** The network's samples against D_G's. @param {Point} point */
const gaussianOf = (point) => /** @type {Comparison} */ (trained(point).against.gaussian);

/** The recorded run of the figures about when the bias emerges. @param {Store} store */
export const emergenceSource = (store) =>
  /** @type {ReportSource<"emergence">} */ (new ReportSource(store, [], () => "emergence-main-faces"));

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
  const drawMap = mapChart(element(root, "map"), (step, width) =>
    store.set({ "emergence.step": Math.round(step), "emergence.width": Math.round(width) }),
  );
  const drawOverTime = curvesChart(element(root, "over-time"), "scores over training time", (step) =>
    store.set({ "emergence.step": Math.round(step) }),
  );
  const drawOverWidth = curvesChart(element(root, "over-width"), "scores over width", (width) =>
    store.set({ "emergence.width": Math.round(width) }),
  );

  reportFigure(root, page, source, {
    reads: ["emergence.n", "emergence.width", "emergence.step"],
    draw(report, values, recorded) {
      const all = plane(report);
      const here = standAt(all, wanted(values));
      const { point } = here;
      const ofSize = all.filter(({ n }) => n === here.n);
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
      drawMap({ points: ofSize, current: point });
      // One scale for all that the sliders lead to; networks that diverged may lie far beyond it, and stand at its end.
      const behind = recorded ? plane(recorded) : [];
      const top = Math.max(1, ...[...all, ...behind].filter(isSound).map((point) => gaussianOf(point).distance.mean));
      drawOverTime({
        axis: "step",
        points: here.overTime,
        recorded: recorded ? standAt(likeOf(report, point, recorded), here).overTime : [],
        at: here.step,
        top,
      });
      drawOverWidth({
        axis: "width",
        points: finals,
        recorded: recorded ? atTheEnd(recorded, here.n) : [],
        at: here.width,
        top,
      });
      live.set({
        "emergence.source": provenance(report, source.shownOrigin.file),
        "emergence.n": count(here.n),
        "emergence.width": count(here.width),
        "emergence.epochs": noted(count(Math.round(point.epochs)), divergence([point])),
        "emergence.parameters": count(point.parameters),
        "emergence.cosine": fixed(likeGaussian(point)),
        "emergence.memorized": percent(memorized(point).mean),
        "emergence.gl": fixed(trained(point).closeness.gl.mean),
        "emergence.finals.step": finals.length > 0 ? count(finals[0].step) : "–",
        "emergence.finals.n": finals.length > 0 ? count(finals[0].n) : "–",
      });
      tell(report, here.n);
    },
    say(report, values) {
      const { n, width, step, point } = standAt(plane(report), wanted(values));
      return (
        `Width ${count(width)} after ${count(step)} steps on ${count(n)} images: cosine to the Gaussian’s ` +
        `samples ${fixed(likeGaussian(point))}, copies ${noted(percent(memorized(point).mean), divergence([point]))}.`
      );
    },
  });

  runPanel(element(root, "run"), page, {
    experiment: "emergence",
    seed: "emergence.seed",
    settings: () => ({ preset: "quick", data: QUICK_FACES }),
    about: () =>
      "Trains small networks on 16 to 128 faces of 12 × 12 pixels, and three widths on 32. Curves are drawn over the recorded " +
      "ones.",
    // A run has nothing to show before its first checkpoint.
    onReport: (report, run) =>
      source.show(report && plane(report).length > 0 ? report : undefined, { options: run.options }),
    summary: (report) => {
      const best = peak(standAt(plane(report), { n: 1, width: Number.MAX_VALUE, step: 1 }).overTime);
      return sentences(
        `On ${count(best.n)} images, the samples were most like the Gaussian’s after ${count(best.step)} steps: cosine ${fixed(likeGaussian(best))}.`,
        divergenceSentence(report),
      );
    },
  });

  /** @param {EmergenceReport} report @param {number} n */
  function tell(report, n) {
    /** @param {Point | undefined} point */
    const cosine = (point) => (point ? likeGaussian(point) : NaN);
    const long = report.findings.overTime.filter((point) => point.n === n).sort((a, b) => a.step - b.step);
    // Capacity shows best where the training set is not so small that every network leaves the Gaussian.
    const finals = atTheEnd(report, Number.MAX_VALUE);
    const best = long.length > 0 ? peak(long) : undefined;
    const last = long.at(-1);
    const middle = finals.length > 0 ? peak(finals) : undefined;
    const [narrow, wide] = [finals[0], finals[finals.length - 1]];
    live.set({
      "emergence.peak.step": best ? count(best.step) : "–",
      "emergence.peak.cosine": fixed(cosine(best)),
      "emergence.last.step": last ? count(last.step) : "–",
      "emergence.last.cosine": fixed(cosine(last)),
      "emergence.last.memorized": percent(last ? memorized(last).mean : NaN),
      "emergence.capacity.n": wide ? count(wide.n) : "–",
      "emergence.best.width": middle ? count(widthOf(middle)) : "–",
      "emergence.best.cosine": fixed(cosine(middle)),
      "emergence.wide.width": wide ? count(widthOf(wide)) : "–",
      "emergence.wide.cosine": fixed(cosine(wide)),
      "emergence.narrow.width": narrow ? count(widthOf(narrow)) : "–",
      "emergence.narrow.cosine": fixed(cosine(narrow)),
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
const likeOf = (report, point, recorded) =>
  report.findings.overTime.includes(point) ? recorded.findings.overTime : recorded.findings.overWidth;

/**
 * Every network of one size, at every moment.
 * @param {HTMLElement} root
 * @param {(step: number, width: number) => void} choose
 */
function mapChart(root, choose) {
  return chart(
    root,
    /** @type {ChartSpec<Map>} */ ({
      name: "networks by width and training time",
      label: ({ points, current }) =>
        `${points.length} networks by width and training steps; chosen: width ${count(widthOf(current))} after ` +
        `${count(current.step)} steps, copies ${percent(memorized(current).mean)}`,
      columns: ["Width", "Steps", "Epochs", "Parameters", "Cosine to D_G", "Distance to D_G", "Copies", "GL score"],
      rows: ({ points }) =>
        points.map((point) => [
          noted(count(widthOf(point)), divergence([point])),
          count(point.step),
          count(Math.round(point.epochs)),
          count(point.parameters),
          ...SCORES.map(({ value }) => fixed(value(point).mean, 3)),
        ]),
      pick: choose,
      options({ points, current }) {
        const widths = [...new Set(points.map(widthOf))];
        return {
          height: MAP_HEIGHT,
          ...MARGIN,
          marginTop: 26,
          marginBottom: 40,
          x: { type: "log", label: null, ticks: tens(points), tickFormat: count, tickSize: 4, insetLeft: 10 },
          y: { type: "log", label: null, ticks: widths, tickFormat: count, tickSize: 0, insetTop: 10, insetBottom: 10 },
          marks: [
            ruleX([current.step], { stroke: "var(--line)" }),
            ruleY([widthOf(current)], { stroke: "var(--line)" }),
            title("Width", { dx: -36 }),
            axisName("training steps"),
            // A square has become a copier, a circle has not.
            dot(points, {
              x: "step",
              y: widthOf,
              r: 7,
              symbol: (/** @type {Point} */ point) => (memorized(point).mean >= 0.5 ? "square" : "circle"),
              fill: (point) => memorizedColour(memorized(point).mean),
              stroke: "var(--muted)",
              strokeWidth: 0.75,
            }),
            crosses(
              points.map((point) => ({ ...point, diverged: divergence([point]) })),
              { x: "step", y: widthOf },
            ),
            dot([current], { x: "step", y: widthOf, r: 11, stroke: "var(--ink)", strokeWidth: 2.5 }),
          ],
          symbol: { legend: false },
        };
      },
    }),
  );
}

/**
 * The scores, one above the other, over the training steps or over the width.
 * @param {HTMLElement} root
 * @param {string} name
 * @param {(position: number) => void} choose
 */
function curvesChart(root, name, choose) {
  return chart(
    root,
    /** @type {ChartSpec<Curves>} */ ({
      name,
      label({ axis, points, at }) {
        const what = axis === "step" ? "training steps" : "width";
        if (points.length === 0) return `Scores over ${what}: 0 networks so far`;
        const best = peak(points);
        return (
          `Scores over ${what}: the cosine to the Gaussian’s samples is largest, ${fixed(likeGaussian(best))}, at ` +
          `${count(position(axis, best))}; chosen: ${count(at)}`
        );
      },
      columns: [
        "Steps",
        "Width",
        "Cosine to D_G",
        "± s.e.",
        "Distance to D_G",
        "± s.e.",
        "Copies",
        "± s.e.",
        "GL score",
        "± s.e.",
      ],
      rows: ({ points }) =>
        points.map((point) => [
          noted(count(point.step), divergence([point])),
          count(widthOf(point)),
          ...SCORES.flatMap(({ value }) => [fixed(value(point).mean, 3), fixed(value(point).standardError, 3)]),
        ]),
      pick: choose,
      options({ axis, points, recorded, at, top }) {
        /** @param {Point[]} networks */
        const scores = (networks) =>
          SCORES.flatMap((score) =>
            networks.map((point) => ({
              name: score.name,
              x: position(axis, point),
              y: score.value(point).mean,
              diverged: divergence([point]),
            })),
          );
        const [scored, behind] = [scores(points), scores(recorded)];
        const [first] = recorded;
        const note =
          first && `faint: recorded, N = ${count(first.n)}${axis === "step" ? `, width ${count(widthOf(first))}` : ""}`;
        const references =
          points.length === 0 ? [] : [{ name: "GL score", y: points[0].heldOut.gl.mean, label: "held-out images" }];
        const positions = [...scored, ...behind].map(({ x }) => x);
        const shown = scored.some(({ x }) => x === at) ? [at] : [];
        return {
          height: CURVES_HEIGHT,
          ...MARGIN,
          marginTop: 34,
          marginBottom: 40,
          fy: { domain: SCORES.map(({ name }) => name), axis: null, padding: 0.42, paddingOuter: 0 },
          x: {
            type: "log",
            label: null,
            domain: positions.length > 0 ? [Math.min(...positions), Math.max(...positions)] : [1, 10],
            ticks: axis === "width" ? points.map(widthOf) : tens([...points, ...recorded]),
            tickFormat: count,
            tickSize: 4,
          },
          y: { domain: [0, top], clamp: true, label: null, ticks: [0, 0.5, 1], tickSize: 0 },
          marks: [
            ruleY(SCORES, { fy: "name", y: 0, stroke: "var(--muted)" }),
            ruleY(SCORES, { fy: "name", y: 1, stroke: "var(--line)" }),
            ruleX(
              shown.flatMap((x) => SCORES.map(({ name }) => ({ name, x }))),
              { fy: "name", x: "x", stroke: "var(--line)" },
            ),
            text(SCORES, {
              fy: "name",
              text: "name",
              frameAnchor: "top-left",
              dy: -26,
              dx: -40,
              className: "chart-title",
            }),
            ruleY(references, { fy: "name", y: "y", stroke: "var(--d-data)", strokeDasharray: "2 3" }),
            text(references, { fy: "name", y: "y", text: "label", frameAnchor: "right", dy: 9, fill: "var(--muted)" }),
            line(behind, {
              fy: "name",
              x: "x",
              y: "y",
              stroke: "var(--d-theta)",
              strokeWidth: 1.5,
              strokeOpacity: 0.45,
              className: "recorded-behind",
            }),
            text(note ? [note] : [], {
              fy: () => SCORES[0].name,
              text: (words) => words,
              frameAnchor: "top-right",
              dy: -26,
              fill: "var(--muted)",
            }),
            line(scored, { fy: "name", x: "x", y: "y", stroke: "var(--d-theta)", strokeWidth: 2 }),
            dot(scored, { fy: "name", x: "x", y: "y", r: 3, fill: "var(--d-theta)" }),
            dot(
              scored.filter(({ x }) => x === at),
              { fy: "name", x: "x", y: "y", r: 5.5, fill: "var(--d-theta)", stroke: "var(--paper)", strokeWidth: 2 },
            ),
            crosses(scored, { fy: "name", x: "x", y: "y" }),
            text(
              scored.filter(({ x }) => x === at),
              { fy: "name", x: "x", y: "y", text: ({ y }) => fixed(y), dy: -13, ...HALO },
            ),
            axisName(axis === "step" ? "training steps" : "width", { fy: () => SCORES[SCORES.length - 1].name }),
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
