/**
 * A figure as one SVG that needs nothing else: what stands on the screen, in the page's theme and type, without the
 * controls. Charts stay vectors, canvases become pixelated images, text stays text.
 */
import { make } from "../ui/dom.js";

/** Parts of a figure that make no sense on paper. The label, value and ticks of a slider do. */
const CONTROLS =
  "button, input, select, fieldset, details, .controls, .lab-panel, .run-panel, .figure-tools, .figure-error, [data-live-only], [hidden]";
/** Where controls were left out, the gap is closed to this many pixels. */
const GAP = 22;
const MARGIN = 16;

/** What Plot's charts are styled by; the page's variables are resolved. */
const STYLED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "paint-order",
  "font-family",
  "font-size",
  "font-style",
  "font-weight",
  "text-anchor",
];

/** @typedef {{top: number, bottom: number, svg: (dy: number) => string}} Item something drawn, from its top to its bottom */

/**
 * @param {HTMLElement} figure
 * @param {string} credit the last line
 * @param {string} link where to find it again, inside the file
 * @returns {Promise<string>}
 */
export async function figureSvg(figure, credit, link) {
  const frame = figure.getBoundingClientRect();
  /** @type {Item[]} */
  const items = [];
  // For a moment, so that the browser breaks its lines.
  const last = make("p", { className: "figure-credit" }, credit);
  figure.append(last);
  try {
    collect(figure, frame, frame, items);
  } finally {
    last.remove();
  }
  const { body, height: high } = stack(items);
  const [width, height] = [Math.ceil(frame.width) + 2 * MARGIN, high + 2 * MARGIN];
  const fonts = await usedFonts(body);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `<title>${escapeXml(figure.querySelector("figcaption b")?.textContent ?? "Figure")}</title><desc>${escapeXml(link)}</desc>` +
    `<style>text{white-space:pre;font-variant-numeric:lining-nums tabular-nums}image{image-rendering:pixelated}${fonts}</style>` +
    `<rect width="${width}" height="${height}" fill="${colourOf(figure, "--paper")}"/>` +
    `<g transform="translate(${MARGIN} ${MARGIN})">${body}</g></svg>`
  );
}

/**
 * Everything that is visible under `element`, in the order of painting.
 * @param {Element} element
 * @param {DOMRect} frame
 * @param {DOMRect} clip where `element` lets its children show
 * @param {Item[]} items
 */
function collect(element, frame, clip, items) {
  for (const node of element.childNodes) {
    if (node instanceof Text) items.push(...lines(node, frame));
    if (!(node instanceof Element) || node.matches(CONTROLS)) continue;
    const place = node.getBoundingClientRect();
    // Hidden, or there for screen readers only; a box that exists only through its children is neither.
    const visible = place.width > 1 && node.checkVisibility({ visibilityProperty: true });
    if (getComputedStyle(node).display !== "contents" && !visible) continue;
    const box = {
      x: place.left - frame.left,
      y: place.top - frame.top,
      width: place.width,
      height: place.height,
    };
    if (node instanceof HTMLCanvasElement) {
      // A row of images may be longer than its place.
      const width = Math.min(box.width, clip.right - place.left);
      const size = `width="${round(box.width)}" height="${round(box.height)}"`;
      const image = `<image ${size} preserveAspectRatio="none" href="${node.toDataURL()}"/>`;
      items.push(item({ ...box, width }, (at) => `<svg ${at}>${image}</svg>`));
    } else if (node instanceof SVGSVGElement) {
      items.push(item(box, (at) => `<svg ${at} viewBox="${viewBox(node)}" overflow="visible">${inlined(node)}</svg>`));
    } else {
      items.push(...borders(node, box));
      collect(node, frame, getComputedStyle(node).overflowX === "hidden" ? place : clip, items);
    }
  }
}

/**
 * @param {{x: number, y: number, width: number, height: number}} box
 * @param {(at: string) => string} draw
 * @returns {Item}
 */
function item({ x, y, width, height }, draw) {
  const rest = `x="${round(x)}" width="${round(width)}" height="${round(height)}"`;
  return { top: y, bottom: y + height, svg: (dy) => draw(`${rest} y="${round(y + dy)}"`) };
}

/**
 * The lines of a text, each where the browser broke it.
 * @param {Text} text
 * @param {DOMRect} frame
 */
function* lines(text, frame) {
  const parent = text.parentElement;
  if (!parent || text.data.trim() === "") return;
  const style = getComputedStyle(parent);
  const range = document.createRange();
  /** @type {{left: number, right: number, top: number, height: number, words: string}[]} */
  const all = [];
  // Letter by letter: a line may also break within a word.
  for (const { 0: letter, index } of text.data.matchAll(/./gsu)) {
    range.setStart(text, index);
    range.setEnd(text, index + letter.length);
    const [place] = range.getClientRects();
    // Narrow spaces and those that do not break are set as they are; the others may stand for line ends.
    const space = /[ \t\r\n]/.test(letter);
    const line = all.at(-1);
    if (!place || (space && (place.width === 0 || !line))) continue;
    if (line && Math.abs(line.top - place.top) < 2) {
      line.words += space ? " " : letter;
      if (!space) line.right = place.right;
    } else if (!space) {
      const { left, right, top, height } = place;
      all.push({ left, right, top, height, words: letter });
    }
  }
  const pen = pens(style);
  for (const { left, right, top, height, words } of all) {
    const y = top - frame.top;
    yield {
      top: y,
      bottom: y + height,
      /** @param {number} dy */
      svg: (dy) =>
        `<text x="${round(left - frame.left)}" y="${round(y + dy + pen.ascent)}" textLength="${round(right - left)}" ` +
        `${pen.attributes}>${escapeXml(words.replace(/ +$/, ""))}</text>`,
    };
  }
}

/** @type {CanvasRenderingContext2D | null | undefined} */
let measure;

/** How a text is set, and how far its baseline lies below its top. @param {CSSStyleDeclaration} style */
function pens(style) {
  const { fontFamily, fontSize, fontStyle, fontWeight, color } = style;
  measure ??= document.createElement("canvas").getContext("2d");
  if (measure) measure.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  return {
    ascent: measure?.measureText("x").fontBoundingBoxAscent ?? 0,
    attributes:
      `font-family="${escapeXml(fontFamily)}" font-size="${fontSize}" font-style="${fontStyle}" ` +
      `font-weight="${fontWeight}" fill="${color}"`,
  };
}

/**
 * Backgrounds and rules of an element.
 * @param {Element} element
 * @param {{x: number, y: number, width: number, height: number}} box
 */
function* borders(element, box) {
  const style = getComputedStyle(element);
  if (!/^rgba\(.*, 0\)$|^transparent$/.test(style.backgroundColor)) {
    const fill = `fill="${style.backgroundColor}"`;
    // A key may be cut out of its box or stand on a corner of it.
    const outline = style.rotate === "45deg" ? "polygon(50% 0, 100% 50%, 50% 100%, 0 50%)" : style.clipPath;
    const corners = /^polygon\((.*)\)$/
      .exec(outline)?.[1]
      .split(",")
      .map((corner) => corner.match(/[\d.]+/g));
    if (corners) {
      yield item(box, (at) => `<svg ${at} viewBox="0 0 100 100"><path d="M${corners.join("L")}Z" ${fill}/></svg>`);
      return;
    }
    yield item(box, (at) => `<rect ${at} rx="${parseFloat(style.borderRadius) || 0}" ${fill}/>`);
  }
  for (const side of /** @type {const} */ (["Top", "Right", "Bottom", "Left"])) {
    const width = parseFloat(style[`border${side}Width`]);
    if (width === 0 || style[`border${side}Style`] === "none") continue;
    const colour = style[`border${side}Color`];
    const dash = style[`border${side}Style`] === "dashed" ? ` stroke-dasharray="${3 * width} ${2 * width}"` : "";
    if (side === "Top" && parseFloat(style.borderRadius) > 0) {
      const [x, y] = [box.x + width / 2, box.y + width / 2];
      const inner = { x, y, width: box.width - width, height: box.height - width };
      const radius = style.borderRadius.endsWith("%") ? inner.width / 2 : parseFloat(style.borderRadius);
      yield item(
        inner,
        (at) => `<rect ${at} rx="${round(radius)}" fill="none" stroke="${colour}" stroke-width="${width}"${dash}/>`,
      );
      return;
    }
    const across = side === "Top" || side === "Bottom";
    const x = side === "Right" ? box.x + box.width - width / 2 : box.x + (across ? 0 : width / 2);
    const y = side === "Bottom" ? box.y + box.height - width / 2 : box.y + (across ? width / 2 : 0);
    yield {
      top: y,
      bottom: across ? y : y + box.height,
      /** @param {number} dy */
      svg: (dy) =>
        `<path d="M${round(x)} ${round(y + dy)}${across ? `h${round(box.width)}` : `v${round(box.height)}`}" ` +
        `stroke="${colour}" stroke-width="${width}"${dash}/>`,
    };
  }
}

/**
 * The inside of a chart with its styles written into it.
 * @param {SVGSVGElement} svg
 */
function inlined(svg) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const originals = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of STYLED) {
      const value = style.getPropertyValue(name);
      if (
        value &&
        value !== getComputedStyle(/** @type {Element} */ (originals[i].parentElement)).getPropertyValue(name)
      )
        element.setAttribute(name, value);
      // What the parent says already need not be said again, nor in terms of the page's variables.
      else if (element.getAttribute(name)?.includes("var(") || element.getAttribute(name) === "currentColor")
        element.removeAttribute(name);
    }
    element.removeAttribute("class");
  });
  const root = getComputedStyle(svg);
  const inherited = STYLED.map((name) => `${name}="${escapeXml(root.getPropertyValue(name))}"`).join(" ");
  const serializer = new XMLSerializer();
  const inside = [...copy.childNodes].map((child) => serializer.serializeToString(child)).join("");
  return `<g ${inherited}>${inside.replaceAll(' xmlns="http://www.w3.org/2000/svg"', "")}</g>`;
}

/** @param {SVGSVGElement} svg */
const viewBox = (svg) => svg.getAttribute("viewBox") ?? `0 0 ${svg.clientWidth} ${svg.clientHeight}`;

/**
 * Draw items where they stand, with the gaps between them closed.
 * @param {Item[]} items
 */
export function stack(items) {
  const order = items.toSorted((a, b) => a.top - b.top);
  let dy = -(order[0]?.top ?? 0);
  let end = order[0]?.top ?? 0;
  const shifts = new Map();
  for (const item of order) {
    dy -= Math.max(0, item.top - end - GAP);
    shifts.set(item, dy);
    end = Math.max(end, item.bottom);
  }
  return { body: items.map((item) => item.svg(shifts.get(item))).join("\n"), height: Math.ceil(end + dy) };
}

/**
 * The page's faces that `svg` is set in, as rules that carry the fonts.
 * @param {string} svg
 */
async function usedFonts(svg) {
  const rules = [...document.styleSheets].flatMap((sheet) =>
    [...sheet.cssRules].filter((rule) => rule instanceof CSSFontFaceRule),
  );
  const used = rules.filter(({ style }) => {
    const weight = style.getPropertyValue("font-weight") || "400";
    const slant = style.getPropertyValue("font-style") || "normal";
    const family = style.getPropertyValue("font-family").replaceAll('"', "");
    // Charts inherit most of their type, so only the family is looked for there.
    return (
      svg.includes(escapeXml(`"${family}"`)) &&
      svg.includes(`font-style="${slant}"`) &&
      svg.includes(`font-weight="${weight}"`)
    );
  });
  const texts = await Promise.all(
    used.map(async (rule) => {
      const address = /url\("?([^")]+)"?\)/.exec(rule.style.getPropertyValue("src"))?.[1];
      if (!address) return "";
      const response = await fetch(new URL(address, rule.parentStyleSheet?.href ?? document.baseURI));
      const bytes = new Uint8Array(await response.arrayBuffer());
      const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
      const range = rule.style.getPropertyValue("unicode-range");
      return (
        `@font-face{font-family:${rule.style.getPropertyValue("font-family")};` +
        `font-weight:${rule.style.getPropertyValue("font-weight") || 400};` +
        `font-style:${rule.style.getPropertyValue("font-style") || "normal"};` +
        `${range ? `unicode-range:${range};` : ""}src:url(data:font/woff2;base64,${data}) format("woff2")}`
      );
    }),
  );
  return texts.join("");
}

/**
 * A colour of the page, as numbers.
 * @param {Element} element
 * @param {string} variable
 */
function colourOf(element, variable) {
  const probe = document.createElement("span");
  probe.style.color = `var(${variable})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** @param {number} value */
const round = (value) => Math.round(100 * value) / 100;

/** @param {string} text */
export const escapeXml = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
