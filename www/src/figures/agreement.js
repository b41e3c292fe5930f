/** Figure II.2: two networks that share no training image, and the images that they make from the same noise. */
import { dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { chart, onAxis } from "../ui/chart.js";
import { divergence, divergenceSentence } from "../reports/divergence.js";
import { canvas, element } from "../ui/dom.js";
import { count, fixed, noted, percent, sentences } from "../ui/format.js";
import { decodeImages, drawRow } from "../ui/images.js";
import { axisName, crosses, HALO, title } from "../ui/marks.js";
import { describe } from "../reports/describe.js";
import { provenance } from "../reports/provenance.js";
import { memorized, trained } from "../reports/report.js";
import { bySeeds, estimateColumns, estimateValues, rangeOf, seedCount, seedsSentence } from "../reports/seeds.js";
import { ReportSource, runOn } from "../reports/source.js";
import { dataOf, offers } from "../runs/offers.js";
import { FEW_COPIES, MANY_COPIES } from "../reports/verdicts.js";
import { reportFigure } from "./report-figure.js";
import { runPanel } from "../runs/run-panel.js";
import { runSlider } from "../ui/run-slider.js";
import { nearestStop } from "../reports/nearest.js";

/**
 * @import { Agreement } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { Store } from "../state/store.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {{sizes: Agreement[], n: number, recorded: Agreement[]}} Shown `recorded`: drawn faint behind a live run
 */

/** Samples in a row. */
const COLUMNS = 8;
const HEIGHT = 280;
const EXPERIMENT = "strong-generalization";

/** The recorded run of networks that share no image. @param {Store} store */
export const agreementSource = (store) =>
  /** @type {ReportSource<"strong-generalization">} */ (
    new ReportSource(store, ["transition.run"], (values) => runOn(EXPERIMENT, dataOf(values["transition.run"])))
  );

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"strong-generalization">} source
 */
export function agreementFigure(root, page, source) {
  const { store, live } = page;
  const showSizes = runSlider(element(root, "size"), store, "emergence.agreementN");
  const drawChart = agreementChart(element(root, "agreement-chart"), (n) =>
    store.set({ "emergence.agreementN": Math.round(n) }),
  );
  /** The recorded run, and what it is called. @type {{report: Report<"strong-generalization">, run: string} | undefined} */
  let latest;

  reportFigure(root, page, source, {
    reads: ["emergence.agreementN"],
    draw(report, values, recorded) {
      const known = recorded ?? (report.record ? report : undefined);
      if (known) void keep(known);
      const sizes = bySize(report);
      const chosen = nearest(sizes, values["emergence.agreementN"]);
      if (!chosen) return;
      const { n } = chosen;
      showSizes(
        sizes.map((agreement) => agreement.n),
        n,
      );
      drawChart({ sizes, n, recorded: recorded ? bySize(recorded) : [] });
      chosen.networks.forEach((network, half) => {
        for (const name of /** @type {const} */ (["samples", "nearest"])) {
          const images = trained(network)[name];
          if (images) drawRow(canvas(root, `${name}-${half}`), decodeImages(report.shape, images), COLUMNS);
        }
      });
      const [first, last] = [sizes[0], sizes[sizes.length - 1]];
      /** A number of one size, which leads to it. @param {Agreement} agreement @param {string} text */
      const of = (agreement, text) => ({ text, to: { "emergence.agreementN": agreement.n }, figure: "agreement" });
      live.set({
        "agreement.source": provenance(report, source.shownOrigin.file),
        "agreement.networks": describe(report),
        "agreement.seeds": seedsSentence(
          seedCount(report.findings, (agreement) => agreement.n),
          { unit: "pair", range: "bars span their range, and the samples are the first pair’s" },
        ),
        "agreement.n": count(n),
        "agreement.memorized": noted(
          chosen.networks.map((network) => percent(memorized(network).mean)).join(" and "),
          divergence([chosen]),
        ),
        "agreement.few": of(first, count(first.n)),
        "agreement.few.cosine": of(first, fixed(first.cosine.mean)),
        "agreement.many": of(last, count(last.n)),
        "agreement.many.cosine": of(last, fixed(last.cosine.mean)),
      });
      // A run that is under way has tested nothing yet.
      const memorizes = report.final && memorized(first.networks[0]).mean > MANY_COPIES;
      const generalizes = report.final && memorized(last.networks[0]).mean < FEW_COPIES;
      live.claim("agreement.apart", memorizes ? first.cosine.mean < 0.6 : undefined, [first]);
      live.claim("agreement.together", generalizes ? last.cosine.mean > 0.9 : undefined, [last]);
    },
    say(report, values) {
      const chosen = nearest(bySize(report), values["emergence.agreementN"]);
      return chosen ? agreementSentence(chosen) : "";
    },
  });

  /** @param {Report<"strong-generalization">} report */
  const keep = async (report) => {
    latest = { report, run: (await source.name()).slice(EXPERIMENT.length + 1) };
    const isOther = latest.run !== store.values["transition.run"];
    live.set({
      "agreement.instead": isOther ? `Not recorded for the choice above. Shown instead: ${describe(report)}.` : "",
    });
    panel.draw();
  };
  const panel = runPanel(element(root, "run"), page, {
    experiment: "strong-generalization",
    seed: "emergence.agreementSeed",
    offers: (seed) => latest && offers(EXPERIMENT, latest.run, latest.report, seed),
    // A run has nothing to show before its first preview.
    onReport: (report, run) =>
      source.show(report && report.findings.length > 0 ? report : undefined, { options: run.options }),
    summary: (report) => sentences(...bySize(report).map(agreementSentence), divergenceSentence(report)),
  });
  // A recorded run that the reader asks for takes the place of the live one.
  store.subscribe(["transition.run"], () => {
    latest = undefined;
    panel.layAside();
    panel.draw();
  });
}

/** What was found, the smallest size first. @param {Report<"strong-generalization">} report */
const bySize = ({ findings }) => bySeeds(findings, ({ n }) => n).sort((a, b) => a.n - b.n);

/** The size nearest to what the reader wants. @param {Agreement[]} sizes @param {number} wanted */
function nearest(sizes, wanted) {
  const n = nearestStop(
    sizes.map((agreement) => agreement.n),
    wanted,
  );
  return sizes.find((agreement) => agreement.n === n);
}

/** @param {Agreement} agreement */
const agreementSentence = ({ n, networks, cosine }) =>
  `Two networks on ${count(n)} images each agree with cosine ${noted(fixed(cosine.mean), divergence(networks))}.`;

/**
 * @param {HTMLElement} root
 * @param {(n: number) => void} pick
 */
function agreementChart(root, pick) {
  return chart(
    root,
    /** @type {ChartSpec<Shown>} */ ({
      name: "agreement of two networks",
      label: ({ sizes }) =>
        `Cosine between the samples of two networks from the same noise: ` +
        sizes.map(({ n, cosine }) => `${fixed(cosine.mean)} at N = ${count(n)}`).join(", ") +
        `; by chance ${fixed(sizes[0].cosineOtherNoise.mean)}`,
      pick,
      columns: [
        "N",
        ...estimateColumns("Cosine, same noise", "pair"),
        "Other noise",
        "Other noise ± s.e.",
        "Copies, first",
        "Copies, second",
      ],
      rows: ({ sizes }) =>
        sizes.map(({ n, networks, cosine, cosineOtherNoise }) => [
          noted(count(n), divergence(networks)),
          ...[...estimateValues(cosine), cosineOtherNoise.mean, cosineOtherNoise.standardError].map((value) =>
            fixed(value, 3),
          ),
          ...networks.map((network) => percent(memorized(network).mean)),
        ]),
      options({ sizes, n, recorded }) {
        const behind = recorded.map(({ n: size, cosine }) => ({ n: size, ...cosine }));
        const ticks = [...new Set([...sizes, ...recorded].map((agreement) => agreement.n))];
        const same = sizes.map(({ n: size, networks, cosine }) => ({
          n: size,
          ...cosine,
          low: rangeOf(cosine)[0],
          high: rangeOf(cosine)[1],
          diverged: divergence(networks),
        }));
        const other = sizes.map(({ n: size, cosineOtherNoise }) => ({ n: size, ...cosineOtherNoise }));
        const chosen = same.filter((point) => point.n === n);
        return {
          height: HEIGHT,
          marginTop: 28,
          marginBottom: 40,
          marginLeft: 34,
          marginRight: 16,
          x: { type: "log", label: null, ticks, tickFormat: count, tickSize: 4 },
          y: {
            domain: [Math.min(0, ...onAxis(other.map(({ mean }) => mean))), 1],
            label: null,
            ticks: [0, 0.5, 1],
            tickSize: 0,
          },
          marks: [
            ruleY([0], { stroke: "var(--muted)" }),
            ruleY([1], { stroke: "var(--line)" }),
            ruleX([n], { stroke: "var(--line)" }),
            title("Cosine between the two networks’ samples", { dx: -34, dy: -24 }),
            axisName("training images of each, N"),
            line(other, { x: "n", y: "mean", stroke: "var(--d-data)", strokeWidth: 2, strokeDasharray: "2 3" }),
            text(other.slice(-1), {
              x: "n",
              // Above the axis, too.
              y: ({ mean }) => Math.max(0, mean),
              text: () => "from different noise",
              dy: -10,
              textAnchor: "end",
              fill: "var(--muted)",
            }),
            line(behind, {
              x: "n",
              y: "mean",
              stroke: "var(--d-theta)",
              strokeWidth: 1.5,
              strokeOpacity: 0.45,
              className: "recorded-behind",
            }),
            text(behind.slice(0, 1), {
              x: "n",
              y: "mean",
              text: () => "faint: recorded",
              dx: 4,
              dy: 14,
              textAnchor: "start",
              fill: "var(--muted)",
            }),
            ruleX(same, { x: "n", y1: "low", y2: "high", stroke: "var(--d-theta)", strokeWidth: 1.5 }),
            line(same, { x: "n", y: "mean", stroke: "var(--d-theta)", strokeWidth: 2 }),
            dot(same, { x: "n", y: "mean", r: 3.5, fill: "var(--d-theta)" }),
            dot(chosen, { x: "n", y: "mean", r: 6, fill: "var(--d-theta)", stroke: "var(--paper)", strokeWidth: 2 }),
            crosses(same, { x: "n", y: "mean" }),
            text(chosen, { x: "n", y: "mean", text: ({ mean }) => fixed(mean), dy: 18, ...HALO }),
          ],
        };
      },
    }),
  );
}
