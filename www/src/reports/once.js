/**
 * Do something once per name.
 * @template T
 * @param {(name: string) => Promise<T>} work
 * @returns {(name: string) => Promise<T>}
 */
export function once(work) {
  /** @type {Map<string, Promise<T>>} */
  const done = new Map();
  return (name = "") => {
    const known = done.get(name) ?? work(name);
    done.set(name, known);
    // A failure is not kept: the connection may come back.
    known.catch(() => done.delete(name));
    return known;
  };
}
