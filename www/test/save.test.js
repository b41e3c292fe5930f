import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "../src/export/save.js";

test("one table is a plain file", () => {
  const table = {
    title: "Errors, by noise level",
    columns: ["σ", "Error"],
    rows: [
      ["0.5", 0.25],
      ["80", "–"],
    ],
  };
  assert.equal(toCsv([table]), "σ,Error\r\n0.5,0.25\r\n80,–\r\n");
});

test("several tables follow each other under their titles", () => {
  const first = { title: "A, first", columns: ["x"], rows: [[1]] };
  const second = { title: "B", columns: ["y"], rows: [[2]] };
  assert.equal(toCsv([first, second]), '"A, first"\r\nx\r\n1\r\n\r\nB\r\ny\r\n2\r\n');
});

test("quotes and commas are quoted; thousands lose their separators", () => {
  const table = {
    title: "",
    columns: ['say "N", please', "note"],
    rows: [
      ["4,096", "a, b"],
      ["1,234.5", "12,34"],
    ],
  };
  assert.equal(toCsv([table]), '"say ""N"", please",note\r\n4096,"a, b"\r\n1234.5,"12,34"\r\n');
});
