/** Beside Figure V.5: the model of random features, whose loss over training is known in closed form. It is computed here. */
import { dot, line, ruleY, text } from "@observablehq/plot";
import { toFailure } from "../engine/protocol.js";
import { chart } from "../ui/chart.js";
import { element, part } from "../ui/dom.js";
import { count, duration, fixed, list, range, significant } from "../ui/format.js";
import { axisName, blend, HALO, title } from "../ui/marks.js";
import { showFailure } from "../ui/notice.js";
import { comesNear } from "./figure.js";

/**
 * @import { RandomFeaturesCurves } from "../../pkg/hidden_gaussian.js"
 * @import { ChartSpec } from "../ui/chart.js"
 * @import { Page } from "./figure.js"
 */

/** d and ψ_p of the model, and the numbers of training images as multiples ψ_n of d. */
const [DIM, FEATURES] = [24, 32];
const RATIOS = [2, 4, 8, 16];
const SETTING = { dim: DIM, features: FEATURES, time: 0.1, draws: 64, tested: 8192 };
const HEIGHT = 300;
/** Losses above this are off the chart. */
const TOP = 3;
/** From this part of the work on, the time that it took tells how long the rest takes. */
const TELLING = 0.02;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function randomFeatures(root, { store, live, spareEngine }) {
  const draw = lossChart(element(root, "features-chart"));
  const button = part(root, "features-run", HTMLButtonElement);
  const progress = part(root, "features-progress", HTMLProgressElement);
  const status = element(root, "features-status");
  const errors = element(root, "features-error");
  // The page's engine has more urgent things to do.
  const client = spareEngine();
  let running = false;
  // The axes stand from the start.
  draw([]);

  const run = async () => {
    running = true;
    button.textContent = "Cancel";
    progress.hidden = false;
    progress.value = 0;
    errors.hidden = true;
    root.dataset.state = "running";
    /** @type {RandomFeaturesCurves[]} */
    const solved = [];
    const all = RATIOS.reduce((sum, ratio) => sum + ratio, 0);
    let done = 0;
    const start = performance.now();
    /** @param {number} ratio that is being solved @param {number} [part] of it that is done */
    const show = (ratio, part = 0) => {
      progress.value = (done + ratio * part) / all;
      status.textContent = progressText(ratio, progress.value, (performance.now() - start) / 1000);
    };
    try {
      for (const ratio of RATIOS) {
        show(ratio);
        client.onevent = (event) => {
          // The worker says how far it is in percent.
          if (event.event === "busy" && event.text) show(ratio, Number(event.text) / 100);
        };
        const setting = { ...SETTING, seed: store.values["clocks.featuresSeed"] };
        solved.push(await client.call("randomFeatures", { setting, images: ratio * DIM }));
        done += ratio;
        draw(solved);
      }
      tell(solved);
      status.textContent = `Solved in ${duration((performance.now() - start) / 1000)}.`;
      root.dataset.state = "done";
    } catch (thrown) {
      const failure = toFailure(thrown);
      root.dataset.state = "idle";
      status.textContent = `Stopped after ${solved.length} of ${RATIOS.length} training sets.`;
      if (failure.kind !== "Cancelled") showFailure(errors, failure, () => void run());
    }
    client.close();
    running = false;
    progress.hidden = true;
    button.textContent = "Compute it again";
  };
  button.addEventListener("click", () => (running ? client.close() : void run()));
  store.subscribe(["clocks.featuresSeed"], () => {
    client.close();
    void run();
  });
  // It takes a while: it starts with the whole figure, which on a phone is far above.
  void comesNear(root.closest("figure") ?? root).then(() => running || void run());

  /** @param {RandomFeaturesCurves[]} solved */
  function tell(solved) {
    const generalized = solved.map((curves) => curves.generalized);
    const memorized = solved.map((curves) => curves.memorized);
    const [first, last] = [solved[0], solved[solved.length - 1]];
    live.set({
      "features.generalized": range(generalized, (time) => significant(time, 2)),
      "features.memorized": list(memorized.map((time) => significant(time, 2))),
      "features.first": fixed(first.test.at(-1) ?? NaN),
      "features.last": fixed(last.test.at(-1) ?? NaN),
    });
    live.claim("features.generalized", Math.max(...generalized) <= 2 * Math.min(...generalized));
    // While there are far fewer images than features.
    live.claim("features.memorized", memorized[1] >= 1.5 * memorized[0] && memorized[2] >= 1.2 * memorized[1]);
    live.announce("The random-features model is solved.");
  }
}

/**
 * What is being solved, and how long the rest takes.
 * @param {number} ratio of the training set that is being solved
 * @param {number} part of all the work that is done
 * @param {number} seconds that it took
 */
export function progressText(ratio, part, seconds) {
  const place = `Solving ${RATIOS.indexOf(ratio) + 1} of ${RATIOS.length}: n = ${count(ratio * DIM)} images`;
  return part < TELLING ? `${place}.` : `${place}, about ${duration(seconds * (1 / part - 1))} left in all.`;
}

/** @param {HTMLElement} root */
function lossChart(root) {
  return chart(
    root,
    /** @type {ChartSpec<RandomFeaturesCurves[]>} */ ({
      name: "random-features model",
      label: (solved) =>
        `Loss of the random-features model over training time: ${
          solved
            .map(
              ({ images, generalized, memorized }) =>
                `with ${count(images)} images lowest at τ = ${significant(generalized, 2)}, memorized by ${significant(memorized, 2)}`,
            )
            .join("; ") || "not solved yet"
        }`,
      columns: ["ψ_n", "Images", "τ", "Training loss", "Test loss"],
      rows: (solved) =>
        solved.flatMap(({ images, times, train, test }) =>
          times.map((time, i) => [
            count(images / DIM),
            count(images),
            significant(time),
            fixed(train[i], 3),
            fixed(test[i], 3),
          ]),
        ),
      options(solved) {
        const curves = solved.map(({ times, train, test, ...rest }, i) => ({
          ...rest,
          colour: blend("var(--d-m)", "var(--d-theta)", i / (RATIOS.length - 1)),
          points: times.map((time, at) => ({ time, train: train[at], test: test[at] })),
        }));
        return {
          height: HEIGHT,
          marginTop: 28,
          marginBottom: 40,
          marginLeft: 34,
          marginRight: 60,
          x: {
            type: "log",
            label: null,
            domain: [0.1, 1e6],
            ticks: [0.1, 10, 1000, 100_000],
            tickFormat: (/** @type {number} */ x) => significant(x),
            tickSize: 4,
          },
          y: { domain: [0, TOP], clamp: true, label: null, ticks: [0, 1, 2, 3], tickSize: 0 },
          marks: [
            ruleY([0], { stroke: "var(--muted)" }),
            ruleY([1], { stroke: "var(--line)" }),
            title("Loss: test, and training (dashed)", { dx: -34, dy: -24 }),
            axisName("training time τ"),
            ...curves.flatMap(({ points, colour, generalized, memorized, images }) => {
              const at = (/** @type {number} */ time) => points.filter((point) => point.time === time);
              return [
                line(points, { x: "time", y: "test", stroke: colour, strokeWidth: 2 }),
                line(points, { x: "time", y: "train", stroke: colour, strokeWidth: 1.5, strokeDasharray: "3 3" }),
                dot(at(generalized), { x: "time", y: "test", r: 4.5, fill: colour, stroke: "var(--paper)" }),
                dot(at(memorized), {
                  x: "time",
                  y: "test",
                  r: 4.5,
                  symbol: "square2",
                  fill: colour,
                  stroke: "var(--paper)",
                }),
                text(points.slice(-1), {
                  x: "time",
                  y: "test",
                  text: () => `n = ${count(images)}`,
                  dx: 6,
                  textAnchor: "start",
                  ...HALO,
                }),
              ];
            }),
          ],
        };
      },
    }),
  );
}
