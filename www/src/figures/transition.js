/** Figure II.1: copies, distance and linearity against the number of training images, recorded and trained here. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { axisSlider } from "../ui/axis-slider.js";
import { chart, inFrames, onAxis } from "../ui/chart.js";
import { denoiser, FITTED } from "../reports/denoisers.js";
import { divergence, divergenceSentence, isSound } from "../reports/divergence.js";
import { element } from "../ui/dom.js";
import { count, fixed, noted, percent, sentences, significant } from "../ui/format.js";
import { labelPlaces } from "../ui/labels.js";
import { crosses } from "../ui/marks.js";
import { describe, imagesOf, kindOf } from "../reports/describe.js";
import { originOf, provenance } from "../reports/provenance.js";
import { cosineWith, levelOf } from "../reports/report.js";
import { chosenRun } from "../reports/source.js";
import { offerRecorded, reportFigure } from "./report-figure.js";
import { overSeeds, rangeColumns, seedsSentence } from "../reports/seeds.js";
import { offers } from "../runs/offers.js";
import { runPanel } from "../runs/run-panel.js";
import {
  compare,
  curve,
  curves,
  linearityAt,
  networks,
  sizes,
  spread,
  transitionSentence,
} from "../reports/transition.js";
import { ageOf, ALIKE, compareEstimates, DETAIL_SIGMA, RELATION } from "../reports/verdicts.js";
import { drawSamples } from "../ui/images.js";
import { nearestStop } from "../reports/nearest.js";

/**
 * @import { DenoiserId, Measures, Point } from "../../pkg/hidden_gaussian.js"
 * @import { SizeSpread, Sweep } from "../reports/transition.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {object} View what the figure shows
 * @property {Sweep} recorded
 * @property {Sweep | undefined} live what is trained here, once there is something to see
 * @property {Sweep} sweep the one of the two that the text is about
 * @property {number} n one of the recorded sizes
 * @property {number} sigma one of the recorded noise levels
 *
 * @typedef {object} Reference a line to compare with
 * @property {string} short
 * @property {string} colour
 * @property {string} [dash]
 * @property {(point: Point, level: number) => number} of
 */

const [LEFT, RIGHT] = [44, 84];
const [HEIGHT, TOP, BOTTOM] = [156, 34, 8];

const TRAINED = denoiser("trained");
/** What new images of the same kind score. @type {Reference} */
const HELD_OUT = { short: "Held out", colour: "var(--d-data)", dash: "1 3", of: ({ heldOut }) => heldOut.gl.mean };
/** D_M makes nothing but copies, at distance 0 from the training set: recorded runs do not repeat it. */
const BY_DEFINITION = { gl: 0, memorized: 1 };

/**
 * The scores of the samples of every fitted denoiser.
 * @param {"gl" | "memorized"} name
 * @returns {Reference[]}
 */
const closenessOf = (name) =>
  FITTED.map((row) => ({
    ...row,
    of: ({ denoisers }) =>
      denoisers[row.id]?.closeness?.[name].mean ?? (row.id === "empirical" ? BY_DEFINITION[name] : NaN),
  }));

/** @type {{name: "gl" | "memorized" | "linearity", heading: string, format: (value: number) => string, references: Reference[]}[]} */
const PANELS = [
  {
    name: "gl",
    heading: "GL score: distance to the nearest training image",
    format: (value) => fixed(value, 3),
    references: [HELD_OUT, ...closenessOf("gl")],
  },
  {
    name: "memorized",
    heading: "Copies among the samples",
    format: percent,
    references: closenessOf("memorized"),
  },
  {
    name: "linearity",
    heading: "Linearity",
    format: (value) => fixed(value, 3),
    references: FITTED.map((row) => ({ ...row, of: ({ denoisers }, level) => linearityOf(denoisers[row.id], level) })),
  },
];

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function transitionFigure(root, page) {
  const { store } = page;
  /** @type {Sweep | undefined} */
  let recorded;
  /** @type {Sweep | undefined} */
  let live;

  /** @returns {View | undefined} */
  const view = () => {
    if (!recorded) return undefined;
    const sweep = live ?? recorded;
    const { "transition.n": n, "transition.sigma": sigma } = store.values;
    return { recorded, live, sweep, n: nearestStop(sizes(recorded), n), sigma: nearestStop(recorded.sigmas, sigma) };
  };
  /** Draws what there is. @param {(view: View) => void} draw */
  const withView = (draw) => () => {
    const now = view();
    if (now) draw(now);
  };

  /** @param {number} x */
  const pickSize = (x) => recorded && store.set({ "transition.n": nearestStop(sizes(recorded), x) });
  /** @param {number} x */
  const pickSigma = (x) => recorded && store.set({ "transition.sigma": nearestStop(recorded.sigmas, x) });
  const showSizes = axisSlider(element(root, "n"), store, "transition.n", { axis: "N", notes: "epochs" });
  const showSigmas = axisSlider(element(root, "sigma"), store, "transition.sigma", { axis: "σ" });
  const redraw = inFrames([
    withView((now) => {
      drawPoint(root, page, now);
      showSizes(
        sizes(now.recorded).map((n) => ({
          value: n,
          label: count(n),
          note: epochs(networks(now.recorded, n)[0].epochs),
        })),
        now.n,
      );
      showSigmas(
        now.recorded.sigmas.toSorted((a, b) => a - b).map((value) => ({ value, label: significant(value) })),
        now.sigma,
      );
    }),
    ...PANELS.map((panel) => withView(panelChart(element(root, panel.name), panel, pickSize))),
    withView(levelsChart(element(root, "levels"), pickSigma)),
    withView((now) => {
      tell(page, now);
      root.dataset.origin = originOf(now.sweep);
    }),
  ]);

  const panel = runPanel(element(root, "panel"), page, {
    experiment: "transition",
    seed: "transition.seed",
    instead: { label: "Train small MLPs on faces instead", act: () => store.set({ "transition.run": "quick-faces" }) },
    offers: (seed) => recorded && offers("transition", store.values["transition.run"], recorded, seed),
    onReport(report, run) {
      // A reader who trains some of the sizes wants to see one of them.
      if (report && !live)
        store.set({ "transition.n": nearestStop(report.config.sizes, store.values["transition.n"]) });
      live = report;
      if (report) page.contents.showReport(root, report, run.options);
      else if (recorded) page.contents.showReport(root, recorded);
      redraw();
    },
    summary: (report) =>
      sentences(
        transitionSentence(report),
        divergenceSentence(report),
        (recorded && compare(report, recorded, store.values["transition.sigma"])?.sentence) ?? "",
      ),
  });
  store.subscribe(["transition.run"], () => {
    // Nothing is trained for a choice that no longer stands.
    recorded = undefined;
    panel.layAside();
    panel.draw();
  });
  store.subscribe(["transition.n", "transition.sigma"], redraw);

  reportFigure(root, page, chosenRun(store, "transition", "transition.run"), {
    reads: [],
    draw(report) {
      recorded = report;
      panel.draw();
      redraw();
    },
  });
  void offerRecorded(root, page, "transition.run", "transition");
}

/** The linearity at one of the noise levels, if it was measured. @param {Measures | undefined} measures @param {number} level */
const linearityOf = (measures, level) => (measures ? linearityAt(measures, level) : NaN);

/** @param {number} value */
const epochs = (value) => (value < 10 ? significant(value, 2) : count(Math.round(value)));

/**
 * What one network makes, and how it was trained.
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {View} view
 */
function drawPoint(root, page, { recorded, live, n }) {
  const here = live && networks(live, n)[0];
  const point = here ?? networks(recorded, n)[0];
  drawSamples(root, recorded.shape, point);
  page.live.set({
    "transition.n": count(n),
    "transition.epochs": epochs(point.epochs),
    "transition.shown": noted(
      `${here ? "trained here" : "recorded"}, seed ${point.seed}, step ${count(point.step)}`,
      divergence([point]),
    ),
  });
}

/**
 * A run that was measured at this noise level: a preview has few of them, and then it is the recorded one.
 * @param {Sweep} sweep
 * @param {Sweep} recorded
 * @param {number} sigma
 */
const atLevel = (sweep, recorded, sigma) => (sweep.sigmas.includes(sigma) ? sweep : recorded);

/**
 * The sentences around the figure.
 * @param {Page} page
 * @param {View} view
 */
function tell({ live }, { recorded, sweep, sigma }) {
  const { gl, memorized } = curves(sweep, sigma);
  const measured = atLevel(sweep, recorded, sigma);
  const { linearity } = curves(measured, sigma);
  const [level, detail] = [levelOf(measured, sigma), levelOf(sweep, DETAIL_SIGMA)];
  const last = gl.length - 1;
  const many = networks(sweep, gl[last].n);
  const both = [...networks(sweep, gl[0].n), ...many];
  /** @param {(point: Point) => number} number @param {Sweep} [of] */
  const ends = (number, of = sweep) => {
    const values = curve(of, number);
    return [values[0].mean, values[last].mean];
  };
  const cosine = ends((point) => cosineWith(point, "gaussian")?.mean ?? NaN);
  const heldOut = ends((point) => point.heldOut.gl.mean);
  const peak = gl.reduce((best, size) => (size.mean > best.mean ? size : best));
  const times = ends((point) => point.epochs);
  const [, empirical] = ends(({ denoisers }) => linearityOf(denoisers.empirical, level), measured);
  const [, gaussian] = ends(({ denoisers }) => linearityOf(denoisers.gaussian, level), measured);
  const { trained, gaussian: fitted } = overSeeds(many).denoisers;
  const [error, errorGaussian] = [trained.error.heldOut[detail], fitted?.error.heldOut[detail]];
  const relation = compareEstimates(error, errorGaussian);
  /** @param {number} n @param {string} text */
  const at = (n, text) => ({ text, to: { "transition.n": n }, figure: "transition" });
  /** @param {string} text */
  const first = (text) => at(gl[0].n, text);
  /** @param {string} text */
  const end = (text) => at(gl[last].n, text);
  live.set({
    "transition.first": first(count(gl[0].n)),
    "transition.last": end(count(gl[last].n)),
    "transition.memorized.first": first(percent(memorized[0].mean)),
    "transition.memorized.last": end(percent(memorized[last].mean)),
    "transition.gl.peak": at(peak.n, fixed(peak.mean)),
    "transition.gl.peak.n": at(peak.n, count(peak.n)),
    "transition.gl.last": end(fixed(gl[last].mean)),
    "transition.linearity.first": first(fixed(linearity[0].mean)),
    "transition.linearity.last": end(fixed(linearity[last].mean, 3)),
    "transition.linearity.empirical": fixed(empirical),
    "transition.linearity.gaussian": fixed(gaussian, 3),
    "transition.cosine.first": first(fixed(cosine[0])),
    "transition.cosine.last": end(fixed(cosine[1])),
    "transition.epochs.first": first(epochs(times[0])),
    "transition.epochs.last": end(epochs(times[1])),
    "transition.error.relation": relation ? RELATION[relation] : "not compared with",
    "transition.error.trained": end(fixed(error.mean, 3)),
    "transition.error.gaussian": fixed(errorGaussian?.mean ?? NaN, 3),
    "transition.error.sigma": significant(sweep.sigmas[detail]),
    "transition.age": sweep.final && many.every(isSound) && relation ? ageOf(relation, cosine[1] >= ALIKE) : "",
    "transition.sigma": significant(sigma),
    "transition.seeds": seedsOf(sweep, recorded, gl[0].n),
    "transition.networks": describe(sweep),
    "transition.kind": `${kindOf(sweep.config.train, true)} on ${imagesOf(sweep)}`,
    "transition.sentence": transitionSentence(sweep),
    "transition.provenance": provenance(sweep),
  });
  /** A run that is under way has tested nothing yet. @param {boolean} holds */
  const tested = (holds) => (sweep.final ? holds : undefined);
  live.claim("transition.copies", tested(memorized[0].mean >= 0.3 && memorized[last].mean <= 0.03), both);
  live.claim("transition.linear", tested(linearity[last].mean - linearity[0].mean >= 0.05), both);
  live.claim(
    "transition.between",
    tested(gaussian - linearity[last].mean <= 0.03 && linearity[last].mean - empirical >= 0.05),
    many,
  );
  live.claim("transition.alike", tested(cosine[1] >= ALIKE && cosine[1] - cosine[0] >= 0.1), both);
  live.claim("transition.falls", tested(peak.mean - gl[last].mean >= 0.01 && heldOut[1] < heldOut[0]), sweep.findings);
  live.claim("transition.seen", tested(times[0] > 2 * times[1]), both);
  live.claim("transition.error", tested(relation !== undefined), many);
}

/**
 * One number against the size of the training set.
 * @param {HTMLElement} root
 * @param {typeof PANELS[number]} panel
 * @param {(n: number) => void} pick
 */
function panelChart(root, { name, heading, format, references }, pick) {
  /** What is trained here; a preview has few noise levels. @param {View} view */
  const ownValues = ({ live, sigma }) =>
    live && (name !== "linearity" || live.sigmas.includes(sigma)) ? curves(live, sigma)[name] : undefined;
  /** @param {View} view */
  const lines = ({ recorded, sigma }) => {
    const level = levelOf(recorded, sigma);
    return references.map((reference) => ({
      ...reference,
      values: curve(recorded, (point) => reference.of(point, level)),
    }));
  };
  return chart(
    root,
    /** @type {ChartSpec<View>} */ ({
      name: heading,
      label({ sweep, recorded, sigma }) {
        const values = curves(name === "linearity" ? atLevel(sweep, recorded, sigma) : sweep, sigma)[name];
        const last = values[values.length - 1];
        return `${heading}: from ${format(values[0].mean)} at N = ${count(values[0].n)} to ${format(last.mean)} at N = ${count(last.n)}`;
      },
      columns: [
        "Training images",
        "Epochs",
        "Trained",
        ...rangeColumns("Trained"),
        ...references.map(({ short }) => short),
        "Trained here",
      ],
      rows(view) {
        const { recorded, sigma } = view;
        const own = ownValues(view);
        const others = lines(view);
        return curves(recorded, sigma)[name].map(({ n, mean, low, high, diverged }, i) => {
          const here = own?.find((value) => value.n === n);
          return [
            count(n),
            epochs(networks(recorded, n)[0].epochs),
            noted(format(mean), diverged),
            ...[low, high, ...others.map(({ values }) => values[i].mean)].map(format),
            here ? noted(format(here.mean), here.diverged) : "–",
          ];
        });
      },
      pick,
      options(view, width) {
        const { recorded, n, sigma } = view;
        const values = curves(recorded, sigma)[name];
        const own = ownValues(view);
        const others = lines(view);
        const all = [...values, ...(own ?? []), ...others.flatMap((other) => other.values)];
        // The linearity is never far from 1, and its scale begins where its lowest value is.
        const floor =
          name === "linearity" ? Math.floor(10 * Math.min(...onAxis(all.map(({ low }) => low)), 0.9)) / 10 : 0;
        // Held-out images of other sets may be further than that from few training images.
        const ceiling = Math.max(1, ...onAxis(all.map(({ high }) => high)));
        const domain = /** @type {const} */ ([floor, ceiling]);
        const ticks = [floor, (floor + 1) / 2, 1];
        const ends = [
          ...others.map(({ short, values: list }) => ({ label: short, value: list[list.length - 1].mean })),
          { label: own ? "Recorded" : TRAINED.short, value: values[values.length - 1].mean },
          ...(own ? [{ label: "Here", value: own[own.length - 1].mean }] : []),
        ];
        const places = labelPlaces(
          ends.map(({ value }) => value),
          domain,
          HEIGHT - TOP - BOTTOM,
        );
        return {
          ...frame(root, width),
          x: { type: "log", domain: [values[0].n, values[values.length - 1].n], axis: null },
          y: { domain, axis: null },
          marks: [
            ...axis(ticks, (y) => (name === "memorized" ? percent(y) : significant(y))),
            title(name === "linearity" ? `${heading} at σ = ${significant(sigma)}` : heading),
            ruleX([n], { stroke: "var(--muted)", strokeDasharray: "2 3" }),
            ...others.map(({ values: list, colour: stroke, dash }) =>
              line(list, { x: "n", y: "mean", stroke, strokeWidth: 1.5, strokeDasharray: dash }),
            ),
            ...series(values, n, Boolean(own)),
            ...(own ? series(own, n, false, "trained-here") : []),
            text(ends, {
              x: () => values[values.length - 1].n,
              y: (_, i) => places[i],
              text: "label",
              textAnchor: "start",
              dx: 10,
            }),
          ],
        };
      },
    }),
  );
}

/**
 * The frame of a chart. The slider below begins and ends where the axis does, as fractions: paper scales what was drawn.
 * @param {HTMLElement} root
 * @param {number} width
 */
function frame(root, width) {
  const { style } = /** @type {HTMLElement} */ (root.parentElement);
  style.setProperty("--chart-left", `${(100 * LEFT) / width}%`);
  style.setProperty("--chart-right", `${(100 * RIGHT) / width}%`);
  return { height: HEIGHT, marginTop: TOP, marginBottom: BOTTOM, marginLeft: LEFT, marginRight: RIGHT };
}

/**
 * A value axis: a line across the chart for each tick.
 * @param {number[]} ticks
 * @param {(value: number) => string} format
 */
const axis = (ticks, format) => [
  ruleY(ticks, { stroke: "var(--line)" }),
  text(ticks, { y: (y) => y, text: format, frameAnchor: "left", textAnchor: "end", dx: -12, fill: "var(--muted)" }),
];

/** @param {string} heading */
const title = (heading) =>
  text([heading], {
    text: (words) => words,
    frameAnchor: "top-left",
    dx: -LEFT,
    dy: 4 - TOP,
    className: "chart-title",
  });

/**
 * A curve with its bars and points, the chosen one large.
 * @param {SizeSpread[]} values
 * @param {number} n
 * @param {boolean} faint
 * @param {string} [className] for those who look for it
 */
function series(values, n, faint, className) {
  const at = { x: "n", y: "mean" };
  const { colour, marker: symbol } = TRAINED;
  const strokeOpacity = faint ? 0.5 : 1;
  return [
    ruleX(values, { x: "n", y1: "low", y2: "high", stroke: colour, strokeWidth: 1.5, strokeOpacity }),
    line(values, { ...at, stroke: colour, strokeWidth: faint ? 1.5 : 2.25, strokeOpacity, className }),
    dot(values, { ...at, symbol, r: 3, fill: faint ? "var(--paper)" : colour, stroke: colour, strokeOpacity }),
    ...(faint
      ? []
      : [
          dot(
            values.filter((value) => value.n === n),
            { ...at, symbol, r: 5.5, fill: colour, stroke: "var(--paper)", strokeWidth: 1.5 },
          ),
        ]),
    crosses(values, { ...at, strokeOpacity }),
  ];
}

/**
 * The linearity of the chosen networks at every noise level.
 * @param {HTMLElement} root
 * @param {(sigma: number) => void} pick
 */
function levelsChart(root, pick) {
  /**
   * @param {Sweep} sweep
   * @param {number} n
   * @param {DenoiserId} id
   */
  const levels = (sweep, n, id) =>
    sweep.sigmas
      .map((sigma, level) => ({
        sigma,
        ...spread(networks(sweep, n), ({ denoisers }) => linearityOf(denoisers[id], level)),
      }))
      .sort((a, b) => a.sigma - b.sigma);
  /** @param {View} view */
  const lines = ({ recorded, live, n }) => {
    const own = live && networks(live, n).length > 0;
    return [
      ...FITTED.map((row) => ({ ...row, faint: false, values: levels(recorded, n, row.id) })),
      { ...TRAINED, ...(own && { short: "Recorded" }), faint: own, values: levels(recorded, n, "trained") },
      ...(own ? [{ ...TRAINED, short: "Here", faint: false, values: levels(live, n, "trained") }] : []),
    ];
  };
  return chart(
    root,
    /** @type {ChartSpec<View>} */ ({
      name: "linearity over the noise level",
      label(view) {
        const lowest = lines(view).map(
          ({ short, values }) => `${short} ${fixed(Math.min(...onAxis(values.map(({ mean }) => mean))))}`,
        );
        return `Linearity over the noise level at N = ${count(view.n)}; lowest: ${lowest.join(", ")}`;
      },
      columns: ["σ", ...FITTED.map(({ short }) => short), "Trained", ...rangeColumns("Trained"), "Trained here"],
      rows(view) {
        const all = lines(view).map(({ values }) => values);
        const [trained, own] = all.slice(FITTED.length);
        return trained.map(({ sigma, mean, low, high, diverged }, i) => {
          const here = own?.find((value) => value.sigma === sigma);
          return [
            significant(sigma),
            ...all.slice(0, FITTED.length).map((values) => fixed(values[i].mean, 3)),
            noted(fixed(mean, 3), diverged),
            ...[low, high].map((value) => fixed(value, 3)),
            here ? noted(fixed(here.mean, 3), here.diverged) : "–",
          ];
        });
      },
      pick,
      options(view, width) {
        const all = lines(view);
        const lowest = Math.min(0.9, ...onAxis(all.flatMap(({ values }) => values.map(({ low }) => low))));
        const domain = /** @type {const} */ ([Math.floor(10 * lowest) / 10, 1]);
        const ends = all.map(({ short, values }) => ({ label: short, ...values[values.length - 1] }));
        const places = labelPlaces(
          ends.map(({ mean }) => mean),
          domain,
          HEIGHT - TOP - BOTTOM,
        );
        const sigmas = view.recorded.sigmas;
        return {
          ...frame(root, width),
          x: { type: "log", domain: [Math.min(...sigmas), Math.max(...sigmas)], axis: null },
          y: { domain, axis: null },
          marks: [
            ...axis([...domain], String),
            title("Linearity over the noise level σ"),
            ruleX([view.sigma], { stroke: "var(--muted)", strokeDasharray: "2 3" }),
            ...all.flatMap(({ id, values, colour, dash, marker: symbol, faint }) => {
              const strokeOpacity = faint ? 0.5 : 1;
              return [
                ruleX(values, { x: "sigma", y1: "low", y2: "high", stroke: colour, strokeWidth: 1.5, strokeOpacity }),
                line(values, {
                  x: "sigma",
                  y: "mean",
                  stroke: colour,
                  strokeWidth: 2,
                  strokeDasharray: dash,
                  strokeOpacity,
                }),
                dot(
                  values.filter(({ sigma }) => sigma === view.sigma),
                  {
                    x: "sigma",
                    y: "mean",
                    symbol,
                    r: 4,
                    fill: colour,
                    stroke: "var(--paper)",
                    fillOpacity: strokeOpacity,
                  },
                ),
                crosses(id === "trained" ? values : [], { x: "sigma", y: "mean", strokeOpacity }),
              ];
            }),
            text(ends, { x: "sigma", y: (_, i) => places[i], text: "label", textAnchor: "start", dx: 8 }),
          ],
        };
      },
    }),
  );
}

/** How many seeds the curves have, the recorded ones and those of a run here. @param {Sweep} sweep @param {Sweep} recorded @param {number} n */
function seedsOf(sweep, recorded, n) {
  const said = seedsSentence(networks(recorded, n).length);
  if (sweep === recorded) return said;
  return `Recorded: ${said.toLowerCase()} Here: ${seedsSentence(networks(sweep, n).length).toLowerCase()}`;
}
