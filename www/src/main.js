import "../styles/page.css";
import "../styles/figures.css";
import "../styles/hero.css";
import "../styles/linearity.css";
import "../styles/terms.css";
import "../styles/run-panel.css";
import "../styles/bias.css";
import "../styles/emergence.css";
import "../styles/lab.css";
import "../styles/tools.css";
import { byId, part } from "./dom.js";
import { mountEmbed } from "./embed.js";
import { engineBadge } from "./engine-badge.js";
import { EngineClient } from "./engine/client.js";
import { Runner } from "./engine/runner.js";
import { setting } from "./figure.js";
import { sentence } from "./format.js";
import { LiveText } from "./live.js";
import { showNotice } from "./notice.js";
import { RunStorage } from "./storage.js";
import { Store } from "./store.js";

const store = new Store(window);
const live = new LiveText(document);
const engine = new EngineClient(
  () => new Worker(new URL("./engine/worker.js", import.meta.url), { type: "module" }),
  document.baseURI,
);
const runner = new Runner({
  startWorker: () => new Worker(new URL("./engine/run-worker.js", import.meta.url), { type: "module" }),
  base: document.baseURI,
  cores: navigator.hardwareConcurrency,
  storage: new RunStorage(() => window.indexedDB),
  choice: () => store.values.engine,
  measure: () => engine.call("measure", {}),
});
const badge = engineBadge(byId("engine"), byId("engine-panel"), live);
const notice = byId("notice");

engine.onevent = (event) => {
  if (event.event === "busy") return badge.busy(event.text);
  const { kind, problem } = event.engine;
  badge.show(event.engine);
  if (problem?.kind === "DeviceLost") {
    showNotice(notice, [`${sentence(problem.message)} The page goes on with a new ${kind.toUpperCase()} engine.`]);
  }
};
// The engine works on the first answer while the code of the figures, most of it charts, is still on its way.
// What goes wrong here goes wrong again in the first figure, and that one shows it.
engine.call("prepare", { setting: setting(store.values) }).catch(() => {});
// The badge must answer a change of engine even when every figure is off the screen. A failure shows there as well.
store.subscribe(["engine"], (values) => void engine.call("open", { engine: values.engine }).catch(badge.fail));
store.subscribe(["engine"], (values) => runner.switchEngine(values.engine));
const problems = [...store.problems, mountEmbed(store, part(document, "home", HTMLAnchorElement)) ?? []].flat();
if (problems.length > 0) showNotice(notice, problems);

const { mountArticle } = await import("./article.js");
mountArticle({ store, engine, runner, live, figures: new Set() });
