/** "What does not reproduce here": its numbers, taken from the recorded runs when the section comes near. */
import { element, make } from "../ui/dom.js";
import { toFailure } from "../engine/protocol.js";
import { comesNear } from "./figure.js";
import { count, fixed, percent, significant } from "../ui/format.js";
import { loadIndex, loadRun } from "../reports/recorded.js";
import { linearityAt, networks, sizes, transition } from "../reports/transition.js";
import { ALIKE, DETAIL_SIGMA, FEW_COPIES, MIDDLE_SIGMA } from "../reports/verdicts.js";
import { showFailure } from "../ui/notice.js";
import { nearestStop } from "../reports/nearest.js";
import { ends } from "../reports/gaussian-bias.js";
import { cosineWith, levelOf, memorized, trained } from "../reports/report.js";
import { SET_TITLES } from "../state/data-sets.js";

/**
 * @import { DenoiserId, Linearity, Point } from "../../pkg/hidden_gaussian.js"
 * @import { Report } from "../reports/report.js"
 * @import { LiveText } from "../ui/live.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {Report<"transition">} Sweep
 * @typedef {Report<"gaussian-bias">} BiasReport
 */

/** The data sets that are compared, with their names. The table puts them in the order of what was measured. */
const SETS = Object.fromEntries(SET_TITLES);
/** Sizes at which the data sets are compared: on either side of the transition. */
const FEW = 32;
const MANY = 1024;
/** The noise levels at which the axes agree, by the text. */
const ALIGNED = [0.1, 3];
/** The level of the linearity in the table. */
const LINEARITY_SIGMA = 1;
/** A denoiser is better than another when its error is at most this fraction of the other's. */
const BETTER = 0.97;

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function limitsSection(root, page) {
  const errors = element(root, "limits-error");
  const fill = async () => {
    errors.hidden = true;
    // Of the long runs, those that the host has: a claim without its run says that it is not tested.
    const files = (await loadIndex()).map(({ file }) => file);
    const names = Object.keys(SETS).filter((name) => files.includes(`transition-main-${name}.json`));
    const hasFaithful = files.includes("transition-faithful-faces.json");
    const hasCifar = files.includes("transition-cifar-cifar10.json");
    const hasPaper = files.includes("transition-cifar-cifar10-paper-sampler.json");
    const [bias, faithful, cifar, paper, ...sweeps] = await Promise.all([
      loadRun("gaussian-bias-main-faces"),
      hasFaithful ? loadRun("transition-faithful-faces") : undefined,
      hasCifar ? loadRun("transition-cifar-cifar10") : undefined,
      hasPaper ? loadRun("transition-cifar-cifar10-paper-sampler") : undefined,
      ...names.map((name) => loadRun(`transition-main-${name}`)),
    ]);
    const bySet = Object.fromEntries(names.map((name, i) => [name, sweeps[i]]));
    tellOfNetworks(page.live, bySet.faces);
    tellOfScale(page.live, { cifar, faces: faithful });
    tellOfUnet(page.live, faithful);
    tellOfPhotographs(page.live, cifar);
    element(root, "sampler").hidden = !paper;
    tellOfSampler(page.live, cifar, paper);
    tellOfLinear(page.live, bias);
    tellOfSets(page.live, element(root, "sets"), bySet);
    root.setAttribute("data-ready", "");
  };
  const attempt = () => void fill().catch((thrown) => showFailure(errors, toFailure(thrown), attempt));
  void comesNear(root).then(attempt);
}

/**
 * The columns of the table that are ours.
 * @param {LiveText} live
 * @param {Record<"cifar" | "faces", Sweep | undefined>} sweeps
 */
function tellOfScale(live, sweeps) {
  for (const [name, sweep] of Object.entries(sweeps)) {
    if (!sweep) continue;
    for (const [row, text] of Object.entries(scaleOf(sweep))) live.set({ [`limits.scale.${name}.${row}`]: text });
  }
  const { cifar } = sweeps;
  live.set({ "limits.scale.levels": cifar ? count(cifar.sigmas.length) : "–" });
  const found = cifar && transition(cifar);
  live.claim("limits.scale", found?.copies && found.new ? found.copies < 782 && found.new < 12_500 : undefined);
}

/** What the table says of a run. @param {Sweep} sweep */
function scaleOf(sweep) {
  const { width, height, channels } = sweep.shape;
  const { train, evaluation } = sweep.config;
  const { copies, new: fresh } = transition(sweep);
  const all = sizes(sweep);
  /** The lowest over all noise levels, averaged over seeds at each. @param {number} n */
  const lowest = (n) => {
    const points = networks(sweep, n);
    const levels = sweep.sigmas.map((_, level) => mean(points, (point) => linearityAt(trained(point), level)));
    return `${fixed(Math.min(...levels), 3)} (N = ${count(n)})`;
  };
  const { method, samplerSteps, sigmaMax, sigmaMin } = evaluation;
  return {
    images: `${width} × ${height}, ${channels === 3 ? "colour" : "grey"}`,
    many: count(all[all.length - 1]),
    weights: millions(sweep.findings[0].parameters),
    seen: millions(train.steps * train.batch),
    sampler: `${count(samplerSteps)} ${method === "heun" ? "Heun" : "Euler"} steps, ${significant(sigmaMax)} → ${significant(sigmaMin)}`,
    copies: copies === undefined ? "–" : count(copies),
    new: fresh === undefined ? "–" : count(fresh),
    linearityFew: lowest(all[0]),
    linearityMany: lowest(all[all.length - 1]),
  };
}

/** @param {number} number */
const millions = (number) => `${significant(number / 1e6, 2)} million`;

/**
 * @param {LiveText} live
 * @param {Sweep | undefined} cifar
 */
function tellOfPhotographs(live, cifar) {
  if (!cifar) return live.claim("limits.photographs", undefined);
  const last = largest(cifar);
  const { trained, gaussian } = errors(last, levelOf(cifar, DETAIL_SIGMA));
  const cosine = mean(last, gaussianCosine);
  live.set({
    "limits.photographs.n": count(last[0].n),
    "limits.photographs.trained": fixed(trained, 3),
    "limits.photographs.gaussian": fixed(gaussian, 3),
    "limits.photographs.cosine": fixed(cosine),
    "limits.photographs.epochs": significant(last[0].epochs, 2),
  });
  live.claim("limits.photographs", trained <= BETTER * gaussian && cosine >= ALIKE, last);
}

/**
 * Our sampler beside the paper's, on the same networks.
 * @param {LiveText} live
 * @param {Sweep | undefined} ours
 * @param {Sweep | undefined} paper
 */
function tellOfSampler(live, ours, paper) {
  if (!ours || !paper) return live.claim("limits.sampler", undefined);
  const [few, many] = [Math.min(...sizes(paper)), Math.max(...sizes(paper))];
  // The first seed is in both.
  const [seed] = paper.config.seeds;
  const measured = Object.entries({ ours, paper }).map(([name, sweep]) => {
    const of = (/** @type {number} */ n) => networks(sweep, n).filter((point) => point.seed === seed);
    const [copies, cosine] = [mean(of(few), copiesOf), mean(of(many), gaussianCosine)];
    live.set({
      [`limits.sampler.${name}.copies`]: percent(copies),
      [`limits.sampler.${name}.cosine`]: fixed(cosine),
    });
    return { copies, cosine };
  });
  live.set({ "limits.sampler.few": count(few), "limits.sampler.many": count(many) });
  const [first, second] = measured;
  live.claim("limits.sampler", second.copies < first.copies && Math.abs(first.cosine - second.cosine) < 0.02, [
    ...paper.findings,
  ]);
}

/**
 * @param {LiveText} live
 * @param {Sweep | undefined} faithful
 */
function tellOfUnet(live, faithful) {
  if (!faithful) return live.claim("limits.better", undefined);
  const last = largest(faithful);
  const { trained, gaussian } = errors(last, levelOf(faithful, DETAIL_SIGMA));
  live.set({
    "limits.better.trained": fixed(trained, 3),
    "limits.better.gaussian": fixed(gaussian, 3),
    "limits.better.cosine": fixed(mean(last, gaussianCosine)),
  });
  live.claim("limits.better", trained <= BETTER * gaussian, last);
}

/**
 * @param {LiveText} live
 * @param {Sweep} main
 */
function tellOfNetworks(live, main) {
  const detail = levelOf(main, DETAIL_SIGMA);
  const last = largest(main);
  const early = errors(last, detail);
  live.set({
    "limits.early.sigma": significant(main.sigmas[detail]),
    "limits.early.n": count(last[0].n),
    "limits.early.trained": fixed(early.trained, 3),
    "limits.early.gaussian": fixed(early.gaussian, 3),
  });
  live.claim("limits.early", early.trained > BETTER * early.gaussian, last);

  const few = networks(main, nearestStop(sizes(main), FEW));
  const copies = mean(few, copiesOf);
  const cosine = mean(few, (point) => cosineWith(point, "empirical")?.mean ?? NaN);
  live.set({
    "limits.copies.n": count(few[0].n),
    "limits.copies.memorized": percent(copies),
    "limits.copies.cosine": fixed(cosine),
    "limits.epochs.few.n": count(few[0].n),
    "limits.epochs.few": count(Math.round(few[0].epochs)),
    "limits.epochs.many.n": count(last[0].n),
    "limits.epochs.many": count(Math.round(last[0].epochs)),
  });
  live.claim("limits.empirical", copies >= 0.5 && cosine < 0.9, few);
  live.claim("limits.epochs", few[0].epochs > 10 * last[0].epochs, [...few, ...last]);

  // The two ends: the lowest noise level for the floor, the smallest set, whose mean is furthest from that of all images.
  const lowest = main.sigmas.indexOf(Math.min(...main.sigmas));
  /** @param {Point[]} points */
  const difference = (points) => mean(points, (point) => differenceTo(point, "gaussian", "heldOut", lowest));
  const dimensions = main.shape.height * main.shape.width * main.shape.channels;
  live.set({
    "limits.floor.sigma": significant(main.sigmas[lowest]),
    "limits.floor.few": fixed(difference(few), 3),
    "limits.floor.few.n": count(few[0].n),
    "limits.floor.many": fixed(difference(last), 3),
    "limits.floor.many.n": count(last[0].n),
    "limits.floor.dimensions": count(dimensions),
  });
  live.claim(
    "limits.floor",
    few[0].n < dimensions && last[0].n >= dimensions && difference(few) > 2 * difference(last),
    [...few, ...last],
  );

  const first = networks(main, sizes(main)[0]);
  /** @param {number} level */
  const nmse = (level) => mean(first, ({ denoisers }) => denoisers.gaussian?.linearity?.[level].nmse.mean ?? NaN);
  const level = main.sigmas.map((_, i) => i).reduce((best, i) => (nmse(i) > nmse(best) ? i : best));
  /** @param {DenoiserId} id @param {keyof Linearity} score */
  const at = (id, score) => mean(first, ({ denoisers }) => denoisers[id]?.linearity?.[level][score].mean ?? NaN);
  live.set({
    "limits.affine.n": count(first[0].n),
    "limits.affine.sigma": significant(main.sigmas[level]),
    "limits.affine.nmse": fixed(nmse(level), 3),
    "limits.affine.corrected": fixed(at("gaussian", "correctedNmse"), 3),
    "limits.affine.cosine": fixed(at("gaussian", "cosine"), 3),
    "limits.affine.correctedCosine": fixed(at("gaussian", "correctedCosine"), 3),
    "limits.affine.network": fixed(at("trained", "correctedNmse"), 3),
  });
  live.claim("limits.affine", nmse(level) > 0.02 && at("gaussian", "correctedNmse") < 0.01);
  live.claim("limits.affineCosine", at("gaussian", "cosine") > 0.95 && at("gaussian", "correctedCosine") > 0.995);
  live.claim("limits.affineNetwork", at("trained", "correctedNmse") > 0.05, first);
}

/**
 * @param {LiveText} live
 * @param {BiasReport} report
 */
function tellOfLinear(live, report) {
  const [few, many] = ends(report);
  // How well D_L and D_G agree; for the network that memorizes, better than the network and its own D_L do.
  const identity = [few, many].map(({ denoisers }) => denoisers.linear?.against.gaussian?.cosine.mean ?? NaN);
  const [linearFew, linearMany] = [few, many].map((point) => cosineWith(point, "linear")?.mean ?? NaN);
  live.set({
    "limits.few": count(few.n),
    "limits.many": count(many.n),
    "limits.identity.few": fixed(identity[0], 3),
    "limits.identity.many": fixed(identity[1], 3),
    "limits.linear.few": fixed(linearFew),
    "limits.linear.many": fixed(linearMany),
  });
  const tested = [...identity, linearFew, linearMany].every(Number.isFinite);
  live.claim("limits.identity", tested ? identity[1] > 0.95 && identity[0] > linearFew : undefined, [few, many]);
  live.claim("limits.linear", tested ? linearFew < linearMany - 0.1 : undefined, [few, many]);

  const levels = [...(many.alignment ?? [])].sort((a, b) => a.sigma - b.sigma);
  const middle = levels.filter(({ sigma }) => sigma >= ALIGNED[0] && sigma <= ALIGNED[1]).map(({ overlap }) => overlap);
  const high = levels.at(-1);
  live.set({
    "limits.overlap.middle": middle.length > 0 ? percent(Math.min(...middle)) : "–",
    "limits.overlap.high": percent(high?.overlap ?? NaN),
    "limits.overlap.sigma": significant(high?.sigma ?? NaN),
  });
  live.claim(
    "limits.overlap",
    high && middle.length > 0 && high.sigma > ALIGNED[1] ? high.overlap < Math.min(...middle) - 0.1 : undefined,
    [many],
  );
}

/**
 * @param {LiveText} live
 * @param {HTMLElement} body
 * @param {Record<string, Sweep>} sweeps
 */
function tellOfSets(live, body, sweeps) {
  const level = levelOf(sweeps.faces, LINEARITY_SIGMA);
  /** @param {string} name @param {number} n */
  const of = (name, n) => networks(sweeps[name], nearestStop(sizes(sweeps[name]), n));
  /** @param {string} name */
  const cosine = (name) => mean(of(name, MANY), gaussianCosine);
  body.replaceChildren(
    ...Object.keys(sweeps)
      .sort((a, b) => cosine(b) - cosine(a))
      .map((name) => {
        const numbers = [
          percent(mean(of(name, FEW), copiesOf)),
          percent(mean(of(name, MANY), copiesOf)),
          fixed(mean(of(name, MANY), (point) => linearityAt(trained(point), levelOf(sweeps[name], LINEARITY_SIGMA)))),
          fixed(cosine(name)),
        ];
        const row = make(
          "tr",
          {},
          make("th", { scope: "row" }, SETS[name]),
          ...numbers.map((text) => make("td", {}, text)),
        );
        row.dataset.set = name;
        return row;
      }),
  );
  live.set({
    "limits.sets.few": count(of("faces", FEW)[0].n),
    "limits.sets.many": count(of("faces", MANY)[0].n),
    "limits.sets.sigma": significant(sweeps.faces.sigmas[level]),
    "limits.mnist.cosine": sweeps.mnist ? fixed(cosine("mnist")) : "–",
    "limits.fashion.cosine": sweeps.fashion ? fixed(cosine("fashion")) : "–",
    "limits.faces.cosine": fixed(cosine("faces")),
  });
  live.claim(
    "limits.mnist",
    sweeps.mnist && sweeps.fashion ? Math.max(cosine("mnist"), cosine("fashion")) < cosine("faces") - 0.05 : undefined,
    Object.keys(sweeps).flatMap((name) => of(name, MANY)),
  );
  tellOfDigits(live, sweeps.mnist);
}

/**
 * @param {LiveText} live
 * @param {Sweep | undefined} mnist
 */
function tellOfDigits(live, mnist) {
  const claims = /** @type {const} */ (["limits.new", "limits.near", "limits.nearFew"]);
  if (!mnist) return claims.forEach((name) => live.claim(name, undefined));
  const level = levelOf(mnist, MIDDLE_SIGMA);
  const [few, many] = [FEW, MANY].map((n) => networks(mnist, nearestStop(sizes(mnist), n)));
  /** On training images. @param {Point[]} points */
  const distances = (points) => ({
    gaussian: mean(points, (point) => differenceTo(point, "gaussian", "train", level)),
    empirical: mean(points, (point) => differenceTo(point, "empirical", "train", level)),
  });
  const [near, nearFew] = [distances(many), distances(few)];
  /** @param {Point[]} points */
  const copies = (points) => mean(points, copiesOf);
  // The smallest set of which it makes new images.
  const fresh = sizes(mnist)
    .map((n) => networks(mnist, n))
    .find((points) => copies(points) <= FEW_COPIES);
  const cosine = fresh && mean(fresh, gaussianCosine);
  live.set({
    "limits.near.sigma": significant(mnist.sigmas[level]),
    "limits.near.gaussian": fixed(near.gaussian, 3),
    "limits.near.empirical": fixed(near.empirical, 3),
    "limits.nearFew.gaussian": fixed(nearFew.gaussian, 3),
    "limits.nearFew.empirical": fixed(nearFew.empirical, 3),
    "limits.new.n": fresh ? count(fresh[0].n) : "–",
    "limits.new.memorized": fresh ? percent(copies(fresh)) : "–",
    "limits.new.cosine": fixed(cosine ?? NaN),
  });
  live.claim("limits.new", cosine === undefined ? undefined : cosine < 0.8, fresh);
  live.claim("limits.near", near.gaussian < near.empirical, many);
  live.claim("limits.nearFew", nearFew.empirical < nearFew.gaussian, few);
}

/** The networks of the largest size. @param {Sweep} sweep */
const largest = (sweep) => networks(sweep, /** @type {number} */ (sizes(sweep).at(-1)));

/** Errors on held-out images. @param {Point[]} points @param {number} level */
const errors = (points, level) => ({
  trained: mean(points, ({ denoisers }) => denoisers.trained.error.heldOut[level].mean),
  gaussian: mean(points, ({ denoisers }) => denoisers.gaussian?.error.heldOut[level].mean ?? NaN),
});

/** @param {Point} point */
const copiesOf = (point) => memorized(point).mean;

/** Between the samples of the network and of D_G. @param {Point} point */
const gaussianCosine = (point) => cosineWith(point, "gaussian")?.mean ?? NaN;

/**
 * The score difference between the network and another denoiser.
 * @param {Point} point
 * @param {DenoiserId} id
 * @param {"heldOut" | "train"} split
 * @param {number} level
 */
const differenceTo = (point, id, split, level) => trained(point).against[id]?.difference[split][level].mean ?? NaN;

/** The mean over seeds. @param {Point[]} points @param {(point: Point) => number} number */
const mean = (points, number) => points.reduce((sum, point) => sum + number(point), 0) / points.length;
