import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, list, milliseconds, percent, range, sentence, significant } from "../src/ui/format.js";

/** Percent signs stand behind a narrow space that does not break. @param {number} share */
const plain = (share) => percent(share).replace("\u202f", " ");

test("a share never rounds to none or to all unless it is", () => {
  assert.equal(plain(0), "0 %");
  assert.equal(plain(1e-9), "< 0.1 %");
  assert.equal(plain(0.0123), "1.2 %");
  assert.equal(plain(0.5), "50 %");
  assert.equal(plain(0.996), "99.6 %");
  assert.equal(plain(0.9999999), "> 99.9 %");
  assert.equal(plain(1), "100 %");
  assert.equal(percent(NaN), "–");
});

test("numbers keep their significant digits", () => {
  assert.equal(significant(0.002), "0.002");
  assert.equal(significant(42.4152), "42.4");
  assert.equal(significant(0), "0");
  assert.equal(significant(1.234e-7), "1.23e-7");
  assert.equal(significant(Infinity), "–");
  assert.equal(count(8192), "8,192");
});

test("times are read at a glance", () => {
  assert.equal(milliseconds(0.2), "1 ms");
  assert.equal(milliseconds(12.6), "13 ms");
  assert.equal(milliseconds(2345), "2.3 s");
  assert.equal(duration(0.1), "1 s");
  assert.equal(duration(89.4), "89 s");
  assert.equal(duration(300), "5 min");
  assert.equal(duration(9000), "2.5 h");
});

test("a list has one “and”", () => {
  assert.equal(list([]), "");
  assert.equal(list(["8"]), "8");
  assert.equal(list(["8", "16"]), "8 and 16");
  assert.equal(list(["8", "16", "32"]), "8, 16 and 32");
});

test("a sentence ends once", () => {
  assert.equal(sentence("The file is empty"), "The file is empty.");
  assert.equal(sentence("Done."), "Done.");
  assert.equal(sentence(""), "");
});

test("a range names its ends, and one number if they read the same", () => {
  assert.equal(range([30, 8, 1200], count), "8 to 1,200");
  assert.equal(range([8.01, 8.02], significant), "8.01 to 8.02");
  assert.equal(
    range([8.01, 8.02], (value) => significant(value, 2)),
    "8",
  );
  assert.equal(range([], count), "–");
});
