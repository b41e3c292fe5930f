/**
 * An experiment that runs while the reader looks on.
 *
 * A run is divided into shards that never meet. On the CPU engine each shard has a worker of its own; on the GPU one
 * worker has them all. The page keeps the last snapshot of each shard, so a run outlives its workers: a crash, a lost
 * device or a change of engine costs at most what was trained since.
 */
import { toFailure } from "../engine/protocol.js";
import { sentence } from "../ui/format.js";
import { mergeReports, position } from "./merge.js";
import { Meter } from "./meter.js";
import { Retry } from "./retry.js";
import { Saver } from "./saver.js";
import { Clock, openPromise } from "./timing.js";
import { PREVIEW_MS, SNAPSHOT_MS, WorkerSlot } from "./worker-slot.js";

/**
 * @import { WorkerLike } from "../engine/client.js"
 * @import { EngineInfo, Failure, PlanResult } from "../engine/protocol.js"
 * @import { Report } from "../reports/report.js"
 * @import { EngineChoice } from "../state/parameters.js"
 * @import { RunStorage, SavedRun, SavedShard } from "./storage.js"
 * @import { Progress as RunProgress } from "./meter.js"
 * @import { Recovery } from "./retry.js"
 */

/**
 * @typedef {RunProgress} Progress
 * @typedef {"preparing" | "running" | "paused" | "done" | "failed" | "cancelled"} State
 *
 * @typedef {object} RunnerDeps what a runner needs from the page
 * @property {() => WorkerLike} startWorker
 * @property {string} base the page's address
 * @property {number} cores
 * @property {Pick<RunStorage, "put" | "get" | "list" | "delete">} storage
 * @property {Pick<LockManager, "request">} [locks] what the browser's tabs have to themselves, if it sees to that
 * @property {() => EngineChoice} choice the engine that the reader chose
 * @property {(choice: EngineChoice) => Promise<EngineInfo["rates"]>} measure the speed of an engine, or with "auto" of both; the CPU's is for one core
 */

/** One slice of training: short enough for the reader to pause, long enough for the rest not to count. */
const SLICE_MS = 400;
/** The first slice of a worker: what it shows after that is what the reader waits for. */
const FIRST_SLICE_MS = 50;
/** How often listeners hear of progress. Each time the page is drawn anew, on a core that training could have. */
const NOTIFY_MS = 250;

/** How a run continues after a failure, in words. @type {Record<Recovery, string>} */
const RECOVERY = {
  network: "with another try",
  worker: "in a new worker",
  device: "on a new device",
  cpu: "on the CPU engine",
};

/** A run. `change` events say that its state, progress, report or notice changed. */
export class Run extends EventTarget {
  #deps;
  #own;
  #date;
  #choice;
  /** @type {PlanResult | undefined} */
  #plan;
  /** @type {SavedShard[]} */
  #shards = [];
  /** The workers that are on it. @type {WorkerSlot[]} */
  #pool = [];
  /** Counts pools; what an earlier one still says does not count. */
  #generation = 0;
  /** @type {Exclude<State, "paused">} */
  #phase = "preparing";
  #paused = false;
  #speed = 1;
  /** Resolves at the reader's next request; workers that pause or rest wait for it. */
  #request = openPromise();
  #clock;
  #meter = new Meter();
  #retry = new Retry();
  #saver;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** Whether there is something newer to see than `report`. */
  #isStale = false;
  #shownAt = -Infinity;

  /** The engine that it runs on. @type {"cpu" | "gpu" | undefined} */
  engine;
  /** What was found last. @type {Report | undefined} */
  report;
  /** Why it failed. @type {Failure | undefined} */
  failure;
  /** What the reader should know about how it goes. @type {string | undefined} */
  notice;
  /** How it continued after the last failure. @type {Recovery | undefined} */
  recovery;

  /**
   * @param {RunnerDeps} deps
   * @param {Pick<SavedRun, "id" | "options" | "own" | "date"> & Partial<SavedRun>} saved what is known of it
   */
  constructor(deps, { id, options, own, date, engine, state, progress, seconds, plan, shards, report }) {
    super();
    this.#deps = deps;
    // Only a run on the reader's own files keeps them: they may be large.
    this.#own = options.own ? own : undefined;
    this.#date = date;
    this.id = id;
    this.options = options;
    this.#choice = deps.choice();
    this.#clock = new Clock(seconds);
    this.#clock.start();
    this.#saver = new Saver(
      deps.storage,
      SNAPSHOT_MS,
      () => this.#record(),
      (thrown) => {
        this.notice = `The browser would not save the run, so reloading the page will lose it: ${sentence(toFailure(thrown).message)}`;
        this.#notify();
      },
    );
    if (!plan || !shards) {
      void this.#guard(() => this.#begin());
      return;
    }
    this.#plan = plan;
    this.#shards = shards.map((shard) => ({ ...shard, savedProgress: shard.progress }));
    this.report = report;
    Object.assign(this.#meter.progress, progress);
    this.engine = engine;
    if (state === "done") {
      this.#phase = "done";
      this.#clock.stop();
      return;
    }
    // "auto" stays on the engine that the run was on: there it continues to the same bits.
    void this.#guard(async () => this.#work(this.#choice === "auto" ? (engine ?? "cpu") : this.#choice));
  }

  /** The reader's own images, if it is on those. */
  get own() {
    return this.#own;
  }

  /** @returns {State} */
  get state() {
    return this.#paused && this.#isActive ? "paused" : this.#phase;
  }

  get progress() {
    return this.#meter.progress;
  }

  get #isActive() {
    return this.#phase === "preparing" || this.#phase === "running";
  }

  pause() {
    this.#setPaused(true);
  }

  resume() {
    this.#setPaused(false);
  }

  /** The fraction of the time that it trains, above 0 and up to 1. */
  get speed() {
    return this.#speed;
  }

  set speed(fraction) {
    this.#speed = fraction;
    this.#meter.reset();
    this.#wake();
    this.#notify();
  }

  /** One slice of a paused run. */
  step() {
    if (!this.#paused) return;
    for (const slot of this.#pool) slot.step = true;
    this.#wake();
  }

  /** End it and forget it, at once. */
  cancel() {
    if (!this.#isActive) return;
    this.#end("cancelled");
    void this.forget();
  }

  /** Delete what the browser has saved of it. */
  async forget() {
    this.#saver.forget();
    await this.#deps.storage.delete(this.id).catch(() => {});
  }

  /**
   * Continue on another engine, from where it is.
   * @param {EngineChoice} choice
   */
  switchEngine(choice) {
    this.#choice = choice;
    // While it is planned, the choice is still to be asked for.
    if (!this.#isActive || !this.#plan) return;
    void this.#guard(async () => {
      const engine = await this.#chooseEngine();
      if (engine === this.engine || !this.#isActive) return;
      const generation = ++this.#generation;
      this.#retry.reset();
      this.#phase = "preparing";
      this.#notify();
      // A worker that fails here has left a snapshot earlier.
      await Promise.all(this.#training.map((slot) => slot.takeSnapshot().catch(() => {})));
      // The reader may have changed their mind meanwhile.
      const wanted = await this.#chooseEngine();
      if (generation === this.#generation) await this.#work(wanted);
    });
  }

  /** The networks as they are now, as safetensors, one file per ensemble. @returns {Promise<Uint8Array[]>} */
  async weights() {
    const weights = new Map(this.#shards.map((shard) => [shard, shard.weights]));
    for (const slot of this.#training) {
      const live = await slot.ask("weights", {});
      slot.shards.forEach((shard, i) => weights.set(shard, live[i]));
    }
    const blobs = [...weights.values()].flat();
    return Promise.all(blobs.map(async (blob) => new Uint8Array(await blob.arrayBuffer())));
  }

  /** @param {boolean} paused */
  #setPaused(paused) {
    if (!this.#isActive || this.#paused === paused) return;
    this.#paused = paused;
    this.#meter.interrupt();
    if (paused) this.#clock.stop();
    else this.#clock.start();
    this.#wake();
    this.#notify();
  }

  /** Let workers that wait see what the reader asks for. */
  #wake() {
    const { resolve } = this.#request;
    this.#request = openPromise();
    resolve();
  }

  /** The workers that have something left to do. */
  get #training() {
    return this.#pool.filter(({ isTraining }) => isTraining);
  }

  /**
   * Do `work`; if it fails, so does the run.
   * @param {() => Promise<void>} work
   */
  async #guard(work) {
    try {
      await work();
    } catch (thrown) {
      if (!this.#isActive) return;
      this.failure = toFailure(thrown);
      this.#end("failed");
    }
  }

  async #begin() {
    const generation = this.#generation;
    const planner = await this.#makePlan(generation);
    if (!planner) return;
    this.#retry.reset();
    const engine = await this.#chooseEngine();
    if (generation === this.#generation) await this.#work(engine, planner.client);
  }

  /**
   * Find the whole configuration and its shards, with a new worker when one fails.
   * @param {number} generation
   * @returns {Promise<WorkerSlot | undefined>} the worker that made the plan; undefined when nobody waits for it
   */
  async #makePlan(generation) {
    const planner = new WorkerSlot(this.#deps, []);
    this.#pool = [planner];
    for (;;) {
      try {
        const call = { options: this.options, own: this.#own, workers: this.#deps.cores };
        this.#plan = await planner.client.call("plan", call);
        return planner;
      } catch (thrown) {
        if (generation !== this.#generation) return undefined;
        planner.replaceWorker();
        if (!(await this.#recover(toFailure(thrown)))) throw thrown;
      }
    }
  }

  /** The engine to run on. @returns {Promise<"cpu" | "gpu">} */
  async #chooseEngine() {
    if (this.#choice !== "auto") return this.#choice;
    const { cpu = 0, gpu = 0 } = await this.#deps.measure("auto").catch(() => ({ cpu: 0, gpu: 0 }));
    // The CPU was measured on one core; here it has as many as there are shards.
    return gpu > cpu * (this.#plan?.shards.length ?? 1) ? "gpu" : "cpu";
  }

  /**
   * Run to the end on this engine, from the last snapshots.
   * @param {"cpu" | "gpu"} engine
   * @param {WorkerSlot["client"]} [ready] a worker that is there already
   */
  async #work(engine, ready) {
    const generation = ++this.#generation;
    for (const { client } of this.#pool) if (client !== ready) client.close();
    this.engine = engine;
    this.#phase = "preparing";
    this.#cutShards(engine);
    const left = this.#shards.filter(({ report }) => !report);
    const groups = engine === "gpu" && left.length > 0 ? [left] : left.map((shard) => [shard]);
    this.#pool = groups.map((shards, i) => new WorkerSlot(this.#deps, shards, i === 0 ? ready : undefined));
    this.#meter.reset();
    this.#notify();
    void this.#saver.save();
    await Promise.all(this.#pool.map((slot) => this.#supervise(slot, generation)));
    if (generation !== this.#generation) return;
    this.#end("done");
    void this.#saver.save();
  }

  /** Until something is trained the shards can still be cut to fit the engine. @param {"cpu" | "gpu"} engine */
  #cutShards(engine) {
    if (!this.#plan || this.#shards.some(({ snapshot, report }) => snapshot || report)) return;
    const configs = engine === "gpu" ? [this.#plan.config] : this.#plan.shards;
    this.#shards = configs.map((config) => ({
      config,
      snapshot: null,
      savedProgress: null,
      progress: null,
      preview: null,
      report: null,
      weights: [],
    }));
  }

  /**
   * See the shards of one worker through, with a new one when it fails.
   * @param {WorkerSlot} slot
   * @param {number} generation
   */
  async #supervise(slot, generation) {
    for (;;) {
      try {
        await this.#train(slot, generation);
        return;
      } catch (thrown) {
        if (generation !== this.#generation) return;
        slot.replaceWorker();
        this.#phase = "preparing";
        const engine = await this.#recover(toFailure(thrown));
        if (!engine) throw thrown;
        if (generation !== this.#generation) return;
        if (engine !== this.engine) return this.#work(engine);
      }
    }
  }

  /**
   * Where to continue after a failure, if at all; says so to the reader.
   * @param {Failure} failure
   * @returns {Promise<"cpu" | "gpu" | undefined>}
   */
  async #recover(failure) {
    // Plans are made without an engine, in a worker like those of the CPU.
    const next = this.#retry.after(failure, this.engine ?? "cpu");
    if (!next) return undefined;
    const from = this.#shards.some(({ snapshot }) => snapshot) ? "its last snapshot" : "the beginning";
    this.#meter.reset();
    this.notice = `${sentence(failure.message)} The run continues from ${from}, ${RECOVERY[next.how]}.`;
    this.recovery = next.how;
    this.#notify();
    if (next.waitMs > 0) await new Promise((resolve) => setTimeout(resolve, next.waitMs));
    return next.engine;
  }

  /**
   * Train the shards of one worker to the end, and see what came out.
   * @param {WorkerSlot} slot
   * @param {number} generation
   */
  async #train(slot, generation) {
    const { shards } = slot;
    const { experiment, data } = this.options;
    const isOutdated = () => generation !== this.#generation;
    /** Whether something is trained that no snapshot has. */
    let isUnsaved = false;
    let slice = FIRST_SLICE_MS;
    const takeSnapshot = async () => {
      await slot.takeSnapshot();
      isUnsaved = false;
    };
    await slot.client.call("start", {
      engine: this.engine ?? "cpu",
      experiment,
      recipe: this.#plan?.data ?? data,
      own: this.#own,
      shards: shards.map(({ config, snapshot }) => ({ config, snapshot })),
    });
    for (let done = false; !done && !isOutdated(); ) {
      if (this.#paused && !slot.step) {
        const { promise } = this.#request;
        // One who pauses may leave the page.
        if (isUnsaved) await takeSnapshot();
        if (isOutdated()) return;
        void this.#saver.save();
        await promise;
        continue;
      }
      const stepped = slot.step;
      slot.step = false;
      const start = performance.now();
      const progress = await slot.ask("advance", { milliseconds: stepped ? 0 : slice });
      slice = SLICE_MS;
      if (isOutdated()) return;
      const elapsed = performance.now() - start;
      shards.forEach((shard, i) => (shard.progress = progress[i]));
      isUnsaved = true;
      this.#advanced();
      done = progress.every(({ step, total }) => step >= total);
      if (done) break;
      if (stepped || slot.preview.due) {
        const previews = await slot.preview.time(() => slot.ask("preview", {}));
        if (isOutdated()) return;
        shards.forEach((shard, i) => (shard.preview = previews[i]));
        this.#isStale = true;
        // The first is what the reader waits for.
        if (this.report) this.#notifySoon();
        else this.#notify();
      }
      if (slot.snapshot.due) {
        await takeSnapshot();
        if (isOutdated()) return;
        if (this.#saver.due) void this.#saver.save();
      }
      if (this.#speed < 1 && !this.#paused) await this.#rest(elapsed * (1 / this.#speed - 1));
    }
    if (isOutdated()) return;
    const reports = await slot.ask("report", {});
    const weights = await slot.ask("weights", {});
    if (isOutdated()) return;
    shards.forEach((shard, i) =>
      Object.assign(shard, { report: reports[i], weights: weights[i], snapshot: null, savedProgress: shard.progress }),
    );
    slot.close();
    this.#isStale = true;
    this.#notifySoon();
  }

  /** Wait so long, or until the reader asks for something else. @param {number} milliseconds */
  async #rest(milliseconds) {
    await Promise.race([this.#request.promise, new Promise((resolve) => setTimeout(resolve, milliseconds))]);
  }

  /** A slice is done. Once all workers have done one, it runs. */
  #advanced() {
    if (this.#phase === "preparing" && this.#shards.every(({ progress, report }) => progress || report)) {
      this.#phase = "running";
    }
    this.#notifySoon();
  }

  /** @param {"done" | "failed" | "cancelled"} phase */
  #end(phase) {
    this.#generation++;
    for (const slot of this.#pool) slot.close();
    this.#phase = phase;
    this.#clock.stop();
    this.#wake();
    this.#notify();
    this.#pool = [];
  }

  /** @returns {SavedRun} */
  #record() {
    if (!this.#plan || !this.engine) throw new Error("Nothing is planned yet");
    // What comes back later is what the snapshots hold, and the run has trained since they were taken.
    const shards = this.#shards.map((shard) => ({ ...shard, progress: shard.savedProgress }));
    const reached = this.#shards.map(({ savedProgress, progress }) => ({
      step: savedProgress?.step ?? 0,
      total: (progress ?? savedProgress)?.total ?? 0,
    }));
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
      shards,
      report: this.report,
    };
  }

  /** Tell listeners, not too often. */
  #notifySoon() {
    this.#timer ??= setTimeout(() => this.#notify(), NOTIFY_MS);
  }

  #notify() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#updateReport();
    this.#meter.measure(
      this.#shards.map(({ progress }) => progress),
      this.#pool.length,
    );
    this.dispatchEvent(new Event("change"));
  }

  /** Put what the shards found together, at display rate. */
  #updateReport() {
    if (!this.#isStale) return;
    const wait = this.#shownAt + PREVIEW_MS - performance.now();
    if (wait > 0 && this.#phase !== "done") {
      this.#timer = setTimeout(() => this.#notify(), wait);
      return;
    }
    // A preview has fewer noise levels than a full report; the two do not mix.
    const isFull = this.#shards.every(({ report }) => report);
    const reports = this.#shards.map(({ report, preview }) => (isFull ? report : preview));
    if (!reports.every((report) => report !== null)) return;
    this.#isStale = false;
    this.#shownAt = performance.now();
    this.report = mergeReports(reports, this.#plan?.config, this.#clock.seconds);
  }
}
