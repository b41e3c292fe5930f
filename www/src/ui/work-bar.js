import { make } from "./dom.js";

/**
 * @import { EngineClient } from "../engine/client.js"
 * @import { Event as EngineEvent } from "../engine/protocol.js"
 * @import { Values } from "../state/parameters.js"
 * @import { Store } from "../state/store.js"
 */

/** @typedef {Pick<Values, "data" | "n">} Fitted what the denoisers of Section I are fitted to */

/** What is there at once. @type {Fitted} */
const AT_ONCE = { data: "faces", n: 1024 };

/**
 * The bar at the foot of the screen while the page's engine does something that takes long: a download, or a fit to large
 * images. It lies over the page, so nothing moves.
 */
export class WorkBar {
  /** What the figures showed last, which is where cancelling leads back to. @type {Fitted} */
  #settled = AT_ONCE;
  #words = make("span");
  #progress = make("progress", { max: 1 });
  #place;

  /**
   * @param {HTMLElement} place
   * @param {Store} store
   * @param {Pick<EngineClient, "close" | "oncrash" | "onevent">} engine
   */
  constructor(place, store, engine) {
    this.#place = place;
    this.#progress.setAttribute("aria-label", "Progress");
    const cancel = make("button", {
      type: "button",
      onclick: () => {
        place.hidden = true;
        const { data, n } = store.values;
        const same = this.#settled.data === data && this.#settled.n === n;
        store.set(same ? AT_ONCE : this.#settled);
        // A decomposition takes no messages for seconds, so its worker is ended. A new one starts with the next call, and
        // the reader's own images are read again, as after a crash.
        engine.close();
        engine.oncrash({ kind: "Cancelled", message: "Stopped", hint: "" });
      },
    });
    cancel.textContent = "Cancel";
    cancel.dataset.action = "cancel-work";
    place.replaceChildren(make("p", {}, this.#words), this.#progress, cancel);
    const { onevent } = engine;
    engine.onevent = (event) => {
      onevent(event);
      if (event.event === "busy") this.#show(event);
    };
  }

  /** @param {EngineEvent & {event: "busy"}} event */
  #show({ text, fraction }) {
    this.#place.hidden = fraction === undefined;
    if (fraction === undefined) return;
    this.#words.textContent = text;
    this.#progress.value = fraction;
  }

  /** @param {Fitted} fitted what the figures show now */
  settle(fitted) {
    this.#settled = fitted;
  }
}
