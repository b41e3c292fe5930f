// What must be known before the first paint, so that nothing flashes; hence a plain script.
(() => {
  // One figure alone: embed.js finds it later, and until then the page stays empty.
  const query = new URLSearchParams(location.search);
  if (!query.get("figure") && !query.has("present")) return;
  document.documentElement.setAttribute("data-embed", "");
  if (self === top) document.documentElement.setAttribute("data-present", "");
})();
// The run that the first picture shows, and its pictures: whoever follows a link to another place does not see them first.
(() => {
  if (location.hash || location.search) return;
  for (const file of [".json", "/n64-samples.jpg"]) {
    const link = document.createElement("link");
    Object.assign(link, { rel: "preload", as: "fetch", crossOrigin: "anonymous" });
    link.href = `./runs/transition-cifar-cifar10${file}`;
    document.head.append(link);
  }
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
