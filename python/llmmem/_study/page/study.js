// The data: a llmmem-study (docs/Design/Study.md), and views of it. Bytes and times are the tools'; what is made here are
// sums of them by kind or block, which are compared with the tools' own sum at every step.

async function readStudy() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function settingText(point) {
  const parts = [["batch", point.batch], ["sequence", point.sequence], ["on", point.device]];
  return parts.filter(([, value]) => value !== null).map(part => part.join(" ")).join(", ");
}

function planText(point) {
  return point.budget ? `${point.policy} ${bytesText(point.budget)}` : point.policy;
}

class Study {
  constructor(data) {
    this.data = data;
    this.unit = data.unit;
    this.settings = [...new Set(data.points.map(settingText))];
    this.planned = data.points.filter(point => point.status === "feasible");
    this.varying = ["batch", "sequence", "device"].filter(name => new Set(data.points.map(point => point[name])).size > 1);
    this.byName = new Map(data.points.map(point => [point.name, point]));
    this.details = new Map();
  }

  /// What the time of a step is called: no step of a study ran.
  stepText() { return this.unit === "ns" ? "a step, modelled" : "cost of a step"; }

  /// The shortest step of a setting: what times are compared with.
  shortest(setting) {
    return d3.min(this.planned.filter(point => settingText(point) === setting), point => point.time_ns);
  }

  /// What every plan of a setting needs at least: each point proves a bound of the same kind.
  provedLeast(setting) {
    return d3.max(this.data.points.filter(point => settingText(point) === setting), point => point.peak_lower_bound) || 0;
  }

  /// The plan in full, made once.
  detail(point) {
    if (!this.details.has(point.name)) this.details.set(point.name, new Detail(this, point));
    return this.details.get(point.name);
  }

  /// What tells the setting of a point from the others; empty where there is one.
  label(point) { return this.varying.map(name => name === "device" ? point.device : `${name} ${point[name]}`).join(", "); }

  fullName(point) { return [planText(point), this.label(point)].filter(text => text).join(", "); }
}

const RESIDENT = "resident", OUTSIDE = "outside blocks", ROLE = "role-";

/// Resident bytes are named by role; those of the first four are stacked by role, in this order, and all others as one.
const ROLES = {param: "parameters", gradient: "gradients of parameters", optimizer_state: "optimizer state", kv_cache: "caches", input: "inputs",
  seed: "seeds", constant: "constants", resident: "resident values", other: "other resident bytes, as inputs"};
const STACKED_ROLES = ["param", "gradient", "optimizer_state", "kv_cache"];

function roleText(role) { return ROLES[role] || role; }

class Detail {
  constructor(study, point) {
    const {ops, values, kinds} = study.data.programs[point.program], timeline = point.timeline;
    Object.assign(this, {study, point, ops, values, kinds, peakStep: timeline.peak_step, peak: timeline.peak});
    this.steps = timeline.steps.map(([op, run, start, end, live], number) => ({number, op: ops[op], run, start, end, live}));
    this.buffers = timeline.buffers.map(([value, kind, from, to, bytes, offset, written, over]) => ({
      value, from, to, bytes, offset, written, kind: kinds[kind], name: value < 0 ? "workspace" : values[value],
      over: over < 0 ? null : values[over], block: this.blockOf(written < 0 ? from : written),
      again: written >= 0 && this.steps[written].run > 0}));
    this.saved = timeline.saved.map(([value, bytes, runs, held, idle, other, can, kept, op]) => ({
      value, bytes, runs, held, idle, other, can: !!can, kept: !!kept, name: values[value], op: ops[op], block: ops[op].block}));
    this.savedOf = new Map(this.saved.map(entry => [entry.value, entry]));
    this.end = d3.max(this.steps, step => step.end);
    this.stacks = {kind: this.stack(buffer => buffer.kind), block: this.stack(buffer => buffer.block ?? OUTSIDE)};
  }

  blockOf(step) { return this.steps[step].op.block; }

  /// Bytes at each step by a key of buffers, in a fixed order; [key, bytes of each step].
  stack(keyOf) {
    const changes = new Map(), count = this.steps.length;
    for (const buffer of this.buffers) {
      const key = keyOf(buffer);
      if (!changes.has(key)) changes.set(key, new Float64Array(count + 1));
      changes.get(key)[buffer.from] += buffer.bytes;
      changes.get(key)[buffer.to + 1] -= buffer.bytes;
    }
    for (const bytes of changes.values()) for (let step = 1; step <= count; ++step) bytes[step] += bytes[step - 1];
    const order = key => key === OUTSIDE ? Infinity : typeof key === "number" ? key : this.kinds.indexOf(key);
    const resident = this.residents().map(([role, bytes]) => [ROLE + role, new Float64Array(count + 1).fill(bytes)]);
    return [...resident, ...[...changes].sort((a, b) => order(a[0]) - order(b[0]))];
  }

  /// Resident bytes by role, as [role, bytes]. Where roles name more than the device holds, as with state on the host, there is one entry.
  residents() {
    const {roles, timeline} = this.point, stacked = STACKED_ROLES.map(role => [role, roles[role] || 0]);
    const rest = timeline.resident - d3.sum(stacked, ([, bytes]) => bytes);
    if (rest < 0 || rest === timeline.resident) return [[RESIDENT, timeline.resident]];
    return [...stacked, ["other", rest]].filter(([, bytes]) => bytes > 0);
  }

  /// Whether both stacks add up to the tools' sum at every step.
  addsUp() {
    return Object.values(this.stacks).every(stack =>
      this.steps.every(step => d3.sum(stack, ([, bytes]) => bytes[step.number]) === step.live));
  }

  stepText(number) {
    if (number < 0) return "before the first step";
    const {op, run} = this.steps[number];
    const block = op.block === undefined ? "" : ` (block ${op.block})`;
    return `step ${number}, ${op.name}${op.result ? ` ${op.result}` : ""}${block}${run ? ", run again" : ""}`;
  }

  peakText() {
    return `peak ${bytesText(this.peak)} at ${this.stepText(this.peakStep)}`;
  }

  time(ns) { return timeText(ns, this.study.unit); }

  /// Why a buffer is where it is, as sentences.
  why(buffer) {
    if (buffer.kind === "workspace") return [`Scratch of ${this.stepText(buffer.from)}, held only while it runs.`];
    const said = [`Written by ${this.stepText(buffer.written)}; last needed by ${this.stepText(buffer.to)}.`];
    const saved = this.savedOf.get(buffer.value);
    if (saved && saved.runs === 1)
      said.push(`Kept from the forward for the backward: held ${saved.held} steps, ${saved.idle} of them idle. ` + (saved.can
        ? `Recomputing it after those would cost ${this.time(saved.other)}.` : "It cannot be recomputed."));
    else if (saved)
      said.push(`${buffer.again ? "Recomputed" : "Dropped, and recomputed"} for the backward: ${saved.idle} steps without it. ` +
        `Keeping it would save ${this.time(saved.other)}.`);
    if (buffer.over) said.push(`It stands in the bytes of ${buffer.over}, which it overwrites.`);
    return said;
  }
}
