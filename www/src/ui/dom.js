/** Places narrower than this many pixels are laid out as on a phone, here and in figures.css. */
export const NARROW = 560;

/**
 * The element of `root` that plays `part`; index.html must have it.
 * @template {Element} T
 * @param {ParentNode} root
 * @param {string} name value of `data-part`
 * @param {new () => T} type
 * @returns {T}
 */
export function part(root, name, type) {
  const element = root.querySelector(`[data-part="${name}"]`);
  if (!(element instanceof type)) throw new Error(`index.html has no ${type.name} with data-part="${name}"`);
  return element;
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/** @param {ParentNode} root @param {string} name */
export const canvas = (root, name) => part(root, name, HTMLCanvasElement);

/** @param {ParentNode} root @param {string} name */
export const element = (root, name) => part(root, name, HTMLElement);

/**
 * Call `tell` where the reader points at an element: wherever a mouse is, and where a finger taps. A finger that moves may
 * only want to scroll the page.
 * @param {HTMLElement} place
 * @param {(event: MouseEvent) => void} tell
 */
export function onPoint(place, tell) {
  place.addEventListener("pointermove", (event) => event.pointerType !== "touch" && tell(event));
  place.addEventListener("click", tell);
}

/**
 * Make an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Partial<Omit<HTMLElementTagNameMap[K], "style" | "dataset">>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
