import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { linkHeadings } from "../build/contents.js";
import { facts, fillIn, linkSources } from "../build/facts.js";
import { decodeImage, encodePng } from "../build/image-files.js";
import { preview } from "../build/preview.js";
import { expandSections } from "../build/sections.js";

const index = readFileSync(new URL("../index.html", import.meta.url), "utf8");

test("headings of the text get a name and a link, those of figures do not", () => {
  const html = linkHeadings(
    '<nav><!-- contents --></nav><h2 id="a" data-message="It works.">Alpha</h2>' +
      '<h3 class="text-head">Copies, <i>counted</i></h3><h3>Of a figure</h3>',
  );
  assert.ok(html.includes('<nav><li><a href="#a">Alpha <small>It works.</small></a></li></nav>'), html);
  assert.match(html, /<h2 id="a">Alpha <a class="section-link" href="#a"/);
  assert.match(html, /<h3 id="copies-counted" class="text-head">/);
  assert.ok(html.endsWith("<h3>Of a figure</h3>"));
});

test("every section is in the table of contents with one line of message, and every name is there once", () => {
  const html = linkHeadings(expandSections(index));
  const entries = [...html.matchAll(/<li><a href="#([\w-]+)">(?:(?!<\/li>)[\s\S])*<\/li>/g)].map(([text, id]) => ({
    id,
    message: /<small>(.+)<\/small>/.exec(text)?.[1],
  }));
  assert.ok(entries.length >= 9);
  for (const { id, message } of entries) assert.ok(message && message.length < 75, `#${id}: ${message}`);
  const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
  assert.deepEqual(
    ids.filter((id, i) => ids.indexOf(id) !== i),
    [],
  );
});

test("the page says its version, and links to its code if it is known where that is", () => {
  const known = { version: "1.2.3", commit: "abc", date: "2026-01-02", repository: "", site: "" };
  const html = '{{version}}<!-- if repository --><a href="{{repository}}">Code</a><!-- /if -->';
  assert.equal(fillIn(html, known), "1.2.3");
  const repository = 'https://example.org/?a="b"&c';
  assert.equal(
    fillIn(html, { ...known, repository }),
    '1.2.3<a href="https://example.org/?a=&quot;b&quot;&amp;c">Code</a>',
  );
  assert.throws(() => fillIn("{{cats}}", known), /cats/);
  assert.equal(facts({ PAGE_URL: "https://example.org/page" }).site, "https://example.org/page/");
  assert.match(facts({}).version, /^\d+\.\d+\.\d+$/);
  assert.doesNotMatch(fillIn(expandSections(index), known), /\{\{\w+\}\}|<!-- \/?if /);
});

test("every figure leads to the file that draws it, if it is known where the code is", () => {
  const known = { version: "1.2.3", commit: "abc", date: "2026-01-02", repository: "", site: "" };
  const html = expandSections(index);
  assert.equal(linkSources(html, known), html);
  const linked = linkSources(html, { ...known, repository: "https://example.org/code/" });
  const files = [...linked.matchAll(/ data-source="https:\/\/example\.org\/code\/blob\/abc\/([^"]+)"/g)];
  assert.equal(files.length, html.match(/<figure\b/g)?.length);
  for (const [, file] of files) assert.ok(existsSync(new URL(`../../${file}`, import.meta.url)), file);
});

test("a link to a paper has its number for paper, unless its text is the number", () => {
  const link = (/** @type {string} */ text) => expandSections(`<a href="https://arxiv.org/abs/2410.24060">${text}</a>`);
  assert.match(link("Li et al., 2024"), / data-arxiv="2410\.24060">/);
  assert.doesNotMatch(link("arXiv:2410.24060"), /data-arxiv/);
});

test("pictures are PNG files with the channels that they need", () => {
  const cases = /** @type {const} */ ([
    [[7, 7, 7, 255], 0],
    [[7, 7, 7, 9], 4],
    [[1, 2, 3, 255], 2],
    [[1, 2, 3, 4], 6],
  ]);
  for (const [pixel, type] of cases) {
    const rgba = new Uint8ClampedArray([...pixel, ...pixel]);
    const png = encodePng(2, 1, rgba);
    assert.equal(png[25], type);
    assert.deepEqual(decodeImage(png), { width: 2, height: 1, data: rgba });
  }
});

test("the preview of links is as large as sites want it, and shows more than paper", () => {
  const png = preview();
  assert.equal(png.readUInt32BE(16), 1200);
  assert.equal(png.readUInt32BE(20), 630);
  assert.ok(png.length > 30_000 && png.length < 300_000, `${png.length} bytes`);
});
