import { element, make } from "./dom.js";
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
  const hint = make("p", { className: "engine-hint", hidden: true });
  hint.dataset.part = "engine-hint";
  problem.after(hint);
  return {
    /** @param {EngineInfo} info */
    show(info) {
      const kind = info.kind === "gpu" ? "GPU" : "CPU";
      name.textContent = `${kind} engine`;
      badge.setAttribute("data-engine", info.kind);
      live.set({
        "engine.kind": info.kind === "gpu" ? "GPU (WebGPU shaders)" : "CPU (WebAssembly SIMD)",
        "engine.adapter": adapterName(info),
        "engine.reason": sentence(info.reason),
        "engine.cpu": rate(info.rates.cpu),
        "engine.gpu": rate(info.rates.gpu),
      });
      if (info.problem) showFailure(problem, info.problem);
      else problem.hidden = true;
      hint.textContent = lacksGpu(info) ? webgpuHint(navigator.userAgent, isSecureContext) : "";
      hint.hidden = hint.textContent === "";
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

/** @param {EngineInfo} info */
function adapterName({ kind, adapter, software, compatible }) {
  if (kind === "cpu") return adapter;
  const notes = [...(software ? ["software"] : []), ...(compatible ? ["compatibility mode"] : [])];
  return notes.length > 0 ? `${adapter} (${notes.join(", ")})` : adapter;
}

/** Whether a GPU was looked for, and there is none. @param {EngineInfo} info */
const lacksGpu = ({ rates, problem }) =>
  problem?.kind === "NoAdapter" || (rates.cpu !== undefined && rates.gpu === undefined);

/**
 * What a reader can do whose browser could have WebGPU and does not offer it; empty if we know nothing.
 * @param {string} userAgent
 * @param {boolean} isSecure
 */
export function webgpuHint(userAgent, isSecure) {
  if (!isSecure) return "Browsers offer WebGPU only to pages whose address begins with https.";
  if (!userAgent.includes("Linux") || userAgent.includes("Android")) return "";
  return userAgent.includes("Firefox/")
    ? "Firefox on Linux has WebGPU switched off: set dom.webgpu.enabled and gfx.webgpu.ignore-blocklist to true in about:config."
    : "On Linux, Chrome offers WebGPU only with some graphics cards; chrome://flags/#enable-unsafe-webgpu switches it on for others.";
}

/** @param {number | undefined} gigaflops */
const rate = (gigaflops) => (gigaflops === undefined ? "not measured" : `${significant(gigaflops, 2)} GFLOP/s`);
