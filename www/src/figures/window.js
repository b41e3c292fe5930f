/** Figure V.4: what an output pixel depends on. */
import { denoiser, TABLE } from "../reports/denoisers.js";
import { loadLeague, reachText, standingOf } from "../reports/league.js";
import { nearestStop } from "../reports/nearest.js";
import { provenance } from "../reports/provenance.js";
import { element, make } from "../ui/dom.js";
import { count, fixed, significant } from "../ui/format.js";
import { decodeImages, drawPicture } from "../ui/images.js";
import { runSlider } from "../ui/run-slider.js";
import { keepDrawn } from "./figure.js";

/**
 * @import { Field } from "../reports/league.js"
 * @import { Page } from "./figure.js"
 */

/** @param {HTMLElement} root @param {Page} page */
export function windowFigure(root, page) {
  const { store, live } = page;
  const showLevels = runSlider(element(root, "window-sigma"), store, "window.sigma");
  const fields = element(root, "fields");

  keepDrawn(root, page, {
    reads: ["league.run", "league.n", "window.sigma"],
    ask: (values) => loadLeague(values["league.run"]),
    draw(report) {
      const standing = standingOf(report, store.values["league.n"]);
      const levels = standing.sensitivity.map(({ sigma }) => sigma).sort((a, b) => a - b);
      const sigma = nearestStop(levels, store.values["window.sigma"]);
      showLevels(levels, sigma);
      const shown = standing.sensitivity.find((level) => level.sigma === sigma);
      if (!shown) return;
      const shape = { ...report.shape, channels: 1 };
      const rows = TABLE.flatMap(({ id }) => {
        const field = shown.fields[id];
        return field ? [{ id, field }] : [];
      });
      fields.replaceChildren(...rows.map(({ id, field }) => picture(id, field, shape)));
      const { trained, gaussian } = shown.fields;
      const reach = (/** @type {Field | undefined} */ field) => (field ? fixed(field.reach, 1) : "–");
      const reaches = standing.sensitivity.map((level) => level.fields.trained?.reach ?? NaN);
      const alike = gaussian && gaussian.cosine > 0.9;
      live.set({
        "window.sigma": significant(sigma),
        "window.n": count(standing.n),
        "window.trained": reach(trained),
        "window.gaussian": reach(gaussian),
        "window.farther": trained && gaussian ? reachText(trained.reach, gaussian.reach) : "–",
        "window.cosine": gaussian ? fixed(gaussian.cosine) : "–",
        "window.source": provenance(report),
      });
      live.claim("window.gaussian", alike, [standing]);
      // The list begins with the highest noise.
      const grows = reaches.every((reach, i) => i === 0 || reach < reaches[i - 1]);
      live.claim("window.grows", reaches.length > 1 ? grows : undefined, [standing]);
      // A U-Net has convolutions, so it does not tell.
      live.claim("window.local", standing.architecture.kind === "mlp" ? alike : undefined, [standing]);
      root.dataset.origin = "recorded";
      page.contents.showReport(root, report);
      page.contents.showNumbers(root, () => [
        {
          title: `What the pixel in the middle depends on, at noise level ${significant(sigma)}`,
          columns: ["Denoiser", "Mean distance in pixels", "Cosine with the network’s field"],
          rows: rows.map(({ id, field }) => [denoiser(id).label, fixed(field.reach, 3), fixed(field.cosine, 3)]),
        },
      ]);
    },
  });
}

/**
 * A denoiser's field as a picture, with its numbers.
 * @param {Parameters<typeof denoiser>[0]} id
 * @param {Field} field
 * @param {import("../ui/images.js").ImageShape} shape
 */
function picture(id, { picture: images, reach, cosine }, shape) {
  const { label, short } = denoiser(id);
  const canvas = make("canvas", {
    role: "img",
    ariaLabel: `${label}: the pixel in the middle depends on inputs ${fixed(reach, 1)} pixels away on average`,
  });
  drawPicture(canvas, decodeImages(shape, images));
  const place = make(
    "div",
    {},
    make("h3", {}, make("span", { className: "key" }), short),
    canvas,
    make("p", {}, `${fixed(reach, 1)} px`, id === "trained" ? "" : `, cos ${fixed(cosine)}`),
  );
  place.dataset.denoiser = id;
  return place;
}
