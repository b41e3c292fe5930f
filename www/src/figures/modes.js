/** Figure V.6: in which order samples gain, or lose, variance along the principal axes of the training images. */
import { dot, line, ruleY, text } from "@observablehq/plot";
import { decayText, emergenceLaw, modesOf, modesSentence, networkName, orderText, signed } from "../reports/modes.js";
import { chart } from "../ui/chart.js";
import { element } from "../ui/dom.js";
import { count, significant } from "../ui/format.js";
import { labelPlaces } from "../ui/labels.js";
import { axisName, blend, HALO, powersAxis, title } from "../ui/marks.js";
import { hasCurves, overTrainingFigure } from "./over-training.js";

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
        "modes.ends": courses.map((course) => `${endsText(course)} (${networkName(course)})`).join(", "),
      });
      const of = (/** @type {string} */ name) => courses.find((course) => networkName(course) === name);
      const laws = (/** @type {string} */ name) => {
        const course = of(name);
        return course ? [true, false].map((gains) => emergenceLaw(course, gains)) : [];
      };
      const [[mlp, mlpLoses], [unet, unetLoses]] = [laws("MLP"), laws("U-Net")];
      live.set({
        "modes.mlp": decayText(mlp),
        "modes.unet": decayText(unet),
        "modes.unet.order": orderText(unet, mlp),
        "modes.loses": [
          ...(mlpLoses ? [`${decayText(mlpLoses)} in the MLP`] : []),
          ...(unetLoses ? [`${decayText(unetLoses)} in the U-Net`] : []),
        ].join(" and "),
      });
      for (const name of ["MLP", "U-Net"]) {
        for (const place of document.querySelectorAll(`[data-network="${name}"]`)) {
          if (place instanceof HTMLElement) place.hidden = !of(name);
        }
      }
      live.claim("modes.order", report.final && mlp ? mlp.high < 0 : undefined, courses);
      // Without an MLP, the sentence says of the U-Net only what its numbers say.
      const weaker = !of("MLP") || (mlp && unet && mlp.exponent < unet.exponent);
      live.claim("modes.weaker", report.final && unet ? weaker : undefined, courses);
    },
    say: (report) => modesSentence(report.findings),
    summary: (report) => [modesSentence(report.findings)],
  });
}

/** The variance of the samples at the end, along the axes that are drawn, relative to that of the images. @param {ModesCourse} course */
function endsText({ moments, variances }) {
  const last = moments[moments.length - 1].variances;
  const ratios = AXES.filter((axis) => axis <= variances.length).map((axis) => last[axis - 1] / variances[axis - 1]);
  return `${significant(Math.min(...ratios), 2)} to ${significant(Math.max(...ratios), 2)}`;
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

/**
 * Labels at ends of lines: inside the chart, and none on another.
 * @template {{variance: number, step: number}} L
 * @param {L[]} labels
 * @param {{variance: number, step: number}[]} points
 */
function lawLabels(labels, points) {
  const range = (/** @type {number[]} */ values) =>
    /** @type {const} */ ([Math.log(Math.min(...values)), Math.log(Math.max(...values))]);
  const [low, high] = range(points.map(({ variance }) => variance));
  const steps = labels.map(({ step }) => Math.log(step));
  const places = labelPlaces(steps, range(points.map(({ step }) => step)), HEIGHT - 84);
  return labels.map((label, i) => {
    const anchor = Math.log(label.variance) < (low + high) / 2 ? "start" : "end";
    return { ...label, anchor, step: Math.exp(places[i]) };
  });
}

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
            if (!law || own.length < 3) return [];
            const ends = [
              Math.min(...own.map(({ variance }) => variance)),
              Math.max(...own.map(({ variance }) => variance)),
            ];
            return ends.map((variance, end) => ({
              network: networkName(course),
              key: `${networkName(course)} ${gains}`,
              variance,
              step: law.scale * variance ** law.exponent,
              // At one end, on the side of the other axes.
              label: (end === 0) === gains ? `${networkName(course)}: λ to the ${signed(law.exponent)}` : "",
            }));
          }),
        );
        const labels = lawLabels(
          laws.filter(({ label }) => label),
          points,
        );
        return {
          height: HEIGHT,
          marginTop: 28,
          marginBottom: 40,
          marginLeft: 48,
          marginRight: 16,
          x: { ...powersAxis(significant), tickSize: 4, inset: 8 },
          y: { ...powersAxis(count), tickSize: 0, inset: 8 },
          marks: [
            title("Steps until an axis emerges", { dx: -48, dy: -24 }),
            axisName("variance λ of the images along it"),
            ...["MLP", "U-Net"].flatMap((network, i) => [
              dot(
                points.filter((point) => point.network === network),
                {
                  x: "variance",
                  y: "step",
                  r: 4,
                  symbol: i === 0 ? "circle" : "diamond2",
                  fill: ({ gains }) => (gains ? "var(--d-m)" : "var(--d-theta)"),
                  fillOpacity: 0.75,
                },
              ),
            ]),
            line(laws, { x: "variance", y: "step", z: "key", stroke: "var(--ink)", strokeWidth: 1.5 }),
            .../** @type {const} */ (["start", "end"]).map((anchor) =>
              text(
                labels.filter((label) => label.anchor === anchor),
                {
                  x: "variance",
                  y: "step",
                  text: "label",
                  textAnchor: anchor,
                  dx: anchor === "end" ? -10 : 10,
                  dy: -8,
                  ...HALO,
                },
              ),
            ),
          ],
        };
      },
    }),
  );
}
