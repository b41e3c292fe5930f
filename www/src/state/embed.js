/**
 * One figure alone, by `?figure=name`: in a frame of another page a compact embed, in a window of its own a slide
 * (`ui/present.js`).
 */

/** @import { Store } from "./store.js" */

/** Whether another page shows this one in a frame. */
export const inFrame = () => window.self !== window.top;

/** The figures that can stand alone, in the order of the article. @returns {HTMLElement[]} */
export const figures = () =>
  [...document.querySelectorAll("figure[data-figure]")].filter((f) => f instanceof HTMLElement);

/** @param {string} name @returns {HTMLElement | undefined} */
export const figureNamed = (name) => figures().find(({ dataset }) => dataset.figure === name);

/** What a figure is called in the text. @param {HTMLElement} figure */
export const titleOf = (figure) =>
  (figure.querySelector("figcaption b")?.textContent ?? "this figure").trim().replace(/\.$/, "");

/** `?present` is the first figure alone, unless the address names another. To be called before the address is read. */
export function expandPresent() {
  const address = new URL(location.href);
  if (!address.searchParams.has("present")) return;
  address.searchParams.delete("present");
  if (!address.searchParams.get("figure")) address.searchParams.set("figure", figures()[0]?.dataset.figure ?? "");
  history.replaceState(null, "", address);
}

/**
 * Leave only the figure that the address asks for, as long as it does.
 * @param {Store} store
 * @param {HTMLAnchorElement} home the link to the whole article
 * @returns {string | undefined} what is wrong with the address
 */
export function mountEmbed(store, home) {
  const name = store.values.figure;
  const missing = name !== "" && !figureNamed(name);
  store.subscribe(["figure"], () => showAlone(figureNamed(store.values.figure)));
  showAlone(figureNamed(name));
  if (inFrame()) {
    // The link leads out of the frame, and follows the reader's settings.
    home.target = "_blank";
    home.rel = "noopener";
    const follow = () => (home.href = store.link({ figure: "" }, figureNamed(store.values.figure)?.id));
    home.addEventListener("pointerenter", follow);
    home.addEventListener("focus", follow);
    follow();
  }
  return missing ? `There is no figure called “${name}”; this is the whole article.` : undefined;
}

/** @param {HTMLElement | undefined} figure undefined: the whole article */
function showAlone(figure) {
  const root = document.documentElement;
  for (const element of document.querySelectorAll("[data-embedded]")) element.removeAttribute("data-embedded");
  root.toggleAttribute("data-embed", figure !== undefined);
  root.toggleAttribute("data-present", figure !== undefined && !inFrame());
  for (let element = figure ?? null; element && element !== document.body; element = element.parentElement) {
    element.setAttribute("data-embedded", "");
    if (element instanceof HTMLDetailsElement) element.open = true;
  }
}

/** The line above a figure that stands alone, the space around it, and two lines more of what a run says, in pixels. */
const AROUND = 132;

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
