import "../styles/page.css";
import "../styles/figures.css";
import { mountControls } from "./controls.js";
import { make } from "./dom.js";
import { engineBadge } from "./engine-badge.js";
import { EngineClient } from "./engine/client.js";
import { denoiseFigure } from "./figures/denoise.js";
import { errorsFigure } from "./figures/errors.js";
import { samplesFigure } from "./figures/samples.js";
import { trajectoryFigure } from "./figures/trajectory.js";
import { LiveText } from "./live.js";
import { Store } from "./store.js";
import { trainingSet } from "./training-set.js";

/** @param {string} id */
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

const store = new Store(window);
const live = new LiveText(document);
const engine = new EngineClient(
  () => new Worker(new URL("./engine/worker.js", import.meta.url), { type: "module" }),
  document.baseURI,
);
/** @type {import("./figure.js").Page} */
const page = { store, engine, live, figures: new Set() };

if (store.problems.length > 0) {
  const notice = byId("notice");
  notice.replaceChildren(...store.problems.map((problem) => make("p", {}, problem)));
  notice.hidden = false;
}

mountControls(document, store);
const badge = engineBadge(byId("engine"), byId("engine-panel"), live);
denoiseFigure(byId("denoise"), page);
errorsFigure(byId("errors"), page);
const training = trainingSet(byId("training-set"), byId("drop-notice"), page);
trajectoryFigure(byId("trajectory"), page);
samplesFigure(byId("samples"), page);

engine.onevent = (event) => (event.event === "engine" ? badge.show(event.engine) : badge.busy(event.text));
engine.oncrash = () => void training.reload();
// The badge must answer a change of engine even when every figure is off the screen. A failure shows there as well.
store.subscribe(["engine"], (values) => void engine.call("open", { engine: values.engine }).catch(badge.fail));
