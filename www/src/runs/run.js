/**
 * An experiment that runs while the reader looks on.
 *
 * A run is divided into shares that never meet. On the CPU engine each share has a worker of its own; on the GPU one
 * worker has them all. The page keeps the last snapshot of each share, so a run outlives its workers: a crash, a lost
 * device or a change of engine costs at most what was trained since.
 */
import { sentence } from "../ui/format.js";
import { EngineClient } from "../engine/client.js";
import { notStarted, toFailure } from "../engine/protocol.js";
import { Clock, openPromise, Pace } from "./timing.js";

/**
 * @import { Progress as ShareProgress } from "../../pkg/hidden_gaussian.js"
 * @import { WorkerLike } from "../engine/client.js"
 * @import { EngineInfo, Failure, OwnImages, PlanResult, RunCalls, RunOptions } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 * @import { EngineChoice } from "../state/parameters.js"
 * @import { KeptRun, KeptShare, RunStorage } from "./storage.js"
 */

/**
 * @typedef {"preparing" | "running" | "paused" | "done" | "failed" | "cancelled"} State
 * @typedef {object} Progress
 * @property {number} step of the longest share, as if all went at the same speed
 * @property {number} total
 * @property {number | null} stepsPerSecond
 * @property {number | null} secondsLeft
 * @property {number} workers
 * @property {ShareProgress["training"]["members"]} members the networks that have just trained
 *
 * @typedef {object} Surroundings what a runner needs from the page
 * @property {() => WorkerLike} startWorker
 * @property {string} base the page's address
 * @property {number} cores
 * @property {Pick<RunStorage, "put" | "get" | "list" | "delete">} storage
 * @property {Pick<LockManager, "request">} [locks] what the browser's tabs have to themselves, if it sees to that
 * @property {() => EngineChoice} choice the engine that the reader chose
 * @property {() => Promise<EngineInfo["rates"]>} measure the speeds of both engines, the CPU's for one core
 *
 * @typedef {{client: EngineClient<RunCalls>, shares: KeptShare[], step: boolean, glance: Pace, checkpoint: Pace}} Hand
 *   a worker with its shares; `step`: it may do one step although the run is paused
 */

/** One slice of training: short enough for the reader to pause, long enough for the rest not to count. */
const SLICE_MS = 400;
/** How often the page looks at a run. */
const GLANCE_MS = 1000;
/** How often the run is saved. */
const CHECKPOINT_MS = 5000;
/** How often listeners hear of progress. Each time the page is drawn anew, on a core that training could have. */
const TELL_MS = 250;
/** Over how long the rate is measured. */
const RATE_MS = 1000;
/** A GPU that fails this often is given up for the CPU; after that, so is the run. */
const PATIENCE = { gpu: 2, cpu: 3 };

/** What to do with a failure other than to try again. No other engine and no other try helps against bad input. */
const HOPELESS = ["BadInput"];
/** The GPU cannot do it at all, but the CPU may. */
const NOT_ON_GPU = ["NoAdapter", "LimitExceeded"];

/** A run. `change` events tell when its state, progress, report or notice changed. */
export class Run extends EventTarget {
  #surroundings;
  #own;
  #date;
  #choice;
  /** @type {PlanResult | undefined} */
  #plan;
  /** @type {KeptShare[]} */
  #shares = [];
  /** @type {Hand[]} */
  #crew = [];
  /** Counts crews; what an earlier crew still says does not count. */
  #stint = 0;
  #failures = 0;
  /** @type {Exclude<State, "paused">} */
  #phase = "preparing";
  #paused = false;
  #speed = 1;
  /** Resolves at the reader's next wish; hands that pause or rest wait for it. */
  #wish = openPromise();
  #clock;
  #keeping = new Pace(CHECKPOINT_MS);
  /** Whether something is to be kept that is not, whether that is under way, and whether it was ever refused. */
  #unkept = false;
  #isKeeping = false;
  #refused = false;
  /** Whether it is deleted, and never to be kept again. */
  #forgotten = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** Whether there is something newer to see than `report`. */
  #fresh = false;
  #shownAt = -Infinity;
  /** @type {{at: number, step: number} | undefined} */
  #mark;

  /** The engine that it runs on. @type {"cpu" | "gpu" | undefined} */
  engine;
  /** What was found last. @type {Report | undefined} */
  report;
  /** Why it failed. @type {Failure | undefined} */
  failure;
  /** What the reader should know about how it goes. @type {string | undefined} */
  notice;
  /** @type {Progress} */
  progress = { step: 0, total: 0, stepsPerSecond: null, secondsLeft: null, workers: 0, members: [] };

  /**
   * @param {Surroundings} surroundings
   * @param {Pick<KeptRun, "id" | "options" | "own" | "date"> & Partial<KeptRun>} kept what is known of it
   */
  constructor(surroundings, { id, options, own, date, engine, state, progress, seconds, plan, shares, report }) {
    super();
    this.#surroundings = surroundings;
    // Only a run on the reader's own files keeps them: they may be large.
    this.#own = options.own ? own : undefined;
    this.#date = date;
    this.id = id;
    this.options = options;
    this.#choice = surroundings.choice();
    this.#clock = new Clock(seconds);
    this.#clock.start();
    if (!plan || !shares) {
      void this.#guard(() => this.#begin());
      return;
    }
    this.#plan = plan;
    this.#shares = shares.map((share) => ({ ...share, kept: share.progress }));
    this.report = report;
    Object.assign(this.progress, progress);
    this.engine = engine;
    if (state === "done") {
      this.#phase = "done";
      this.#clock.stop();
      return;
    }
    // "auto" stays on the engine that the run was on: there it goes on to the same bits.
    void this.#guard(async () => this.#work(this.#choice === "auto" ? (engine ?? "cpu") : this.#choice));
  }

  /** The reader's own images, if it is on those. */
  get own() {
    return this.#own;
  }

  /** @returns {State} */
  get state() {
    return this.#paused && this.#active ? "paused" : this.#phase;
  }

  get #active() {
    return this.#phase === "preparing" || this.#phase === "running";
  }

  pause() {
    this.#setPaused(true);
  }

  resume() {
    this.#setPaused(false);
  }

  /** The share of the time that it trains, above 0 and up to 1. */
  get speed() {
    return this.#speed;
  }

  set speed(share) {
    this.#speed = share;
    this.#forgetRate();
    this.#rouse();
    this.#tell();
  }

  /** One slice of a paused run. */
  step() {
    if (!this.#paused) return;
    for (const hand of this.#crew) hand.step = true;
    this.#rouse();
  }

  /** End it and forget it, at once. */
  cancel() {
    if (!this.#active) return;
    this.#end("cancelled");
    void this.forget();
  }

  /** Delete what the browser keeps of it. */
  async forget() {
    this.#forgotten = true;
    await this.#surroundings.storage.delete(this.id).catch(() => {});
  }

  /**
   * Go on with another engine, from where it is.
   * @param {EngineChoice} choice
   */
  switchEngine(choice) {
    this.#choice = choice;
    // While it is planned, the choice is still to be asked for.
    if (!this.#active || !this.#plan) return;
    void this.#guard(async () => {
      const engine = await this.#decide();
      if (engine === this.engine || !this.#active) return;
      const stint = ++this.#stint;
      this.#failures = 0;
      this.#phase = "preparing";
      this.#tell();
      // A hand that fails here has left a snapshot earlier.
      await Promise.all(this.#training.map((hand) => this.#snapshot(hand).catch(() => {})));
      // The reader may have changed their mind meanwhile.
      const wanted = await this.#decide();
      if (stint === this.#stint) await this.#work(wanted);
    });
  }

  /** The networks as they are now, as safetensors, one file for each ensemble. @returns {Promise<Uint8Array[]>} */
  async weights() {
    const weights = new Map(this.#shares.map((share) => [share, share.weights]));
    for (const hand of this.#training) {
      const live = await ask(hand, "weights", {});
      hand.shares.forEach((share, i) => weights.set(share, live[i]));
    }
    const blobs = [...weights.values()].flat();
    return Promise.all(blobs.map(async (blob) => new Uint8Array(await blob.arrayBuffer())));
  }

  /** @param {boolean} paused */
  #setPaused(paused) {
    if (!this.#active || this.#paused === paused) return;
    this.#paused = paused;
    this.#mark = undefined;
    if (paused) this.#clock.stop();
    else this.#clock.start();
    this.#rouse();
    this.#tell();
  }

  /** Let hands that wait look at what the reader wishes. */
  #rouse() {
    const { resolve } = this.#wish;
    this.#wish = openPromise();
    resolve();
  }

  /** The hands that have something left to do. */
  get #training() {
    return this.#crew.filter(({ shares }) => shares.some(({ report }) => !report));
  }

  /**
   * Do `work`; if it fails, so does the run.
   * @param {() => Promise<void>} work
   */
  async #guard(work) {
    try {
      await work();
    } catch (thrown) {
      if (!this.#active) return;
      this.failure = toFailure(thrown);
      this.#end("failed");
    }
  }

  async #begin() {
    const stint = this.#stint;
    const client = await this.#makePlan(stint);
    if (!client) return;
    this.#failures = 0;
    const engine = await this.#decide();
    if (stint === this.#stint) await this.#work(engine, client);
  }

  /**
   * See the whole configuration and its shares, with a new worker when one fails.
   * @param {number} stint
   * @returns {Promise<Hand["client"] | undefined>} the worker that made the plan; undefined when nobody waits for it
   */
  async #makePlan(stint) {
    for (;;) {
      const planner = this.#hire([]);
      this.#crew = [planner];
      try {
        const wish = { options: this.options, own: this.#own, workers: this.#surroundings.cores };
        this.#plan = await planner.client.call("plan", wish);
        return planner.client;
      } catch (thrown) {
        if (stint !== this.#stint) return undefined;
        planner.client.close();
        const failure = toFailure(thrown);
        if (!this.#recover(failure)) throw failure;
      }
    }
  }

  /** The engine to run on. @returns {Promise<"cpu" | "gpu">} */
  async #decide() {
    if (this.#choice !== "auto") return this.#choice;
    const { cpu = 0, gpu = 0 } = await this.#surroundings.measure().catch(() => ({ cpu: 0, gpu: 0 }));
    // The CPU was measured on one core; here it has as many as there are shares.
    return gpu > cpu * (this.#plan?.shares.length ?? 1) ? "gpu" : "cpu";
  }

  /**
   * Run to the end on this engine, from the last snapshots.
   * @param {"cpu" | "gpu"} engine
   * @param {Hand["client"]} [ready] a worker that is there already
   */
  async #work(engine, ready) {
    const stint = ++this.#stint;
    for (const { client } of this.#crew) if (client !== ready) client.close();
    this.engine = engine;
    this.#phase = "preparing";
    // Until something is trained the shares can still be cut to fit the engine.
    if (this.#plan && this.#shares.every(({ snapshot, report }) => !snapshot && !report)) {
      const configs = engine === "gpu" ? [this.#plan.config] : this.#plan.shares;
      this.#shares = configs.map((config) => ({
        config,
        snapshot: null,
        kept: null,
        progress: null,
        glance: null,
        report: null,
        weights: [],
      }));
    }
    const left = this.#shares.filter(({ report }) => !report);
    const groups = engine === "gpu" && left.length > 0 ? [left] : left.map((share) => [share]);
    this.#crew = groups.map((shares, i) => this.#hire(shares, i === 0 ? ready : undefined));
    this.#forgetRate();
    this.#tell();
    void this.#keep();
    await Promise.all(this.#crew.map((hand) => this.#serve(hand, stint)));
    if (stint !== this.#stint) return;
    this.#end("done");
    void this.#keep();
  }

  /**
   * @param {KeptShare[]} shares
   * @param {Hand["client"]} [client]
   * @returns {Hand}
   */
  #hire(shares, client = new EngineClient(this.#surroundings.startWorker, this.#surroundings.base)) {
    return { client, shares, step: false, glance: new Pace(GLANCE_MS), checkpoint: new Pace(CHECKPOINT_MS) };
  }

  /**
   * See the shares of one hand through, with a new worker when one fails.
   * @param {Hand} hand
   * @param {number} stint
   */
  async #serve(hand, stint) {
    for (;;) {
      try {
        await this.#train(hand, stint);
        return;
      } catch (thrown) {
        if (stint !== this.#stint) return;
        hand.client.close();
        // What was trained since the snapshot is gone.
        for (const share of hand.shares) share.progress = null;
        this.#phase = "preparing";
        const failure = toFailure(thrown);
        const engine = this.#recover(failure);
        if (!engine) throw failure;
        if (engine !== this.engine) return this.#work(engine);
        hand.client = this.#hire([]).client;
      }
    }
  }

  /**
   * Where to go on after a failure, if at all; tells the reader.
   * @param {Failure} failure
   */
  #recover(failure) {
    if (HOPELESS.includes(failure.kind)) return undefined;
    // Plans are made without an engine, in a worker like those of the CPU.
    const engine = this.engine ?? "cpu";
    this.#failures++;
    const onGpu = engine === "gpu";
    const worn = this.#failures >= PATIENCE[engine];
    if (!onGpu && (worn || failure.kind === "LimitExceeded")) return undefined;
    const leave = onGpu && (worn || NOT_ON_GPU.includes(failure.kind));
    if (leave) this.#failures = 0;
    const from = this.#shares.some(({ snapshot }) => snapshot) ? "its last checkpoint" : "the beginning";
    const where = leave ? "on the CPU engine" : onGpu ? "on a new device" : "in a new worker";
    this.#forgetRate();
    this.notice = `${sentence(failure.message)} The run goes on from ${from}, ${where}.`;
    this.#tell();
    return leave ? "cpu" : engine;
  }

  /**
   * Train the shares of one hand to the end, and see what came out.
   * @param {Hand} hand
   * @param {number} stint
   */
  async #train(hand, stint) {
    const { client, shares } = hand;
    const { experiment, data: recipe } = this.options;
    const stale = () => stint !== this.#stint;
    /** Whether something is trained that no snapshot has. */
    let trained = false;
    const checkpoint = async () => {
      await hand.checkpoint.time(() => this.#snapshot(hand));
      trained = false;
    };
    await client.call("start", {
      engine: this.engine ?? "cpu",
      experiment,
      recipe,
      own: this.#own,
      shares: shares.map(({ config, snapshot }) => ({ config, snapshot })),
    });
    for (let done = false; !done && !stale(); ) {
      if (this.#paused && !hand.step) {
        const { promise } = this.#wish;
        // One who pauses may leave the page.
        if (trained) await checkpoint();
        if (stale()) return;
        void this.#keep();
        await promise;
        continue;
      }
      const stepped = hand.step;
      hand.step = false;
      const start = performance.now();
      const progress = await ask(hand, "advance", { milliseconds: stepped ? 0 : SLICE_MS });
      if (stale()) return;
      const elapsed = performance.now() - start;
      shares.forEach((share, i) => (share.progress = progress[i]));
      trained = true;
      this.#ran();
      done = progress.every(({ step, total }) => step >= total);
      if (done) break;
      if (stepped || hand.glance.due) {
        const glances = await hand.glance.time(() => ask(hand, "glance", {}));
        if (stale()) return;
        shares.forEach((share, i) => (share.glance = glances[i]));
        this.#fresh = true;
        this.#tellSoon();
      }
      if (hand.checkpoint.due) {
        await checkpoint();
        if (stale()) return;
        if (this.#keeping.due) void this.#keep();
      }
      if (this.#speed < 1 && !this.#paused) await this.#rest(elapsed * (1 / this.#speed - 1));
    }
    if (stale()) return;
    const reports = await ask(hand, "report", {});
    const weights = await ask(hand, "weights", {});
    if (stale()) return;
    shares.forEach((share, i) =>
      Object.assign(share, { report: reports[i], weights: weights[i], snapshot: null, kept: share.progress }),
    );
    client.close();
    this.#fresh = true;
    this.#tellSoon();
  }

  /** Wait so long, or until the reader wishes something else. @param {number} milliseconds */
  async #rest(milliseconds) {
    await Promise.race([this.#wish.promise, new Promise((resolve) => setTimeout(resolve, milliseconds))]);
  }

  /** @param {Hand} hand */
  async #snapshot(hand) {
    const snapshots = await ask(hand, "snapshot", {});
    hand.shares.forEach((share, i) => Object.assign(share, { snapshot: snapshots[i], kept: share.progress }));
  }

  /** A slice is done. Once all hands have done one, it runs. */
  #ran() {
    if (this.#phase === "preparing" && this.#shares.every(({ progress, report }) => progress || report)) {
      this.#phase = "running";
    }
    this.#tellSoon();
  }

  /** @param {"done" | "failed" | "cancelled"} phase */
  #end(phase) {
    this.#stint++;
    for (const { client } of this.#crew) client.close();
    this.#phase = phase;
    this.#clock.stop();
    this.#rouse();
    this.#tell();
    this.#crew = [];
  }

  /** Keep it in the browser's storage. If the browser refuses, the run goes on all the same, and the reader is told once. */
  async #keep() {
    this.#unkept = true;
    if (this.#isKeeping) return;
    this.#isKeeping = true;
    while (this.#unkept && !this.#forgotten) {
      this.#unkept = false;
      try {
        await this.#keeping.time(() => this.#surroundings.storage.put(this.#record()));
      } catch (thrown) {
        if (this.#refused) continue;
        this.#refused = true;
        this.notice = `This browser does not keep the run, so a reload would lose it: ${sentence(toFailure(thrown).message)}`;
        this.#tell();
      }
    }
    this.#isKeeping = false;
  }

  /** @returns {KeptRun} */
  #record() {
    if (!this.#plan || !this.engine) throw new Error("Nothing is planned yet");
    // What comes back later is what the snapshots hold, and the run has gone on since they were taken.
    const shares = this.#shares.map((share) => ({ ...share, progress: share.kept }));
    const reached = this.#shares.map(({ kept, progress }) => ({ step: kept?.step ?? 0, total: (progress ?? kept)?.total ?? 0 }));
    return {
      id: this.id,
      options: this.options,
      own: this.#own,
      date: this.#date,
      engine: this.engine,
      state: this.#phase === "done" ? "done" : "running",
      progress: position(reached),
      seconds: this.#clock.seconds,
      plan: this.#plan,
      shares,
      report: this.report,
    };
  }

  /** Tell listeners, not too often. */
  #tellSoon() {
    this.#timer ??= setTimeout(() => this.#tell(), TELL_MS);
  }

  #tell() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#look();
    this.progress = this.#measure();
    this.dispatchEvent(new Event("change"));
  }

  /** Put what the shares found together, at display rate. */
  #look() {
    if (!this.#fresh) return;
    const wait = this.#shownAt + GLANCE_MS - performance.now();
    if (wait > 0 && this.#phase !== "done") {
      this.#timer = setTimeout(() => this.#tell(), wait);
      return;
    }
    // A glance has fewer noise levels than a full report; the two do not mix.
    const full = this.#shares.every(({ report }) => report);
    const reports = this.#shares.map(({ report, glance }) => (full ? report : glance));
    if (!reports.every((report) => report !== null)) return;
    this.#fresh = false;
    this.#shownAt = performance.now();
    this.report = mergeReports(reports, JSON.parse(this.#plan?.config ?? "null"), this.#clock.seconds);
  }

  /** The rate is to be measured anew. */
  #forgetRate() {
    this.#mark = undefined;
    this.progress = { ...this.progress, stepsPerSecond: null, secondsLeft: null };
  }

  /** @returns {Progress} */
  #measure() {
    const { progress: before } = this;
    const shares = this.#shares.flatMap(({ progress }) => progress ?? []);
    // Without one of them nobody knows where the run is.
    if (shares.length < this.#shares.length || shares.length === 0) return before;
    const { step, total } = position(shares);
    const now = performance.now();
    this.#mark ??= { at: now, step };
    let { stepsPerSecond } = before;
    if (now - this.#mark.at >= RATE_MS && step > this.#mark.step) {
      const rate = (1000 * (step - this.#mark.step)) / (now - this.#mark.at);
      stepsPerSecond = stepsPerSecond === null ? rate : (stepsPerSecond + rate) / 2;
      this.#mark = { at: now, step };
    }
    return {
      step,
      total,
      stepsPerSecond,
      // With everything that is done besides training.
      secondsLeft: stepsPerSecond && step < total ? (total - step) / stepsPerSecond : null,
      workers: this.#crew.length,
      members: shares.flatMap(({ training }) => training.members),
    };
  }
}

/**
 * Ask a hand about all of its shares.
 * @template {Exclude<keyof RunCalls, "plan" | "start">} K
 * @param {Hand} hand
 * @param {K} call
 * @param {RunCalls[K]["call"]} payload
 * @returns {Promise<RunCalls[K]["result"]>}
 */
async function ask({ client, shares }, call, payload) {
  const answers = await client.call(call, payload);
  // Taken as they are, no answers would be a run that is done.
  if (answers.length !== shares.length) throw notStarted();
  return answers;
}

/**
 * Where a run is that has these shares, in steps of the longest.
 * @param {{step: number, total: number}[]} shares
 */
function position(shares) {
  const sum = (/** @type {"step" | "total"} */ name) => shares.reduce((all, share) => all + share[name], 0);
  const total = Math.max(...shares.map((share) => share.total));
  return { step: Math.round((total * sum("step")) / Math.max(1, sum("total"))), total };
}

/**
 * The report of a run from those of its shares, whose findings follow one another.
 * @param {Report[]} reports
 * @param {any} config of the whole run
 * @param {number} seconds of the whole run
 * @returns {Report}
 */
export function mergeReports(reports, config, seconds) {
  const parts = reports.map(({ findings }) => findings);
  const findings = Array.isArray(parts[0])
    ? parts.flat()
    : Object.fromEntries(Object.keys(parts[0]).map((name) => [name, parts.flatMap((part) => part[name])]));
  return { ...reports[0], config, seconds, final: reports.every((report) => report.final), findings };
}
