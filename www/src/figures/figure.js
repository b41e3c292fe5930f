import { make } from "../ui/dom.js";
import { toFailure } from "../engine/protocol.js";
import { picturesDrawn } from "../ui/images.js";
import { showFailure } from "../ui/notice.js";

/**
 * @import { FigureContents } from "../export/contents.js"
 * @import { EngineClient, Lane } from "../engine/client.js"
 * @import { Setting, TrainingCalls } from "../engine/protocol.js"
 * @import { Runner } from "../runs/runner.js"
 * @import { Key, Values } from "../state/parameters.js"
 * @import { Store } from "../state/store.js"
 * @import { LiveText } from "../ui/live.js"
 */

/**
 * @typedef {object} Page what every figure shares
 * @property {Store} store
 * @property {EngineClient} engine
 * @property {() => Pick<EngineClient, "call" | "close" | "onevent">} spareEngine another of the kind of `engine`, for long work that can be
 *   ended at any time
 * @property {EngineClient<TrainingCalls>} trainer
 *   downloads the library with training when it is first called
 * @property {LiveText} live
 * @property {Runner} runner
 * @property {FigureContents} contents
 * @property {Set<() => void>} figures redraw each figure that shows the training set
 */

/** How close to the screen a figure starts to work, so that it is ready when it arrives. */
const NEAR = "400px";

/** The parameters of {@link setting}. */
export const SETTING = /** @type {const} */ (["engine", "data", "n"]);

/** @param {Readonly<Values>} values @returns {Setting} */
export function setting({ engine, data, n }) {
  return { engine, data, n };
}

/**
 * Keep a figure's picture up to date: when it is near the screen and something that the picture depends on changed, it
 * asks for an answer and draws it. Errors show in its own place, and its last picture stays meanwhile.
 * @template A
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {object} figure
 * @param {readonly Key[]} figure.reads the parameters that its picture depends on
 * @param {(values: Readonly<Values>) => Promise<A | undefined>} figure.ask undefined: a newer request took its place
 * @param {(answer: A, elapsedMs: number) => void} figure.draw `elapsedMs`: from the request to the result
 * @returns {() => void} tells that something else changed
 */
export function keepDrawn(root, page, { reads, ask, draw }) {
  const errors = make("div", { className: "figure-error", role: "alert", hidden: true });
  root.append(errors);
  let near = false;
  let stale = true;
  let requests = 0;
  let pending = 0;
  /** The request whose result or failure the figure shows. */
  let shown = 0;

  const update = async () => {
    stale = !near;
    if (!near) return;
    const request = ++requests;
    const start = performance.now();
    pending++;
    root.setAttribute("aria-busy", "true");
    try {
      const answer = await ask(page.store.values);
      // A newer request may have been answered first.
      if (answer !== undefined && request > shown) {
        shown = request;
        errors.hidden = true;
        draw(answer, performance.now() - start);
        await picturesDrawn(root);
        root.setAttribute("data-ready", "");
      }
    } catch (thrown) {
      const failure = toFailure(thrown);
      // What was stopped for something newer is not a failure.
      const replaced = failure.kind === "Cancelled" && request < requests;
      if (request >= shown && !replaced) {
        shown = request;
        showFailure(errors, failure, update);
      }
    }
    pending--;
    root.setAttribute("aria-busy", String(pending > 0));
  };

  page.store.subscribe(reads, update);
  watchNear(root, (isNear) => {
    near = isNear;
    if (near && stale) void update();
  });
  return update;
}

/**
 * A figure that the engine computes.
 * @template R
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {object} figure
 * @param {readonly Key[]} figure.reads
 * @param {(values: Readonly<Values>, lane: Lane) => Promise<R | undefined>} figure.compute
 * @param {(result: R, elapsedMs: number) => void} figure.draw
 */
export function liveFigure(root, page, { reads, compute, draw }) {
  const lane = page.engine.lane();
  page.figures.add(keepDrawn(root, page, { reads, ask: (values) => compute(values, lane), draw }));
}

/** Tells each figure that it is near. @type {Set<(isNear: boolean) => void>} */
const watchers = new Set();

/** Draw every figure, wherever the reader is: what is on paper is all of the article. */
export const bringAllNear = () => watchers.forEach((tell) => tell(true));

/** When the reader first scrolls, or has done so before the figures were there. @type {Promise<unknown> | undefined} */
let scrolling;

/**
 * Watch whether a figure is near the screen. The first view loads nothing for what is below it: until the reader scrolls,
 * near means on the screen.
 * @param {HTMLElement} root
 * @param {(isNear: boolean) => void} tell called when it comes near, and when it leaves
 */
export function watchNear(root, tell) {
  watchers.add(tell);
  /** @param {string} rootMargin */
  const watch = (rootMargin) => {
    const observer = new IntersectionObserver((entries) => tell(entries[entries.length - 1].isIntersecting), {
      rootMargin,
    });
    observer.observe(root);
    return observer;
  };
  const first = watch("0px");
  scrolling ??=
    scrollY > 0 ? Promise.resolve() : new Promise((resolve) => addEventListener("scroll", resolve, { once: true }));
  void scrolling.then(() => {
    first.disconnect();
    watch(NEAR);
  });
}

/** Until `root` first comes near the screen. @param {HTMLElement} root @returns {Promise<void>} */
export function comesNear(root) {
  return new Promise((resolve) => watchNear(root, (isNear) => isNear && resolve()));
}
