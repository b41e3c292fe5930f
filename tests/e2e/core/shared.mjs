// What the drivers share.

import assert from "node:assert/strict";

/** @import { Point } from "./driver.mjs" */

const { SITE_URL } = process.env;
assert(SITE_URL, "run these tests by: cargo xtask test --only e2e,firefox,webkit");

/** The page's address; ends with a slash. */
export const siteUrl = SITE_URL;

/** Whether an address leads to no other host. @param {string} address */
export function isLocal(address) {
  const { protocol, origin } = new URL(address);
  return ["about:", "blob:", "data:"].includes(protocol) || origin === new URL(siteUrl).origin;
}

/**
 * The mouse, as both forms of WebDriver take it: pressed at the first point, moved over the others, released.
 * @param {Point[]} points
 */
export function drag([first, ...others]) {
  /** @param {Point} point */
  const move = ({ x, y }, duration = 0) => ({ type: "pointerMove", x, y, duration });
  const actions = [
    move(first),
    { type: "pointerDown", button: 0 },
    ...others.map((point) => move(point, 50)),
    { type: "pointerUp", button: 0 },
  ];
  return [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }];
}
