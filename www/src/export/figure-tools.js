import { onPress } from "../ui/buttons.js";
import { tablesIn } from "../ui/chart.js";
import { make } from "../ui/dom.js";
import { embedCode, inFrame, titleOf } from "../state/embed.js";
import { count } from "../ui/format.js";
import { picturesDrawn } from "../ui/images.js";
import { isRepeatable, runLink } from "../state/permalink.js";
import { copy, save, toCsv } from "./save.js";

/**
 * @import { Page } from "../figures/figure.js"
 * @import { Report } from "../reports/report.js"
 */

/** Pixels of a saved bitmap to one on the screen. */
const PNG_SCALE = 2;

/**
 * Give every `figure[data-figure]` its line of tools: save it as a picture or as numbers, link to it, embed it, show it as a slide.
 * @param {ParentNode} root
 * @param {Page} page
 */
export function mountFigureTools(root, page) {
  for (const figure of root.querySelectorAll("figure[data-figure]")) {
    if (figure instanceof HTMLElement) figure.append(tools(figure, page));
  }
}

/**
 * @param {HTMLElement} figure
 * @param {Page} page
 */
function tools(figure, page) {
  const name = figure.getAttribute("data-figure") ?? "";
  const title = titleOf(figure);
  const errors = make("div", { className: "figure-error", role: "alert", hidden: true });
  const link = () => {
    const { report, options } = page.contents.reportOf(figure);
    if (options && isRepeatable(options)) return runLink(page.store, options, report);
    return page.store.link({ figure: "" }, figure.id);
  };
  // Downloaded when the first figure is saved.
  const svg = async () => {
    const { figureSvg } = await import("./svg.js");
    await picturesDrawn(figure);
    const { origin, pathname } = location;
    return figureSvg(
      figure,
      `${title}, ${credit(page.contents.reportOf(figure).report)}. ${origin}${pathname}`,
      link(),
    );
  };

  /**
   * @param {string} label
   * @param {string} about the whole name, which begins with the label
   * @param {() => void | Promise<void>} act
   * @param {string} [done]
   */
  const button = (label, about, act, done) => {
    const made = make("button", { type: "button", title: about, ariaLabel: `${label}: ${about}` }, label);
    made.dataset.tool = label.toLowerCase();
    const tell = async () => {
      await act();
      if (done) page.live.announce(`${done}.`);
    };
    onPress(made, errors, tell, done);
    return made;
  };

  const row = make(
    "div",
    { className: "figure-tools", role: "toolbar", ariaLabel: `Save or share ${title}` },
    make("span", { className: "figure-tools-label", ariaHidden: "true" }, "Save"),
    button("SVG", `save ${title} as a vector picture`, async () =>
      save(`${name}.svg`, new Blob([await svg()], { type: "image/svg+xml" })),
    ),
    button("PNG", `save ${title} as a bitmap`, async () => {
      const { rasterize } = await import("./png.js");
      save(`${name}.png`, await rasterize(await svg(), PNG_SCALE));
    }),
    button("CSV", `save the numbers of ${title} as a table`, () => save(`${name}.csv`, toCsv(numbers(figure, page)))),
    button("JSON", `save ${title} with its configuration and all numbers`, () =>
      save(
        `${name}.json`,
        JSON.stringify(page.contents.reportOf(figure).report ?? described(figure, name, page), null, 1),
      ),
    ),
    make("span", { className: "figure-tools-label", ariaHidden: "true" }, "Copy"),
    button("Link", `copy a link to ${title} as it stands`, () => copy(link()), "Link copied"),
    button(
      "Embed",
      `copy the code that shows ${title} on another page`,
      () => copy(embedCode(page.store, figure, title)),
      "Code copied",
    ),
  );
  if (!inFrame()) row.append(button("Present", `show ${title} as a slide`, () => page.store.set({ figure: name })));
  const { source } = figure.dataset;
  if (source) row.append(make("a", { href: source, ariaLabel: `Code of ${title}` }, "Code"));
  oneTabStop(row);
  return make("div", { className: "figure-tools-place" }, row, errors);
}

/**
 * The keyboard reaches a toolbar once, and arrow keys go on from button to button, and to the link behind them.
 * @param {HTMLElement} toolbar
 */
function oneTabStop(toolbar) {
  const buttons = /** @type {NodeListOf<HTMLElement>} */ (toolbar.querySelectorAll("button, a"));
  buttons.forEach((button, i) => (button.tabIndex = i === 0 ? 0 : -1));
  toolbar.addEventListener("keydown", (event) => {
    const at = [...buttons].findIndex((button) => button.matches(":focus"));
    const last = buttons.length - 1;
    /** @type {Record<string, number>} */
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last };
    if (!(event.key in next)) return;
    event.preventDefault();
    const button = buttons[Math.min(last, Math.max(0, next[event.key]))];
    for (const one of buttons) one.tabIndex = one === button ? 0 : -1;
    button.focus();
  });
}

/**
 * The tables of a figure: those behind its charts, or those that it shows itself.
 * @param {HTMLElement} figure
 * @param {Pick<Page, "contents">} page
 */
export function numbers(figure, { contents }) {
  const tables = [...tablesIn(figure), ...contents.numbersOf(figure)];
  for (const table of figure.querySelectorAll("table")) {
    if (table.closest(".chart-table")) continue;
    const [columns = [], ...rows] = [...table.rows].map((row) => [...row.cells].map((cell) => words(cell)));
    tables.push({ title: table.caption?.textContent ?? "", columns, rows });
  }
  return tables;
}

/** @param {Element} element */
const words = (element) => (element.textContent ?? "").trim().replaceAll(/\s+/g, " ");

/**
 * A figure without a report: its settings and its tables.
 * @param {HTMLElement} figure
 * @param {string} name
 * @param {Page} page
 */
function described(figure, name, page) {
  return {
    figure: name,
    link: page.store.link({ figure: "" }, figure.id),
    settings: page.store.values,
    tables: numbers(figure, page),
  };
}

/** Where a picture comes from, in a few words. @param {Report} [report] */
function credit(report) {
  if (!report) return "The hidden Gaussian";
  const where = report.engine === "gpu" ? (report.adapter ?? "GPU") : "CPU";
  return `The hidden Gaussian ${report.version}, ${report.data.set} (${count(report.data.count)} images), ${where}`;
}
