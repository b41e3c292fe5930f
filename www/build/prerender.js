/**
 * Draws the article as a reader sees it first, at build time: the page's own modules draw the recorded runs, the exact
 * library computes Section I, and what came out goes into the HTML. So the article has its numbers and pictures without a
 * script, and on paper before the reader has scrolled to them.
 *
 * `node prerender.js in.html out.json`: the page goes in; out come the page with its numbers, and files to put beside it.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { JSDOM } from "jsdom";
import { openPage, pixelsOf, startWorker } from "./browser.js";
import { encodeImage } from "./image-files.js";

/** How long the figures may take, in milliseconds: they need ten seconds on a machine that has nothing else to do. */
const PATIENCE = 600_000;
/** How high charts are, as on paper (`ui/print.js`). */
const LOWER = 0.85;
/** How long the last of them is given to end, in milliseconds. */
const SETTLE = 1000;
/** What is drawn: figures, and the panel of the training set. */
const FIGURES = "figure[data-figure], .training-set";
/** Text that waits for its numbers. */
const SECTIONS = "#limits-section";
/** What is of no use without a script, and what stays in the figure itself. A wide slider has the axis of a chart under it. */
const LIVE_ONLY = [
  "figcaption, button, input, select, .controls, .run-panel, .stepper, .latency, .figure-error",
  ".figure-tools-place, .chart-table, .shown-run, .own, noscript, [hidden], [data-live-only]",
  "[data-control]:not(.control-wide), .slider-head:not([data-control].control-wide > *)",
].join(", ");
/** Pixels between the pictures of a sheet, so that none shines into its neighbour. */
const GAP = 2;
/** Pixels that a sheet of pictures is wide, at least. */
const SHEET = 512;

/** Let the page's modules draw everything. */
async function drawArticle() {
  const worker = await startWorker();
  const [
    { mountArticle },
    { EngineClient },
    { Runner },
    { FigureContents },
    { Store },
    { LiveText },
    tools,
    { toCsv },
    { scaleCharts },
  ] = await Promise.all([
    import("../src/article.js"),
    import("../src/engine/client.js"),
    import("../src/runs/runner.js"),
    import("../src/export/contents.js"),
    import("../src/state/store.js"),
    import("../src/ui/live.js"),
    import("../src/export/figure-tools.js"),
    import("../src/export/save.js"),
    import("../src/ui/chart-scale.js"),
  ]);
  scaleCharts(LOWER);
  const base = document.baseURI;
  const never = () => {
    throw new Error("nothing is trained when the page is built");
  };
  const store = new Store(window);
  // The same numbers on every machine.
  store.set({ engine: "cpu" });
  const contents = new FigureContents();
  const engine = new EngineClient(() => worker, base);
  const storage = /** @type {any} */ ({ list: async () => [] });
  mountArticle({
    store,
    engine,
    // One worker does all: nothing is ended while the page is built.
    spareEngine: () => ({ onevent: () => {}, call: (...args) => engine.call(...args), close: () => {} }),
    trainer: new EngineClient(never, base),
    runner: new Runner({ startWorker: never, base, cores: 1, storage, choice: () => "cpu", measure: async () => ({}) }),
    live: new LiveText(document),
    contents,
    figures: new Set(),
  });
  const waiting = () => [...document.querySelectorAll(`${FIGURES}, ${SECTIONS}`)].filter((place) => !isDrawn(place));
  const isAtWork = () => document.querySelector('[data-state="running"]') !== null;
  for (const end = Date.now() + PATIENCE; (isAtWork() || !waiting().every(hasFailed)) && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 50));
  // Some of them are drawn over several frames.
  await new Promise((resolve) => setTimeout(resolve, SETTLE));
  const missing = waiting();
  const late = missing.filter((place) => !hasFailed(place)).map(({ id }) => id);
  if (late.length > 0) throw new Error(`${late.join(", ")} took more than ${PATIENCE / 1000} s to draw`);
  for (const { id } of missing) console.warn(`#${id} was not drawn, so it has no picture without a script`);
  return figuresOf(document).map((figure) => ({
    id: figure.id,
    title: (figure.querySelector("figcaption b")?.textContent ?? "").replace(/\.$/, ""),
    csv: toCsv(tools.numbers(/** @type {HTMLElement} */ (figure), { contents })),
    // The recorded run that it shows; those of Section I have none.
    run: /--only (\S+)/.exec(contents.reportOf(figure).report?.record?.command ?? "")?.[1],
  }));
}

/** The figures that show numbers before the reader does anything. @param {Document} document */
const figuresOf = (document) => [...document.querySelectorAll("figure[data-figure]")].filter(({ id }) => id !== "lab");

/** Whether a figure has said why it shows nothing. @param {Element} figure */
const hasFailed = (figure) => figure.querySelector(".figure-error:not([hidden])") !== null;

/** @param {Element} figure */
const isDrawn = (figure) =>
  figure.matches('[data-ready]:not([aria-busy="true"])') && !figure.querySelector('[data-state="running"]');

/**
 * Put what was drawn into the page as it was.
 * @param {string} html
 * @param {Document} drawn
 * @param {Awaited<ReturnType<typeof drawArticle>>} tables
 */
function bake(html, drawn, tables) {
  const page = new JSDOM(html);
  const { document } = page.window;
  /** @type {Record<string, string>} */
  const files = {};
  /** @type {Map<string, string>} */
  const styles = new Map();

  for (const place of document.querySelectorAll("[data-live]")) {
    const told = drawn.querySelector(`[data-live="${place.getAttribute("data-live")}"][data-told]`);
    if (!told) continue;
    place.textContent = told.textContent;
    place.setAttribute("data-told", "");
  }
  for (const place of document.querySelectorAll("[data-claim]")) {
    const told = drawn.querySelector(`[data-claim="${place.getAttribute("data-claim")}"][data-verdict]`);
    if (!told) continue;
    place.setAttribute("data-verdict", told.getAttribute("data-verdict") ?? "");
    const words = told.querySelector(".verdict");
    if (words) place.append(document.importNode(words, true));
  }
  // What the script makes anew as a whole, and nothing else is in.
  for (const place of document.querySelectorAll("[data-part][data-baked]")) {
    const made = drawn.querySelector(`[data-part="${place.getAttribute("data-part")}"]`);
    place.replaceChildren(...[...(made?.childNodes ?? [])].map((node) => document.importNode(node, true)));
  }
  for (const figure of drawn.querySelectorAll(FIGURES)) {
    const place = document.getElementById(figure.id);
    if (!place || !isDrawn(figure)) continue;
    const copy = /** @type {Element} */ (document.importNode(figure, true));
    const sheet = pictureSheet(figure, copy);
    if (sheet) files[sheet.name] = sheet.bytes.toString("base64");
    for (const element of copy.querySelectorAll(LIVE_ONLY)) element.remove();
    for (const element of copy.querySelectorAll("[id]")) element.removeAttribute("id");
    for (const element of copy.querySelectorAll("[tabindex]")) element.removeAttribute("tabindex");
    for (const element of copy.querySelectorAll("[style]")) {
      // The page's policy allows no style attributes.
      const style = element.getAttribute("style") ?? "";
      const name = styles.get(style) ?? `baked-${styles.size}`;
      styles.set(style, name);
      element.classList.add(name);
      element.removeAttribute("style");
    }
    const still = document.createElement("div");
    still.className = "baked";
    still.append(...copy.childNodes);
    const noscript = document.createElement("noscript");
    noscript.append(still);
    place.insertBefore(noscript, place.querySelector(":scope > figcaption"));
    place.setAttribute("data-still", "");
  }
  for (const { id, title, csv, run } of tables) {
    files[`figures/${id}.csv`] = Buffer.from(csv).toString("base64");
    const item = document.createElement("li");
    item.innerHTML = `<a href="#${id}"></a>: <a href="./figures/${id}.csv" download>CSV</a>`;
    /** @type {Element} */ (item.firstChild).textContent = title;
    if (run) item.insertAdjacentHTML("beforeend", `, <a href="./runs/${run}.json" download>JSON</a>`);
    const source = document.getElementById(id)?.dataset.source;
    if (source) {
      const code = Object.assign(document.createElement("a"), { href: source, textContent: "code" });
      item.append(", ", code);
    }
    document.querySelector('[data-part="figure-data"]')?.append(item);
  }
  const css = [...styles].map(([style, name]) => `.${name} {${style}}`).join("\n");
  const sheet = hashed("baked", "css", Buffer.from(css));
  files[sheet] = Buffer.from(css).toString("base64");
  for (const media of ["print", ""]) {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `./${sheet}` });
    if (media) link.media = media;
    const noscript = document.createElement("noscript");
    noscript.append(link);
    document.head.append(media ? link : noscript);
  }
  return { html: page.serialize(), files };
}

/**
 * The pictures of a figure on one sheet. Each canvas of the copy gets its place on it, which shows where there is no script.
 * @param {Element} figure
 * @param {Element} copy
 */
function pictureSheet(figure, copy) {
  const copies = [...copy.querySelectorAll("canvas")];
  const pictures = [...figure.querySelectorAll("canvas")].flatMap((canvas, i) => {
    const image = pixelsOf(canvas);
    return image ? [{ image, copy: copies[i] }] : [];
  });
  if (pictures.length === 0) return undefined;
  const wide = Math.max(SHEET, ...pictures.map(({ image }) => image.width));
  let [x, y, line] = [0, 0, 0];
  const placed = pictures.map(({ image, copy }) => {
    if (x + image.width > wide) [x, y, line] = [0, y + line + GAP, 0];
    const at = { image, copy, x, y };
    x += image.width + GAP;
    line = Math.max(line, image.height);
    return at;
  });
  const width = Math.max(...placed.map(({ image, x }) => x + image.width));
  const height = y + line;
  // White between the pictures, so that a grey sheet stays grey.
  const rgba = new Uint8ClampedArray(4 * width * height).fill(255);
  for (const { image, x, y } of placed) {
    for (let row = 0; row < image.height; row++) {
      const pixels = image.data.subarray(4 * row * image.width, 4 * (row + 1) * image.width);
      rgba.set(pixels, 4 * ((y + row) * width + x));
    }
  }
  const { ending, bytes } = encodeImage(width, height, rgba);
  const name = hashed(figure.id, ending, bytes);
  for (const { image, copy, x, y } of placed) {
    copy.setAttribute("width", String(image.width));
    copy.setAttribute("height", String(image.height));
    copy.innerHTML =
      `<svg viewBox="${x} ${y} ${image.width} ${image.height}" role="img">` +
      `<image href="./${name}" width="${width}" height="${height}"></image></svg>`;
    copy.querySelector("svg")?.setAttribute("aria-label", copy.getAttribute("aria-label") ?? "");
  }
  return { name, bytes };
}

/** @param {string} name @param {string} ending @param {Buffer} bytes */
const hashed = (name, ending, bytes) =>
  `baked/${name}-${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}.${ending}`;

const [input, output] = process.argv.slice(2);
const html = readFileSync(input, "utf8");
const { document } = openPage(html);
const tables = await drawArticle();
const result = bake(html, document, tables);
writeFileSync(output, JSON.stringify(result));
process.exit();
