// Gives `run.mjs` workers to ask.

const workers = new Map();

globalThis.bench = {
  /** Asks worker `id`, which is made if there is none of that name, and waits for its answer. */
  ask(id, request) {
    let worker = workers.get(id);
    if (!worker) {
      worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
      workers.set(id, worker);
    }
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data: { error, answer } }) => {
        if (error === undefined) resolve(answer);
        else reject(new Error(error));
      };
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage(request);
    });
  },
  stop(id) {
    workers.get(id)?.terminate();
    workers.delete(id);
  },
};
