/** A link that carries a run: offer to repeat it, and say whether the numbers matched. */
import { element, make, part } from "../ui/dom.js";
import { fixed, sentence, significant } from "../ui/format.js";
import { describe } from "./lab-config.js";
import { compare, fromLink, RUN_FILE, TOLERANCE } from "../state/permalink.js";

/**
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Page } from "../figures/figure.js"
 * @import { Match } from "../state/permalink.js"
 * @import { Run } from "./run.js"
 */

const NO_RUN = { run: "", "run.config": "", "run.expect": "" };

/**
 * @param {HTMLElement} root
 * @param {Page} page
 * @param {object} lab
 * @param {(options: RunOptions) => {run?: Run} | undefined} lab.start
 * @param {(address: string) => Promise<void>} lab.openAddress
 */
export function linkedRun(root, { store, live }, { start, openAddress }) {
  if (RUN_FILE.test(store.values.run)) return void openAddress(store.values.run);
  const linked = fromLink(store.values);
  if (!linked) return;
  const { options, expected } = linked;
  const { title, details } = describe(options);
  const status = element(root, "linked-status");
  const numbers = part(root, "linked-numbers", HTMLDetailsElement);
  element(root, "linked-title").textContent = title;
  element(root, "linked-details").textContent = details;
  status.textContent = expected
    ? `It was made on a ${expected.engine.toUpperCase()} engine and carries ${expected.numbers.length} numbers to compare with.`
    : "It carries no numbers to compare with.";
  root.hidden = false;
  // The browser could not go there while it was hidden.
  if (location.hash === `#${root.id}`) root.scrollIntoView();

  const button = part(root, "linked-start", HTMLButtonElement);
  button.addEventListener("click", () => {
    const run = start(options)?.run;
    if (!run) return;
    button.disabled = true;
    status.textContent = "It is running: see the table below.";
    run.addEventListener("change", function follow() {
      if (run.state === "failed") status.textContent = sentence(run.failure?.message ?? "The run failed");
      else if (run.state === "cancelled") status.textContent = "Cancelled.";
      else if (run.state !== "done" || !run.report?.final) return;
      else if (expected) {
        const match = compare(expected, run.report);
        status.textContent = sentenceOf(match);
        status.setAttribute("data-verdict", match.verdict);
        show(numbers, match);
        live.announce(status.textContent);
      } else status.textContent = "Done. The link had no numbers to compare with.";
      button.disabled = false;
      run.removeEventListener("change", follow);
    });
  });
  element(root, "linked-dismiss").addEventListener("click", () => store.set(NO_RUN));
  // Also by the back button, which brings it back.
  store.subscribe(["run"], () => {
    const focused = root.contains(document.activeElement);
    root.hidden = store.values.run === "";
    if (focused && root.hidden) element(document, "train").focus();
  });
}

/** @param {Match} match */
function sentenceOf({ verdict, largest }) {
  if (verdict === "identical") return "It matches: every number is the same, to the last digit.";
  if (verdict === "agrees")
    return `It matches: the numbers differ by at most ${significant(largest, 2)}, which rounding on another engine explains (up to ${TOLERANCE}).`;
  if (Number.isNaN(largest)) return "It does not match: some of the numbers are missing, or are not numbers.";
  return `It does not match: the numbers differ by up to ${significant(largest, 2)}.`;
}

/**
 * @param {HTMLDetailsElement} place
 * @param {Match} match
 */
function show(place, { rows }) {
  place
    .querySelector("tbody")
    ?.replaceChildren(
      ...rows.map(({ label, expected, found }) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, label),
          make("td", {}, expected === undefined ? "–" : fixed(expected, 4)),
          make("td", {}, fixed(found, 4)),
        ),
      ),
    );
  place.hidden = false;
}
