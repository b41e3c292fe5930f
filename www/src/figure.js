import { make } from "./dom.js";
import { toFailure } from "./engine/protocol.js";
import { sentence } from "./format.js";

/**
 * @typedef {import("./parameters.js").Values} Values
 * @typedef {import("./parameters.js").Key} Key
 * @typedef {import("./engine/protocol.js").Setting} Setting
 * @typedef {import("./engine/client.js").Lane} Lane
 *
 * @typedef {object} Page what every figure shares
 * @property {import("./store.js").Store} store
 * @property {import("./engine/client.js").EngineClient} engine
 * @property {import("./live.js").LiveText} live
 * @property {import("./engine/runner.js").Runner} runner
 * @property {Set<() => void>} figures redraw each figure
 */

/**
 * @template R
 * @typedef {object} Figure
 * @property {readonly Key[]} reads the parameters that its picture depends on
 * @property {(values: Readonly<Values>, lane: Lane) => Promise<R | undefined>} compute
 * @property {(result: R, elapsedMs: number) => void} draw `elapsedMs`: from the wish to the answer
 */

/** How close to the screen a figure starts to work, so that it is ready when it arrives. */
export const NEAR = "400px";

/** The parameters of {@link setting}. */
export const SETTING = /** @type {const} */ (["engine", "data", "n"]);

/** @param {Readonly<Values>} values @returns {Setting} */
export function setting({ engine, data, n }) {
  return { engine, data, n };
}

/**
 * Let a figure live: it computes when it is near the screen and one of its parameters changed, shows errors in its
 * own place and keeps its last picture meanwhile.
 * @template R
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {Figure<R>} figure
 */
export function liveFigure(root, page, { reads, compute, draw }) {
  const lane = page.engine.lane();
  const errors = make("div", { className: "figure-error", role: "alert", hidden: true });
  root.append(errors);
  let near = false;
  let stale = true;
  let pending = 0;

  const update = async () => {
    stale = true;
    if (!near) return;
    stale = false;
    const start = performance.now();
    pending++;
    root.setAttribute("aria-busy", "true");
    try {
      const result = await compute(page.store.values, lane);
      if (result !== undefined) {
        errors.hidden = true;
        draw(result, performance.now() - start);
        root.setAttribute("data-ready", "");
      }
    } catch (thrown) {
      showFailure(errors, toFailure(thrown), update);
    }
    pending--;
    root.setAttribute("aria-busy", String(pending > 0));
  };

  page.figures.add(update);
  page.store.subscribe(reads, update);
  new IntersectionObserver(
    ([entry]) => {
      near = entry.isIntersecting;
      if (near && stale) void update();
    },
    { rootMargin: NEAR },
  ).observe(root);
}

/**
 * @param {HTMLElement} place
 * @param {import("./engine/protocol.js").Failure} failure
 * @param {() => void} [retry]
 */
export function showFailure(place, { message, hint }, retry) {
  const text = make("p", {}, make("strong", {}, sentence(message)), hint ? ` ${sentence(hint)}` : "");
  place.replaceChildren(text, ...(retry ? [make("button", { type: "button", onclick: retry }, "Try again")] : []));
  place.hidden = false;
}
