/** The presentation: one figure fills the window, and keys, buttons and swipes go from figure to figure. */
import { figureNamed, figures, inFrame, titleOf } from "../state/embed.js";
import { scaleCharts } from "./chart-scale.js";
import { make } from "./dom.js";

/**
 * @import { Store } from "../state/store.js"
 * @import { LiveText } from "./live.js"
 */

/** A slide is laid out as wide as this and enlarged to the window: small text, of 14 pixels, has 24 on 1920. */
const SLIDE_WIDTH = 1120;
/** Narrower windows are phones, which show a figure as the article does. */
const NARROW = 700;
/** How much the bar is enlarged at least, on a small projector. */
const BAR = 1.25;
/** How much further a low figure is enlarged, the most first. */
const FACTORS = [1.5, 1.4, 1.3, 1.2, 1.1, 1];
/** How high charts are in a figure that would not fit otherwise. */
const HEIGHTS = [1, 0.8, 0.65, 0.6, 0.55];
/** How much of the window's width a high figure takes, so that its pictures get lower, in percent. */
const WIDTHS = [95, 90, 85, 80, 75, 70, 65, 60, 55];
/** How far a finger goes to turn the page, in pixels. */
const SWIPE = 70;
/** What takes arrow keys and swipes itself. */
const OWN_KEYS = "input, select, textarea, [contenteditable], [role='slider'], .scroll";
const OWN_SWIPES = "input, svg, canvas, .scroll";

/** @type {Record<string, number>} */
const BY = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1, Home: -Infinity, End: Infinity };

/**
 * @param {Store} store
 * @param {LiveText} live
 * @param {Element} start the button that begins the presentation
 */
export function mountPresentation(store, live, start) {
  if (inFrame()) return;
  const root = document.documentElement;
  const current = () => figureNamed(store.values.figure);
  /** @param {HTMLElement | undefined} figure */
  const show = (figure) => store.set({ figure: figure?.dataset.figure ?? "" });
  /** @param {number} by */
  const turn = (by) => {
    const all = figures();
    const shown = current();
    const at = shown ? all.indexOf(shown) : 0;
    show(all[Math.max(0, Math.min(all.length - 1, at + by))]);
  };

  const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ act) =>
    make("button", { type: "button", title, onclick: act }, text);
  const previous = button("‹", "Previous figure (←)", () => turn(-1));
  const next = button("›", "Next figure (→)", () => turn(1));
  previous.ariaLabel = "Previous figure";
  next.ariaLabel = "Next figure";
  const place = make("span", { className: "present-place" });
  /** It lies over the figure, which stays as it is. @param {boolean} open */
  const showCaption = (open) => {
    root.toggleAttribute("data-caption", open);
    caption.ariaPressed = String(open);
  };
  const isCaptionOpen = () => root.hasAttribute("data-caption");
  const caption = button("Caption", "What the figure shows", () => showCaption(!isCaptionOpen()));
  showCaption(false);
  const full = button("Full screen", "Fill the whole screen", () => {
    if (document.fullscreenElement) void document.exitFullscreen();
    else void root.requestFullscreen().catch(() => {});
  });
  full.hidden = !document.fullscreenEnabled;
  const close = button("Article", "Back to the article, at this figure (Esc)", () => show(undefined));
  const bar = make(
    "nav",
    { className: "present-bar", ariaLabel: "Presentation" },
    make("span", { className: "present-turn" }, previous, place, next),
    caption,
    full,
    close,
  );
  document.querySelector("header.bar")?.after(bar);

  /**
   * The largest scale at which the figure fits the window. If none does, lower charts and then smaller pictures, for the text
   * must be read from the last row; and if that is not enough, the figure scrolls, as low as it got.
   */
  const fit = () => {
    const figure = current();
    if (!figure) return;
    const phone = innerWidth < NARROW;
    const base = phone ? 1 : innerWidth / SLIDE_WIDTH;
    root.style.setProperty("--present-base", String(base));
    root.style.setProperty("--present-bar", String(phone ? 1 : Math.max(BAR, base)));
    const room = innerHeight - bar.getBoundingClientRect().height;
    let lowest = { height: Infinity, width: 100 };
    /** @param {number} scale @param {number} width */
    const tried = (scale, width) => {
      root.style.setProperty("--present-zoom", String(scale * base));
      root.style.setProperty("--present-width", `${width}%`);
      const { height } = figure.getBoundingClientRect();
      // Of equals the first: the widest.
      if (height < lowest.height) lowest = { height, width };
      return height <= room;
    };
    if (phone) return tried(1, 100);
    /** @param {number} height */
    const lower = (height) => {
      scaleCharts(height, figure);
      return tried(1, 100);
    };
    scaleCharts(1, figure);
    return (
      FACTORS.some((factor) => tried(factor, 100)) ||
      HEIGHTS.some(lower) ||
      WIDTHS.some((width) => tried(1, width)) ||
      tried(1, lowest.width)
    );
  };

  /** The figure that was last shown. @type {HTMLElement | undefined} */
  let shown;
  const update = () => {
    const figure = current();
    showCaption(false);
    if (figure) {
      const all = figures();
      const at = all.indexOf(figure);
      place.textContent = `${titleOf(figure)} · ${at + 1} of ${all.length}`;
      previous.disabled = at === 0;
      next.disabled = at === all.length - 1;
      scrollTo({ top: 0, behavior: "instant" });
      fit();
      live.announce(`${place.textContent}. ${figure.dataset.message ?? ""}`);
    } else if (shown) {
      scaleCharts(1);
      if (document.fullscreenElement) void document.exitFullscreen();
      shown.scrollIntoView({ behavior: "instant" });
      shown.tabIndex = -1;
      shown.focus({ preventScroll: true });
    }
    grown.disconnect();
    if (figure) grown.observe(figure);
    shown = figure;
  };
  // Figures grow as they are drawn.
  let height = 0;
  const grown = new ResizeObserver(([{ target }]) => {
    const { clientHeight } = target;
    if (clientHeight !== height) requestAnimationFrame(fit);
    height = clientHeight;
  });

  start.addEventListener("click", () => show(inView()));
  store.subscribe(["figure"], update);
  addEventListener("resize", fit);
  addEventListener("keydown", (event) => {
    const { key, target, altKey, ctrlKey, metaKey, defaultPrevented } = event;
    if (!current() || altKey || ctrlKey || metaKey) return;
    if (key === "Escape" && !defaultPrevented && !document.querySelector(":popover-open"))
      return isCaptionOpen() ? showCaption(false) : show(undefined);
    const own = target instanceof Element && target.closest(OWN_KEYS);
    if (!(key in BY) || own || defaultPrevented) return;
    event.preventDefault();
    turn(BY[key]);
  });
  // A presenter's remote sends Page Up and Page Down, wherever the focus is; a slider that has it must not move, too.
  addEventListener(
    "keydown",
    (event) => {
      const { key, altKey, ctrlKey, metaKey } = event;
      if (!current() || altKey || ctrlKey || metaKey || !key.startsWith("Page")) return;
      event.preventDefault();
      event.stopPropagation();
      turn(BY[key]);
    },
    { capture: true },
  );
  onSwipe((by) => current() && turn(by));
  update();
}

/** The figure that the reader is at: the first whose end is on the screen or below it. */
function inView() {
  const all = figures();
  return all.find((figure) => figure.getBoundingClientRect().bottom > innerHeight / 3) ?? all[0];
}

/** @param {(by: number) => void} turn */
function onSwipe(turn) {
  /** @type {Touch | undefined} */
  let began;
  addEventListener(
    "touchstart",
    ({ target, touches }) => {
      const own = target instanceof Element && target.closest(OWN_SWIPES);
      began = touches.length === 1 && !own ? touches[0] : undefined;
    },
    { passive: true },
  );
  addEventListener(
    "touchend",
    ({ changedTouches: [ended] }) => {
      if (!began) return;
      const [x, y] = [ended.clientX - began.clientX, ended.clientY - began.clientY];
      began = undefined;
      if (Math.abs(x) > SWIPE && Math.abs(x) > 2 * Math.abs(y)) turn(x < 0 ? 1 : -1);
    },
    { passive: true },
  );
}
