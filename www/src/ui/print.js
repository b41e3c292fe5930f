/**
 * The article on paper. Figures that the reader has not come to yet are not drawn; in print the pictures stand for them that
 * were made when the page was built (`build/prerender.js`). They are in the page for readers without a script.
 */
import { bringAllNear } from "../figures/figure.js";

/** How long the handout waits for its figures, in milliseconds. */
const PATIENCE = 60_000;

/** How long what the reader sees first has the network to itself once it is drawn, and how often to look, in milliseconds. */
const [HEAD_START, LOOK] = [900, 100];

/** Sheets of pictures, by address. @type {Map<string, HTMLImageElement>} */
const sheets = new Map();

/** @param {HTMLButtonElement} button prints the article once all of it is drawn */
export function mountPrint(button) {
  addEventListener("beforeprint", () => undrawn().forEach(standIn));
  addEventListener("afterprint", () => {
    for (const picture of document.querySelectorAll("[data-stand-in] > .baked")) picture.remove();
    for (const figure of document.querySelectorAll("[data-stand-in]")) figure.removeAttribute("data-stand-in");
  });
  // Printing does not wait for pictures.
  addEventListener("load", () => void fetchSheets(), { once: true });
  button.addEventListener("click", async () => {
    const label = button.textContent;
    button.disabled = true;
    button.textContent = "Drawing all figures…";
    bringAllNear();
    for (const end = Date.now() + PATIENCE; undrawn().length > 0 && Date.now() < end; ) await wait(LOOK);
    await new Promise(requestAnimationFrame);
    button.textContent = label;
    button.disabled = false;
    print();
  });
}

/**
 * The figures that have a picture made at build time, and none of their own, or not all that paper shows of it.
 * @returns {Element[]}
 */
const undrawn = () =>
  [...document.querySelectorAll(":is(.figure, .training-set) > noscript")]
    .flatMap(({ parentElement }) => parentElement ?? [])
    .filter((figure) => !figure.matches('[data-ready]:not([aria-busy="true"], :has(.hero-other:not([data-ready])))'));

/** @param {Element} figure */
const bakedHtml = (figure) => figure.querySelector(":scope > noscript")?.textContent ?? "";

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function fetchSheets() {
  for (const end = Date.now() + PATIENCE; !document.querySelector("figure[data-ready]") && Date.now() < end; )
    await wait(LOOK);
  await wait(HEAD_START);
  for (const figure of undrawn()) {
    const address = / href="([^"]+\.(?:png|jpg))"/.exec(bakedHtml(figure))?.[1];
    if (!address) continue;
    const sheet = new Image();
    sheet.src = address;
    sheets.set(address, sheet);
  }
}

/** @param {Element} figure */
function standIn(figure) {
  if (figure.hasAttribute("data-stand-in")) return;
  const template = document.createElement("template");
  template.innerHTML = bakedHtml(figure);
  for (const canvas of template.content.querySelectorAll("canvas")) {
    const [x, y, width, height] = canvas.querySelector("svg")?.getAttribute("viewBox")?.split(" ").map(Number) ?? [];
    const sheet = sheets.get(canvas.querySelector("image")?.getAttribute("href") ?? "");
    if (sheet?.complete && sheet.naturalWidth > 0)
      canvas.getContext("2d")?.drawImage(sheet, x, y, width, height, 0, 0, width, height);
  }
  figure.querySelector(":scope > noscript")?.after(template.content);
  figure.setAttribute("data-stand-in", "");
}
