/** Figure I.1: one noisy image, two exact denoisers, and the softmax weights behind the first. */
import { barY, ruleY, text } from "@observablehq/plot";
import { chart } from "../ui/chart.js";
import { setEnd } from "../ui/controls.js";
import { HIGH_NOISE } from "../reports/denoisers.js";
import { canvas, element, make, NARROW } from "../ui/dom.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { count, fixed, milliseconds, percent, significant } from "../ui/format.js";
import { drawPicture, pictureCount } from "../ui/images.js";

/**
 * @import { DenoiseResult } from "../engine/protocol.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/** Bars of the chart, on a wide screen and on a phone. The style sheet hides the images of the missing ones. */
const BARS = 16;
const BARS_NARROW = 8;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function denoiseFigure(root, page) {
  const pictures = {
    clean: canvas(root, "clean"),
    noisy: canvas(root, "noisy"),
    empirical: canvas(root, "empirical"),
    gaussian: canvas(root, "gaussian"),
  };
  const heaviest = Array.from({ length: BARS }, () => ({ canvas: make("canvas"), weight: make("span", {}, "\u00a0") }));
  element(root, "heaviest").append(...heaviest.map(({ canvas, weight }) => make("li", {}, canvas, weight)));
  const drawWeights = weightsChart(element(root, "weights"));
  const source = canvas(root, "source");
  const latency = element(root, "latency");
  const picked = element(root, "picked");
  let answers = 0;

  liveFigure(root, page, {
    reads: [...SETTING, "denoise.split", "denoise.image", "denoise.sigma", "denoise.seed"],
    compute: (values, lane) =>
      lane.call("denoise", {
        setting: setting(values),
        split: values["denoise.split"],
        image: values["denoise.image"] - 1,
        sigma: values["denoise.sigma"],
        seed: values["denoise.seed"],
      }),
    draw(result, elapsedMs) {
      for (const name of /** @type {(keyof typeof pictures)[]} */ (Object.keys(pictures))) {
        drawPicture(pictures[name], result[name]);
      }
      const shown = pictureCount(result.heaviest);
      heaviest.forEach(({ canvas, weight }, i) => {
        canvas.hidden = i >= shown;
        weight.textContent = i < shown ? percent(result.weights[i]) : "";
        if (i < shown) {
          drawPicture(canvas, result.heaviest, i);
          describe(canvas, `Training image ${result.indices[i] + 1}`);
        }
      });
      drawPicture(source, result.heaviest);
      describe(source, `Training image ${result.indices[0] + 1}, which has ${percent(result.weights[0])} of the weight`);
      drawWeights(result);
      // The picture that the page begins with is one of the faces.
      picked.hidden = page.store.values.data !== "faces";
      // The first answer waits for the engine to start, which says nothing about its speed.
      if (latency.parentElement) latency.parentElement.hidden = answers++ === 0;
      latency.textContent = milliseconds(elapsedMs);
      latency.title = `${milliseconds(elapsedMs)} from the slider to the answer, ${fixed(result.elapsedMs, 1)} ms of it in the engine`;
      tell(result);
    },
  });

  /** @param {DenoiseResult} result */
  function tell({ n, image, imageCount, rmse, weights, effective }) {
    const { "denoise.sigma": sigma, "denoise.split": split } = page.store.values;
    const images = share(effective);
    setEnd(root, "denoise.image", imageCount);
    page.live.set({
      "denoise.n": count(n),
      "denoise.sigma": significant(sigma),
      "denoise.image": `${count(image + 1)} of ${count(imageCount)}`,
      "denoise.effective": images,
      "denoise.largest": percent(weights[0]),
      "denoise.rmse.empirical": fixed(rmse.empirical),
      "denoise.rmse.gaussian": fixed(rmse.gaussian),
    });
    page.live.claim(
      "denoise.heldOut",
      split === "heldOut" && sigma < HIGH_NOISE ? rmse.gaussian < rmse.empirical : undefined,
    );
    describe(pictures.clean, `Clean ${split === "train" ? "training" : "held-out"} image ${image + 1}`);
    describe(pictures.noisy, `The same image with noise of standard deviation ${significant(sigma)}`);
    describe(pictures.empirical, `Answer of the empirical denoiser, ${fixed(rmse.empirical)} from the clean image`);
    describe(pictures.gaussian, `Answer of the Gaussian denoiser, ${fixed(rmse.gaussian)} from the clean image`);
    page.live.announce(
      `Noise level ${significant(sigma)}: the empirical denoiser averages ${images} of ${count(n)} images; ` +
        `its error is ${fixed(rmse.empirical)}, the Gaussian denoiser’s ${fixed(rmse.gaussian)}.`,
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
      label: ({ weights, effective, n }) =>
        `Largest softmax weights: the first image has ${percent(weights[0])}; effectively ${share(effective)} of ${count(n)} images share the answer`,
      columns: ["Rank", "Training image", "Weight"],
      rows: ({ weights, indices }) => [...weights].map((weight, i) => [i + 1, indices[i] + 1, significant(weight, 4)]),
      options({ weights, effective, n }, width) {
        const bars = width < NARROW ? BARS_NARROW : BARS;
        const ranks = Array.from({ length: bars }, (_, i) => i);
        const levels = [
          { share: 0.5, label: "50 %" },
          { share: 1, label: "100 %" },
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
            ruleY(levels, { y: "share", stroke: "var(--line)" }),
            text(levels, { y: "share", text: "label", frameAnchor: "right", dy: -6, fill: "var(--muted)" }),
            barY(ranks.slice(0, weights.length), { x: (rank) => rank, y: (rank) => weights[rank], fill: "var(--d-m)" }),
            ruleY([0], { stroke: "var(--muted)" }),
            text([`${share(effective)} of ${count(n)} images`], {
              text: (label) => label,
              frameAnchor: "top-right",
              dy: 14,
              className: "chart-figure",
            }),
            text(["effectively share the answer: exp(entropy)"], {
              text: (label) => label,
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
const share = (effective) => (effective < 10 ? fixed(effective, 1) : count(Math.round(effective)));

/** @param {HTMLCanvasElement} picture @param {string} label */
function describe(picture, label) {
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", label);
}
