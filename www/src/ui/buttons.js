import { toFailure } from "../engine/protocol.js";
import { showFailure } from "./notice.js";

/** How long a button says that it is done. */
const DONE_MS = 2500;

/**
 * Let a button do something. What goes wrong shows in `errors`.
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} errors
 * @param {() => unknown} act
 * @param {string} [done] what the button says for a while after that
 */
export function onPress(button, errors, act, done) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await act();
      errors.hidden = true;
      if (!done) return;
      button.textContent = done;
      button.dataset.done = "";
      setTimeout(() => {
        button.textContent = label;
        delete button.dataset.done;
      }, DONE_MS);
    } catch (thrown) {
      showFailure(errors, toFailure(thrown));
    }
  });
}
