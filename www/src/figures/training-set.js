import { canvas, element, NARROW, part } from "../ui/dom.js";
import { toFailure } from "../engine/protocol.js";
import { liveFigure, SETTING, setting } from "./figure.js";
import { count, sentence } from "../ui/format.js";
import { drawGrid, pictureCount } from "../ui/images.js";
import { showFailure } from "../ui/notice.js";
import { acceptDrops, droppedFiles } from "../ui/drop.js";

/**
 * @import { Recipe as DataRecipe } from "../../pkg/hidden_gaussian.js"
 * @import { Page } from "./figure.js"
 */

/**
 * The panel that says what the denoisers were fitted to, and takes the reader's own files: by picker, or dropped
 * anywhere on the page.
 * @param {HTMLElement} root
 * @param {HTMLElement} dropNotice shown while files are dragged over the page
 * @param {Page} page
 * @param {(files: File[]) => Promise<boolean>} openRun takes files that are a saved run; false when they are not
 */
export function trainingSet(root, dropNotice, page, openRun) {
  const { store, engine, live } = page;
  const errors = element(root, "import-error");
  const gallery = canvas(root, "examples");
  const origin = element(root, "origin");
  /** The last files that could be read, to read them again at another size. @type {File[]} */
  let own = [];
  /** What came of them. @type {DataRecipe | undefined} */
  let recipe;
  /** Whether they were read since a worker that held them died. */
  let read = false;

  /** @param {File[]} files @param {boolean} [again] the same as before, at another size or in another worker */
  const load = async (files, again = false) => {
    if (files.length === 0 || (!again && (await openRun(files)))) return;
    const { "own.size": size, "own.colour": colouring } = store.values;
    const colour = colouring === "colour";
    root.setAttribute("aria-busy", "true");
    try {
      const { data } = await engine.call("import", { files, size, colour });
      own = files;
      read = true;
      recipe = { set: data.name, size: data.width, seed: 0, count: data.count, heldOut: data.heldOutCount };
      page.runner.own = { files, colour };
      store.addOwn();
      errors.hidden = true;
      live.announce(`Read ${count(data.count)} images from ${data.name}.`);
      if (store.values.data === "own") page.figures.forEach((update) => update());
      else if (!again) store.set({ data: "own" });
    } catch (thrown) {
      showFailure(errors, toFailure(thrown));
    }
    root.setAttribute("aria-busy", "false");
  };

  for (const name of ["files", "folder"]) {
    const input = part(root, name, HTMLInputElement);
    element(root, `choose-${name}`).addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      void load([...(input.files ?? [])]);
      // So that choosing the same files again counts as a change.
      input.value = "";
    });
  }
  store.subscribe(["own.size", "own.colour"], () => void load(own, true));
  acceptDrops(dropNotice, async (transfer, on) => {
    try {
      const before = own;
      await load(await droppedFiles(transfer));
      // Whoever drops images on the lab wants to train on them.
      if (own !== before && on instanceof Element && on.closest("#lab")) store.set({ "lab.data": "own" });
    } catch {
      const hint = "Check that the folder may be read, or choose its files instead.";
      showFailure(errors, { kind: "BadInput", message: "What was dropped cannot be read", hint });
    }
  });

  liveFigure(root, page, {
    reads: SETTING,
    compute: (values, lane) => lane.call("describe", { setting: setting(values) }),
    draw({ data, n, examples: pictures }) {
      const shown = pictureCount(pictures);
      drawGrid(gallery, pictures, gallery.clientWidth < NARROW ? Math.ceil(shown / 2) : shown);
      const { width, height, channels } = data;
      root.dataset.hash = data.hash;
      // Of the reader's own images the page does not know where they come from.
      origin.hidden = data.source === "";
      live.set({
        "data.name": data.name,
        "data.source": data.source,
        "data.licence": data.licence,
        "data.note": sentence(data.note),
        "data.size": `${width} × ${height}${channels === 3 ? " in colour" : ""}`,
        "data.dimensions": count(width * height * channels),
        "data.count": count(data.count),
        "data.heldOut": count(data.heldOutCount),
        "data.n": n === data.trainCount ? `all ${count(n)}` : count(n),
      });
      page.live.claim("data.rank", n > width * height * channels);
    },
  });

  return {
    /** Read the reader's files once more, after the worker that held them died; not again if it was that which killed it. */
    async reload() {
      if (!read) return;
      read = false;
      await load(own, true);
    },
    /** The reader's own images, if there are any. */
    get own() {
      return recipe;
    },
  };
}
