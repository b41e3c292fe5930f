/** The table of contents: it marks the section that the reader is in. */

/** @param {HTMLElement} nav */
export function mountContents(nav) {
  const details = nav.querySelector("details");
  const summary = nav.querySelector("summary");
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (nav.querySelectorAll("a[href^='#']"));
  const wide = matchMedia("(min-width: 75rem)");
  if (!details || !summary) return;

  // A column on a wide screen, a menu on a narrow one.
  const unfold = () => (details.open = wide.matches);
  wide.addEventListener("change", unfold);
  unfold();
  nav.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a") && !wide.matches) details.open = false;
  });

  /** Sections of which a part is on the upper half of the screen. @type {Set<Element>} */
  const visible = new Set();
  const sections = [...links].map((link) => document.getElementById(link.hash.slice(1))?.closest("section"));
  const mark = () => {
    const at = sections.findLastIndex((section) => section && visible.has(section));
    links.forEach((link, i) => {
      if (i === at) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    summary.textContent = titleOf(links[at]) || "Contents";
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) visible[isIntersecting ? "add" : "delete"](target);
      mark();
    },
    { rootMargin: "0px 0px -60% 0px" },
  );
  for (const section of sections) if (section) observer.observe(section);
}

/** What a section is called. @param {HTMLAnchorElement | undefined} link */
function titleOf(link) {
  const copy = link?.cloneNode(true);
  if (!(copy instanceof Element)) return "";
  copy.querySelector("small")?.remove();
  return (copy.textContent ?? "").trim();
}
