// One contestant in a worker of its own, where the page's library runs, too.

const contestants = {
  ours: () => import("./ours.js"),
  jaxjs: () => import("./jaxjs.js"),
  tfjs: () => import("./tfjs.js"),
};

let running;

const actions = {
  async start({ who, ...options }) {
    running = await (await contestants[who]()).start(options);
    return { parameters: running.parameters };
  },
  async steps({ count }) {
    const before = performance.now();
    const loss = await running.steps(count);
    return { seconds: (performance.now() - before) / 1000, loss };
  },
  async rates() {
    return (await contestants.ours()).rates();
  },
  async denoisers() {
    return (await contestants.ours()).denoisers();
  },
  async pool({ size }) {
    return (await contestants.ours()).pool(size);
  },
};

self.onmessage = async ({ data: { action, ...options } }) => {
  try {
    self.postMessage({ answer: await actions[action](options) });
  } catch (error) {
    self.postMessage({ error: error.message ?? String(error) });
  }
};
