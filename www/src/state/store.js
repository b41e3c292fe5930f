import { fromSearch, toSearch } from "./address.js";
import { keys, parameters } from "./parameters.js";

/** @import { Key, Values } from "./parameters.js" */

/**
 * @typedef {(values: Values) => void} Listener
 */

/** Writing the URL more often than this makes Safari refuse. */
const URL_DELAY_MS = 250;

/**
 * The page's state: the parameter values, mirrored in the URL.
 * A choice makes a history entry, so that "back" undoes it; a slider only rewrites the current one.
 */
export class Store {
  /** @type {{watched: readonly Key[], listener: Listener}[]} */
  #listeners = [];
  /** @type {Values} */
  #values;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #window;
  /** What stood in the address when it was last read or written. */
  #search;

  #own = false;
  /** @type {(() => void)[]} */
  #ownListeners = [];

  /** @param {Window} window */
  constructor(window) {
    this.#window = window;
    this.#search = window.location.search;
    const { values, problems } = fromSearch(window.location.search);
    this.#values = values;
    /** What in the URL could not be used, as sentences. */
    this.problems = problems;
    window.addEventListener("popstate", () => {
      const { search } = window.location;
      // A way within the page changes no value, and what a slider still has to write stays to be written.
      if (search === this.#search) return;
      clearTimeout(this.#timer);
      this.#search = search;
      this.#apply(fromSearch(search, this.own).values);
    });
  }

  /** Whether the reader's own images are loaded, so that they can be chosen and the way back can lead to them. */
  get own() {
    return this.#own;
  }

  /** From now on there are images of the reader's own. */
  addOwn() {
    this.#own = true;
    for (const listener of this.#ownListeners) listener();
  }

  /** @param {() => void} listener called when there are images of the reader's own */
  onOwn(listener) {
    this.#ownListeners.push(listener);
  }

  /** @returns {Readonly<Values>} */
  get values() {
    return this.#values;
  }

  /** @param {Partial<Values>} change */
  set(change) {
    const before = this.#values;
    const changed = this.#apply({ ...before, ...change });
    if (changed.length === 0) return;
    clearTimeout(this.#timer);
    if (changed.some((key) => parameters[key].type === "choice" || parameters[key].type === "text")) {
      this.#write("replaceState", before);
      this.#write("pushState", this.#values);
    } else {
      this.#timer = setTimeout(() => this.#write("replaceState", this.#values), URL_DELAY_MS);
    }
  }

  /** Go to another state, from which "back" leads here, to this place on the page, too. @param {Partial<Values>} change */
  visit(change) {
    clearTimeout(this.#timer);
    this.#write("replaceState", this.#values);
    this.#apply({ ...this.#values, ...change });
    this.#write("pushState", this.#values);
  }

  /**
   * Show another state for a while; the address stays.
   * @param {Partial<Values>} change
   * @returns {() => void} brings what was there before back
   */
  preview(change) {
    const before = Object.fromEntries(Object.keys(change).map((key) => [key, this.#values[/** @type {Key} */ (key)]]));
    this.#apply({ ...this.#values, ...change });
    return () => void this.#apply({ ...this.#values, ...before });
  }

  /** @param {"replaceState" | "pushState"} how @param {Values} values */
  #write(how, values) {
    this.#window.history[how](null, "", this.#url(values));
    this.#search = this.#window.location.search;
  }

  /**
   * Call `listener` whenever one of `watched` changes.
   * @param {readonly Key[]} watched
   * @param {Listener} listener
   */
  subscribe(watched, listener) {
    this.#listeners.push({ watched, listener });
  }

  /**
   * The full address of the page in its present state, with these changes.
   * @param {Partial<Values>} change
   * @param {string} [hash] the place on the page
   */
  link(change, hash = "") {
    const { origin, pathname } = this.#window.location;
    return `${origin}${pathname}${toSearch({ ...this.#values, ...change })}${hash && `#${hash}`}`;
  }

  /** @param {Values} values */
  #url(values) {
    const { pathname, hash } = this.#window.location;
    return `${pathname}${toSearch(values)}${hash}`;
  }

  /** @param {Values} next */
  #apply(next) {
    const before = this.#values;
    const changed = keys.filter((key) => next[key] !== before[key]);
    this.#values = next;
    for (const { watched, listener } of this.#listeners) {
      if (watched.some((key) => changed.includes(key))) listener(next);
    }
    return changed;
  }
}
