/** The lab's table of runs: under way, saved by the browser, or opened from a file. */
import { html, nothing, render } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { saveRun } from "../export/archive.js";
import { copy, save } from "../export/save.js";
import { describe } from "../runs/lab-config.js";
import { actionButton, isActive, keepFocus, progressBar, speedChoice, statusLine } from "../runs/run-view.js";
import { isRepeatable, runLink } from "../state/permalink.js";
import { percent, sentences } from "../ui/format.js";
import { colourNumber, isSweep, letterOf, outcomeOf } from "./lab-charts.js";

/**
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 * @import { Action } from "../runs/run-view.js"
 * @import { Progress, Run, State } from "../runs/run.js"
 * @import { Page } from "./figure.js"
 */

/**
 * @typedef {object} Entry a run in the table
 * @property {string} id
 * @property {string} letter
 * @property {number} index among all that there were, for its colour and its mark
 * @property {RunOptions} options
 * @property {Report} [report]
 * @property {Run} [run] while this page has it
 * @property {State} state
 * @property {Pick<Progress, "step" | "total">} progress
 * @property {boolean} saved by the browser
 * @property {number} time when it came
 * @property {File} [file] that it was opened from
 * @property {string} [note] its place in that file
 * @property {boolean} shown
 * @property {boolean} [isCopied] whether its link was just copied
 *
 * @typedef {Pick<Entry, "id" | "options" | "report" | "run" | "state" | "progress" | "saved" | "time" | "file" | "note">} Facts
 */

/** How long the link button says that it is done. */
const DONE_MS = 2500;
/** Which button takes the focus of one that goes. */
const FOCUS = ["go", "save", "delete", "step", "restart", "speed"];

export class RunTable {
  /** The latest first. @type {Entry[]} */
  entries = [];
  #made = 0;
  #page;
  #place;
  #on;

  /**
   * @param {HTMLElement} place a table body
   * @param {Page} page
   * @param {object} on
   * @param {() => void} on.change called when what the runs show has changed
   * @param {(thrown: unknown) => void} on.failure
   * @param {() => void} on.empty called when the focus was in the last row that went
   * @param {(letter: string, undo: () => void, finish: () => Promise<void>) => void} on.deleted called when a run was taken
   *   out of the table; it is there until `finish`
   * @param {(entry: Entry) => void} on.show
   */
  constructor(place, page, on) {
    this.#place = place;
    this.#page = page;
    this.#on = on;
  }

  /** @param {Facts} facts */
  add(facts) {
    const index = this.#made++;
    /** @type {Entry} */
    const entry = { ...facts, index, letter: letterOf(index), shown: true };
    // The latest first, even when those of earlier visits come later.
    const older = this.entries.findIndex(({ time }) => time <= entry.time);
    this.entries.splice(older < 0 ? this.entries.length : older, 0, entry);
    this.#changed();
    return entry;
  }

  /**
   * Keep a run's row up to date.
   * @param {Run} run
   * @param {boolean} [aloud] whether to say when it is over; a panel that started it does so itself
   */
  follow(run, aloud = false) {
    const known = this.entries.find(({ id }) => id === run.id);
    const facts = {
      run,
      options: run.options,
      report: run.report,
      state: run.state,
      progress: run.progress,
      saved: true,
    };
    const entry = known ? Object.assign(known, facts) : this.add({ id: run.id, time: Date.now(), ...facts });
    run.addEventListener("change", () => {
      if (entry.run !== run) return;
      if (run.state === "cancelled") return this.#drop(entry);
      const report = run.report ?? entry.report;
      const isNew = report !== entry.report;
      const over = run.state !== entry.state && (run.state === "done" || run.state === "failed");
      Object.assign(entry, { report, state: run.state, progress: run.progress });
      this.draw();
      if (isNew) this.#on.change();
      if (over && aloud) {
        const outcome = report ? outcomeOf(report) : "";
        this.#page.live.announce(sentences(`Run ${entry.letter}: ${statusLine(run, false)}`, outcome));
      }
    });
    this.#changed();
    return entry;
  }

  draw() {
    keepFocus(this.#place, FOCUS, () =>
      render(
        repeat(
          this.entries,
          ({ index }) => index,
          (entry) => this.#row(entry),
        ),
        this.#place,
      ),
    );
  }

  #changed() {
    this.draw();
    this.#on.change();
  }

  /** @param {Entry} entry */
  #drop(entry) {
    const at = this.entries.indexOf(entry);
    if (at < 0) return;
    const focused = this.#rowOf(entry)?.contains(document.activeElement);
    this.entries.splice(at, 1);
    this.#changed();
    if (!focused) return;
    const next = this.entries[at] ?? this.entries[at - 1];
    // Not on the next Delete: Enter pressed twice must not delete two.
    const target = next && this.#rowOf(next)?.querySelector("input:enabled, button:not([hidden])");
    if (target instanceof HTMLElement) target.focus();
    else this.#on.empty();
  }

  /** @param {Entry} entry */
  #rowOf = ({ letter }) => this.#place.querySelector(`tr[data-run="${letter}"]`);

  /** @param {() => unknown} act */
  #attempt = (act) => async () => {
    try {
      await act();
    } catch (thrown) {
      this.#on.failure(thrown);
    }
    this.draw();
  };

  /** @param {Entry} entry */
  #row(entry) {
    const { letter, index, run, report, state } = entry;
    const { title, details } = describe(entry.options, report);
    const active = isActive(run?.state);
    const id = `run-${index}`;
    return html`<tr data-run=${letter} data-state=${run?.state ?? (state === "done" ? "done" : "stopped")} data-step=${entry.progress.step}
      data-engine=${run?.engine ?? nothing} data-workers=${run?.progress.workers ?? nothing} data-recovery=${run?.recovery ?? nothing}
      data-notice=${run?.notice ? "" : nothing}>
      <th scope="row">
        <label
          ><input
            type="checkbox"
            .checked=${entry.shown}
            ?disabled=${!isSweep(report)}
            @change=${(/** @type {Event} */ { target }) => {
              entry.shown = /** @type {HTMLInputElement} */ (target).checked;
              this.#on.change();
            }}
          /><span class="run-key" data-colour=${colourNumber(index)}>${letter}</span
          ><span><span class="run-title" id=${id}>${title}</span><small>${[details, entry.note].filter(Boolean).join(" · ")}</small></span></label
        >
      </th>
      <td class="run-state"><span>${stateLine(entry)}</span>${progressBar(active ? run : undefined)}</td>
      <td class="run-outcome">${report ? outcomeOf(report) : ""}</td>
      <td class="run-actions">
        ${speedChoice(run, {
          hidden: !active,
          describedBy: id,
          choose: (fraction) => {
            if (run) run.speed = fraction;
          },
        })}
        ${this.#actions(entry).map((action) => actionButton(action, id))}
      </td>
    </tr>`;
  }

  /** @param {Entry} entry @returns {Action[]} */
  #actions(entry) {
    const { run, report, options, progress } = entry;
    const { runner, store } = this.#page;
    const active = isActive(run?.state);
    // A run that failed before anything was planned can only be started again.
    const stillborn = (run?.state ?? entry.state) === "failed" && progress.total === 0;
    const repeatable = isRepeatable(options);
    return [
      {
        name: "go",
        label: active && run?.state !== "paused" ? "Pause" : "Resume",
        hidden: entry.state === "done" || !entry.saved || stillborn,
        act: this.#attempt(async () => {
          if (run?.state === "paused") run.resume();
          else if (run && isActive(run.state)) run.pause();
          else this.follow(await runner.resumeSaved(entry.id), true);
        }),
      },
      { name: "step", label: "One step", hidden: run?.state !== "paused", act: () => run?.step() },
      {
        name: "restart",
        label: "Restart",
        title: "From the beginning, with the same seed: the same run again",
        hidden: !active && run?.state !== "failed",
        act: this.#attempt(async () => {
          if (!run) return;
          const { id } = entry;
          const again = runner.restart(run);
          again.speed = run.speed;
          entry.id = again.id;
          this.follow(again, true);
          await runner.forget(id);
        }),
      },
      {
        name: "show",
        label: "Show",
        title: "Show it in its own figure",
        hidden: !report?.final || report.experiment === "transition",
        act: () => this.#on.show(entry),
      },
      {
        name: "save",
        label: "Save",
        title: "One zip with configuration, report, samples, weights and citation",
        hidden: !report?.final,
        act: this.#attempt(() => this.#save(entry)),
      },
      {
        name: "link",
        label: entry.isCopied ? "Copied" : "Link",
        isDone: entry.isCopied,
        title: repeatable
          ? "Copy a link that repeats this run and compares the numbers"
          : "Nobody else has these images",
        hidden: !report?.final,
        disabled: !repeatable,
        act: this.#attempt(async () => {
          await copy(runLink(store, options, report));
          entry.isCopied = true;
          setTimeout(() => {
            entry.isCopied = false;
            this.draw();
          }, DONE_MS);
        }),
      },
      {
        name: "delete",
        label: "Delete",
        act: this.#attempt(() => this.#delete(entry)),
      },
    ];
  }

  /** @param {Entry} entry */
  #delete(entry) {
    const { run } = entry;
    const at = this.entries.indexOf(entry);
    const goesOn = isActive(run?.state) && run?.state !== "paused";
    if (goesOn) run?.pause();
    this.#drop(entry);
    const undo = () => {
      this.entries.splice(at, 0, entry);
      if (goesOn) run?.resume();
      this.#changed();
    };
    this.#on.deleted(entry.letter, undo, async () => {
      run?.cancel();
      if (entry.saved) await this.#page.runner.forget(entry.id);
    });
  }

  /** @param {Entry} entry */
  async #save(entry) {
    // What came from a file goes as it came: with its weights, and with the machine that it was made on.
    if (entry.file) return save(entry.file.name, entry.file);
    const run = entry.run ?? (await this.#page.runner.resumeSaved(entry.id));
    await saveRun(this.#page.store, entry, await run.weights());
  }
}

/** @param {Entry} entry */
function stateLine({ run, state, progress: { step, total } }) {
  if (run) return sentences(statusLine(run, false), run.notice ?? "");
  return state === "done" ? "Done" : `Stopped at ${total > 0 ? percent(step / total) : "the beginning"}`;
}
