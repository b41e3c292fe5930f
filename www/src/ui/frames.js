/**
 * Calls functions one to a frame, so that a page full of charts is drawn anew without a long task.
 * Asked again before it is done, it starts over: what is drawn last is drawn from the newest data.
 * @param {(() => void)[]} draws
 * @returns {() => void}
 */
export function inFrames(draws) {
  let next = draws.length;
  const frame = () => {
    draws[next++]();
    if (next < draws.length) requestAnimationFrame(frame);
  };
  return () => {
    const idle = next >= draws.length;
    next = 0;
    if (idle) requestAnimationFrame(frame);
  };
}
