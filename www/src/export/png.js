/**
 * The SVG of a figure as a bitmap, painted element by element. The browser itself would only paint a picture that it loads
 * from an address, and the page's content security policy knows no addresses but the page's own. The page has its fonts
 * loaded, too; those inside a picture would have to be waited for.
 */

/** What an element takes over from the one around it, and how that begins. */
export const INITIAL = {
  fill: "black",
  "fill-opacity": "1",
  stroke: "none",
  "stroke-opacity": "1",
  "stroke-width": "1",
  "stroke-dasharray": "none",
  "stroke-linecap": "butt",
  "stroke-linejoin": "miter",
  "paint-order": "normal",
  "font-family": "sans-serif",
  "font-size": "16px",
  "font-style": "normal",
  "font-weight": "400",
  "text-anchor": "start",
};

/** @typedef {CanvasRenderingContext2D} Context */
/** @typedef {typeof INITIAL} Style */
/** @typedef {(name: string) => number} Lengths an element's attributes in pixels; 0 for one that it has not */
/** @typedef {(context: Context, length: Lengths, style: Style, element: Element) => void | Promise<void>} Painter */

/**
 * @param {string} svg as `figureSvg` makes it
 * @param {number} scale pixels of the bitmap to one of the picture
 * @returns {Promise<Blob>}
 */
export async function rasterize(svg, scale) {
  // Its rules and fonts are for other programs: here they are known, and the page's policy would complain about them.
  const bare = svg.replace(/<style>.*?<\/style>/s, "");
  const root = new DOMParser().parseFromString(bare, "image/svg+xml").documentElement;
  const canvas = document.createElement("canvas");
  canvas.width = scale * Number(root.getAttribute("width"));
  canvas.height = scale * Number(root.getAttribute("height"));
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The browser gives no canvas to paint on");
  context.scale(scale, scale);
  context.imageSmoothingEnabled = false;
  // As in SVG; a canvas has 10.
  context.miterLimit = 4;
  await paint(root, context, INITIAL);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large"))), "image/png"),
  );
}

/**
 * An element, and then all that is in it.
 * @param {Element} element
 * @param {Context} context
 * @param {Style} inherited
 */
export async function paint(element, context, inherited) {
  const { tagName: tag } = element;
  if (tag === "title" || tag === "desc") return;
  // Better no picture than one that lacks something and does not say so.
  if (!(tag in PAINTERS)) throw new Error(`This figure has a <${tag}>, which cannot be painted as a bitmap`);
  const style = { ...inherited };
  for (const name of /** @type {(keyof Style)[]} */ (Object.keys(style))) {
    style[name] = element.getAttribute(name) ?? style[name];
  }
  /** @type {Lengths} */
  const length = (name) => {
    const value = element.getAttribute(name) ?? "0";
    return parseFloat(value) * (value.endsWith("em") ? parseFloat(style["font-size"]) : 1);
  };
  context.save();
  if (element instanceof SVGGraphicsElement) {
    const matrix = element.transform.baseVal.consolidate()?.matrix;
    if (matrix) context.transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f);
  }
  // For a group this is right where nothing in it overlaps.
  context.globalAlpha *= Number(element.getAttribute("opacity") ?? 1);
  await PAINTERS[tag](context, length, style, element);
  for (const child of element.children) await paint(child, context, style);
  context.restore();
}

/** All that figures are made of. @type {Record<string, Painter>} */
const PAINTERS = {
  g() {},

  svg(context, length, _, element) {
    const [width, height] = [length("width"), length("height")];
    context.translate(length("x"), length("y"));
    if (element.getAttribute("overflow") !== "visible") {
      context.beginPath();
      context.rect(0, 0, width, height);
      context.clip();
    }
    const [left, top, wide, high] = (element.getAttribute("viewBox") ?? `0 0 ${width} ${height}`).split(" ").map(Number);
    // As large as it fits, in the middle.
    const scale = Math.min(width / wide, height / high);
    context.translate((width - scale * wide) / 2, (height - scale * high) / 2);
    context.scale(scale, scale);
    context.translate(-left, -top);
  },

  rect(context, length, style) {
    const path = new Path2D();
    const [width, height, radius] = [length("width"), length("height"), length("rx")];
    const corner = { x: Math.min(radius, width / 2), y: Math.min(radius, height / 2) };
    path.roundRect(length("x"), length("y"), width, height, corner);
    draw(context, style, path);
  },

  circle(context, length, style) {
    const path = new Path2D();
    path.arc(length("cx"), length("cy"), length("r"), 0, 2 * Math.PI);
    draw(context, style, path);
  },

  line(context, length, style) {
    draw(context, style, new Path2D(`M${length("x1")} ${length("y1")}L${length("x2")} ${length("y2")}`));
  },

  path(context, _, style, element) {
    draw(context, style, new Path2D(element.getAttribute("d") ?? ""));
  },

  async text(context, length, style, element) {
    const words = element.textContent ?? "";
    // Digits are lining and tabular in the page's faces, so that nothing has to ask for it.
    context.font = `${style["font-style"]} ${style["font-weight"]} ${parseFloat(style["font-size"])}px ${style["font-family"]}`;
    await document.fonts.load(context.font, words);
    context.textAlign = style["text-anchor"] === "middle" ? "center" : style["text-anchor"] === "end" ? "right" : "left";
    context.translate(length("x"), length("y"));
    // As wide as on the screen, where letters may be spaced.
    const wanted = length("textLength");
    if (wanted > 0) context.scale(wanted / context.measureText(words).width, 1);
    draw(context, style, words);
  },

  async image(context, length, _, element) {
    const [kind, data] = (element.getAttribute("href") ?? "").split(";base64,");
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: kind.replace("data:", "") }));
    context.drawImage(bitmap, length("x"), length("y"), length("width"), length("height"));
  },
};

/**
 * Fill and outline a shape, or words that stand where the context does.
 * @param {Context} context
 * @param {Style} style
 * @param {Path2D | string} shape
 */
function draw(context, style, shape) {
  const alpha = context.globalAlpha;
  const fill = () => {
    if (style.fill === "none") return;
    context.fillStyle = style.fill;
    context.globalAlpha = alpha * Number(style["fill-opacity"]);
    if (typeof shape === "string") context.fillText(shape, 0, 0);
    else context.fill(shape);
  };
  const outline = () => {
    if (style.stroke === "none") return;
    context.strokeStyle = style.stroke;
    context.globalAlpha = alpha * Number(style["stroke-opacity"]);
    context.lineWidth = parseFloat(style["stroke-width"]);
    context.lineCap = /** @type {CanvasLineCap} */ (style["stroke-linecap"]);
    context.lineJoin = /** @type {CanvasLineJoin} */ (style["stroke-linejoin"]);
    context.setLineDash(style["stroke-dasharray"].match(/[\d.]+/g)?.map(Number) ?? []);
    if (typeof shape === "string") context.strokeText(shape, 0, 0);
    else context.stroke(shape);
  };
  // Words with a halo have it behind them.
  for (const step of style["paint-order"].startsWith("stroke") ? [outline, fill] : [fill, outline]) step();
}
