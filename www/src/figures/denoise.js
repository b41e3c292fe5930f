/** Figure I.1: one noisy image, the exact denoisers, and the softmax weights behind D_M. */
import { barY, ruleY, text } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { setEnd } from "../ui/controls.js";
import { FITTED } from "../reports/denoisers.js";
import { HIGH_NOISE } from "../reports/verdicts.js";
import { canvas, element, make, NARROW } from "../ui/dom.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { count, fixed, milliseconds, percent, significant } from "../ui/format.js";
import { drawPicture, pictureCount } from "../ui/images.js";

/**
 * @import { DenoiseResult } from "../engine/protocol.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Fitted } from "../ui/work-bar.js"
 * @import { Page } from "./figure.js"
 */

/** Bars of the chart, on a wide screen and on a phone. The style sheet hides the images of the missing ones. */
const BARS = 16;
const BARS_NARROW = 8;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {(fitted: Fitted) => void} settled told what the denoisers on the screen are fitted to
 */
export function denoiseFigure(root, page, settled) {
  const clean = canvas(root, "clean");
  const noisy = canvas(root, "noisy");
  const heaviest = Array.from({ length: BARS }, () => ({ canvas: make("canvas"), weight: make("span", {}, "\u00a0") }));
  element(root, "heaviest").append(...heaviest.map(({ canvas, weight }) => make("li", {}, canvas, weight)));
  const drawWeights = weightsChart(element(root, "weights"));
  const source = canvas(root, "source");
  const latency = element(root, "latency");
  const picked = element(root, "picked");
  let drawn = 0;

  liveFigure(root, page, {
    reads: [...SETTING, "denoise.split", "denoise.image", "denoise.sigma", "denoise.seed"],
    async compute(values, lane) {
      const result = await lane.call("denoise", {
        setting: setting(values),
        split: values["denoise.split"],
        image: values["denoise.image"] - 1,
        sigma: values["denoise.sigma"],
        seed: values["denoise.seed"],
      });
      return result && { ...result, setting: { data: values.data, n: values.n } };
    },
    draw(result, elapsedMs) {
      settled(result.setting);
      drawPicture(clean, result.clean);
      drawPicture(noisy, result.noisy);
      for (const { id } of FITTED) {
        const denoised = result.denoisers[id];
        if (denoised) drawPicture(canvas(root, id), denoised.picture);
      }
      const { weights, indices } = result.posterior;
      const shown = pictureCount(result.heaviest);
      heaviest.forEach(({ canvas, weight }, i) => {
        canvas.hidden = i >= shown;
        weight.textContent = i < shown ? percent(weights[i]) : "";
        if (i < shown) {
          drawPicture(canvas, result.heaviest, i);
          describe(canvas, `Training image ${indices[i] + 1}`);
        }
      });
      drawPicture(source, result.heaviest);
      describe(
        source,
        `Training image ${indices[0] + 1}${named(result.labels.heaviest)}, which has ${percent(weights[0])} of the weight`,
      );
      drawWeights(result);
      // The picture that the page begins with is one of the faces.
      picked.hidden = page.store.values.data !== "faces";
      // The first result waits for the engine to start, which says nothing about its speed.
      if (latency.parentElement) latency.parentElement.hidden = drawn++ === 0;
      latency.textContent = milliseconds(elapsedMs);
      latency.title = `${milliseconds(elapsedMs)} from the slider to the picture, ${fixed(result.elapsedMs, 1)} ms of it in the engine`;
      tell(result);
    },
  });

  /** @param {DenoiseResult} result */
  function tell({ n, image, imageCount, denoisers, labels, posterior: { weights, effective } }) {
    const { "denoise.sigma": sigma, "denoise.split": split } = page.store.values;
    const images = effectiveCount(effective);
    const errors = FITTED.map((row) => ({ ...row, rmse: denoisers[row.id]?.rmse ?? NaN }));
    const [gaussian, empirical] = [denoisers.gaussian?.rmse ?? NaN, denoisers.empirical?.rmse ?? NaN];
    setEnd(root, "denoise.image", imageCount);
    page.live.set({
      "denoise.n": count(n),
      "denoise.sigma": significant(sigma),
      "denoise.image": `${count(image + 1)} of ${count(imageCount)}`,
      "denoise.label": labels.clean ?? "",
      "denoise.source": labels.heaviest ?? "training image",
      "denoise.effective": images,
      "denoise.largest": percent(weights[0]),
      ...Object.fromEntries(errors.map(({ id, rmse }) => [`denoise.rmse.${id}`, fixed(rmse)])),
    });
    page.live.claim("denoise.heldOut", split === "heldOut" && sigma < HIGH_NOISE ? gaussian < empirical : undefined);
    describe(clean, `Clean ${split === "train" ? "training" : "held-out"} image ${image + 1}${named(labels.clean)}`);
    describe(noisy, `The same image with noise of standard deviation ${significant(sigma)}`);
    for (const { id, label, rmse } of errors) {
      describe(canvas(root, id), `Output of the ${label}, ${fixed(rmse)} from the clean image`);
    }
    page.live.announce(
      `Noise level ${significant(sigma)}: effectively ${images} of ${count(n)} images contribute. ` +
        `Errors: ${errors.map(({ label, rmse }) => `${label} ${fixed(rmse)}`).join(", ")}.`,
    );
  }
}

/**
 * The largest weights as bars; each stands above its training image.
 * @param {HTMLElement} root
 */
function weightsChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<DenoiseResult>} */ ({
      name: "largest softmax weights",
      label: ({ posterior: { weights, effective }, n }) =>
        `Largest softmax weights: the first image has ${percent(weights[0])}; effectively ${effectiveCount(effective)} of ${count(n)} images contribute`,
      columns: ["Rank", "Training image", "Weight"],
      rows: ({ posterior: { weights, indices } }) =>
        [...weights].map((weight, i) => [i + 1, indices[i] + 1, significant(weight, 4)]),
      options({ posterior: { weights, effective }, n }, width) {
        const bars = width < NARROW ? BARS_NARROW : BARS;
        const ranks = Array.from({ length: bars }, (_, i) => i);
        const levels = [
          { weight: 0.5, label: "50 %" },
          { weight: 1, label: "100 %" },
        ];
        return {
          height: 150,
          marginTop: 18,
          marginBottom: 1,
          marginLeft: 0,
          marginRight: 0,
          x: { axis: null, domain: ranks, padding: 0.24 },
          y: { axis: null, domain: [0, 1] },
          marks: [
            ruleY(levels, { y: "weight", stroke: "var(--line)" }),
            text(levels, { y: "weight", text: "label", frameAnchor: "right", dy: -6, fill: "var(--muted)" }),
            barY(ranks.slice(0, weights.length), {
              x: (rank) => rank,
              y1: 0,
              y2: (rank) => weights[rank],
              fill: "var(--d-m)",
            }),
            ruleY([0], { stroke: "var(--muted)" }),
            text([`${effectiveCount(effective)} of ${count(n)} images`], {
              frameAnchor: "top-right",
              dy: 14,
              className: "chart-figure",
            }),
            text(["contribute effectively: exp(entropy of the weights)"], {
              frameAnchor: "top-right",
              dy: 34,
              fill: "var(--muted)",
            }),
          ],
        };
      },
    }),
  );
}

/** An effective number of images; below ten its fraction counts. @param {number} effective */
const effectiveCount = (effective) => (effective < 10 ? fixed(effective, 1) : count(Math.round(effective)));

/** What an image shows, if that is known. @param {string | undefined} label */
const named = (label) => (label ? `, ${label}` : "");

/** @param {HTMLCanvasElement} picture @param {string} label */
function describe(picture, label) {
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", label);
}
