/** Figure III.1: how far the other denoisers are from the trained network, at every noise level. */
import { areaY, line, ruleX, ruleY, text } from "@observablehq/plot";
import { ends, seedsOf } from "../reports/gaussian-bias.js";
import { chart, onAxis } from "../ui/chart.js";
import { DENOISERS } from "../reports/denoisers.js";
import { divergence, divergenceSentence, isSound } from "../reports/divergence.js";
import { element, NARROW } from "../ui/dom.js";
import { count, fixed, noted, sentences, significant } from "../ui/format.js";
import { labelPlace } from "../ui/labels.js";
import { axisName, crosses, HALO, markedLine, NOISE_AXIS } from "../ui/marks.js";
import { describe, imagesOf, kindOf } from "../reports/describe.js";
import { provenance } from "../reports/provenance.js";
import { cosineWith, levelOf, memorized } from "../reports/report.js";
import { estimateColumns, estimateValues, seedsSentence } from "../reports/seeds.js";
import { offerRecorded, reportFigure } from "./report-figure.js";
import { offers } from "../runs/offers.js";
import { runPanel } from "../runs/run-panel.js";
import {
  ageOf,
  ALIKE,
  compareEstimates,
  FEW_COPIES,
  MANY_COPIES,
  MIDDLE_SIGMA,
  RELATION,
} from "../reports/verdicts.js";

/**
 * @import { Bias, DenoiserId, Estimate } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { Ranged } from "../reports/seeds.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { Split } from "../state/parameters.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {Report<"gaussian-bias">} BiasReport
 * @typedef {{sigmas: number[], models: [Bias, Bias]}} Pair
 * @typedef {Pair & {split: Split, final: boolean, recorded: Pair | undefined}} Shown `recorded`: drawn faint behind a live run
 */

/** The denoisers that the network is compared with; the first of them is drawn on top. */
const OTHERS = DENOISERS.filter(({ id }) => id !== "trained");
/** The figures that show the same run, each with its control. */
const FIGURES = ["score-difference", "paths", "alignment"];
/** The noise levels that the axis has at least; a preview has a few only. */
const LEVELS = [0.05, 10];
const HEIGHT = 260;
/** Pixels that two labels need between them. */
const LABEL_ROOM = 26;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"gaussian-bias">} source
 */
export function scoreDifferenceFigure(root, page, source) {
  const { live } = page;
  const drawChart = differencesChart(element(root, "differences"));
  /** The recorded run. @type {BiasReport | undefined} */
  let latest;

  reportFigure(root, page, source, {
    reads: ["bias.split"],
    draw(report, values, recorded) {
      const models = ends(report);
      latest = recorded ?? (report.record ? report : latest);
      panel.draw();
      drawChart({
        sigmas: report.sigmas,
        models,
        split: values["bias.split"],
        final: report.final,
        recorded: recorded && { sigmas: recorded.sigmas, models: ends(recorded) },
      });
      tell(report, models);
    },
    say(report, values) {
      const [few, many] = ends(report);
      const images = values["bias.split"] === "train" ? "training" : "held-out";
      return `Score differences on ${images} images, of the networks trained on ${count(few.n)} and on ${count(many.n)} images.`;
    },
  });

  const panel = runPanel(element(root, "run"), page, {
    experiment: "gaussian-bias",
    seed: "bias.seed",
    offers: (seed) => latest && offers("gaussian-bias", page.store.values["bias.run"], latest, seed),
    onReport: (report, run) => source.show(report, { options: run.options }),
    summary(report) {
      const [few, many] = ends(report);
      return sentences(
        `Cosine between the samples of the network and of its linear fit: ${fixed(cosineWith(few, "linear")?.mean ?? NaN)} at ` +
          `N = ${count(few.n)}, ${fixed(cosineWith(many, "linear")?.mean ?? NaN)} at N = ${count(many.n)}.`,
        divergenceSentence(report),
      );
    },
  });
  // A recorded run that the reader asks for takes the place of the live one.
  page.store.subscribe(["bias.run"], () => {
    latest = undefined;
    panel.layAside();
    panel.draw();
  });
  for (const id of FIGURES) {
    const figure = document.getElementById(id);
    if (figure) void offerRecorded(figure, page, "bias.run", "gaussian-bias");
  }

  /** @param {BiasReport} report @param {[Bias, Bias]} models */
  function tell(report, [few, many]) {
    const at = levelOf(report, MIDDLE_SIGMA);
    // A run that is under way has tested nothing yet.
    const memorizes = report.final && memorized(few).mean > MANY_COPIES;
    const generalizes = report.final && memorized(many).mean < FEW_COPIES;
    const { trained, gaussian } = many.denoisers;
    const relation = compareEstimates(trained.error.heldOut[at], gaussian?.error.heldOut[at]);
    /** A number that the chart has in one of its two states. @param {Split} split @param {Estimate | undefined} value */
    const on = (split, value) => ({ text: estimate(value), to: { "bias.split": split }, figure: "score-difference" });
    /** @param {"few" | "many"} model @param {number} n */
    const sizeOf = (model, n) => ({ text: count(n), to: { "bias.model": model }, figure: "paths" });
    const seeds = seedsOf(report);
    live.set({
      "bias.networks": describe(report),
      "bias.kind": `${kindOf(report.config.train, true)} on ${imagesOf(report)}`,
      "bias.seeds": seedsSentence(seeds, { range: "bands span their range" }),
      "bias.paths.seeds": seedsSentence(seeds, { range: "the pictures are the first seed’s" }),
      "bias.alignment.seeds": seeds > 1 ? `The first of ${seeds} seeds.` : "One seed.",
      "bias.source": provenance(report, source.shownOrigin.file),
      "bias.few": sizeOf("few", few.n),
      "bias.many": sizeOf("many", many.n),
      "bias.sigma": significant(report.sigmas[at]),
      "bias.few.train.empirical": on("train", differences(few, "empirical")?.train[at]),
      "bias.few.train.gaussian": on("train", differences(few, "gaussian")?.train[at]),
      "bias.error.relation": relation ? RELATION[relation] : "not compared with",
      "bias.many.error": estimate(trained.error.heldOut[at]),
      "bias.many.errorGaussian": estimate(gaussian?.error.heldOut[at]),
      // At small budgets a network with many images may only just have got to where it is linear.
      "bias.age":
        !isSound(many) || !relation ? "" : ageOf(relation, (cosineWith(many, "gaussian")?.mean ?? 0) >= ALIKE),
      ...Object.fromEntries(
        OTHERS.map(({ id }) => [`bias.many.${id}`, on("heldOut", differences(many, id)?.heldOut[at])]),
      ),
    });
    /** @param {Bias} model @param {DenoiserId} id @param {Split} split */
    const mean = (model, id, split) => differences(model, id)?.[split][at].mean ?? NaN;
    live.claim(
      "bias.gaussian",
      generalizes ? mean(many, "gaussian", "heldOut") < 0.5 * mean(many, "empirical", "heldOut") : undefined,
      [many],
    );
    live.claim(
      "bias.linear",
      generalizes && differences(many, "linear")
        ? mean(many, "linear", "heldOut") < mean(many, "gaussian", "heldOut") &&
            mean(many, "linear", "heldOut") > 0.6 * mean(many, "gaussian", "heldOut")
        : undefined,
      [many],
    );
    live.claim("bias.error", generalizes ? relation !== undefined : undefined, [many]);
    live.claim(
      "bias.memorizing",
      memorizes ? mean(few, "empirical", "train") < 0.5 * mean(few, "gaussian", "train") : undefined,
      [few],
    );
  }
}

/**
 * Between the network and one of the others.
 * @param {Bias} model
 * @param {DenoiserId} id
 * @returns {{heldOut: Ranged[], train: Ranged[]} | undefined}
 */
const differences = ({ denoisers }, id) => denoisers.trained.against[id]?.difference;

/** @param {Estimate | undefined} value */
const estimate = (value) => (value ? fixed(value.mean, 3) : "–");

/** @param {HTMLElement} root */
function differencesChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Shown>} */ ({
      name: "score differences",
      label({ sigmas, models, split }) {
        const at = levelOf({ sigmas }, MIDDLE_SIGMA);
        const images = split === "train" ? "training" : "held-out";
        const parts = models.map((model) => {
          const values = OTHERS.map(({ id, label }) => `${label} ${estimate(differences(model, id)?.[split][at])}`);
          return `network trained on ${count(model.n)} images: ${values.join(", ")}`;
        });
        return `Score difference to the network on ${images} images at noise level ${significant(sigmas[at])}; ${parts.join("; ")}`;
      },
      columns: ["N", "σ", ...OTHERS.flatMap(({ short }) => estimateColumns(short))],
      rows: ({ sigmas, models, split }) =>
        models.flatMap((model) =>
          sigmas.map((sigma, i) => [
            noted(count(model.n), divergence([model])),
            significant(sigma),
            ...OTHERS.flatMap(({ id }) =>
              estimateValues(differences(model, id)?.[split][i]).map((number) => fixed(number, 4)),
            ),
          ]),
        ),
      options({ sigmas, models, split, final, recorded }, width) {
        const narrow = width < NARROW;
        const curves = curvesOf({ sigmas, models }, split);
        const behind = recorded ? curvesOf(recorded, split) : [];
        const all = [...models, ...(recorded?.models ?? [])];
        // With room for the name of a curve that begins at the top.
        const top = 1.1 * Math.max(0, ...onAxis(all.flatMap((model) => highest(model))));
        const titles = models.map((model, facet) => ({
          facet,
          title: noted(`${final ? nature(model) : "In training"}: N = ${count(model.n)}`, divergence([model])),
          behind: recorded ? `faint: recorded, N = ${count(recorded.models[facet].n)}` : "",
        }));
        const axis = narrow ? "fy" : "fx";
        const facet = { [axis]: "facet" };
        const place = { ...facet, x: "sigma", y: "value" };
        const facetScale = { label: null, axis: null, domain: models.map((_, i) => i), padding: narrow ? 0.2 : 0.08 };
        return {
          height: narrow ? 2 * HEIGHT : HEIGHT,
          marginTop: 26,
          marginBottom: 40,
          marginLeft: 34,
          marginRight: 6,
          [axis]: facetScale,
          x: { ...NOISE_AXIS, domain: [Math.min(...sigmas, LEVELS[0]), Math.max(...sigmas, LEVELS[1])] },
          y: { domain: [0, top], label: null, ticks: 4, tickSize: 0 },
          marks: [
            ruleY([0], { stroke: "var(--muted)" }),
            ruleX([MIDDLE_SIGMA], { stroke: "var(--line)" }),
            text(titles, {
              ...facet,
              text: "title",
              frameAnchor: "top-left",
              dy: -20,
              dx: 2,
              className: "chart-title",
            }),
            text(titles, {
              ...facet,
              text: "behind",
              frameAnchor: "top-right",
              dy: -20,
              dx: -2,
              fill: "var(--muted)",
            }),
            ...behind.map(({ points, colour, dash }) =>
              line(points, { ...place, stroke: colour, strokeWidth: 1.5, strokeDasharray: dash, strokeOpacity: 0.45 }),
            ),
            // Panels one above the other share their x axis.
            ...(narrow ? titles.slice(-1) : titles).map(({ facet: n }) =>
              axisName("noise level σ", { [axis]: () => n }),
            ),
            ...curves.flatMap(({ id, points, ...style }) => {
              const rivals = curves.filter((other) => other.facet === points[0].facet && other.id !== id);
              const { at, above } = labelPlace(
                points.map(({ value }) => value),
                rivals.map((other) => other.points.map(({ value }) => value)),
                (LABEL_ROOM / (HEIGHT - 66)) * top,
              );
              return [
                areaY(points, { ...facet, x: "sigma", y1: "low", y2: "high", fill: style.colour, fillOpacity: 0.2 }),
                ...markedLine(points, style, place),
                crosses(points, place),
                text([points[at]], { ...place, text: () => style.short, dy: above ? -12 : 13, ...HALO }),
              ];
            }),
          ],
        };
      },
    }),
  );
}

/** A curve for each of the other denoisers in each of the panels, 0 and 1. @param {Pair} pair @param {Split} split */
const curvesOf = ({ sigmas, models }, split) =>
  models.flatMap((model, facet) =>
    OTHERS.toReversed().flatMap((row) => {
      const levels = differences(model, row.id)?.[split];
      if (!levels) return [];
      const points = levels.map(({ mean, low = mean, high = mean }, i) => ({
        facet,
        sigma: sigmas[i],
        value: mean,
        low,
        high,
        diverged: divergence([model]),
      }));
      return [{ ...row, facet, points }];
    }),
  );

/** What a trained network does, by the fraction of copies among its samples. @param {Bias} model */
function nature(model) {
  if (!isSound(model)) return "Diverged";
  const { mean } = memorized(model);
  return mean > MANY_COPIES ? "It copies" : mean < FEW_COPIES ? "It generalizes" : "In between";
}

/** The largest difference in either split, so that the switch does not move the axis. @param {Bias} model */
function highest(model) {
  return OTHERS.flatMap(({ id }) => {
    const levels = differences(model, id);
    return levels ? [...levels.heldOut, ...levels.train].map(({ mean, high = mean }) => high) : [];
  });
}
