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
  cite.addEventListener("click", async () => {
    await copy(element(root, "bibtex").textContent ?? "");
    cite.textContent = "Copied";
    setTimeout(() => (cite.textContent = "Copy"), DONE_MS);
  });
  void comesNear(root).then(() => recordedRuns(element(root, "recorded-runs")));
}

/**
 * @param {HTMLElement} root
 * @param {import("./figure.js").Page} page
 */
function selfCheck(root, { store, engine, live }) {
  const button = part(root, "self-check", HTMLButtonElement);
  const result = element(root, "self-check-result");
  const errors = element(root, "self-check-error");
  const run = async () => {
    errors.hidden = true;
    button.disabled = true;
    button.textContent = "Checking…";
    try {
      const checks = await engine.call("selfCheck", { engine: store.values.engine });
      result.querySelector("tbody")?.replaceChildren(
        ...checks.map(({ name, about, error, tolerance, holds }) =>
          make(
            "tr",
            { className: holds ? "holds" : "fails" },
            make("th", { scope: "row" }, name, make("small", {}, about)),
            make("td", {}, error === 0 ? "none" : significant(error, 2)),
            make("td", {}, tolerance === 0 ? "none" : significant(tolerance, 2)),
            make("td", { className: "check-verdict" }, holds ? "✓ holds" : "✗ fails"),
          ),
        ),
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
