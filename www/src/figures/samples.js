/** Figure I.3: 64 samples of each denoiser from the same noise, their nearest training images, and the scores. */
import { dot, ruleX, text, tickX } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { DENOISERS, EXACT, MEMORIZED } from "../reports/denoisers.js";
import { canvas, element, NARROW, onPoint } from "../ui/dom.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { count, fixed, percent, significant } from "../ui/format.js";
import { drawGrid, drawPicture } from "../ui/images.js";

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
  const grids = EXACT.flatMap((name) => [element(root, `${name}-samples`), element(root, `${name}-neighbours`)]);
  for (const grid of grids) {
    onPoint(grid, ({ clientX, clientY }) => {
      const { left, top, width, height } = grid.getBoundingClientRect();
      const column = Math.floor(((clientX - left) / width) * COLUMNS);
      const row = Math.floor(((clientY - top) / height) * (COUNT / COLUMNS));
      store.set({ "samples.pick": Math.min(COUNT, Math.max(1, row * COLUMNS + column + 1)) });
    });
  }
  const drawRatios = ratiosChart(element(root, "ratios"));

  /** @type {SamplesResult | undefined} */
  let latest;

  const drawPick = () => {
    const pick = store.values["samples.pick"] - 1;
    for (const grid of grids) {
      grid.style.setProperty("--column", String(pick % COLUMNS));
      grid.style.setProperty("--row", String(Math.floor(pick / COLUMNS)));
    }
    if (!latest) return;
    for (const name of EXACT) {
      const set = latest[name];
      drawPicture(canvas(root, `${name}-picked`), set.images, pick);
      drawPicture(canvas(root, `${name}-picked-nearest`), set.nearest, pick);
      live.set({ [`samples.${name}.ratio`]: fixed(set.d1[pick] / set.d2[pick]) });
    }
    drawRatios({ ...latest, pick });
  };
  store.subscribe(["samples.pick"], drawPick);

  liveFigure(root, page, {
    reads: [...SETTING, "samples.seed"],
    compute: (values, lane) =>
      lane.call("samples", { setting: setting(values), seed: values["samples.seed"], count: COUNT }),
    draw(result) {
      latest = result;
      for (const name of EXACT) {
        const { images, nearest, gl, glSquared, memorized } = result[name];
        drawGrid(canvas(root, `${name}-grid`), images, COLUMNS);
        drawGrid(canvas(root, `${name}-nearest-grid`), nearest, COLUMNS);
        live.set({
          [`samples.${name}.gl`]: fixed(gl),
          [`samples.${name}.glSquared`]: fixed(glSquared),
          [`samples.${name}.memorized`]: percent(memorized),
        });
      }
      live.set({ "samples.heldOut.gl": fixed(result.heldOutGl), "samples.n": count(result.n) });
      live.claim("samples.copies", result.empirical.memorized >= 0.98);
      live.claim("samples.new", result.gaussian.memorized <= 0.02);
      live.announce(
        `Of ${COUNT} samples, the empirical denoiser copied ${percent(result.empirical.memorized)}, ` +
          `the Gaussian denoiser ${percent(result.gaussian.memorized)}. ` +
          `Generalization scores: ${fixed(result.empirical.gl)} and ${fixed(result.gaussian.gl)}.`,
      );
      drawPick();
    },
  });
}

/**
 * The ratio of the two nearest distances, one tick a sample.
 * @param {HTMLElement} root
 */
function ratiosChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<SamplesResult & {pick: number}>} */ ({
      name: "nearest over second nearest training image",
      label: ({ empirical, gaussian }) =>
        `Distance to the nearest over distance to the second nearest training image: ` +
        `${percent(empirical.memorized)} of D_M’s samples and ${percent(gaussian.memorized)} of D_G’s lie below one third`,
      columns: ["Sample", "D_M: d₁", "D_M: d₂", "D_M: d₁/d₂", "D_G: d₁", "D_G: d₂", "D_G: d₁/d₂"],
      rows: ({ empirical, gaussian }) =>
        Array.from(empirical.d1, (_, i) => [
          i + 1,
          ...[empirical, gaussian].flatMap(({ d1, d2 }) => [
            significant(d1[i]),
            significant(d2[i]),
            fixed(d1[i] / d2[i], 3),
          ]),
        ]),
      options(result, width) {
        const points = EXACT.flatMap((name) =>
          Array.from(result[name].d1, (d1, i) => ({ name, i, ratio: d1 / result[name].d2[i], ...DENOISERS[name] })),
        );
        return {
          height: 132,
          marginTop: 22,
          marginLeft: 72,
          marginRight: 8,
          marginBottom: 34,
          x: {
            domain: [0, 1],
            label: "d₁ / d₂ of each sample →",
            labelAnchor: "right",
            ticks: width < NARROW ? 3 : 5,
            tickSize: 4,
          },
          y: { domain: EXACT, axis: null, padding: 0.3 },
          marks: [
            ruleX([MEMORIZED], { stroke: "var(--muted)", strokeDasharray: "2 3" }),
            text([MEMORIZED], {
              x: (x) => x,
              text: () => "← copies",
              frameAnchor: "top",
              textAnchor: "end",
              dx: -6,
              dy: -14,
              fill: "var(--muted)",
            }),
            text([MEMORIZED], {
              x: (x) => x,
              text: () => "new images →",
              frameAnchor: "top",
              textAnchor: "start",
              dx: 6,
              dy: -14,
              fill: "var(--muted)",
            }),
            text(
              points.filter(({ i }) => i === 0),
              {
                y: "name",
                text: "label",
                frameAnchor: "left",
                textAnchor: "end",
                dx: -10,
              },
            ),
            tickX(points, {
              x: "ratio",
              y: "name",
              stroke: "colour",
              strokeOpacity: 0.55,
              strokeWidth: 1.5,
            }),
            dot(
              points.filter(({ i }) => i === result.pick),
              {
                x: "ratio",
                y: "name",
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
