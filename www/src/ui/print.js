/**
 * The article on paper. Figures that the reader has not come to yet are not drawn; in print the pictures stand for them that
 * were made when the page was built (`build/prerender.js`). They are in the page for readers without a script.
 */
import { bringAllNear } from "../figures/figure.js";
import { scaleCharts } from "./chart-scale.js";

/** How long the handout waits for its figures, in milliseconds. */
const PATIENCE = 60_000;

/** How long what the reader sees first has the network to itself once it is drawn, and how often to look, in milliseconds. */
const [HEAD_START, LOOK] = [900, 100];

/** A figure is at least as wide as this on paper, in pixels; and charts are lower there, so that pages are filled. */
const [PAPER, LOWER] = [640, 0.85];

/** What a figure may still lack when it is drawn. */
const UNFINISHED = '.hero-other:not([data-ready]), .features[data-state="running"]';

/** Sheets of pictures, by address. @type {Map<string, HTMLImageElement>} */
const sheets = new Map();

/** @param {HTMLButtonElement} button prints the article once all of it is drawn */
export function mountPrint(button) {
  addEventListener("beforeprint", () => {
    undrawn().forEach(standIn);
    fitCharts();
  });
  addEventListener("afterprint", () => {
    if (!isSlide()) scaleCharts(1);
    for (const picture of document.querySelectorAll("[data-stand-in] > .baked")) picture.remove();
    for (const figure of document.querySelectorAll("[data-stand-in]")) figure.removeAttribute("data-stand-in");
  });
  // Printing does not wait for pictures.
  addEventListener("load", () => void fetchSheets(), { once: true });
  button.addEventListener("click", async () => {
    const label = button.textContent;
    button.disabled = true;
    button.textContent = "Drawing all figures…";
    // What is folded away has no width to be drawn for.
    for (const folded of document.querySelectorAll("details[data-why]")) folded.setAttribute("open", "");
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
    .filter((figure) => !figure.matches(`[data-ready]:not([aria-busy="true"], :has(${UNFINISHED}))`));

/** @param {Element} figure */
const bakedHtml = (figure) => figure.querySelector(":scope > noscript")?.textContent ?? "";

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** One figure is printed as it fills the window. */
const isSlide = () => document.documentElement.hasAttribute("data-present");

/** A wide chart that is made narrower has small text, so it is drawn for its width on paper. Observers are not told of it. */
function fitCharts() {
  const { clientWidth = 0 } = document.querySelector(".figure") ?? {};
  if (!isSlide() && clientWidth > 0) scaleCharts(LOWER, undefined, Math.min(1, PAPER / clientWidth));
}

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
