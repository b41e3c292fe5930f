/** Figure IV.1: where networks memorize, by the number of training images and the time they trained. */
import { cell, text } from "@observablehq/plot";
import { chart, onAxis } from "../ui/chart.js";
import { divergence, divergenceSentence } from "../reports/divergence.js";
import { canvas, element } from "../ui/dom.js";
import { count, fixed, noted, percent, range, sentences } from "../ui/format.js";
import { decodeImages, drawRow } from "../ui/images.js";
import { axisName, crosses, title } from "../ui/marks.js";
import { likenessColour, memorizedColour, memorizedInk } from "../ui/memorized.js";
import { cosineWith, memorized, trained } from "../reports/report.js";
import { imagesOf, kindOf } from "../reports/describe.js";
import { provenance } from "../reports/provenance.js";
import { estimateColumns, estimateValues, seedsSentence } from "../reports/seeds.js";
import { offers } from "../runs/offers.js";
import { runPanel } from "../runs/run-panel.js";
import { offerRecorded, reportFigure } from "./report-figure.js";
import { runSlider } from "../ui/run-slider.js";
import { likeGaussian, onset, overTime, pace, peak, plane, seedsOf, standAt, widthOf } from "../reports/emergence.js";
import { nearestStop } from "../reports/nearest.js";

/**
 * @import { Point } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { Ranged } from "../reports/seeds.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {{sizes: number[], steps: number[], points: Point[], n: number, step: number}} Phase
 */

/**
 * What the cells show, each in a chart of its own.
 * @type {{
 *   part: string,
 *   name: string,
 *   of: (point: Point) => Partial<Ranged> & {mean: number},
 *   format: (value: number, decimals?: number) => string,
 *   short?: (value: number) => string,
 *   colour: (value: number) => string,
 *   ink: (value: number) => string,
 * }[]}
 */
const PANELS = [
  {
    part: "copies",
    name: "Copies",
    of: memorized,
    format: percent,
    short: (copies) => String(Math.round(100 * copies)),
    colour: memorizedColour,
    ink: memorizedInk,
  },
  {
    part: "likeness",
    name: "Similarity to Gaussian",
    of: (point) => cosineWith(point, "gaussian") ?? { mean: NaN },
    format: fixed,
    colour: likenessColour,
    ink: () => "#000",
  },
];

/** Samples in a row. */
const COLUMNS = 6;
/** The height of a row, and of all of them where there are few. */
const [ROW, TALLEST, ROOM] = [44, 80, 352];
const MARGIN = { marginLeft: 56, marginRight: 2, marginTop: 8, marginBottom: 40 };

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"emergence">} source
 */
export function phaseFigure(root, page, source) {
  const { store, live } = page;
  const showSizes = runSlider(element(root, "phase-size"), store, "emergence.n");
  const showSteps = runSlider(element(root, "phase-step"), store, "emergence.step");
  /** The width of the networks in the diagram. */
  let width = 0;
  const draws = PANELS.map((panel) =>
    phaseChart(element(root, panel.part), panel, (step, n) =>
      store.set({ "emergence.step": step, "emergence.n": n, "emergence.width": width }),
    ),
  );

  /** The recorded run. @type {Report<"emergence"> | undefined} */
  let latest;
  const panel = runPanel(element(root, "run"), page, {
    experiment: "emergence",
    seed: "emergence.seed",
    offers: (seed) => latest && offers("emergence", store.values["emergence.run"], latest, seed),
    // A run has nothing to show before its first checkpoint.
    onReport: (report, run) =>
      source.show(report && plane(report).length > 0 ? report : undefined, { options: run.options }),
    summary: (report) => {
      const best = peak(standAt(plane(report), { n: 1, width: Number.MAX_VALUE, step: 1 }).overTime);
      return sentences(
        `On ${count(best.n)} images, the samples were most like the Gaussian’s after ${count(best.step)} steps: similarity ${fixed(likeGaussian(best))}.`,
        divergenceSentence(report),
      );
    },
  });
  // A recorded run that the reader asks for takes the place of the live one.
  store.subscribe(["emergence.run"], () => {
    latest = undefined;
    panel.layAside();
    panel.draw();
  });
  void offerRecorded(root, page, "emergence.run", "emergence");

  reportFigure(root, page, source, {
    reads: ["emergence.n", "emergence.step"],
    draw(report, values, recorded) {
      latest = recorded ?? (report.record ? report : latest);
      panel.draw();
      const { config } = report;
      const points = overTime(report);
      const sizes = [...config.sizes].sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
      // As the library evaluates networks: at their end too, and never later.
      const last = config.trainLong.steps;
      const steps = [...config.checkpoints.filter((/** @type {number} */ step) => step < last), last];
      const [n, step] = [nearestStop(sizes, values["emergence.n"]), nearestStop(steps, values["emergence.step"])];
      width = points.length > 0 ? widthOf(points[0]) : values["emergence.width"];
      showSizes(sizes, n);
      showSteps(steps, step);
      root.style.setProperty("--picture", `${heightOf(sizes.length)}px`);
      for (const draw of draws) draw({ sizes, steps, points, n, step });
      const chosen = points.find((point) => point.n === n && point.step === step);
      for (const name of /** @type {const} */ (["samples", "nearest"])) {
        const images = chosen && trained(chosen)[name];
        if (images) drawRow(canvas(root, `phase-${name}`), decodeImages(report.shape, images), COLUMNS);
      }
      live.set({
        "phase.source": provenance(report, source.shownOrigin.file),
        "phase.seeds": seedsSentence(seedsOf(report), { range: "the tables have their range" }),
        "phase.networks": `${kindOf(config.trainLong)} on ${imagesOf(report)}`,
        "phase.n": count(n),
        "phase.step": count(step),
        "phase.memorized": chosen ? percent(memorized(chosen).mean) : "not there yet",
        "phase.cosine": fixed(chosen ? likeGaussian(chosen) : NaN),
        "phase.epochs": chosen ? noted(count(Math.round(chosen.epochs)), divergence([chosen])) : "–",
      });
      tell(sizes, points, report.final);
    },
  });

  /** @param {number[]} sizes @param {Point[]} points @param {boolean} final */
  function tell(sizes, points, final) {
    const onsets = sizes.map((size) => onset(points, size));
    const reached = onsets.filter((point) => point !== undefined);
    const [first, last] = [reached[0], reached[reached.length - 1]];
    const epochs = reached.map((point) => Math.round(point.epochs));
    const paces = sizes.flatMap((size) => pace(points, size) ?? []);
    /** A number of a cell, which leads to it. @param {Point | undefined} point @param {(point: Point) => string} text */
    const of = (point, text) =>
      point
        ? {
            text: text(point),
            to: { "emergence.n": point.n, "emergence.step": point.step, "emergence.width": widthOf(point) },
            figure: "phase",
          }
        : "–";
    live.set({
      "phase.first.n": of(first, (point) => count(point.n)),
      "phase.first.step": of(first, (point) => count(point.step)),
      "phase.last.n": of(last, (point) => count(point.n)),
      "phase.last.step": of(last, (point) => count(point.step)),
      "phase.epochs.onset": range(epochs, count),
      "phase.pace.steps": range(paces, count),
      "phase.never": neverSentence(
        sizes,
        onsets.map((point) => point === undefined),
      ),
    });
    const tested = final && reached.length > 1;
    // A size that did not come to copy in this run comes after all that did.
    const steps = onsets.map((point) => point?.step ?? Infinity);
    const rises = steps.every((step, i) => i === 0 || step >= steps[i - 1]) && steps[0] < steps[steps.length - 1];
    live.claim("phase.later", tested ? rises : undefined, points);
    /** Checkpoints are a factor of two apart, so that is how exactly times are known. @param {number[]} times */
    const agree = (times) => Math.max(...times) <= 2 * Math.min(...times);
    live.claim("phase.epochs", tested ? agree(epochs) : undefined, points);
    live.claim("phase.pace", final && paces.length > 1 ? agree(paces) : undefined, points);
  }
}

/**
 * The sizes that did not come to copy, if there are any.
 * @param {number[]} sizes smallest first
 * @param {boolean[]} never whether they are among them
 */
function neverSentence(sizes, never) {
  const first = never.indexOf(true);
  if (first < 0) return "";
  const few = never.filter(Boolean).length;
  if (first + few < sizes.length) return `${few} of the ${sizes.length} sizes never get there.`;
  return `With ${count(sizes[first])} images${few > 1 ? " or more" : ""}, training ends before that happens.`;
}

/** The height of the diagram. @param {number} rows */
const heightOf = (rows) =>
  MARGIN.marginTop + MARGIN.marginBottom + rows * Math.max(ROW, Math.min(TALLEST, ROOM / rows));

/**
 * @param {HTMLElement} root
 * @param {typeof PANELS[number]} panel
 * @param {(step: number, n: number) => void} choose
 */
function phaseChart(root, { name, of, format, short = format, colour, ink }, choose) {
  return chart(
    root,
    /** @type {ChartSpec<Phase>} */ ({
      name: `${name}, by training images and steps`,
      label: ({ points, n, step }) => {
        const chosen = points.find((point) => point.n === n && point.step === step);
        const values = onAxis(points.map((point) => of(point).mean));
        return (
          `${name}, by number of training images and training steps: ${range(values, format)}. ` +
          `Chosen: N = ${count(n)} after ${count(step)} steps, ${chosen ? format(of(chosen).mean) : "not there yet"}`
        );
      },
      columns: ["N", "Steps", "Epochs", ...estimateColumns(name)],
      rows: ({ points }) =>
        points.map((point) => [
          noted(count(point.n), divergence([point])),
          count(point.step),
          count(Math.round(point.epochs)),
          ...estimateValues(of(point)).map((value) => format(value, 3)),
        ]),
      pick: (step, n) => n !== undefined && choose(step, n),
      options({ sizes, steps, points, n, step }, width) {
        const grid = sizes.flatMap((size) => steps.map((time) => ({ n: size, step: time })));
        const cells = points.map((point) => ({
          n: point.n,
          step: point.step,
          value: of(point).mean,
          diverged: divergence([point]),
        }));
        const roomy = width / steps.length > 56;
        return {
          height: heightOf(sizes.length),
          ...MARGIN,
          x: { domain: steps, label: null, tickFormat: count, tickSize: 0, padding: 0 },
          y: { domain: [...sizes].reverse(), label: null, tickFormat: count, tickSize: 0, padding: 0 },
          marks: [
            cell(grid, { x: "step", y: "n", inset: 1, fill: "var(--panel)" }),
            cell(cells, { x: "step", y: "n", inset: 1, fill: ({ value }) => colour(value) }),
            text(cells, {
              x: "step",
              y: "n",
              text: ({ value }) => (roomy || Number.isNaN(value) ? format : short)(value),
              fill: ({ value }) => ink(value),
              fontSize: 13,
              fontWeight: 400,
            }),
            crosses(cells, { x: "step", y: "n", r: 3.5, dy: 15, stroke: ({ value }) => ink(value) }),
            cell([{ n, step }], { x: "step", y: "n", inset: 0, fill: "none", stroke: "var(--ink)", strokeWidth: 2.5 }),
            title("N", { frameAnchor: "left", dx: -50, dy: 0 }),
            axisName("training steps"),
          ],
        };
      },
    }),
  );
}
