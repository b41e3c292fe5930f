/** Figure I.2, under the grids: the path of the chosen sample from noise to image, with each denoiser. */
import { FITTED } from "../reports/denoisers.js";
import { COPY_RATIO } from "../reports/verdicts.js";
import { element, make } from "../ui/dom.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { count, fixed, significant } from "../ui/format.js";
import { drawPicture } from "../ui/images.js";

/**
 * @import { Path, PathResult } from "../engine/protocol.js"
 * @import { Table } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/** The paper's number of steps. */
const STEPS = 10;
/** What stands in the two columns after them. */
const ENDS = ["end", "nearest"];

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {{figure: HTMLElement, count: number}} samples the figure that it belongs to, and how many samples that has
 */
export function samplePath(root, page, { figure, count: samples }) {
  const strips = FITTED.map(({ id, label }) => {
    const cells = Array.from({ length: STEPS + ENDS.length }, () => make("canvas"));
    const strip = element(root, `strip-${id}`);
    strip.append(...cells);
    Object.assign(strip, { role: "img", ariaLabel: `Path of the ${label}` });
    return { id, label, strip, cells };
  });
  const heads = Array.from({ length: STEPS + ENDS.length }, (_, i) => make("span", {}, ENDS[i - STEPS] ?? ""));
  element(root, "sigmas").append(...heads);

  liveFigure(root, page, {
    reads: [...SETTING, "samples.seed", "samples.pick"],
    compute: (values, lane) =>
      lane.call("path", {
        setting: setting(values),
        seed: values["samples.seed"],
        count: samples,
        index: values["samples.pick"] - 1,
      }),
    draw(result) {
      const { sigmas, denoisers } = result;
      for (let step = 0; step < STEPS; step++) {
        heads[step].textContent = significant(sigmas[step], sigmas[step] < 10 ? 2 : 3);
      }
      for (const { id, label, strip, cells } of strips) {
        const path = denoisers[id];
        if (!path) continue;
        for (let step = 0; step < STEPS; step++) drawPicture(cells[step], path.d, step);
        drawPicture(cells[STEPS], path.x, STEPS);
        drawPicture(cells[STEPS + 1], path.nearest);
        strip.ariaLabel = `${label}: its output at ${STEPS} steps, the end point, and training image ${count(path.index + 1)}, the nearest to it`;
        page.live.set({
          [`samples.${id}.ratio`]: fixed(ratioOf(path)),
          [`samples.${id}.verdict`]: ratioOf(path) < COPY_RATIO ? "a copy" : "not a copy",
        });
      }
      page.live.set({ "samples.pick": count(page.store.values["samples.pick"]) });
      page.contents.showNumbers(figure, () => tables(result));
    },
  });
}

/** How far the end point is from its nearest training image, relative to the second nearest. @param {Path} path */
const ratioOf = ({ d1, d2 }) => d1 / d2;

/**
 * The paths in numbers.
 * @param {PathResult} result
 * @returns {Table[]}
 */
function tables({ sigmas, denoisers, between }) {
  const paths = FITTED.flatMap(({ id, symbol }) => {
    const path = denoisers[id];
    return path ? [{ symbol, path }] : [];
  });
  return [
    {
      title: "Root mean square distances between the denoised images at each step of the path",
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
