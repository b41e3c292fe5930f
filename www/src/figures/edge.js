/** Figure V.2: the edge of memorization, predicted from the covariance and measured on the posterior. */
import { areaY, dot, line, ruleX, ruleY, text } from "@observablehq/plot";
import { loadEdge, loadLeague } from "../reports/league.js";
import { nearestStop } from "../reports/nearest.js";
import { provenance } from "../reports/provenance.js";
import { loadIndex } from "../reports/recorded.js";
import { chart } from "../ui/chart.js";
import { element } from "../ui/dom.js";
import { count, fixed, significant } from "../ui/format.js";
import { axisName, HALO, NOISE_AXIS, title } from "../ui/marks.js";
import { runSlider } from "../ui/run-slider.js";
import { keepDrawn } from "./figure.js";
import { offerRecorded } from "./report-figure.js";

/**
 * @import { Edge, LeagueReport } from "../reports/league.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {{sigma: number, side: number}} Side
 * @typedef {{edges: Edge[], sigmas: number[], edge: Edge, whole: number, calibrated: Side[]}} Shown `whole`: the window that holds
 *   the whole image; `calibrated`: those that make LS most like a network of as many training images, if there is one
 */

const HEIGHT = 300;
const MARGIN = { marginTop: 32, marginBottom: 40, marginLeft: 36, marginRight: 16 };

/** @param {HTMLElement} root @param {Page} page */
export function edgeFigure(root, page) {
  const { store, live } = page;
  const showSizes = runSlider(element(root, "edge-n"), store, "edge.n");
  const drawEdge = criticalChart(element(root, "critical"));
  const drawEntropy = entropyChart(element(root, "entropy"));
  const drawWindows = windowsChart(element(root, "edge-windows"));
  void offerRecorded(root, page, "edge.run", "edge");

  keepDrawn(root, page, {
    reads: ["edge.run", "edge.n"],
    ask: (values) => Promise.all([loadEdge(values["edge.run"]), leagueOf(values["edge.run"])]),
    draw([report, league]) {
      const edges = report.findings.toSorted((a, b) => a.n - b.n);
      const sizes = edges.map(({ n }) => n);
      const n = nearestStop(sizes, store.values["edge.n"]);
      const edge = edges[sizes.indexOf(n)];
      showSizes(sizes, n);
      const whole = report.shape.width + 1;
      const shown = { edges, sigmas: report.sigmas, edge, whole, calibrated: calibratedWindows(league, n, whole) };
      drawEdge(shown);
      drawEntropy(shown);
      drawWindows(shown);
      const ratios = edges.flatMap(({ measured, predicted }) => (measured === null ? [] : measured / predicted));
      live.set({
        "edge.n": count(n),
        "edge.predicted": fixed(edge.predicted),
        "edge.measured": edge.measured === null ? "–" : fixed(edge.measured),
        "edge.ratio.least": fixed(Math.min(...ratios)),
        "edge.ratio.most": fixed(Math.max(...ratios)),
        "edge.first": fixed(edges[0].predicted),
        "edge.last": fixed(edges[edges.length - 1].predicted),
        "edge.first.n": count(sizes[0]),
        "edge.last.n": count(sizes[sizes.length - 1]),
        "edge.network": league?.findings[0].architecture.kind === "unet" ? "U-Net" : "MLP",
        "edge.source": provenance({ ...report, findings: [] }),
      });
      live.claim(
        "edge.predicted",
        ratios.length === edges.length && ratios.every((ratio) => ratio > 0.8 && ratio < 1.5),
      );
      root.dataset.origin = "recorded";
      page.contents.showReport(root, report);
    },
  });
}

/** The league on the same images, if it was recorded. @param {string} run */
const leagueOf = async (run) => {
  const index = await loadIndex().catch(() => []);
  return index.some(({ file }) => file === `league-${run}.json`) ? loadLeague(run) : undefined;
};

/**
 * The windows that make LS most like the network of `n` training images.
 * @param {LeagueReport | undefined} league
 * @param {number} n
 * @param {number} whole
 * @returns {Side[]}
 */
function calibratedWindows(league, n, whole) {
  if (!league) return [];
  const { sigmas, findings } = league;
  const local = findings.find((standing) => standing.n === n)?.theories.find(({ id }) => id === "ls");
  // What reaches beyond the image sees no more than all of it.
  return (local?.windows ?? []).map((side, i) => ({ sigma: sigmas[i], side: Math.min(side, whole) }));
}

/** @param {HTMLElement} root */
function criticalChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Shown>} */ ({
      name: "edge of memorization over the number of images",
      label: ({ edges }) =>
        "Noise level at which D_M begins to memorize, predicted and measured: " +
        edges
          .map((e) => `${fixed(e.predicted)} and ${e.measured === null ? "–" : fixed(e.measured)} at N = ${count(e.n)}`)
          .join(", "),
      columns: ["N", "σ_c predicted", "σ_c measured"],
      rows: ({ edges }) =>
        edges.map((e) => [count(e.n), fixed(e.predicted, 3), e.measured === null ? "–" : fixed(e.measured, 3)]),
      options({ edges, edge }) {
        const found = edges.filter(({ measured }) => measured !== null);
        const values = edges.flatMap(({ predicted, measured }) => [predicted, measured ?? predicted]);
        const domain = [Math.min(...values) / 1.3, Math.max(...values) * 1.15];
        return {
          height: HEIGHT,
          ...MARGIN,
          x: { type: "log", label: null, ticks: edges.map(({ n }) => n), tickFormat: count, tickSize: 4 },
          y: {
            type: "log",
            domain,
            label: null,
            ticks: 4,
            tickFormat: (/** @type {number} */ v) => significant(v, 2),
            tickSize: 0,
          },
          marks: [
            title("Critical noise level", { dx: -36 }),
            axisName("training images N"),
            areaY(edges, { x: "n", y1: () => domain[0], y2: "predicted", fill: "var(--d-m)", fillOpacity: 0.12 }),
            ruleX([edge.n], { stroke: "var(--line)" }),
            line(edges, { x: "n", y: "predicted", stroke: "var(--ink)", strokeWidth: 2, strokeDasharray: "6 3" }),
            dot(found, { x: "n", y: "measured", r: 4, symbol: "square2", fill: "var(--d-m)" }),
            text(edges.slice(0, 1), {
              x: "n",
              y: "predicted",
              text: () => "predicted",
              dx: 6,
              dy: 30,
              textAnchor: "start",
              ...HALO,
            }),
            text(found.slice(0, 1), {
              x: "n",
              y: "measured",
              text: () => "measured",
              dx: 10,
              textAnchor: "start",
              ...HALO,
            }),
            text(["memorizes"], {
              frameAnchor: "bottom-left",
              dx: 6,
              dy: -8,
              fill: "var(--muted)",
            }),
          ],
        };
      },
    }),
  );
}

/** @param {HTMLElement} root */
function entropyChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Shown>} */ ({
      name: "entropy of the posterior over the noise level",
      label: ({ edge }) =>
        `Entropy of the weights of ${count(edge.n)} training images: it falls from ${fixed(Math.log(edge.n))} nats at high noise to 0 ` +
        `at low noise; the prediction reaches 0 at ${fixed(edge.predicted)}`,
      columns: ["σ", "Entropy in nats", "Entropy ± s.e.", "Predicted", "Median largest weight"],
      rows: ({ edge, sigmas }) =>
        sigmas.map((sigma, i) => [
          significant(sigma),
          fixed(edge.entropy[i].mean, 3),
          fixed(edge.entropy[i].standardError, 3),
          fixed(edge.predictedEntropy[i], 3),
          fixed(edge.largestWeight[i], 3),
        ]),
      options({ edge, sigmas }) {
        const points = sigmas.map((sigma, i) => ({
          sigma,
          measured: edge.entropy[i].mean,
          predicted: edge.predictedEntropy[i],
        }));
        return {
          height: HEIGHT,
          ...MARGIN,
          x: NOISE_AXIS,
          y: { domain: [0, 1.05 * Math.log(edge.n)], label: null, ticks: 4, tickSize: 0 },
          marks: [
            title(`Entropy of the weights, N = ${count(edge.n)} (nats)`, { dx: -36 }),
            axisName("noise level σ"),
            ruleY([0], { stroke: "var(--muted)" }),
            ruleX([edge.predicted], { stroke: "var(--line)" }),
            line(points, { x: "sigma", y: "predicted", stroke: "var(--ink)", strokeWidth: 2, strokeDasharray: "6 3" }),
            line(points, { x: "sigma", y: "measured", stroke: "var(--d-m)", strokeWidth: 2 }),
            dot(points, { x: "sigma", y: "measured", r: 3.5, symbol: "square2", fill: "var(--d-m)" }),
            text([edge], {
              x: "predicted",
              text: () => "edge",
              frameAnchor: "top",
              dx: -12,
              dy: 6,
              fill: "var(--muted)",
            }),
          ],
        };
      },
    }),
  );
}

/** @param {HTMLElement} root */
function windowsChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Shown>} */ ({
      name: "largest window that does not memorize",
      label: ({ edge, sigmas }) =>
        `Largest window for ${count(edge.n)} images: ` +
        sigmas.map((sigma, i) => `${edge.windows[i]} pixels at σ = ${significant(sigma, 2)}`).join(", "),
      columns: ["σ", "Window P", "From"],
      rows: ({ edge, sigmas, calibrated }) => [
        ...sigmas.map((sigma, i) => [significant(sigma), edge.windows[i], "covariance"]),
        ...calibrated.map(({ sigma, side }) => [significant(sigma), side, "network"]),
      ],
      options({ edge, edges, sigmas, whole, calibrated }) {
        const points = (/** @type {Edge} */ one) => sigmas.map((sigma, i) => ({ sigma, side: one.windows[i] }));
        return {
          height: 200,
          ...MARGIN,
          x: NOISE_AXIS,
          y: {
            label: null,
            ticks: 4,
            tickSize: 0,
            domain: [0, Math.max(whole, ...edges.flatMap(({ windows }) => windows)) + 1],
          },
          marks: [
            title("Largest window P that does not memorize (pixels)", { dx: -36 }),
            axisName("noise level σ"),
            ruleY([0], { stroke: "var(--muted)" }),
            ...edges.map((one) =>
              line(points(one), { x: "sigma", y: "side", curve: "step", stroke: "var(--line)", strokeWidth: 1.5 }),
            ),
            line(points(edge), { x: "sigma", y: "side", curve: "step", stroke: "var(--d-ls)", strokeWidth: 2.5 }),
            dot(
              calibrated.filter(({ sigma }) => sigma >= Math.min(...sigmas)),
              { x: "sigma", y: "side", r: 5, symbol: "triangle", fill: "var(--d-ls)", stroke: "var(--paper)" },
            ),
          ],
        };
      },
    }),
  );
}
