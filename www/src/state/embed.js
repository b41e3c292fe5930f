/** One figure alone, for other pages: `?figure=name`. */

/** @import { Store } from "./store.js" */

/**
 * Leave only the figure that the address asks for.
 * @param {Store} store
 * @param {HTMLAnchorElement} home the link to the whole article
 * @returns {string | undefined} what went wrong
 */
export function mountEmbed(store, home) {
  const name = store.values.figure;
  if (!name) return undefined;
  const figure = document.querySelector(`figure[data-figure="${CSS.escape(name)}"]`);
  if (!figure) {
    document.documentElement.removeAttribute("data-embed");
    return `There is no figure called “${name}”; this is the whole article.`;
  }
  document.documentElement.setAttribute("data-embed", "");
  for (
    let element = figure;
    element && element !== document.body;
    element = /** @type {Element} */ (element.parentElement)
  ) {
    element.setAttribute("data-embedded", "");
  }
  // The link leads out of the frame, and follows the reader's settings.
  home.target = "_blank";
  home.rel = "noopener";
  const follow = () => (home.href = store.link({ figure: "" }, figure.id));
  home.addEventListener("pointerenter", follow);
  home.addEventListener("focus", follow);
  follow();
  return undefined;
}

/** The line above a figure that stands alone, and the space around it, in pixels. */
const AROUND = 84;

/**
 * What an author pastes into a page to show this figure in its present state.
 * @param {Store} store
 * @param {HTMLElement} figure
 * @param {string} title
 */
export function embedCode(store, figure, title) {
  const name = figure.getAttribute("data-figure") ?? "";
  const address = store.link({ figure: name }).replaceAll("&", "&amp;");
  const height = figure.offsetHeight + AROUND;
  return `<iframe src="${address}" title="The hidden Gaussian, ${title}" width="100%" height="${height}" loading="lazy" allow="clipboard-write"></iframe>`;
}
