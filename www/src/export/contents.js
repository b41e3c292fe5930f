/** @import { RunOptions } from "../engine/protocol.js" */
/** @import { Report } from "../reports/report.js" */
/** @import { Table } from "../ui/chart.js" */

/** What each figure shows now, so that it can be saved and shared. */
export class FigureContents {
  /** @type {Map<Element, {report: Report, options?: RunOptions}>} */
  #reports = new Map();
  /** @type {Map<Element, () => Table[]>} */
  #numbers = new Map();

  /**
   * A figure has drawn this report. Those of Section I have none.
   * @param {Element} figure
   * @param {Report} report
   * @param {RunOptions} [options] what would run it again, if that is known
   */
  showReport(figure, report, options) {
    this.#reports.set(figure, { report, options });
  }

  /**
   * A figure without chart or table has drawn these numbers as pictures.
   * @param {Element} figure
   * @param {() => Table[]} tables
   */
  showNumbers(figure, tables) {
    this.#numbers.set(figure, tables);
  }

  /** @param {Element} figure @returns {{report?: Report, options?: RunOptions}} */
  reportOf(figure) {
    return this.#reports.get(figure) ?? {};
  }

  /** @param {Element} figure */
  numbersOf(figure) {
    return this.#numbers.get(figure)?.() ?? [];
  }
}
