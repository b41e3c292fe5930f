/**
 * An SVG as a bitmap, painted by the browser.
 * @param {string} svg as `figureSvg` makes it
 * @param {number} scale pixels of the bitmap per pixel of the picture
 * @returns {Promise<Blob>}
 */
export async function rasterize(svg, scale) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = scale * image.naturalWidth;
    canvas.height = scale * image.naturalHeight;
    await paint(canvas, image);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no bitmap of this figure")))),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Milliseconds between two looks at a picture, and how many of them must be alike. */
const LOOK_MS = 100;
const ALIKE = 3;
/** After so many looks it is as good as it gets. */
const MOST_LOOKS = 30;

/**
 * Chromium calls a picture decoded before the fonts inside it are, and leaves out their text until then: paint until nothing
 * changes any more.
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLImageElement} image
 */
async function paint(canvas, image) {
  const { width, height } = canvas;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) return;
  for (let looks = 0, alike = 0, before = NaN; alike < ALIKE && looks < MOST_LOOKS; looks++) {
    context.clearRect(0, 0, width, height);
    context.drawImage(image, 0, 0, width, height);
    const sum = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer).reduce(
      (all, pixel) => all + pixel,
      0,
    );
    alike = sum === before ? alike + 1 : 0;
    before = sum;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
