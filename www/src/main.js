import "../styles/page.css";
import "../styles/denoisers.css";
import "../styles/figures.css";
import "../styles/hero.css";
import "../styles/toy.css";
import "../styles/linearity.css";
import "../styles/terms.css";
import "../styles/run-panel.css";
import "../styles/bias.css";
import "../styles/emergence.css";
import "../styles/beyond-clocks.css";
import "../styles/beyond.css";
import "../styles/lab.css";
import "../styles/tools.css";
import "../styles/present.css";
import "../styles/print.css";
import { byId, part } from "./ui/dom.js";
import { expandPresent, mountEmbed } from "./state/embed.js";
import { mountContents } from "./ui/contents.js";
import { engineBadge } from "./ui/engine-badge.js";
import { EngineClient } from "./engine/client.js";
import { Runner, workersFor } from "./runs/runner.js";
import { sentence } from "./ui/format.js";
import { LiveText } from "./ui/live.js";
import { showNotice } from "./ui/notice.js";
import { mountPresentation } from "./ui/present.js";
import { mountPrint } from "./ui/print.js";
import { FigureContents } from "./export/contents.js";
import { RunStorage } from "./runs/storage.js";
import { Store } from "./state/store.js";

/** @import { TrainingCalls } from "./engine/protocol.js" */

expandPresent();
const store = new Store(window);
const live = new LiveText(document);
if (location.search) live.forget();
const startEngine = () => new Worker(new URL("./engine/worker.js", import.meta.url), { type: "module" });
const engine = new EngineClient(startEngine, document.baseURI);
const startTraining = () => new Worker(new URL("./engine/training-worker.js", import.meta.url), { type: "module" });
/** @type {EngineClient<TrainingCalls>} */
const trainer = new EngineClient(startTraining, document.baseURI);
const runner = new Runner({
  startWorker: startTraining,
  base: document.baseURI,
  cores: workersFor(navigator),
  storage: new RunStorage(() => window.indexedDB),
  locks: navigator.locks,
  choice: () => store.values.engine,
  measure: (choice) => engine.call("measure", { engine: choice }),
});
const badge = engineBadge(byId("engine"), byId("engine-panel"), live);
const notice = byId("notice");

engine.onevent = (event) => {
  if (event.event === "busy") return badge.busy(event.text);
  const { kind, problem } = event.engine;
  badge.show(event.engine);
  if (problem?.kind === "DeviceLost") {
    showNotice(notice, [`${sentence(problem.message)} The page continues on a new ${kind.toUpperCase()} engine.`]);
  }
};
// The first screen is drawn from a recorded run, so the engine and its download wait for the first figure that needs
// them, or for a reader who looks at the badge or changes the engine. A failure then shows at the badge.
const open = () => void engine.call("open", { engine: store.values.engine }).catch(badge.fail);
byId("engine-panel").addEventListener("toggle", open, { once: true });
store.subscribe(["engine"], open);
store.subscribe(["engine"], (values) => runner.switchEngine(values.engine));
const problems = [...store.problems, mountEmbed(store, part(document, "home", HTMLAnchorElement)) ?? []].flat();
if (problems.length > 0) showNotice(notice, problems);
mountContents(byId("contents"));
mountPresentation(store, live, byId("present"));
mountPrint(/** @type {HTMLButtonElement} */ (byId("handout")));

const { mountArticle } = await import("./article.js");
mountArticle({
  store,
  engine,
  spareEngine: () => new EngineClient(startEngine, document.baseURI),
  trainer,
  runner,
  live,
  contents: new FigureContents(),
  figures: new Set(),
});

// The browser went where the link leads before the controls were there, and they take room. On a reload and on the way
// back it stands where the reader was.
const [visit] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
if (visit?.type === "navigate") document.getElementById(location.hash.slice(1))?.scrollIntoView();
document.documentElement.setAttribute("data-complete", "");
