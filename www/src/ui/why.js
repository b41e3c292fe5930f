/** Parts of the article that are folded away (`details[data-why]`) and open for whoever is led into them. */

/** @param {Document} root */
export function mountWhy(root) {
  /** @param {Element | null} place @returns {boolean} whether it was folded away */
  const unfold = (place) => {
    const folded = /** @type {HTMLDetailsElement | null | undefined} */ (
      place?.closest("details[data-why]:not([open])")
    );
    if (folded) folded.open = true;
    return Boolean(folded);
  };
  const target = () =>
    location.hash.length > 1 ? root.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  addEventListener("hashchange", () => {
    const place = target();
    if (unfold(place)) place?.scrollIntoView();
  });
  addEventListener("beforeprint", () => root.querySelectorAll("details[data-why]").forEach(open));
  unfold(target());
  // A figure that stands alone.
  unfold(root.querySelector("figure[data-embedded]"));
}

/** @param {Element} details */
const open = (details) => details.setAttribute("open", "");
