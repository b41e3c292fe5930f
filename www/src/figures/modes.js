/** Figure V.6: in which order samples gain, or lose, variance along the principal axes of the training images. */
import { dot, line, ruleY, text, vector } from "@observablehq/plot";
import {
  coloursSentence,
  decayText,
  emergenceLaw,
  endsText,
  losingText,
  modesOf,
  modesSentence,
  networkName,
  orderText,
  symbolsText,
  unfinishedSentence,
} from "../reports/modes.js";
import { chart } from "../ui/chart.js";
import { element } from "../ui/dom.js";
import { count, signed, significant } from "../ui/format.js";
import { labelPlaces } from "../ui/labels.js";
import { axisName, blend, HALO, powersAxis, title } from "../ui/marks.js";
import { claimIfTested, hasCurves, overTrainingFigure, showSentence } from "./over-training.js";

/**
 * @import { ModesCourse } from "../../pkg/hidden_gaussian.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/** @typedef {{courses: ModesCourse[]}} Shown */

const HEIGHT = 320;
/** Principal axes whose variance is drawn over time, counted from 1. */
const AXES = [1, 2, 4, 8, 16, 32, 64];

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"modes">} source
 */
export function modesFigure(root, page, source) {
  const { live } = page;
  const drawVariances = variancesChart(element(root, "modes-variances"));
  const drawTimes = timesChart(element(root, "modes-times"));

  overTrainingFigure(root, page, source, {
    experiment: "modes",
    reads: [],
    draw(report) {
      const courses = report.findings.filter(hasCurves);
      drawVariances({ courses });
      drawTimes({ courses });
      live.set({
        "modes.networks": courses
          .map((course) => (networkName(course) === "MLP" ? "an MLP" : "a U-Net"))
          .join(" and ")
          .replace(/^a/, "A"),
        "modes.n": count(report.config.sizes[0]),
        "modes.ends": endsText(courses, (axis) => AXES.includes(axis)),
        "modes.axes": count(courses[0]?.variances.length ?? 0),
        "modes.ends.all": endsText(courses),
        "modes.unfinished": unfinishedSentence(courses),
        "modes.symbols": symbolsText(courses),
        "modes.colours": coloursSentence(courses),
      });
      const lawOf = (/** @type {string} */ name) => {
        const course = courses.find((one) => networkName(one) === name);
        return course && emergenceLaw(course, true);
      };
      const [mlp, unet] = [lawOf("MLP"), lawOf("U-Net")];
      const losing = losingText(courses);
      live.set({
        "modes.mlp": decayText(mlp),
        "modes.unet": decayText(unet),
        "modes.unet.order": orderText(unet, mlp),
        "modes.loses": losing,
      });
      showSentence("modes.loses", losing !== "");
      claimIfTested(live, "modes.order", report.final && mlp ? mlp.high < 0 : undefined, courses);
      // Without an MLP, the sentence says of the U-Net only what its numbers say.
      const weaker = !mlp || (unet && mlp.exponent < unet.exponent);
      claimIfTested(live, "modes.weaker", report.final && unet ? weaker : undefined, courses);
    },
    say: (report) => modesSentence(report.findings),
    summary: (report) => [modesSentence(report.findings)],
  });
}

/** @param {ModesCourse[]} courses */
const tops = (courses) => courses.flatMap(({ moments }) => moments.map(({ step }) => step));

/** The variance of samples along some axes, over training. @param {HTMLElement} root */
function variancesChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Shown>} */ ({
      name: "variance of samples along principal axes",
      label: ({ courses }) =>
        `Variance of samples along principal axes over training, as a fraction of the images’ variance, for ${courses.map(networkName).join(" and ")}`,
      columns: ["Network", "Axis", "Variance λ", "Steps", "Samples’ variance"],
      rows: ({ courses }) =>
        courses.flatMap((course) =>
          AXES.filter((axis) => axis <= course.variances.length).flatMap((axis) =>
            course.moments.map(({ step, variances }) => [
              networkName(course),
              axis,
              significant(course.variances[axis - 1]),
              count(step),
              significant(variances[axis - 1]),
            ]),
          ),
        ),
      options({ courses }) {
        const curves = courses.flatMap((course) =>
          AXES.filter((axis) => axis <= course.variances.length).flatMap((axis) =>
            course.moments.map(({ step, variances }) => ({
              network: networkName(course),
              axis,
              step,
              ratio: variances[axis - 1] / course.variances[axis - 1],
            })),
          ),
        );
        const last = Math.max(10, ...tops(courses));
        const heights = curves.map(({ ratio }) => Math.log(ratio)).filter(Number.isFinite);
        /** The numbers of the axes, none on another. */
        const numbers = courses.flatMap((course) => {
          const first = curves.filter(({ network, step }) => network === networkName(course) && step === 1);
          const places = labelPlaces(
            first.map(({ ratio }) => Math.log(ratio)),
            [Math.min(...heights), Math.max(...heights)],
            HEIGHT - 84,
          );
          return first.map((point, i) => ({ ...point, ratio: Math.exp(places[i]) }));
        });
        const colour = (/** @type {number} */ axis) =>
          blend("var(--d-l)", "var(--d-g)", AXES.indexOf(axis) / (AXES.length - 1));
        return {
          height: HEIGHT,
          marginTop: 44,
          marginBottom: 40,
          marginLeft: 40,
          marginRight: 16,
          fx: { domain: courses.map(networkName), label: null, padding: 0.08 },
          x: { ...powersAxis(count), domain: [1, last], tickSize: 4 },
          y: { ...powersAxis(significant), tickSize: 0 },
          marks: [
            ruleY([1], { stroke: "var(--muted)" }),
            title("Variance of the samples over that of the images", { dx: -40, dy: -38, facet: "super" }),
            axisName("training steps", { facet: "super" }),
            line(curves, {
              fx: "network",
              x: "step",
              y: "ratio",
              z: "axis",
              stroke: ({ axis }) => colour(axis),
              strokeWidth: 2,
            }),
            text(numbers, { fx: "network", x: "step", y: "ratio", text: "axis", dx: 8, dy: -7, ...HALO }),
          ],
        };
      },
    }),
  );
}

/** How the lines of the networks are dashed, and the symbols of their points. @type {Record<string, {dash?: string, symbol: "circle" | "diamond2"}>} */
const STYLES = { MLP: { symbol: "circle" }, "U-Net": { dash: "5 3", symbol: "diamond2" } };
/** Axes that gain variance, and those that lose it. @param {{gains: boolean}} axes */
const colourOf = ({ gains }) => (gains ? "var(--d-m)" : "var(--d-theta)");
/** Pixels from one line of the legend to the next, and how long its lines are. */
const [LEGEND_LINE, SAMPLE] = [15, 26];
/** A line through its place. @type {import("@observablehq/plot").VectorOptions["shape"]} */
const ACROSS = {
  draw(context, length) {
    context.moveTo(-length / 2, 0);
    context.lineTo(length / 2, 0);
  },
};

/** When axes emerge, against their variance. @param {HTMLElement} root */
function timesChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Shown>} */ ({
      name: "emergence against variance",
      label: ({ courses }) => `When principal axes emerge, by their variance. ${modesSentence(courses)}`,
      columns: ["Network", "Axis", "Variance λ", "First samples’ variance", "Emerges after steps"],
      rows: ({ courses }) =>
        courses.flatMap((course) =>
          modesOf(course).map(({ axis, variance, start, step }) => [
            networkName(course),
            axis,
            significant(variance),
            significant(start),
            step === null ? "–" : count(Math.round(step)),
          ]),
        ),
      options({ courses }) {
        const points = courses.flatMap((course) =>
          modesOf(course).flatMap(({ step, ...mode }) =>
            step === null ? [] : { network: networkName(course), ...mode, step },
          ),
        );
        const laws = courses.flatMap((course) =>
          [true, false].flatMap((gains) => {
            const law = emergenceLaw(course, gains);
            const own = points.filter((point) => point.network === networkName(course) && point.gains === gains);
            return law ? { network: networkName(course), gains, law, own: own.map(({ variance }) => variance) } : [];
          }),
        );
        const lines = laws.flatMap(({ law, own, ...line }) =>
          [Math.min(...own), Math.max(...own)].map((variance) => ({
            ...line,
            key: `${line.network} ${line.gains}`,
            variance,
            step: law.scale * variance ** law.exponent,
          })),
        );
        return {
          height: HEIGHT,
          marginTop: 28,
          marginBottom: 40,
          marginLeft: 48,
          marginRight: 16,
          x: { ...powersAxis(significant), tickSize: 4, inset: 8 },
          y: { ...powersAxis(count), tickSize: 0, inset: 8, insetTop: laws.length * LEGEND_LINE + 12 },
          marks: [
            title("Steps until an axis emerges", { dx: -48, dy: -24 }),
            axisName("variance λ of the images along it"),
            ...Object.entries(STYLES).flatMap(([network, { symbol, dash }]) => [
              dot(
                points.filter((point) => point.network === network),
                { x: "variance", y: "step", r: 4, symbol, fill: colourOf, fillOpacity: 0.75 },
              ),
              line(
                lines.filter((end) => end.network === network),
                { x: "variance", y: "step", z: "key", stroke: "var(--ink)", strokeWidth: 1.5, strokeDasharray: dash },
              ),
            ]),
            // Above the points, where nothing else is.
            ...laws.flatMap(({ network, gains, law }, i) => {
              const { symbol, dash } = STYLES[network];
              const dy = (i + 0.5) * LEGEND_LINE;
              const place = /** @type {const} */ ({ frameAnchor: "top-right", dy });
              const label = `${network}, ${gains ? "gaining" : "losing"}: λ^${signed(law.exponent)}`;
              return [
                dot([gains], { ...place, dx: -SAMPLE / 2, r: 4, symbol, fill: colourOf({ gains }) }),
                vector([label], {
                  ...place,
                  dx: -SAMPLE / 2,
                  shape: ACROSS,
                  anchor: "start",
                  length: SAMPLE,
                  stroke: "var(--ink)",
                  strokeWidth: 1.5,
                  strokeDasharray: dash,
                }),
                text([label], { ...place, dx: -SAMPLE - 6, textAnchor: "end", lineAnchor: "middle", ...HALO }),
              ];
            }),
          ],
        };
      },
    }),
  );
}
