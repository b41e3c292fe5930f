/** Figure V.5: when networks begin to generalize and when they begin to copy, for several numbers of training images. */
import { dot, line, link, ruleX, ruleY, text } from "@observablehq/plot";
import {
  bothClocks,
  CLOCKS,
  growth,
  lawOf,
  lawSentence,
  roundTicks,
  speedUps,
  spread,
  struck,
  timeOf,
  timeOn,
  trainings,
  unmeasuredSentence,
} from "../reports/clocks.js";
import { divergence } from "../reports/divergence.js";
import { distinct } from "../reports/nearest.js";
import { exponentText } from "../reports/power-law.js";
import { chart } from "../ui/chart.js";
import { textScale } from "../ui/chart-scale.js";
import { element } from "../ui/dom.js";
import { count, fixed, noted, percent, range, signed, significant } from "../ui/format.js";
import { axisName, blend, HALO, powersAxis, title } from "../ui/marks.js";
import { claimIfTested, overTrainingFigure, showSentence } from "./over-training.js";

/**
 * @import { Bounded, ClocksCourse } from "../../pkg/hidden_gaussian.js"
 * @import { Axis, Clock, Training } from "../reports/clocks.js"
 * @import { Report } from "../reports/report.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {{courses: ClocksCourse[], recorded: ClocksCourse[], axis: Axis, sigma: number}} Curves `recorded`: drawn faint behind
 *   a live run
 * @typedef {{all: Training[]}} Laws
 */

const CURVES_HEIGHT = 640;
const LAWS_HEIGHT = 340;
const MARGIN = { marginLeft: 44, marginRight: 44 };
/** Pixels from one line of the clocks' legend to the next, and what the legend takes of the frame. */
const LEGEND_LINE = 14;
const LEGEND = CLOCKS.length * LEGEND_LINE;
/** A faster clock is in proportion to the width when its factor is, up to this one. */
const ROUGHLY = 1.5;
/** Where things stand in the panels of curves. */
const PLACE = { fy: "panel", x: "x", y: "y" };

/** What runs along the axis of time. @type {Record<Axis, {name: string, column: string}>} */
const AXES = {
  steps: { name: "training steps τ", column: "τ" },
  perImage: { name: "training steps per image, τ / N", column: "τ / N" },
  perWidth: { name: "τ × width / N", column: "τW / N" },
};

/** The clocks, and how each is drawn. @type {Record<Clock, {name: string, short: string, colour: string, symbol: "circle" | "diamond2" | "square2"}>} */
const STYLES = {
  generalized: { name: "τ_gen: generalizes", short: "generalizes", colour: "var(--d-theta)", symbol: "circle" },
  overfitted: { name: "overfits", short: "overfits", colour: "var(--d-data)", symbol: "diamond2" },
  memorized: { name: "τ_mem: copies", short: "copies", colour: "var(--d-m)", symbol: "square2" },
};

/** @param {{clock: Clock}} strike */
const colourOf = ({ clock }) => STYLES[clock].colour;

/** The curves, one above the other; `top`: where the axis ends, if not at the highest of the curves. */
/** @type {{name: (sigma: number) => string, value: (moment: ClocksCourse["moments"][number]) => Bounded, other?: (moment: ClocksCourse["moments"][number]) => Bounded, top?: number, tick?: (value: number) => string, clock: Clock}[]} */
const PANELS = [
  {
    name: () => "Copies among the samples",
    value: ({ memorized }) => memorized,
    top: 1,
    tick: percent,
    clock: "memorized",
  },
  {
    name: () => "Similarity to Gaussian",
    value: ({ likeness }) => likeness,
    top: 1,
    clock: "generalized",
  },
  {
    name: (sigma) => `Loss at σ = ${significant(sigma)}: held out, and on training images (dashed)`,
    value: ({ heldOut }) => heldOut,
    other: ({ train }) => train,
    clock: "overfitted",
  },
];

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"clocks">} source
 */
export function clocksFigure(root, page, source) {
  const { live } = page;
  const drawCurves = curvesChart(element(root, "clocks-curves"));
  const drawLaws = lawsChart(element(root, "clocks-laws"));

  overTrainingFigure(root, page, source, {
    experiment: "clocks",
    reads: ["clocks.axis", "clocks.optimizer"],
    draw(report, values, recorded) {
      const all = trainings(report.findings);
      const { "clocks.axis": axis, "clocks.optimizer": optimizer } = values;
      const shown = chosen(all, optimizer, axis);
      const behind = recorded ? chosen(trainings(recorded.findings), optimizer, axis) : [];
      const sigma = report.config.evaluation.sigmas.at(-1) ?? NaN;
      drawCurves({ courses: shown, recorded: behind, axis, sigma });
      drawLaws({ all });
      live.set({ "clocks.sigma": significant(sigma) });
      tell(report, all);
    },
    say(report, values) {
      const training = firstOf(trainings(report.findings), values["clocks.optimizer"]);
      return training ? lawSentence(training) : "This run has no networks trained in this way.";
    },
    summary: (report) => trainings(report.findings).map(lawSentence),
  });

  /** @param {Report<"clocks">} report @param {Training[]} all */
  function tell(report, all) {
    for (const optimizer of /** @type {const} */ (["sgd", "adam"])) {
      const courses = firstOf(all, optimizer)?.courses ?? [];
      const [memorized, overfitted] = [lawOf(courses, "memorized"), lawOf(courses, "overfitted")];
      const [generalized, copied] = [struck(courses, "generalized"), struck(courses, "memorized")];
      const factor = spread(generalized);
      const sizes = generalized.map(({ n }) => n);
      const both = bothClocks(courses);
      const name = `clocks.${optimizer}`;
      live.set({
        [`${name}.memorized`]: exponentText(memorized),
        [`${name}.overfitted`]: exponentText(overfitted),
        [`${name}.sizes`]: range(
          copied.map(({ n }) => n),
          count,
        ),
        [`${name}.perImage`]: range(
          copied.map(({ n, step }) => step / n),
          twoDigits,
        ),
        [`${name}.both`]: range(both?.sizes ?? [], count),
        [`${name}.both.generalized`]: fromTo(both?.generalized),
        [`${name}.both.memorized`]: fromTo(both?.memorized),
        [`${name}.generalized.grown`]: both ? twoDigits(growth(both.generalized)) : "–",
        [`${name}.memorized.grown`]: both ? twoDigits(growth(both.memorized)) : "–",
        [`${name}.all`]: range(sizes, count),
        [`${name}.generalized`]: range(
          generalized.map(({ step }) => step),
          twoDigits,
        ),
        [`${name}.factor`]: factor === undefined ? "–" : fixed(factor, 1),
      });
      showSentence(`${name}.range`, factor !== undefined);
      claimIfTested(
        live,
        `${name}.memorized`,
        report.final && memorized ? memorized.exponent >= 0.8 && memorized.exponent <= 1.2 : undefined,
        courses,
      );
      claimIfTested(
        live,
        `${name}.overfitted`,
        report.final && overfitted ? overfitted.exponent >= 0.7 && overfitted.exponent <= 1.3 : undefined,
        courses,
      );
      claimIfTested(
        live,
        `${name}.generalized`,
        // Far less, over the same sizes.
        report.final && both ? growth(both.generalized) <= Math.sqrt(growth(both.memorized)) : undefined,
        courses,
      );
    }
    live.set({ "clocks.unmeasured": report.final ? unmeasuredSentence(firsts(all)) : "" });
    const sooner = speedUps(all.filter(({ optimizer }) => optimizer === "sgd"));
    const inProportion = sooner ? growth(sooner.widths) : NaN;
    live.set({
      "clocks.widths": sooner ? sooner.widths.map(count).join(" to ") : "–",
      "clocks.widths.factors": range(sooner?.factors ?? [], (factor) => significant(factor)),
      "clocks.widths.proportion": twoDigits(inProportion),
    });
    claimIfTested(
      live,
      "clocks.widths",
      report.final && sooner
        ? sooner.factors.every((factor) => Math.abs(Math.log(factor / inProportion)) <= Math.log(ROUGHLY))
        : undefined,
      report.findings,
    );
  }
}

/**
 * The networks trained with an optimizer that the text is about: those of the first width.
 * @param {Training[]} all
 * @param {"sgd" | "adam"} optimizer
 */
const firstOf = (all, optimizer) => all.find((training) => training.optimizer === optimizer);

/** Those of every optimizer. @param {Training[]} all */
const firsts = (all) => /** @type {const} */ (["sgd", "adam"]).flatMap((optimizer) => firstOf(all, optimizer) ?? []);

/** From which number of steps to which. @param {number[]} [steps] */
const fromTo = (steps = []) => steps.map(twoDigits).join(" to ");

/**
 * The networks whose curves are drawn: those of one width, or of all where that is what the axis is about.
 * @param {Training[]} all
 * @param {"sgd" | "adam"} optimizer
 * @param {Axis} axis
 */
function chosen(all, optimizer, axis) {
  const same = all.filter((training) => training.optimizer === optimizer);
  return (axis === "perWidth" ? same : same.slice(0, 1)).flatMap(({ courses }) => courses);
}

/** @param {number} value */
const twoDigits = (value) => significant(value, 2);

/** A colour for each size, from the smallest, vermilion, to the largest, blue. @param {number[]} sizes */
const ramp =
  (sizes) =>
  (/** @type {{n: number}} */ { n }) =>
    blend("var(--d-m)", "var(--d-theta)", sizes.length > 1 ? sizes.indexOf(n) / (sizes.length - 1) : 0);

/** @param {HTMLElement} root */
function curvesChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Curves>} */ ({
      name: "networks over training time",
      label: ({ courses, axis }) =>
        `Copies, similarity to the Gaussian and loss over ${AXES[axis].name}, for ${count(courses.length)} networks. ` +
        `Of these, ${count(courses.filter(({ times }) => times.memorized).length)} reach the point where a tenth of their samples are copies: ` +
        courses
          .flatMap((course) =>
            course.times.memorized
              ? `N = ${count(course.n)} at ${significant(timeOn(course, axis, course.times.memorized.step))}`
              : [],
          )
          .join(", "),
      columns: [
        "N",
        "Width",
        "Steps",
        "τ / N",
        ...["Copies", "Similarity to Gaussian", "Held-out loss", "Training loss"].flatMap(intervalColumns),
      ],
      rows: ({ courses }) =>
        courses.flatMap((course) =>
          course.moments.map(({ step, memorized, likeness, heldOut, train }) => [
            noted(count(course.n), divergence([course])),
            count(course.architecture.width),
            count(step),
            significant(step / course.n),
            percent(memorized.mean),
            `${percent(memorized.low)} to ${percent(memorized.high)}`,
            ...[likeness, heldOut, train].flatMap(({ mean, low, high }) => [
              significant(mean),
              `${significant(low)} to ${significant(high)}`,
            ]),
          ]),
        ),
      options({ courses, recorded, axis, sigma }) {
        const names = PANELS.map(({ name }) => name(sigma));
        const colour = ramp(distinct(courses.map(({ n }) => n)));
        /** Curves on a scale from 0 to 1 of their own panel, so that one y axis serves all. @param {ClocksCourse[]} networks */
        const points = (networks) =>
          PANELS.flatMap(({ value, other }, i) =>
            networks.flatMap((course, index) =>
              course.moments.flatMap((moment) => {
                const x = timeOn(course, axis, moment.step);
                const base = { panel: names[i], n: course.n, x, curve: `${i} ${index}` };
                return [
                  { ...base, y: value(moment).mean / tops[i], dashed: false },
                  ...(other
                    ? [{ ...base, y: other(moment).mean / tops[i], curve: `${base.curve} other`, dashed: true }]
                    : []),
                ];
              }),
            ),
          );
        const tops = PANELS.map(
          ({ value, other, top }) =>
            top ??
            Math.max(
              1e-9,
              ...[...courses, ...recorded].flatMap(({ moments }) =>
                moments.flatMap((moment) => [value(moment).mean, other?.(moment).mean ?? 0]),
              ),
            ),
        );
        const ticks = PANELS.flatMap(({ tick = twoDigits }, i) =>
          roundTicks(tops[i]).map((value) => ({ panel: names[i], y: value / tops[i], label: tick(value) })),
        );
        const [drawn, behind] = [points(courses), points(recorded)];
        /** Where each clock stands on its curve. */
        const marked = PANELS.flatMap(({ value, clock }, i) =>
          courses.flatMap((course) => {
            const time = timeOf(course, clock);
            if (!time) return [];
            const after = course.moments.findIndex(({ step }) => step >= time.step);
            const [from, to] = [course.moments[Math.max(0, after - 1)], course.moments[after]];
            const part = from === to ? 0 : Math.log(time.step / from.step) / Math.log(to.step / from.step);
            const y = value(from).mean + part * (value(to).mean - value(from).mean);
            return { panel: names[i], n: course.n, x: timeOn(course, axis, time.step), y: y / tops[i], clock };
          }),
        );
        const ends = courses.flatMap((course) => {
          const moment = course.moments.at(-1);
          return moment && course.architecture.width === courses[0].architecture.width
            ? { panel: names[0], n: course.n, x: timeOn(course, axis, moment.step), y: moment.memorized.mean }
            : [];
        });
        const xs = [...drawn, ...behind].map(({ x }) => x);
        return {
          height: CURVES_HEIGHT,
          ...MARGIN,
          marginTop: 34,
          marginBottom: 40,
          fy: { domain: names, axis: null, padding: 0.32, paddingOuter: 0 },
          x: {
            ...powersAxis(significant),
            domain: xs.length > 0 ? [Math.min(...xs), Math.max(...xs)] : [1, 10],
            tickSize: 4,
          },
          y: { domain: [0, 1], clamp: true, label: null, axis: null },
          marks: [
            ruleY(ticks, { fy: "panel", y: "y", stroke: "var(--line)" }),
            ruleY([0], { stroke: "var(--muted)" }),
            ...names.map(titleOf),
            text(ticks, {
              fy: "panel",
              y: "y",
              frameAnchor: "left",
              text: "label",
              dx: -6,
              textAnchor: "end",
              fill: "var(--muted)",
            }),
            axisName(AXES[axis].name, { facet: "super" }),
            line(behind, {
              ...PLACE,
              z: "curve",
              stroke: "var(--d-data)",
              strokeOpacity: 0.5,
              className: "recorded-behind",
            }),
            line(
              drawn.filter(({ dashed }) => !dashed),
              { ...PLACE, z: "curve", stroke: colour, strokeWidth: 2 },
            ),
            line(
              drawn.filter(({ dashed }) => dashed),
              { ...PLACE, z: "curve", stroke: colour, strokeWidth: 1.5, strokeDasharray: "3 3" },
            ),
            ...CLOCKS.map((clock) =>
              dot(
                marked.filter((mark) => mark.clock === clock),
                {
                  ...PLACE,
                  r: 4.5,
                  symbol: STYLES[clock].symbol,
                  fill: colour,
                  stroke: "var(--paper)",
                  strokeWidth: 1.5,
                },
              ),
            ),
            text(apart(ends), { ...PLACE, text: ({ n }) => count(n), dx: 8, textAnchor: "start", ...HALO }),
          ],
        };
      },
    }),
  );
}

/** What a panel shows, above its frame. @param {string} name */
const titleOf = (name) =>
  text([{ name }], { fy: "name", text: "name", frameAnchor: "top-left", dy: -20, dx: -44, className: "chart-title" });

/** A line of text, as a part of a panel's height. */
const LINE = 0.1;

/**
 * Labels at the ends of curves, moved so that none covers another.
 * @template {{x: number, y: number}} L
 * @param {L[]} labels
 */
function apart(labels) {
  const gap = LINE * textScale();
  let last = -Infinity;
  const up = labels
    .toSorted((a, b) => a.y - b.y)
    .map((label) => {
      last = Math.max(label.y, last + gap);
      return { ...label, y: last };
    });
  // The panel ends at 1: those that came to lie above it move down again.
  let next = 1 + gap;
  return up.toReversed().map((label) => {
    next = Math.min(label.y, next - gap);
    return { ...label, y: next };
  });
}

/** @param {string} name */
const intervalColumns = (name) => [name, `${name} (95 % interval)`];

/** The clocks against the number of training images, with the laws that fit them. @param {HTMLElement} root */
function lawsChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Laws>} */ ({
      name: "clocks against training images",
      label: ({ all }) =>
        `When networks generalize, overfit and copy, by number of training images. ${all.map(lawSentence).join(" ")}`,
      columns: [
        "Training",
        "N",
        "Seed",
        ...CLOCKS.flatMap((clock) => intervalColumns(STYLES[clock].name)),
        "τ_mem / N",
      ],
      rows: ({ all }) =>
        all.flatMap(({ name, courses }) =>
          courses.map((course) => [
            name,
            noted(count(course.n), divergence([course])),
            course.seed,
            ...CLOCKS.flatMap((clock) => {
              const time = timeOf(course, clock);
              return time
                ? [count(Math.round(time.step)), `${count(Math.round(time.low))} to ${count(Math.round(time.high))}`]
                : ["–", "–"];
            }),
            course.times.memorized ? significant(course.times.memorized.step / course.n) : "–",
          ]),
        ),
      options({ all }) {
        const shown = firsts(all);
        const points = shown.flatMap(({ name, courses }) =>
          CLOCKS.flatMap((clock) =>
            courses.flatMap((course) => {
              const time = timeOf(course, clock);
              return time ? { name, clock, n: course.n, ...time } : [];
            }),
          ),
        );
        const laws = shown.flatMap(({ name, courses }) =>
          CLOCKS.flatMap((clock) => {
            const law = lawOf(courses, clock);
            if (!law) return [];
            const own = points.filter((point) => point.name === name && point.clock === clock);
            const [low, high] = [Math.min(...own.map(({ n }) => n)), Math.max(...own.map(({ n }) => n))];
            const at = (/** @type {number} */ n) => law.scale * n ** law.exponent;
            return { name, clock, x1: low, x2: high, y1: at(low), y2: at(high) };
          }),
        );
        const legend = shown.flatMap(({ name, courses }) =>
          CLOCKS.map((clock) => {
            const law = lawOf(courses, clock);
            return { name, clock, label: `${STYLES[clock].short}: ${law ? signed(law.exponent) : "–"}` };
          }),
        );
        const sizes = distinct(shown.flatMap(({ courses }) => courses.map(({ n }) => n)));
        return {
          height: LAWS_HEIGHT,
          marginLeft: 52,
          marginRight: 14,
          marginTop: 44,
          marginBottom: 40,
          fx: { domain: shown.map(({ name }) => name), label: null, padding: 0.1 },
          x: { type: "log", label: null, ticks: sizes, tickFormat: count, tickSize: 4, inset: 8 },
          y: { ...powersAxis(count), tickSize: 0, inset: 6, insetTop: LEGEND + 6 },
          marks: [
            title("Steps until each clock strikes, with its power of N", { dx: -48, dy: -38, facet: "super" }),
            axisName("training images N", { facet: "super" }),
            link(laws, {
              fx: "name",
              x1: "x1",
              x2: "x2",
              y1: "y1",
              y2: "y2",
              stroke: colourOf,
              strokeWidth: 1.5,
              strokeOpacity: 0.7,
            }),
            ruleX(points, {
              fx: "name",
              x: "n",
              y1: "low",
              y2: "high",
              stroke: colourOf,
            }),
            ...CLOCKS.map((clock) =>
              dot(
                points.filter((point) => point.clock === clock),
                {
                  fx: "name",
                  x: "n",
                  y: "step",
                  r: 4,
                  symbol: STYLES[clock].symbol,
                  fill: STYLES[clock].colour,
                  stroke: "var(--paper)",
                },
              ),
            ),
            // Above the points, where nothing else is; the slowest clock first, as in the chart.
            ...CLOCKS.toReversed().flatMap((clock, i) => {
              const lines = legend.filter((entry) => entry.clock === clock);
              const place = /** @type {const} */ ({ fx: "name", frameAnchor: "top-left", dy: (i + 0.5) * LEGEND_LINE });
              return [
                dot(lines, { ...place, dx: 8, r: 4, symbol: STYLES[clock].symbol, fill: STYLES[clock].colour }),
                text(lines, { ...place, dx: 17, text: "label", textAnchor: "start", lineAnchor: "middle", ...HALO }),
              ];
            }),
          ],
        };
      },
    }),
  );
}
