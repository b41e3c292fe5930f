import { element } from "./dom.js";
import { sentence, significant } from "./format.js";
import { showFailure } from "./notice.js";

/**
 * @import { EngineInfo, Failure } from "../engine/protocol.js"
 * @import { LiveText } from "./live.js"
 */

/**
 * The badge in the head of the page: which engine runs, where, and why.
 * @param {HTMLElement} badge
 * @param {HTMLElement} panel
 * @param {LiveText} live
 */
export function engineBadge(badge, panel, live) {
  const name = element(badge, "engine-name");
  const problem = element(panel, "engine-problem");
  return {
    /** @param {EngineInfo} info */
    show(info) {
      const kind = info.kind === "gpu" ? "GPU" : "CPU";
      name.textContent = `${kind} engine`;
      badge.setAttribute("data-engine", info.kind);
      live.set({
        "engine.kind": info.kind === "gpu" ? "GPU (WebGPU shaders)" : "CPU (WebAssembly SIMD)",
        "engine.adapter": info.software && info.kind === "gpu" ? `${info.adapter} (software)` : info.adapter,
        "engine.reason": sentence(info.reason),
        "engine.cpu": rate(info.rates.cpu),
        "engine.gpu": rate(info.rates.gpu),
      });
      if (info.problem) showFailure(problem, info.problem);
      else problem.hidden = true;
      live.announce(`${kind} engine: ${sentence(info.reason)}`);
    },
    /** @param {Failure} failure */
    fail: (failure) => showFailure(problem, failure),
    /** @param {string} text what the engine is busy with; empty when it is idle */
    busy(text) {
      element(badge, "engine-busy").textContent = text;
      badge.toggleAttribute("data-busy", text !== "");
    },
  };
}

/** @param {number | undefined} gigaflops */
const rate = (gigaflops) => (gigaflops === undefined ? "not measured" : `${significant(gigaflops, 2)} GFLOP/s`);
