/** Figure V.1: which theory predicts a network, and which denoises best. */
import { ruleY, text } from "@observablehq/plot";
import { denoiser } from "../reports/denoisers.js";
import {
  absentSentence,
  leadsSentence,
  loadLeague,
  middleOf,
  missed,
  nameOf,
  networkSentence,
  ranked,
  settingAt,
  shareCell,
  shareText,
  standingOf,
  unexplained,
  valuesIn,
  windowsSentence,
  winsOf,
} from "../reports/league.js";
import { provenance } from "../reports/provenance.js";
import { chart, onAxis } from "../ui/chart.js";
import { element, make } from "../ui/dom.js";
import { count, fixed, percent, signed, significant } from "../ui/format.js";
import { decodeImages, drawRow } from "../ui/images.js";
import { labelPlaces } from "../ui/labels.js";
import { axisName, HALO, markedLine, NOISE_AXIS, title } from "../ui/marks.js";
import { keepDrawn } from "./figure.js";
import { offerRecorded } from "./report-figure.js";

/**
 * @import { DenoiserId, Estimate } from "../../pkg/hidden_gaussian.js"
 * @import { LeagueReport, Standing, Theory } from "../reports/league.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/** @typedef {{id: DenoiserId, levels: Estimate[]}} Curve */
/** @typedef {{sigmas: number[], curves: Curve[]}} Curves */

const HEIGHT = 320;
/** Where the logarithmic axes may have ticks. */
const TICKS = [0.001, 0.01, 0.1, 1, 2, 5, 10, 20, 50];
/** Samples in a row of the table. */
const COLUMNS = 8;

/** @param {HTMLElement} root @param {Page} page */
export function leagueFigure(root, page) {
  const { store, live } = page;
  const drawMissed = missedChart(element(root, "missed"));
  const drawErrors = errorsChart(element(root, "relative-errors"));
  const body = element(root, "standings");
  void offerRecorded(root, page, "league.run", "league");

  keepDrawn(root, page, {
    reads: ["league.run", "league.n"],
    ask: (values) => loadLeague(values["league.run"]),
    draw(report) {
      const standing = standingOf(report, store.values["league.n"]);
      const { sigmas } = report;
      const theories = ranked(standing);
      drawMissed({
        sigmas,
        curves: theories.map(({ id, prediction }) => ({ id, levels: prediction.map(unexplainedOf) })),
      });
      drawErrors({
        sigmas,
        curves: [
          { id: "trained", levels: standing.error },
          ...theories.filter(({ id }) => id !== "gaussian").map(({ id, error }) => ({ id, levels: error })),
        ],
      });
      drawStandings(body, report, standing, theories);
      tell(page, report, standing, theories);
      root.dataset.origin = "recorded";
      page.contents.showReport(root, report);
    },
  });
  store.subscribe(["league.run", "league.n"], () => live.announce("The league is shown for another network."));
}

/** What R² leaves, with the same standard error. @param {Theory["prediction"][number]} prediction */
const unexplainedOf = (prediction) => ({ ...prediction.r2, mean: missed(prediction) });

/**
 * The sentences that rest on this league.
 * @param {Page} page
 * @param {LeagueReport} report
 * @param {Standing} standing
 * @param {Theory[]} theories
 */
function tell({ live }, report, standing, theories) {
  const { sigmas, shape } = report;
  const byId = (/** @type {DenoiserId} */ id) => theories.find((theory) => theory.id === id);
  const [gaussian, empirical, local, pca] = ["gaussian", "empirical", "ls", "pca-locality"].map((id) =>
    byId(/** @type {DenoiserId} */ (id)),
  );
  const [best] = theories;
  const second = theories.filter(({ id }) => id !== "gaussian" && id !== "mixture")[0];
  const wins = winsOf(standing.error).map((level) => sigmas[level]);
  const complete = standing.n >= valuesIn(shape);
  live.set({
    "league.n": count(standing.n),
    "league.network": standing.architecture.kind === "mlp" ? "an MLP" : "a U-Net",
    "league.copies": percent(standing.closeness.memorized.mean),
    "league.best": nameOf(best),
    "league.best.missed": shareText(unexplained(best)),
    "league.second": nameOf(second),
    "league.second.missed": shareText(unexplained(second)),
    "league.sigma": significant(sigmas[middleOf(report)]),
    "league.same":
      byId("mixture")?.components === 1
        ? "A mixture of K\u00a0=\u00a01 is the Gaussian denoiser, so the curves of the two coincide."
        : "",
    "league.absent": absentSentence(theories),
    "league.leads": leadsSentence(sigmas, theories, shape),
    "league.patch": windowsSentence(sigmas, theories, shape),
    "league.wins": networkSentence(wins, complete),
    "league.values": count(valuesIn(shape)),
    "league.source": provenance(report),
  });
  // Where D_G has too few images, to beat it says little.
  element(document, "league-rank").hidden =
    complete || ![standing, ...theories].some(({ error }) => winsOf(error).length > 0);
  if (gaussian && empirical && local && pca) {
    live.set({
      "league.local.missed": shareText(unexplained(local)),
      "league.empirical.missed": shareText(unexplained(empirical)),
    });
    live.claim("league.gaussian", best.id === "gaussian" || best.id === "mixture", [standing]);
    live.claim("league.windows", unexplained(local) < 0.5 * unexplained(empirical), [standing]);
  }
}

/**
 * The table: a row for the network, one for each theory.
 * @param {HTMLElement} body
 * @param {LeagueReport} report
 * @param {Standing} standing
 * @param {Theory[]} theories
 */
function drawStandings(body, { shape, sigmas }, standing, theories) {
  const at = middleOf({ sigmas });
  const strip = (/** @type {string} */ images, /** @type {string} */ label) => {
    const canvas = make("canvas", { ariaLabel: label, role: "img" });
    drawRow(canvas, decodeImages(shape, images), COLUMNS);
    return make("td", { className: "league-samples" }, canvas);
  };
  const name = (/** @type {DenoiserId} */ id, /** @type {string} */ setting) => {
    const { label, symbol } = denoiser(id);
    const head = make(
      "th",
      { scope: "row" },
      make("span", { className: "key" }),
      `${label} `,
      make("small", {}, ...symbolParts(symbol)),
    );
    if (setting) head.append(make("small", { className: "league-setting" }, setting));
    return head;
  };
  const cell = (/** @type {string} */ heading, /** @type {string} */ value) => {
    const made = make("td", {}, value);
    made.dataset.heading = heading;
    return made;
  };
  const rows = theories.map((theory) => {
    const { id, samples, samplesPrediction, samplesCosine } = theory;
    const row = make(
      "tr",
      {},
      name(id, settingAt(theory, at, shape)),
      strip(samples, `Samples of ${denoiser(id).label}`),
      cell("Unexplained", shareCell(unexplained(theory))),
      cell("R² of samples", withError(samplesPrediction.r2)),
      cell("r", withError(samplesPrediction.pearson)),
      cell("Cosine", withError(samplesCosine)),
    );
    row.dataset.denoiser = id;
    return row;
  });
  const network = make("tr", {}, name("trained", ""), strip(standing.samples, "Samples of the network"));
  network.dataset.denoiser = "trained";
  network.append(...[0, 1, 2, 3].map(() => make("td")));
  body.replaceChildren(network, ...rows);
}

/** D_G as it is printed. @param {string} symbol */
function symbolParts(symbol) {
  const [letter, index] = symbol.split("_");
  return index ? [letter, make("sub", {}, index)] : [letter];
}

/** @param {Estimate} estimate */
const withError = ({ mean, standardError }) => `${signed(mean)} ± ${fixed(standardError)}`;

/** @param {HTMLElement} root */
function missedChart(root) {
  return levelsChart(root, {
    name: "what each theory leaves unexplained of the network",
    title: "Unexplained, 1 − R²",
    about: "Share of the variance of the network’s denoised images that is left unexplained",
    value: (mean, theory) => `${shareText(mean)} by ${theory}`,
  });
}

/** @param {HTMLElement} root */
function errorsChart(root) {
  return levelsChart(root, {
    name: "error of each denoiser relative to the Gaussian’s",
    title: "Squared error, relative to the Gaussian’s",
    about: "Squared error on held-out images over that of the Gaussian denoiser",
    value: (mean, theory) => `${fixed(mean)} for ${theory}`,
    base: 1,
  });
}

/**
 * Curves over the noise level, both axes logarithmic.
 * @param {HTMLElement} root
 * @param {{
 *   name: string,
 *   title: string,
 *   about: string,
 *   value: (mean: number, denoiser: string) => string,
 *   base?: number,
 * }} spec `value`: what is said of a denoiser; `base`: a line at this value, the Gaussian's
 */
function levelsChart(root, { name, title: heading, about, value, base }) {
  return chart(
    root,
    /** @type {ChartSpec<Curves>} */ ({
      name,
      label({ sigmas, curves }) {
        const at = middleOf({ sigmas });
        const values = curves.map(({ id, levels }) => value(levels[at].mean, denoiser(id).label));
        return `${about}, at noise level ${significant(sigmas[at])}: ${values.join(", ")}`;
      },
      columns: ["Denoiser", "σ", heading, `${heading} ± s.e.`],
      rows: ({ sigmas, curves }) =>
        curves.flatMap(({ id, levels }) =>
          levels.map(({ mean, standardError }, i) => [
            denoiser(id).label,
            significant(sigmas[i]),
            fixed(mean, 4),
            fixed(standardError, 4),
          ]),
        ),
      options({ sigmas, curves }, width) {
        const marginLeft = Math.min(112, 0.3 * width);
        const values = onAxis(curves.flatMap(({ levels }) => levels.map(({ mean }) => mean))).filter((v) => v > 0);
        const low = Math.min(...values) / 1.15;
        const high = Math.max(...values) * 1.15;
        const log = [Math.log(low), Math.log(high)];
        // There they are furthest apart.
        const first = sigmas.indexOf(Math.min(...sigmas));
        const ends = labelPlaces(
          curves.map(({ levels }) => Math.log(Math.max(levels[first].mean, low))),
          [log[0], log[1]],
          HEIGHT - 72,
        );
        const points = curves
          .map(({ id, levels }, i) => ({
            ...denoiser(id),
            end: Math.exp(ends[i]),
            points: levels.map(({ mean }, i) => ({ sigma: sigmas[i], value: mean })).filter(({ value }) => value > 0),
          }))
          // On top: its dashes let a mixture of one Gaussian show, which would cover it.
          .sort((a, b) => Number(a.id === "gaussian") - Number(b.id === "gaussian"));
        return {
          height: HEIGHT,
          marginTop: 32,
          marginBottom: 40,
          marginLeft,
          marginRight: 36,
          x: NOISE_AXIS,
          y: {
            type: "log",
            axis: "right",
            domain: [low, high],
            label: null,
            ticks: TICKS.filter((tick) => tick >= low && tick <= high),
            tickFormat: (/** @type {number} */ v) => significant(v, 1),
            tickSize: 0,
          },
          marks: [
            title(heading, { dx: -marginLeft }),
            axisName("noise level σ"),
            ...(base === undefined
              ? []
              : [ruleY([base], { stroke: "var(--d-g)", strokeWidth: 2, strokeDasharray: "6 3" })]),
            ...points.flatMap(({ points: list, short, end, ...style }) => [
              ...markedLine(list, style, { x: "sigma", y: "value" }),
              text([{ y: end }], {
                x: () => sigmas[first],
                y: "y",
                text: () => short,
                dx: -10,
                textAnchor: "end",
                ...HALO,
              }),
            ]),
          ],
        };
      },
    }),
  );
}
