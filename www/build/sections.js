/**
 * The article's sections as the page needs them. Three things are written more simply in `sections/` than they are in HTML:
 *
 * - `<!-- include sections/x.html -->` stands for that file, so that each part of the article is a file of its own;
 * - `<!-- each fitted -->…<!-- end -->` repeats its contents for every fitted denoiser of the library's table (`each denoiser`:
 *   for all of them), with `{id}`, `{symbol}` (`{tex}` inside a formula), `{label}`, `{short}` and `{about}` filled in;
 * - `$…$` is a formula in the text and `\[…\]` one on a line of its own, both in TeX. They become MathML here, so that readers
 *   download no library and no fonts.
 */
import { readFileSync } from "node:fs";
import temml from "temml";
import { DENOISERS, FITTED } from "../src/reports/denoisers.js";

const BLOCKS = { fitted: FITTED, denoiser: DENOISERS };
/** Gaussian and expectation: upright and heavy (page.css), so that the Gaussian is not taken for the number of images. */
const MACROS = { "\\normal": "\\class{operator}{\\mathrm{N}}", "\\mean": "\\class{operator}{\\mathrm{E}}" };
/** A formula, and what follows it without a space that a line may end at. */
const FORMULA = /<math\b(?:(?!<\/math)[\s\S])*<\/math>(?:&nbsp;|[^\s<&])+/g;

/** The whole page from index.html. @param {string} html */
export function expandSections(html) {
  return (
    include(html)
      .replace(/<!-- each (\w+) -->([\s\S]*?)<!-- end -->/g, (_, name, block) => repeat(name, block))
      .replace(/\\\[([\s\S]*?)\\\]/g, (_, tex) => toMathml(tex, true))
      .replace(/\$([^$]+)\$/g, (_, tex) => toMathml(tex, false))
      // Browsers break lines behind any formula, even before a comma.
      .replace(FORMULA, '<span class="unbroken">$&</span>')
      // For paper, where a link leads nowhere, unless its text is the number.
      .replace(/<a href="https:\/\/arxiv\.org\/abs\/([\d.]+)"(?!>arXiv:)/g, '$& data-arxiv="$1"')
  );
}

/** The files that a text includes may include others. @param {string} html @returns {string} */
const include = (html) =>
  html.replace(/<!-- include (\S+) -->/g, (_, file) =>
    include(readFileSync(new URL(`../${file}`, import.meta.url), "utf8")),
  );

/** @param {string} name @param {string} block */
function repeat(name, block) {
  const rows = BLOCKS[/** @type {keyof typeof BLOCKS} */ (name)];
  if (!rows) throw new Error(`There is no list of denoisers called “${name}”: use ${Object.keys(BLOCKS).join(" or ")}`);
  return rows
    .map(({ id, symbol, label, short, about }) => {
      /** @type {Record<string, string>} */
      const values = { id, symbol: `$${symbol}$`, tex: symbol, label, short, about };
      return block.replace(/\{(id|symbol|tex|label|short|about)\}/g, (_, field) => values[field]);
    })
    .join("");
}

/**
 * @param {string} tex
 * @param {boolean} isBlock
 */
export function toMathml(tex, isBlock) {
  const made = temml.renderToString(unescapeHtml(tex.trim()), {
    displayMode: isBlock,
    macros: MACROS,
    throwOnError: true,
    trust: ({ command }) => command === "\\class",
  });
  return (
    made
      // The page's policy allows no style attributes, and our own style sheet does what temml's would.
      .replace(/ style="[^"]*"/g, "")
      .replace(/ class="(?!operator")[^"]*"/g, "")
      .replace(/<mspace><\/mspace>/g, "")
      // Names such as log are upright.
      .replace(/<mi>([A-Za-z]{2,})<\/mi>/g, '<mi mathvariant="normal">$1</mi>')
  );
}

/** @param {string} text */
const unescapeHtml = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
