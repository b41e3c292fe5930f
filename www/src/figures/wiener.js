/** Figure III.4: gradient descent on the exact expected loss of a linear denoiser, and the closed form of Theorem 1. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { canvas, element } from "../ui/dom.js";
import { keepDrawn } from "./figure.js";
import { count, percent, significant } from "../ui/format.js";
import { axisName, HALO, title } from "../ui/marks.js";
import { drawGrid, pictureCount } from "../ui/images.js";
import { runSlider } from "../ui/run-slider.js";
import { nearestStop } from "../reports/nearest.js";

/**
 * @import { WienerResult } from "../engine/protocol.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {WienerResult & {at: number}} Shown with the index of the moment chosen
 */

/** Enough for every axis to arrive at the noise levels that are offered. */
const STEPS = 16_384;
const HEIGHT = 300;
/** The heights at which curves are labelled, one below the other, so that close ones do not collide. */
const LABELS = [0.85, 0.7, 0.55, 0.4, 0.25];
/** Errors above this are off the chart: the descent diverges. */
const TOP = 1.25;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function wienerFigure(root, page) {
  const { store, live } = page;
  const showSteps = runSlider(element(root, "descent-step"), store, "bias.descentTime");
  const drawErrors = errorsChart(element(root, "descent-errors"));
  /** @type {WienerResult | undefined} */
  let latest;

  const drawStep = () => {
    if (!latest) return;
    const steps = [...latest.steps];
    const step = nearestStop(steps, store.values["bias.descentTime"]);
    const at = steps.indexOf(step);
    showSteps(steps, step);
    drawErrors({ ...latest, at });
    drawGrid(canvas(root, "descent-rows"), latest.rows[at], pictureCount(latest.rows[at]));
    drawGrid(canvas(root, "descent-goal"), latest.goal, pictureCount(latest.goal));
    live.set({ "wiener.step": count(step), "wiener.distance": percent(latest.distance.iterate[at]) });
  };
  store.subscribe(["bias.descentTime"], drawStep);

  const lane = page.engine.lane();
  keepDrawn(root, page, {
    reads: ["bias.descentN", "bias.descentSigma", "bias.descentRate"],
    ask: (values) =>
      lane.call("wiener", {
        n: values["bias.descentN"],
        sigma: values["bias.descentSigma"],
        rate: values["bias.descentRate"],
        steps: STEPS,
      }),
    draw(result) {
      latest = result;
      drawStep();
      const { distance, steps } = result;
      const last = distance.iterate[steps.length - 1];
      live.set({
        "wiener.rate": significant(result.rate),
        "wiener.limit": significant(result.limit),
        "wiener.last": count(steps[steps.length - 1]),
        "wiener.end": last < 1e-6 ? "less than a millionth" : last > 10 ? "far more than it began with" : percent(last),
      });
      live.claim("wiener.converges", last < 0.01);
      // Half of the way: the strong axes come there first, unless the descent diverges.
      const halfway = result.directions
        .toSorted((a, b) => b.variance - a.variance)
        .map(({ error }) => error.iterate.findIndex((value) => Math.abs(value) <= 0.5))
        .map((at) => (at < 0 ? Infinity : at));
      live.claim("wiener.order", halfway.every((at, i) => i === 0 || at >= halfway[i - 1]) && last < 1);
      live.announce(
        `Gradient descent: after ${count(steps[steps.length - 1])} steps the distance to the Wiener filter is ${significant(last)}.`,
      );
    },
  });
}

/** @param {HTMLElement} root */
function errorsChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Shown>} */ ({
      name: "gradient descent along each principal axis",
      label: ({ steps, distance, directions, at }) =>
        `Distance to the Wiener filter over ${count(steps[steps.length - 1])} steps of gradient descent: ` +
        `${significant(distance.iterate[at])} after ${count(steps[at])}; along axis ${directions[0].axis} ` +
        `${significant(directions[0].error.iterate[at])}, along axis ${directions[directions.length - 1].axis} ` +
        significant(directions[directions.length - 1].error.iterate[at]),
      columns: ["Axis", "Variance", "Step", "Iterate", "Closed form"],
      rows: ({ steps, distance, directions }) =>
        [{ axis: "all", variance: NaN, error: distance }, ...directions].flatMap(({ axis, variance, error }) =>
          Array.from(steps, (step, i) => [
            axis,
            significant(variance),
            count(step),
            significant(error.iterate[i]),
            significant(error.closedForm[i]),
          ]),
        ),
      options({ steps, directions, at }) {
        const curves = directions.map(({ axis, error }) => ({
          axis,
          points: Array.from(steps, (step, i) => ({
            step,
            iterate: error.iterate[i],
            closedForm: error.closedForm[i],
          })).filter(({ iterate, closedForm }) => iterate <= TOP && closedForm <= TOP),
        }));
        const last = steps[steps.length - 1];
        return {
          height: HEIGHT,
          marginTop: 24,
          marginBottom: 40,
          marginLeft: 34,
          marginRight: 10,
          x: {
            type: "log",
            label: null,
            domain: [1, last],
            ticks: [1, 10, 100, 1000, 10_000].filter((ten) => ten <= last),
            tickFormat: count,
            tickSize: 4,
          },
          y: { domain: [0, TOP], label: null, ticks: [0, 0.5, 1], tickSize: 0 },
          marks: [
            ruleY([0], { stroke: "var(--muted)" }),
            ruleY([1], { stroke: "var(--line)" }),
            ruleX([steps[at]], { stroke: "var(--line)" }),
            title("What is missing along each principal axis", { dx: -34 }),
            axisName("steps of gradient descent"),
            ...curves.flatMap(({ points }) => [
              line(points, { x: "step", y: "closedForm", stroke: "var(--muted)" }),
              dot(points, { x: "step", y: "iterate", r: 3, symbol: "diamond2", fill: "var(--d-l)" }),
              dot(
                points.filter(({ step }) => step === steps[at]),
                {
                  x: "step",
                  y: "iterate",
                  r: 6,
                  symbol: "diamond2",
                  fill: "var(--d-l)",
                  stroke: "var(--paper)",
                  strokeWidth: 2,
                },
              ),
            ]),
            // Over all curves, so that none goes through a word.
            ...curves.map(({ axis, points }, i) => {
              const label =
                points.find(({ closedForm }) => closedForm < LABELS[i % LABELS.length]) ?? points[points.length - 1];
              return text(label ? [label] : [], {
                x: "step",
                y: "closedForm",
                text: () => `axis ${axis}`,
                dx: 9,
                dy: -4,
                textAnchor: "start",
                ...HALO,
              });
            }),
          ],
        };
      },
    }),
  );
}
