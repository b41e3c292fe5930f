/** Figure I.2: 64 samples of each denoiser from the same noise, their nearest training images, and the scores. */
import { dot, ruleX, text, tickX } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { FITTED } from "../reports/denoisers.js";
import { COPY_RATIO } from "../reports/verdicts.js";
import { canvas, element, NARROW } from "../ui/dom.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { count, fixed, percent, significant } from "../ui/format.js";
import { drawGrid } from "../ui/images.js";
import { samplePath } from "./sample-path.js";

/**
 * @import { SamplesResult } from "../engine/protocol.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

const COUNT = 64;
const COLUMNS = 8;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function samplesFigure(root, page) {
  const { store, live } = page;
  const grids = FITTED.flatMap(({ id }) => [element(root, `${id}-samples`), element(root, `${id}-neighbours`)]);
  for (const grid of grids) {
    grid.addEventListener("click", ({ clientX, clientY }) => {
      const { left, top, width, height } = grid.getBoundingClientRect();
      const column = Math.floor(((clientX - left) / width) * COLUMNS);
      const row = Math.floor(((clientY - top) / height) * (COUNT / COLUMNS));
      store.set({ "samples.pick": Math.min(COUNT, Math.max(1, row * COLUMNS + column + 1)) });
    });
  }
  const drawRatios = ratiosChart(element(root, "ratios"));
  samplePath(element(root, "path"), page, { figure: root, count: COUNT });

  /** @type {SamplesResult | undefined} */
  let latest;

  const drawPick = () => {
    const pick = store.values["samples.pick"] - 1;
    for (const grid of grids) {
      grid.style.setProperty("--column", String(pick % COLUMNS));
      grid.style.setProperty("--row", String(Math.floor(pick / COLUMNS)));
    }
    if (!latest) return;
    drawRatios({ ...latest, pick });
  };
  store.subscribe(["samples.pick"], drawPick);

  liveFigure(root, page, {
    reads: [...SETTING, "samples.seed"],
    compute: (values, lane) =>
      lane.call("samples", { setting: setting(values), seed: values["samples.seed"], count: COUNT }),
    draw(result) {
      latest = result;
      for (const { id, set } of sets(result)) {
        drawGrid(canvas(root, `${id}-grid`), set.images, COLUMNS);
        drawGrid(canvas(root, `${id}-nearest-grid`), set.nearest, COLUMNS);
        live.set({
          [`samples.${id}.gl`]: fixed(set.gl),
          [`samples.${id}.glSquared`]: fixed(set.glSquared),
          [`samples.${id}.memorized`]: percent(set.memorized),
        });
      }
      const { empirical, gaussian } = result.denoisers;
      live.set({ "samples.heldOut.gl": fixed(result.heldOut.gl), "samples.n": count(result.n) });
      live.claim("samples.copies", empirical && empirical.memorized >= 0.98);
      live.claim("samples.new", gaussian && gaussian.memorized <= 0.02);
      live.announce(
        `Copies among ${COUNT} samples: ` +
          sets(result)
            .map(({ label, set }) => `${label} ${percent(set.memorized)}, GL score ${fixed(set.gl)}`)
            .join("; ") +
          ".",
      );
      drawPick();
    },
  });
}

/** The denoisers that have samples, in the order of the table. @param {SamplesResult} result */
const sets = ({ denoisers }) =>
  FITTED.flatMap((row) => {
    const set = denoisers[row.id];
    return set ? [{ ...row, set }] : [];
  });

/**
 * The ratio of the two nearest distances, one tick per sample.
 * @param {HTMLElement} root
 */
function ratiosChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<SamplesResult & {pick: number}>} */ ({
      name: "nearest over second nearest training image",
      label: (result) =>
        `Distance to the nearest over distance to the second nearest training image; below one third lie ` +
        sets(result)
          .map(({ symbol, set }) => `${percent(set.memorized)} of ${symbol}’s samples`)
          .join(", "),
      columns: ["Sample", ...FITTED.flatMap(({ symbol }) => [`${symbol}: d₁`, `${symbol}: d₂`, `${symbol}: d₁/d₂`])],
      rows: (result) =>
        Array.from({ length: COUNT }, (_, i) => [
          i + 1,
          ...sets(result).flatMap(({ set: { d1, d2 } }) => [
            significant(d1[i]),
            significant(d2[i]),
            fixed(d1[i] / d2[i], 3),
          ]),
        ]),
      options(result, width) {
        const shown = sets(result);
        const points = shown.flatMap(({ id, short, colour, set: { d1, d2 } }) =>
          Array.from(d1, (nearest, i) => ({ id, short, colour, i, ratio: nearest / d2[i] })),
        );
        return {
          height: 56 + 38 * shown.length,
          marginTop: 22,
          marginLeft: 84,
          marginRight: 8,
          marginBottom: 34,
          x: {
            domain: [0, 1],
            label: "d₁ / d₂ of each sample →",
            labelAnchor: "right",
            ticks: width < NARROW ? 3 : 5,
            tickSize: 4,
          },
          y: { domain: shown.map(({ id }) => id), axis: null, padding: 0.3 },
          marks: [
            ruleX([COPY_RATIO], { stroke: "var(--muted)", strokeDasharray: "2 3" }),
            text([COPY_RATIO], {
              x: (x) => x,
              text: () => "← copies",
              frameAnchor: "top",
              textAnchor: "end",
              dx: -6,
              dy: -14,
              fill: "var(--muted)",
            }),
            text([COPY_RATIO], {
              x: (x) => x,
              text: () => "not copies →",
              frameAnchor: "top",
              textAnchor: "start",
              dx: 6,
              dy: -14,
              fill: "var(--muted)",
            }),
            text(
              points.filter(({ i }) => i === 0),
              {
                y: "id",
                text: "short",
                frameAnchor: "left",
                textAnchor: "end",
                dx: -10,
              },
            ),
            tickX(points, {
              x: "ratio",
              y: "id",
              stroke: "colour",
              strokeOpacity: 0.55,
              strokeWidth: 1.5,
            }),
            dot(
              points.filter(({ i }) => i === result.pick),
              {
                x: "ratio",
                y: "id",
                r: 4.5,
                fill: "colour",
                stroke: "var(--paper)",
                strokeWidth: 1.5,
              },
            ),
          ],
        };
      },
    }),
  );
}
