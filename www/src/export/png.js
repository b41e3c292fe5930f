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
    // With the fonts inside the picture.
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = scale * image.naturalWidth;
    canvas.height = scale * image.naturalHeight;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no bitmap of this figure")))),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}
