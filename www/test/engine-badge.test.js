import assert from "node:assert/strict";
import { test } from "node:test";
import { webgpuHint } from "../src/ui/engine-badge.js";

const LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0";
const ANDROID =
  "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36";
const MAC =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15";

test("a reader without WebGPU is told what would switch it on, where we know", () => {
  assert.match(webgpuHint(LINUX, true), /chrome:\/\/flags/);
  assert.match(webgpuHint(FIREFOX, true), /about:config/);
  for (const agent of [ANDROID, MAC]) assert.equal(webgpuHint(agent, true), "");
  assert.match(webgpuHint(MAC, false), /https/);
});
