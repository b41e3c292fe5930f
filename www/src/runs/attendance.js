/** When a run should rest by itself: nobody has looked at the tab for long, or the battery runs low. */

/** So long a tab may be hidden before its runs pause: readers look something up and come back. */
export const HIDDEN_MS = 5 * 60_000;
/** The charge below which a machine that is not plugged in should not train. */
const LOW_BATTERY = 0.2;

/**
 * @typedef {EventTarget & {charging: boolean, level: number}} Battery
 * @typedef {"" | "while this tab was hidden" | "to spare the battery"} Reason why runs rest; empty: they need not
 */

/**
 * Watch for reasons to rest.
 * @param {Pick<Document, "hidden" | "addEventListener">} root
 * @param {object} navigator not every browser tells of its battery
 * @param {(reason: Reason) => void} tell called whenever the reason changes
 */
export function watchAttendance(root, navigator, tell) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isHidden = false;
  /** @type {Battery | undefined} */
  let battery;
  /** @type {Reason} */
  let announced = "";
  const update = () => {
    const isLow = battery !== undefined && !battery.charging && battery.level < LOW_BATTERY;
    const reason = isLow ? "to spare the battery" : isHidden ? "while this tab was hidden" : "";
    if (reason === announced) return;
    announced = reason;
    tell(reason);
  };
  root.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (root.hidden) {
      timer = setTimeout(() => {
        isHidden = true;
        update();
      }, HIDDEN_MS);
    } else {
      isHidden = false;
      update();
    }
  });
  const { getBattery } = /** @type {{getBattery?: () => Promise<Battery>}} */ (navigator);
  void getBattery?.call(navigator).then(
    (found) => {
      battery = found;
      for (const name of ["levelchange", "chargingchange"]) found.addEventListener(name, update);
      update();
    },
    // A page in a frame may not ask.
    () => {},
  );
}
