// What must be known before the first paint, so that nothing flashes; hence a plain script.
(() => {
  // One figure alone: embed.js finds it later, and until then the page stays empty.
  if (new URLSearchParams(location.search).get("figure")) document.documentElement.setAttribute("data-embed", "");
})();
// Light or dark: the system's wish, or the reader's.
(() => {
  const KEY = "theme";
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");

  try {
    const saved = localStorage.getItem(KEY);
    if (saved === "light" || saved === "dark") root.dataset.theme = saved;
  } catch {
    // Storage is refused: the choice then lasts as long as the page.
  }

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button?.setAttribute("aria-pressed", String(current() === "dark"));
    dark.addEventListener("change", show);
    button?.addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      try {
        localStorage.setItem(KEY, root.dataset.theme);
      } catch {
        // As above.
      }
      show();
    });
    show();
  });
})();
