/** The notes: checks on the reader's machine, how the recorded runs were made, and how to cite. */
import { element, make, part } from "./dom.js";
import { toFailure } from "./engine/protocol.js";
import { comesNear, showFailure } from "./figure.js";
import { duration, sentence, significant } from "./format.js";
import { loadIndex } from "./runs.js";
import { copy } from "./save.js";

/** How long the button says that it is done. */
const DONE_MS = 2500;

/**
 * @param {HTMLElement} root
 * @param {import("./figure.js").Page} page
 */
export function notesSection(root, page) {
  selfCheck(root, page);
  const cite = part(root, "copy-bibtex", HTMLButtonElement);
  const errors = make("div", { className: "figure-error", role: "alert", hidden: true });
  cite.parentElement?.after(errors);
  cite.addEventListener("click", async () => {
    try {
      await copy(element(root, "bibtex").textContent ?? "");
      errors.hidden = true;
      cite.textContent = "Copied";
      setTimeout(() => (cite.textContent = "Copy"), DONE_MS);
    } catch (thrown) {
      showFailure(errors, toFailure(thrown));
    }
  });
  void comesNear(root).then(() => recordedRuns(element(root, "recorded-runs")));
}

/**
 * @param {HTMLElement} root
 * @param {import("./figure.js").Page} page
 */
function selfCheck(root, { trainer, live }) {
  const button = part(root, "self-check", HTMLButtonElement);
  const result = element(root, "self-check-result");
  const errors = element(root, "self-check-error");
  const run = async () => {
    errors.hidden = true;
    button.disabled = true;
    button.textContent = "Checking…";
    try {
      const { cpu, gpu, problem } = await trainer.call("selfCheck", {});
      const checks = [...cpu, ...gpu];
      result
        .querySelector("tbody")
        ?.replaceChildren(
          heading("CPU engine"),
          ...cpu.map(checkRow),
          heading("GPU engine", problem ? `Not checked: ${sentence(problem.message)}` : "Also against the CPU engine."),
          ...gpu.map(checkRow),
        );
      result.hidden = false;
      const failed = checks.filter(({ holds }) => !holds).length;
      live.announce(failed ? `${failed} of ${checks.length} checks fail.` : `All ${checks.length} checks hold.`);
    } catch (thrown) {
      showFailure(errors, toFailure(thrown), run);
    }
    button.disabled = false;
    button.textContent = "Run the checks";
  };
  button.addEventListener("click", run);
}

/** A line over the checks of one engine. @param {string} engine @param {string} [about] */
const heading = (engine, about = "") =>
  make("tr", { className: "check-engine" }, make("th", { colSpan: 4, scope: "colgroup" }, engine, make("small", {}, about)));

/** @param {import("./engine/protocol.js").Check} check */
function checkRow({ name, about, error, tolerance, holds }) {
  return make(
    "tr",
    { className: holds ? "holds" : "fails" },
    make("th", { scope: "row" }, name, make("small", {}, about)),
    make("td", {}, error === 0 ? "none" : significant(error, 2)),
    make("td", {}, tolerance === 0 ? "none" : significant(tolerance, 2)),
    make("td", { className: "check-verdict" }, holds ? "✓ holds" : "✗ fails"),
  );
}

/** @param {HTMLElement} body */
async function recordedRuns(body) {
  try {
    const runs = await loadIndex();
    body.replaceChildren(
      ...runs.map(({ title, record, seconds, version }) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, title, make("code", {}, record.command)),
          make("td", {}, record.device, make("br"), record.date.slice(0, 10)),
          make("td", {}, duration(seconds)),
          make("td", {}, version, make("br"), record.commit.slice(0, 7)),
        ),
      ),
    );
  } catch (thrown) {
    body.replaceChildren(make("tr", {}, make("td", { colSpan: 4 }, sentence(toFailure(thrown).message))));
  }
}
