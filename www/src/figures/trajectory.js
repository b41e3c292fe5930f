/** Figure I.2: ten Euler steps from the same noise with both denoisers. */
import { EXACT, MEMORIZED } from "../reports/denoisers.js";
import { canvas, element, make, onPoint } from "../ui/dom.js";
import { showNumbers } from "../export/figure-tools.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { count, fixed, significant } from "../ui/format.js";
import { drawPicture } from "../ui/images.js";

/**
 * @import { TrajectoryResult } from "../engine/protocol.js"
 * @import { Table } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/** The paper's number of steps. */
const STEPS = 10;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function trajectoryFigure(root, page) {
  const { store, live } = page;
  /** @param {string} name */
  const row = (name) => {
    const cells = Array.from({ length: STEPS }, () => make("canvas", { ariaHidden: "true" }));
    element(root, name).append(...cells);
    return cells;
  };
  const strips = { empirical: row("strip-empirical"), gaussian: row("strip-gaussian") };
  const sigmas = Array.from({ length: STEPS }, () => make("span"));
  element(root, "sigmas").append(...sigmas);
  const columns = sigmas.map((sigma, i) => [strips.empirical[i], strips.gaussian[i], sigma]);
  columns.forEach((cells, index) => {
    for (const cell of cells) onPoint(cell, () => store.set({ "trajectory.step": index + 1 }));
  });

  /** @type {TrajectoryResult | undefined} */
  let latest;

  const drawStep = () => {
    const selected = store.values["trajectory.step"] - 1;
    columns.forEach((cells, index) => cells.forEach((cell) => cell.classList.toggle("selected", index === selected)));
    if (!latest) return;
    for (const name of EXACT) {
      drawPicture(canvas(root, `${name}-x`), latest[name].x, selected);
      drawPicture(canvas(root, `${name}-d`), latest[name].d, selected);
    }
    live.set({ "trajectory.step": count(selected + 1) });
  };
  store.subscribe(["trajectory.step"], drawStep);

  liveFigure(root, page, {
    reads: [...SETTING, "trajectory.seed"],
    compute: (values, lane) =>
      lane.call("trajectory", { setting: setting(values), seed: values["trajectory.seed"], steps: STEPS }),
    draw(result) {
      latest = result;
      sigmas.forEach(
        (place, step) => (place.textContent = significant(result.sigmas[step], result.sigmas[step] < 10 ? 2 : 3)),
      );
      for (const name of EXACT) {
        const path = result[name];
        strips[name].forEach((cell, step) => drawPicture(cell, path.d, step));
        drawPicture(canvas(root, `${name}-end`), path.x, STEPS);
        drawPicture(canvas(root, `${name}-nearest`), path.nearest);
        const ratio = path.d1 / path.d2;
        live.set({
          [`trajectory.${name}.ratio`]: fixed(ratio),
          [`trajectory.${name}.verdict`]: ratio < MEMORIZED ? "a copy" : "a new image",
        });
      }
      showNumbers(root, () => tables(result));
      live.claim("trajectory.copy", result.empirical.d1 / result.empirical.d2 < MEMORIZED);
      live.claim("trajectory.new", result.gaussian.d1 / result.gaussian.d2 >= MEMORIZED);
      drawStep();
    },
  });
}

/**
 * The two paths in numbers.
 * @param {TrajectoryResult} result
 * @returns {Table[]}
 */
const tables = ({ sigmas, empirical, gaussian, between }) => [
  {
    title: "Root mean square distances of the answers at each step",
    columns: ["Step", "σ", "D_M to its end", "D_G to its end", "D_M to D_G"],
    rows: between.map((distance, i) => [
      i + 1,
      significant(sigmas[i], 4),
      significant(empirical.toEnd[i], 4),
      significant(gaussian.toEnd[i], 4),
      significant(distance, 4),
    ]),
  },
  {
    title: "Where the paths end",
    columns: ["Denoiser", "Nearest training image", "Distance", "Distance to the second nearest", "Ratio"],
    rows: [
      { name: "D_M", path: empirical },
      { name: "D_G", path: gaussian },
    ].map(({ name, path: { index, d1, d2 } }) => [name, index + 1, ...[d1, d2, d1 / d2].map((value) => significant(value, 4))]),
  },
];
