/** Figure III.3: what the linear denoiser is made of, beside the principal axes of the training images. */
import { cell, text } from "@observablehq/plot";
import { ends } from "../reports/gaussian-bias.js";
import { chart } from "../ui/chart.js";
import { canvas, element } from "../ui/dom.js";
import { count, fixed, percent, significant } from "../ui/format.js";
import { decodeImages, drawGrid, pictureCount } from "../ui/images.js";
import { title } from "../ui/marks.js";
import { mapDenoisers } from "../reports/map-denoisers.js";
import { reportFigure } from "./report-figure.js";
import { runSlider } from "../ui/run-slider.js";
import { nearestStop } from "../reports/nearest.js";

/**
 * @import { Alignment } from "../../pkg/hidden_gaussian.js"
 * @import { ReportSource } from "../reports/source.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

const HEIGHT = 340;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {ReportSource<"gaussian-bias">} source
 */
export function alignmentFigure(root, page, source) {
  const { store, live } = page;
  const showLevels = runSlider(element(root, "alignment-sigma"), store, "bias.sigma");
  const drawMatrix = matrixChart(element(root, "alignment-matrix"));

  reportFigure(root, page, source, {
    reads: ["bias.model", "bias.sigma"],
    draw(report, values) {
      const model = ends(report)[values["bias.model"] === "few" ? 0 : 1];
      const axes = decodeImages(report.shape, model.axes);
      drawGrid(canvas(root, "axes"), axes, Math.ceil(pictureCount(axes) / 2));
      const { alignment, filters } = model;
      // A network that still trains has no D_L.
      root.toggleAttribute("data-missing", !alignment || !filters);
      live.set({ "bias.model.n": count(model.n) });
      if (!alignment || !filters) return live.claim("bias.aligned", undefined);

      const levels = alignment.map(({ sigma }) => sigma).sort((a, b) => a - b);
      const sigma = nearestStop(levels, values["bias.sigma"]);
      showLevels(levels, sigma);
      const shown = alignment.find((level) => level.sigma === sigma);
      if (shown) {
        drawMatrix(shown);
        live.set({ "bias.overlap": percent(shown.overlap), "bias.overlap.sigma": significant(sigma) });
      }
      const nearest = nearestStop(
        filters.map((level) => level.sigma),
        sigma,
      );
      const shownFilters = filters.find((level) => level.sigma === nearest);
      if (shownFilters) {
        mapDenoisers(shownFilters.rows, (rows, id) => {
          const pictures = decodeImages(report.shape, rows);
          drawGrid(canvas(root, `filters-${id}`), pictures, pictureCount(pictures));
        });
        live.set({ "bias.filters.sigma": significant(nearest) });
      }
      const [, many] = ends(report);
      const middle = (many.alignment ?? []).filter((level) => level.sigma >= 0.1 && level.sigma <= 3);
      live.set({ "bias.overlap.least": percent(Math.min(...middle.map(({ overlap }) => overlap))) });
      live.claim("bias.aligned", middle.length > 0 ? middle.every(({ overlap }) => overlap > 0.8) : undefined, [many]);
    },
  });
}

/** @param {HTMLElement} root */
function matrixChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<Alignment>} */ ({
      name: "alignment of singular vectors and principal axes",
      label: ({ sigma, matrix, overlap }) =>
        `Alignment of the first ${matrix.length} singular vectors of the linear denoiser at noise level ` +
        `${significant(sigma)} with as many principal axes of the training images: they share ${percent(overlap)} of ` +
        `their span; on the diagonal the mean is ${fixed(diagonal(matrix))}`,
      columns: ["Singular vector", "Principal axis", "|v·u|"],
      rows: ({ matrix }) => matrix.flatMap((row, i) => row.map((value, j) => [i + 1, j + 1, fixed(value)])),
      options({ matrix, overlap }, width) {
        const size = matrix.length;
        const cells = matrix.flatMap((row, i) => row.map((value, j) => ({ i: i + 1, j: j + 1, value })));
        const ends = [1, size];
        return {
          height: Math.min(width, HEIGHT),
          marginTop: 38,
          marginLeft: 40,
          marginRight: 2,
          marginBottom: 2,
          x: { axis: null, domain: cells.slice(0, size).map(({ j }) => j), padding: 0.06 },
          y: { axis: null, domain: matrix.map((_, i) => i + 1), padding: 0.06 },
          marks: [
            cell(cells, {
              x: "j",
              y: "i",
              fill: ({ value }) => `color-mix(in oklab, var(--d-l) ${Math.round(100 * value)}%, var(--panel))`,
            }),
            text(ends, { x: (end) => end, text: String, frameAnchor: "top", dy: -10, fill: "var(--muted)" }),
            text(ends, {
              y: (end) => end,
              text: String,
              frameAnchor: "left",
              textAnchor: "end",
              dx: -6,
              fill: "var(--muted)",
            }),
            text(["principal axes →"], {
              frameAnchor: "top",
              dy: -10,
              fill: "var(--muted)",
            }),
            text(["singular vectors →"], {
              frameAnchor: "left",
              rotate: -90,
              dx: -12,
              fill: "var(--muted)",
            }),
            title(`${percent(overlap)} of the span is shared`, { dy: -32 }),
          ],
        };
      },
    }),
  );
}

/** Mean of the diagonal. @param {number[][]} matrix */
const diagonal = (matrix) => matrix.reduce((sum, row, i) => sum + row[i], 0) / matrix.length;
