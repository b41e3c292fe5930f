/** The notes: checks on the reader's machine, how the recorded runs were made, and how to cite. */
import { onPress } from "../ui/buttons.js";
import { element, make, part } from "../ui/dom.js";
import { toFailure } from "../engine/protocol.js";
import { comesNear } from "./figure.js";
import { duration, sentence, significant } from "../ui/format.js";
import { loadIndex } from "../reports/recorded.js";
import { copy } from "../export/save.js";
import { describeDevice, issueAddress, selfCheckText } from "../export/self-check.js";
import { showFailure } from "../ui/notice.js";

/**
 * @import { Check } from "../../pkg/hidden_gaussian.js"
 * @import { CheckedEngine, SelfCheck } from "../export/self-check.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
export function notesSection(root, page) {
  selfCheck(root, page);
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (root.querySelectorAll("[data-copies]"))) {
    const errors = make("div", { className: "figure-error", role: "alert", hidden: true });
    button.parentElement?.after(errors);
    onPress(button, errors, () => copy(element(root, button.dataset.copies ?? "").textContent ?? ""), "Copied");
  }
  void comesNear(root).then(() => recordedRuns(element(root, "recorded-runs")));
}

/**
 * @param {HTMLElement} root
 * @param {Page} page
 */
function selfCheck(root, { engine: measurer, trainer, live }) {
  const button = part(root, "self-check", HTMLButtonElement);
  const progress = part(root, "self-check-progress", HTMLProgressElement);
  const result = element(root, "self-check-result");
  const rows = element(root, "self-check-rows");
  const errors = element(root, "self-check-error");
  const showReport = selfCheckReport(root, errors);
  /** @type {AbortController | undefined} */
  let running;

  const run = async () => {
    running = new AbortController();
    const { signal } = running;
    button.textContent = "Stop";
    button.dataset.state = "running";
    errors.hidden = true;
    rows.replaceChildren();
    result.hidden = progress.hidden = false;
    showReport(undefined);
    progress.removeAttribute("value");
    let [made, failed] = [0, 0];
    /** Until they are known, as many as there are of the other engine. */
    let count = 1;
    /** @type {CheckedEngine[]} */
    const engines = [];
    /** @param {"cpu" | "gpu"} engine */
    const checkAll = async (engine) => {
      /** @type {CheckedEngine} */
      const checked = { engine, checks: [] };
      engines.push(checked);
      for (let index = 0; index < count; index++) {
        const answer = await trainer.call("selfCheck", { engine, index }, signal);
        count = answer.count;
        checked.info = answer.info;
        checked.checks.push(answer.check);
        progress.value = ++made / (2 * count);
        failed += Number(!answer.check.holds);
        rows.append(checkRow(answer.check));
      }
    };
    try {
      rows.append(heading("cpu", true));
      await checkAll("cpu");
      const gpu = heading("gpu", true, "Compared with the CPU engine, too.");
      rows.append(gpu);
      await checkAll("gpu").catch((thrown) => {
        if (signal.aborted) throw thrown;
        const problem = `Not checked: ${sentence(toFailure(thrown).message)}`;
        gpu.replaceWith(heading("gpu", false, problem));
        engines[1].problem = problem;
      });
      const rates = await measurer.call("measure", { engine: "auto" }, signal).catch(() => ({}));
      showReport({ engines, rates, ...describeDevice(navigator, window) });
      live.announce(failed ? `${failed} of ${made} checks fail.` : `All ${made} checks hold.`);
    } catch (thrown) {
      if (!signal.aborted) showFailure(errors, toFailure(thrown), run);
    }
    progress.hidden = true;
    button.textContent = "Run the checks";
    button.dataset.state = "idle";
    running = undefined;
  };
  button.addEventListener("click", () => {
    if (running) running.abort();
    else void run();
  });
}

/**
 * What the reader may send us of the checks.
 * @param {HTMLElement} root
 * @param {HTMLElement} errors
 * @returns {(report: SelfCheck | undefined) => void}
 */
function selfCheckReport(root, errors) {
  const place = element(root, "self-check-report");
  const text = element(root, "self-check-text");
  const issue = part(root, "self-check-issue", HTMLAnchorElement);
  onPress(part(root, "self-check-copy", HTMLButtonElement), errors, () => copy(text.textContent ?? ""), "Copied");
  return (report) => {
    place.hidden = !report;
    if (!report) return;
    text.textContent = selfCheckText(report);
    const repository = import.meta.env.REPOSITORY_URL;
    issue.hidden = !repository;
    if (repository) issue.href = issueAddress(repository, report);
  };
}

/**
 * A line over the checks of one engine.
 * @param {"cpu" | "gpu"} engine
 * @param {boolean} checked
 * @param {string} [about]
 */
function heading(engine, checked, about = "") {
  const head = make(
    "th",
    { colSpan: 4, scope: "colgroup" },
    `${engine.toUpperCase()} engine`,
    make("small", {}, about),
  );
  const row = make("tr", { className: "check-engine" }, head);
  Object.assign(row.dataset, { engine, checked });
  return row;
}

/** @param {Check} check */
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
          make("td", {}, version, make("br"), record.commit?.slice(0, 7) ?? ""),
        ),
      ),
    );
  } catch (thrown) {
    body.replaceChildren(make("tr", {}, make("td", { colSpan: 4 }, sentence(toFailure(thrown).message))));
  }
}
