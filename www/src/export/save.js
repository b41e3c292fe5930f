/** What leaves the page: files and copied text. */

/** @import { Table } from "../ui/chart.js" */

/**
 * Hand a file to the reader.
 * @param {string} name
 * @param {Blob | string | Uint8Array<ArrayBuffer>} contents
 */
export function save(name, contents) {
  const address = URL.createObjectURL(contents instanceof Blob ? contents : new Blob([contents]));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  // The download reads the address after the click returns.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * Put text on the clipboard.
 * @param {string} text
 */
export async function copy(text) {
  await navigator.clipboard.writeText(text).catch(() => {
    throw { kind: "Refused", message: "The browser did not allow copying", hint: `Copy it from here: ${text}` };
  });
}

/**
 * Tables as comma-separated values (RFC 4180). One table is a plain file; several follow each other, each under its
 * title and after an empty line.
 * @param {Table[]} tables
 */
export function toCsv(tables) {
  const blocks = tables.map(({ title, columns, rows }) => {
    const lines = [columns, ...rows].map((row) => row.map(cell).join(","));
    return [...(tables.length > 1 ? [cell(title)] : []), ...lines].join("\r\n");
  });
  return `${blocks.join("\r\n\r\n")}\r\n`;
}

/** A cell; the thousands separators of the page are for eyes only. @param {string | number} value */
function cell(value) {
  const text = String(value);
  if (/^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text)) return text.replaceAll(",", "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
