/** What the lab draws of its runs: one chart over each other, samples below each other, and a sentence each. */
import { dot, line, link, text } from "@observablehq/plot";
import { lawSentence, trainings } from "../reports/clocks.js";
import { THEORIES } from "../reports/denoisers.js";
import { divergence, divergenceSentence } from "../reports/divergence.js";
import { likeGaussian, peak } from "../reports/emergence.js";
import { modesSentence } from "../reports/modes.js";
import { nearestStop } from "../reports/nearest.js";
import { cosineWith, levelOf } from "../reports/report.js";
import { curve, linearityAt, networks, sizes, transitionSentence } from "../reports/transition.js";
import { describe } from "../runs/lab-config.js";
import { chart, onAxis } from "../ui/chart.js";
import { make, NARROW } from "../ui/dom.js";
import { count, fixed, noted, percent, sentence, sentences, significant } from "../ui/format.js";
import { COLUMNS, decodeImages, drawRow } from "../ui/images.js";
import { labelPlaces } from "../ui/labels.js";
import { crosses } from "../ui/marks.js";

/**
 * @import { Agreement, Bias, DenoiserId, Measures, Point } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { Sweep } from "../reports/transition.js"
 * @import { Values } from "../state/parameters.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Entry } from "./lab-table.js"
 */

/**
 * @typedef {{entry: Entry, sweep: Sweep}} ShownRun
 * @typedef {{runs: ShownRun[], measure: Values["lab.measure"]}} Overlay
 *
 * @typedef {object} Measure
 * @property {string} title
 * @property {(measures: Measures, level: number, point: Point, id: DenoiserId) => number} of
 * @property {(value: number) => string} format
 * @property {boolean} [fromZero] whether its axis begins at 0; scores near 1 would be a flat line there
 */

const COLOURS = 6;
const MARKS = /** @type {const} */ (["circle", "square", "triangle", "diamond", "star", "cross"]);
const HEIGHT = 260;
const MARGIN = { marginTop: 30, marginLeft: 44, marginRight: 40, marginBottom: 40 };
/** To the right of the curves, where there is space for the names of denoisers. */
const WIDE_MARGIN = 110;
/** The noise level of the linearity. */
const SIGMA = 1;

/** @type {Record<Values["lab.measure"], Measure>} */
const MEASURES = {
  gl: {
    title: "GL score: distance to the nearest training image",
    of: ({ closeness }) => closeness?.gl.mean ?? NaN,
    format: (value) => fixed(value),
    fromZero: true,
  },
  memorized: {
    title: "Copies among the samples",
    of: ({ closeness }) => closeness?.memorized.mean ?? NaN,
    format: (value) => percent(value),
    fromZero: true,
  },
  linearity: { title: `Linearity at σ = ${SIGMA}`, of: linearityAt, format: (value) => fixed(value, 3) },
  cosine: {
    title: "Similarity to Gaussian: cosine of samples from the same noise",
    of(_, __, point, id) {
      if (id === "trained") return cosineWith(point, "gaussian")?.mean ?? NaN;
      return id === "gaussian" ? 1 : (point.denoisers.gaussian?.against[id]?.cosine.mean ?? NaN);
    },
    format: (value) => fixed(value, 3),
  },
};

/** A, B, … Z, A2, B2, … @param {number} index */
export const letterOf = (index) =>
  String.fromCharCode(65 + (index % 26)) + (index < 26 ? "" : String(1 + Math.floor(index / 26)));

/** The index of a symbol, such as G of D_G. @param {string} symbol */
const letterOfSymbol = (symbol) => symbol.replace("D_", "");

/** @param {number} index */
export const colourNumber = (index) => 1 + (index % COLOURS);

/** @param {number} index */
const colourOf = (index) => `var(--run-${colourNumber(index)})`;

/** Whether a report is a list of networks over sizes. @param {Report | undefined} report @returns {report is Sweep} */
export const isSweep = (report) => report?.experiment === "transition" || report?.experiment === "gaussian-bias";

/** What came out, in a sentence or two. @param {Report} report */
export const outcomeOf = (report) => sentences(report.final ? foundIn(report) : "", divergenceSentence(report));

/** @param {Report} report */
function foundIn({ experiment, findings, ...rest }) {
  /** @param {{n: number, value: number}[]} values */
  const list = (values) => values.map(({ n, value }) => `${fixed(value)} at N = ${count(n)}`).join(", ");
  switch (experiment) {
    case "transition":
      return transitionSentence({ experiment, findings, ...rest });
    case "gaussian-bias": {
      const cosines = findings.map((/** @type {Bias} */ point) => ({
        n: point.n,
        value: cosineWith(point, "linear")?.mean ?? NaN,
      }));
      return sentence(`Cosine with the linear fit: ${list(cosines)}`);
    }
    case "strong-generalization": {
      const cosines = findings.map((/** @type {Agreement} */ { n, cosine }) => ({ n, value: cosine.mean }));
      return sentence(`Cosine of the two: ${list(cosines)}`);
    }
    case "emergence": {
      const points = [...findings.overTime, ...findings.overWidth];
      if (points.length === 0) return "";
      const best = peak(points);
      return `Most like the Gaussian after ${count(best.step)} steps: similarity ${fixed(likeGaussian(best))}.`;
    }
    case "clocks":
      return trainings(findings).map(lawSentence).join(" ");
    case "modes":
      return modesSentence(findings);
    default:
      return "";
  }
}

/**
 * One row of samples per run, and one per denoiser beside the first run that has it, so that the eye compares down the columns.
 * @param {HTMLElement} place
 * @param {ShownRun[]} runs
 * @param {number} wanted
 */
export function drawRunSamples(place, runs, wanted) {
  /** @type {Set<DenoiserId>} */
  const shown = new Set();
  const rows = runs.flatMap(({ entry, sweep }) => {
    const n = nearestStop(sizes(sweep), wanted);
    const point = networks(sweep, n).find(({ denoisers }) => denoisers.trained.samples);
    if (!point) return [];
    /** @param {DenoiserId} id @param {HTMLElement} key @param {string} of @param {string} note */
    const row = (id, key, of, note) => {
      const samples = point.denoisers[id]?.samples;
      if (!samples) return [];
      const canvas = make("canvas", { role: "img", ariaLabel: `Samples of ${of} at N = ${n}` });
      drawRow(canvas, decodeImages(sweep.shape, samples), COLUMNS);
      return [key, canvas, make("span", { className: "lab-sample-n" }, note)];
    };
    const key = make("span", { className: "run-key" }, entry.letter);
    key.dataset.colour = String(colourNumber(entry.index));
    const own = row("trained", key, `run ${entry.letter}`, noted(`N = ${count(n)}`, divergence([point])));
    const beside = THEORIES.filter(({ id }) => !shown.has(id)).flatMap(({ id, symbol, short, label, colour }) => {
      if (point.denoisers[id]?.samples) shown.add(id);
      const key = make("span", { className: "run-key" }, letterOfSymbol(symbol));
      key.style.setProperty("--colour", colour);
      return row(id, key, label, short);
    });
    return [...own, ...beside];
  });
  place.replaceChildren(...rows);
}

/** @param {HTMLElement} root */
export function runsChart(root) {
  /** @param {Sweep} sweep @param {Measure} measure @param {DenoiserId} id */
  const curveOf = (sweep, { of }, id) =>
    curve(sweep, (point) => {
      const measures = point.denoisers[id];
      return measures ? of(measures, levelOf(sweep, SIGMA), point, id) : NaN;
    });
  /** @param {Overlay} overlay */
  const spreads = ({ runs, measure }) =>
    runs.flatMap(({ entry, sweep }) =>
      curveOf(sweep, MEASURES[measure], "trained").map((spread) => ({
        ...spread,
        letter: entry.letter,
        colour: colourOf(entry.index),
        mark: MARKS[entry.index % MARKS.length],
      })),
    );
  /** The denoisers beside the networks, each of the first run that has it. @param {Overlay} overlay */
  const references = ({ runs, measure }) =>
    THEORIES.map((row) => {
      const curves = runs.map(({ sweep }) =>
        curveOf(sweep, MEASURES[measure], row.id).filter(({ mean }) => Number.isFinite(mean)),
      );
      return { ...row, points: curves.find((points) => points.length > 0) ?? [] };
    });
  return chart(
    root,
    /** @type {ChartSpec<Overlay>} */ ({
      name: "your runs",
      label: (overlay) =>
        `${MEASURES[overlay.measure].title}, against the number of training images, of ${overlay.runs.length} ` +
        `run${overlay.runs.length === 1 ? "" : "s"}: ` +
        overlay.runs.map(({ entry }) => `${entry.letter}, ${describe(entry.options, entry.report).title}`).join("; "),
      columns: ["Run", "N", "Mean", "Lowest seed", "Highest seed"],
      rows: (overlay) => [
        ...spreads(overlay).map(({ letter, n, mean, low, high, diverged }) => [
          letter,
          noted(count(n), diverged),
          ...[mean, low, high].map((v) => significant(v, 4)),
        ]),
        ...references(overlay).flatMap(({ points, short }) =>
          points.map(({ n, mean }) => [short, count(n), significant(mean, 4), "", ""]),
        ),
      ],
      options(overlay, width) {
        const { runs, measure } = overlay;
        const { title, format, fromZero } = MEASURES[measure];
        const points = spreads(overlay);
        const lines = references(overlay);
        const values = onAxis([
          ...points.flatMap(({ low, high }) => [low, high]),
          ...lines.flatMap((reference) => reference.points.map(({ mean }) => mean)),
        ]);
        const low = fromZero ? 0 : Math.floor(20 * Math.min(...values)) / 20;
        const high = measure === "memorized" ? 1 : Math.ceil(10 * Math.max(...values)) / 10;
        const ends = [
          ...runs.flatMap(
            ({ entry }) => points.findLast(({ letter, mean }) => letter === entry.letter && !Number.isNaN(mean)) ?? [],
          ),
          ...lines.flatMap(({ points: list, short, symbol, colour }) =>
            list.slice(-1).map((end) => ({ ...end, letter: width > NARROW ? short : letterOfSymbol(symbol), colour })),
          ),
        ];
        // Letters and symbols stand at the ends of their curves, apart from each other.
        const labels = [...new Set(ends.map(({ n }) => n))].flatMap((n) => {
          const group = ends.filter((end) => end.n === n);
          const places = labelPlaces(
            group.map(({ mean }) => mean),
            [low, high],
            HEIGHT - MARGIN.marginTop - MARGIN.marginBottom,
          );
          return group.map((end, i) => ({ ...end, place: places[i] }));
        });
        return {
          height: HEIGHT,
          ...MARGIN,
          marginRight: width > NARROW ? WIDE_MARGIN : MARGIN.marginRight,
          x: {
            type: "log",
            base: 2,
            label: "Training images N →",
            labelAnchor: "right",
            ticks: [...new Set(points.map(({ n }) => n))].filter(
              (_, i, all) => width > NARROW || i % 2 === 0 || all.length < 6,
            ),
            tickFormat: (n) => count(n),
            tickSize: 4,
          },
          y: { domain: [low, high], label: null, ticks: 5, tickSize: 0, grid: true, tickFormat: format },
          marks: [
            text([title], {
              frameAnchor: "top-left",
              dx: -MARGIN.marginLeft,
              dy: 2 - MARGIN.marginTop,
              className: "chart-title",
            }),
            ...lines.map(({ points: list, colour, dash }) =>
              line(list, { x: "n", y: "mean", stroke: colour, strokeDasharray: dash, strokeWidth: 1.5 }),
            ),
            link(
              points.filter((point) => point.high > point.low),
              { x: "n", y1: "low", y2: "high", stroke: "colour", strokeWidth: 1.5, strokeOpacity: 0.6 },
            ),
            line(points, { x: "n", y: "mean", z: "letter", stroke: "colour", strokeWidth: 2 }),
            dot(points, {
              x: "n",
              y: "mean",
              symbol: "mark",
              fill: "colour",
              stroke: "var(--paper)",
              strokeWidth: 1,
              r: 4.5,
            }),
            crosses(points, { x: "n", y: "mean" }),
            text(labels, {
              x: "n",
              y: "place",
              text: "letter",
              textAnchor: "start",
              dx: 10,
              fill: "colour",
              fontWeight: "600",
            }),
          ],
        };
      },
    }),
  );
}
