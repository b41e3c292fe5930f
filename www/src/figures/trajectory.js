/** Figure I.2: ten Euler steps from the same noise with each denoiser. */
import { FITTED } from "../reports/denoisers.js";
import { COPY_RATIO } from "../reports/verdicts.js";
import { canvas, element, make, onPoint } from "../ui/dom.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { count, fixed, significant } from "../ui/format.js";
import { drawPicture } from "../ui/images.js";

/**
 * @import { Trajectory, TrajectoryResult } from "../engine/protocol.js"
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
  const strips = FITTED.map(({ id }) => ({ id, cells: row(`strip-${id}`) }));
  const sigmas = Array.from({ length: STEPS }, () => make("span"));
  element(root, "sigmas").append(...sigmas);
  const columns = sigmas.map((sigma, i) => [...strips.map(({ cells }) => cells[i]), sigma]);
  columns.forEach((cells, index) => {
    for (const cell of cells) onPoint(cell, () => store.set({ "trajectory.step": index + 1 }));
  });

  /** @type {TrajectoryResult | undefined} */
  let latest;

  const drawStep = () => {
    const selected = store.values["trajectory.step"] - 1;
    columns.forEach((cells, index) => cells.forEach((cell) => cell.classList.toggle("selected", index === selected)));
    if (!latest) return;
    for (const { id } of FITTED) {
      const path = latest.denoisers[id];
      if (!path) continue;
      drawPicture(canvas(root, `${id}-x`), path.x, selected);
      drawPicture(canvas(root, `${id}-d`), path.d, selected);
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
      for (const { id, cells } of strips) {
        const path = result.denoisers[id];
        if (!path) continue;
        cells.forEach((cell, step) => drawPicture(cell, path.d, step));
        drawPicture(canvas(root, `${id}-end`), path.x, STEPS);
        drawPicture(canvas(root, `${id}-nearest`), path.nearest);
        live.set({
          [`trajectory.${id}.ratio`]: fixed(ratioOf(path)),
          [`trajectory.${id}.verdict`]: ratioOf(path) < COPY_RATIO ? "a copy" : "a new image",
        });
      }
      page.contents.showNumbers(root, () => tables(result));
      const { empirical, gaussian } = result.denoisers;
      live.claim("trajectory.copy", empirical && ratioOf(empirical) < COPY_RATIO);
      live.claim("trajectory.new", gaussian && ratioOf(gaussian) >= COPY_RATIO);
      drawStep();
    },
  });
}

/** How far the end point is from its nearest training image, relative to the second nearest. @param {Trajectory} path */
const ratioOf = ({ d1, d2 }) => d1 / d2;

/**
 * The paths in numbers.
 * @param {TrajectoryResult} result
 * @returns {Table[]}
 */
function tables({ sigmas, denoisers, between }) {
  const paths = FITTED.flatMap(({ id, symbol }) => {
    const path = denoisers[id];
    return path ? [{ symbol, path }] : [];
  });
  return [
    {
      title: "Root mean square distances between the denoised images at each step",
      columns: ["Step", "σ", ...paths.map(({ symbol }) => `${symbol} to its end`), "Largest between two denoisers"],
      rows: between.map((distance, i) => [
        i + 1,
        ...[sigmas[i], ...paths.map(({ path }) => path.toEnd[i]), distance].map((value) => significant(value, 4)),
      ]),
    },
    {
      title: "Where the paths end",
      columns: ["Denoiser", "Nearest training image", "Distance", "Distance to the second nearest", "Ratio"],
      rows: paths.map(({ symbol, path }) => [
        symbol,
        path.index + 1,
        ...[path.d1, path.d2, ratioOf(path)].map((value) => significant(value, 4)),
      ]),
    },
  ];
}
