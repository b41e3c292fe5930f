/** Files that the reader drops on the page. */

/**
 * Take files dropped anywhere on the page.
 * @param {HTMLElement} notice shown while files are dragged over the page
 * @param {(transfer: DataTransfer, on: EventTarget | null) => void} take
 */
export function acceptDrops(notice, take) {
  /** Entering a child comes before leaving its parent, so count. */
  let depth = 0;
  /** @param {DragEvent} event */
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;
  /** @param {number} next */
  const setDepth = (next) => {
    depth = Math.max(0, next);
    notice.hidden = depth === 0;
  };
  document.addEventListener("dragenter", (event) => carriesFiles(event) && setDepth(depth + 1));
  document.addEventListener("dragleave", (event) => carriesFiles(event) && setDepth(depth - 1));
  document.addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer || !carriesFiles(event)) return;
    event.preventDefault();
    setDepth(0);
    take(event.dataTransfer, event.target);
  });
}

/**
 * All files of a drop, folders opened.
 * @param {DataTransfer} transfer
 * @returns {Promise<File[]>}
 */
export async function droppedFiles(transfer) {
  // The entries must be taken before the first await: the browser empties the transfer after the event.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  const files = [...transfer.files];
  if (entries.some((entry) => entry?.isDirectory)) {
    return (await Promise.all(entries.map((entry) => (entry ? walk(entry) : [])))).flat();
  }
  return files;
}

/**
 * @param {FileSystemEntry} entry
 * @returns {Promise<File[]>}
 */
async function walk(entry) {
  if (entry.isFile) {
    return [await new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject))];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  const files = [];
  // A reader hands out a folder in portions; an empty one ends it.
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const portion = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (portion.length === 0) return files;
    files.push(...(await Promise.all(portion.map(walk))).flat());
  }
}
