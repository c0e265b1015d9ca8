// Reports drawn on the device of the person they are about, with exactly the chances of a kernel.
//
//   import { Client, send } from "./client.mjs";
//   const client = new Client();                    // remembers its reports
//   const report = await client.report("yes");      // { kernel, report, nonce }
//   await send("https://collector.example/reports", report);
//
// Of several columns a value is an object with one for each, { class: "1st", sex: "female" }, and a
// report is a list with one for each.
//
// What leaves the device is the report, the digest of its kernel and a nonce; the secret stays. Where
// sending fails send the same object again: a collector counts a nonce once.
//
// The same value of the same person has the same report for ever. Either the reports of all values
// are remembered (`storage`), so that what is stored does not tell which value is true; or they are a
// function of a secret key and an identity, those of `md.privatize(table, column, kernel, person=…,
// key=…)` in Python. Another value or kernel, and a memory that was cleared, bring other reports, and
// the levels of all reports about one person add up.
//
// There is no floating-point number between entropy and report.

const DATA = null;

/** A kernel for each column: weights[x][y] / 2**bits is the chance of outputs[y] for inputs[x]. */
export const kernels = Object.freeze(
  DATA.columns.map((data) =>
    Object.freeze({
      column: data.receipt.column,
      digest: data.kernel,
      inputs: Object.freeze(data.inputs),
      outputs: Object.freeze(data.outputs),
      bits: data.bits,
      weights: Object.freeze(data.weights.map(Object.freeze)),
      notions: Object.freeze(data.receipt.notions),
    }),
  ),
);

/** The kernel, where one column is asked. */
export const kernel = DATA.isPlan ? null : kernels[0];

// Messages name what is public and never the value itself.

export class ClientError extends Error {
  constructor(subject, expected, got, remedy) {
    super(`${subject}: expected ${expected}, got ${got}; ${remedy}.`);
    this.name = "ClientError";
  }
}

function kindOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

/** What a task reads from what was passed in; an error of this module where that throws. */
function reading(subject, task) {
  try {
    return task();
  } catch (error) {
    if (error instanceof ClientError) throw error;
    const remedy = "pass plain values";
    throw new ClientError(subject, "what can be read", "what throws when it is read", remedy);
  }
}

/** Whether a value is an object of no class but that of all objects, of this page or another. */
function isPlain(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * The options that an object has itself, in one without a prototype: what all objects of a page were
 * given is no option.
 */
function optionsOf(given, names, subject) {
  if (!isPlain(given)) {
    throw new ClientError(subject, "a plain object of options", kindOf(given), "leave it out");
  }
  const others = Reflect.ownKeys(given).filter((name) => !names.includes(name));
  if (others.length) {
    const expected = `options among ${names.join(", ")}`;
    throw new ClientError(subject, expected, others.map(String).join(", "), "leave the others out");
  }
  return Object.assign(Object.create(null), given);
}

/** A method of an object or of its class, and none that all objects of a page were given. */
function methodOf(object, name) {
  const found = object?.[name];
  return typeof found === "function" && found !== Object.prototype[name] ? found : null;
}

function checkText(text, subject) {
  if (typeof text !== "string") throw new ClientError(subject, "text", kindOf(text), "pass text");
  return text;
}

// Bytes

const utf8 = new TextEncoder();

function bytesOf(text, subject) {
  // Two texts with halves of characters would become the same bytes.
  if (/[\uD800-\uDFFF]/u.test(text)) {
    const remedy = "pass well-formed text";
    throw new ClientError(subject, "text in Unicode", "half of a surrogate pair", remedy);
  }
  return utf8.encode(text);
}

function joined(...parts) {
  const found = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    found.set(part, place);
    place += part.length;
  }
  return found;
}

function integer(bytes) {
  let found = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) found = (found << 8n) | BigInt(bytes[i]);
  return found;
}

function eightBytes(number) {
  const found = new Uint8Array(8);
  new DataView(found.buffer).setBigUint64(0, BigInt(number), true);
  return found;
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(text) {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) =>
    Number.parseInt(text.slice(2 * i, 2 * i + 2), 16),
  );
}

// BLAKE2b [RFC 7693], with a key and a personal string

const FIRST = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const digits = (row) => Array.from(row, (digit) => Number.parseInt(digit, 16));
const ORDERS = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8",
  "905724afe1bc683d", "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a",
  "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map(digits);
const QUARTERS = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"].map(digits);
const BLOCK = 128;
const NO_BYTES = new Uint8Array(0);

const turned = (word, by) => (word >> by) | BigInt.asUintN(64, word << (64n - by));

/**
 * The hash of bytes, with so many of its own, at most 64; a key has as many at most, and `person` 16
 * characters of ASCII.
 */
export function blake2b(message, size = 64, key = NO_BYTES, person = "") {
  const parameters = new Uint8Array(64);
  parameters.set([size, key.length, 1, 1]);
  parameters.set(utf8.encode(person), 48);
  const words = (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return (i) => view.getBigUint64(8 * i, true);
  };
  const parameter = words(parameters);
  // An array of 64-bit words takes every sum modulo 2**64.
  const state = BigUint64Array.from(FIRST, (word, i) => word ^ parameter(i));
  const start = key.length ? BLOCK : 0;
  const length = start + message.length;
  const padded = new Uint8Array(Math.max(1, Math.ceil(length / BLOCK)) * BLOCK);
  padded.set(key);
  padded.set(message, start);
  const v = new BigUint64Array(16);
  for (let place = 0; place < padded.length; place += BLOCK) {
    const word = words(padded.subarray(place, place + BLOCK));
    v.set(state);
    v.set(FIRST, 8);
    v[12] ^= BigInt(Math.min(length, place + BLOCK));
    if (place + BLOCK === padded.length) v[14] = ~v[14];
    for (let round = 0; round < 12; round++) {
      const order = ORDERS[round % 10];
      QUARTERS.forEach(([a, b, c, d], i) => {
        v[a] += v[b] + word(order[2 * i]);
        v[d] = turned(v[d] ^ v[a], 32n);
        v[c] += v[d];
        v[b] = turned(v[b] ^ v[c], 24n);
        v[a] += v[b] + word(order[2 * i + 1]);
        v[d] = turned(v[d] ^ v[a], 16n);
        v[c] += v[d];
        v[b] = turned(v[b] ^ v[c], 63n);
      });
    }
    for (let i = 0; i < 8; i++) state[i] ^= v[i] ^ v[i + 8];
  }
  const found = new Uint8Array(64);
  state.forEach((word, i) => found.set(eightBytes(word), 8 * i));
  return found.slice(0, size);
}

// From words to outcomes: an alias table for each row, the same as in Python [Walker1977]

const DECIDING = 53;
const WORD = 64;

function sum(row) {
  return row.reduce((total, weight) => total + weight, 0n);
}

function bitLength(number) {
  return number === 0n ? 0 : number.toString(2).length;
}

/** Thresholds and aliases of one row whose integers sum to `row.length` times `capacity`. */
function aliasRow(row, capacity) {
  const all = Array.from(row.keys());
  const light = all.filter((i) => row[i] <= capacity);
  const heavy = all.filter((i) => row[i] > capacity);
  const thresholds = row.slice();
  const aliases = all.slice();
  let filled = 0;
  for (let k = 0, left = heavy.length ? row[heavy[0]] : 0n; k < heavy.length; k++) {
    const current = heavy[k];
    while (left > capacity) {
      const bucket = light[filled++];
      aliases[bucket] = current;
      left -= capacity - row[bucket];
    }
    thresholds[current] = left;
    if (k + 1 < heavy.length) {
      aliases[current] = heavy[k + 1];
      left += row[heavy[k + 1]] - capacity;
    }
  }
  return { thresholds, aliases };
}

class Table {
  constructor(weights) {
    const totals = weights.map(sum);
    const scaled = weights.map((row) => row.map((weight) => weight << BigInt(DECIDING)));
    const whole = scaled.map((row, x) => row.map((weight) => weight / totals[x]));
    const undecided = whole.map((row) => (1n << BigInt(DECIDING)) - sum(row));
    this.outcomes = weights[0].length;
    this.rest = null;
    if (undecided.some((part) => part !== 0n)) {
      // What is no multiple of 2**-53 is one outcome more, decided by further words.
      this.rest = scaled.map((row, x) => row.map((w, y) => w - whole[x][y] * totals[x]));
      whole.forEach((row, x) => row.push(undecided[x]));
    }
    const columns = whole[0].length;
    this.shift = Math.max(1, bitLength(BigInt(columns - 1)));
    const blanks = Array((1 << this.shift) - columns).fill(0n);
    const capacity = 1n << BigInt(DECIDING - this.shift);
    this.rows = whole.map((row) => aliasRow([...row, ...blanks], capacity));
  }

  /** The outcome of a symbol for a 64-bit word; `more` gives eight further bytes at a time. */
  outcome(code, word, more) {
    const { thresholds, aliases } = this.rows[code];
    const top = BigInt(WORD - this.shift);
    const bucket = Number(word >> top);
    const low = word & ((1n << top) - 1n);
    const keeps = low < thresholds[bucket] << BigInt(WORD - DECIDING);
    const drawn = keeps ? bucket : aliases[bucket];
    return drawn < this.outcomes ? drawn : decided(this.rest[code], more);
  }
}

function decided(weights, more) {
  let place = below(sum(weights), more);
  for (let y = 0; ; y++) {
    if (place < weights[y]) return y;
    place -= weights[y];
  }
}

/** A uniform integer below a limit, by rejection. */
function below(limit, more) {
  const bits = bitLength(limit - 1n);
  const size = Math.max(1, Math.floor((bits + 7) / 8));
  for (;;) {
    let bytes = NO_BYTES;
    while (bytes.length < size) bytes = joined(bytes, more());
    const value = integer(bytes.subarray(0, size)) >> BigInt(8 * size - bits);
    if (value < limit) return value;
  }
}

// From values to positions of inputs

/** How many parts a value has, arrays counted with theirs, up to one more than a limit. */
function partsOf(value, limit) {
  let count = 1;
  if (!Array.isArray(value)) return count;
  for (let i = 0; i < value.length && count <= limit; i++) {
    count += partsOf(value[i], limit - count);
  }
  return count;
}

/** A text that is equal for equal labels: 1 and 1n are one, "1" and true are others. */
function labelKey(label) {
  if (typeof label === "string") return JSON.stringify(label);
  if (typeof label === "bigint") return `number ${label}`;
  if (typeof label === "number" && !Number.isNaN(label)) {
    return `number ${Number.isInteger(label) ? BigInt(label) : label}`;
  }
  if (typeof label === "boolean" || label === null) return String(label);
  if (Array.isArray(label)) {
    const parts = Array.from(label, labelKey);
    return parts.includes(null) ? null : `[${parts}]`;
  }
  return null;
}

/** Whether a value holds a number that stands for several integers and a label is an exact one. */
function isRounded(value, label) {
  if (Array.isArray(value)) return value.some((part, i) => isRounded(part, label[i]));
  const isWhole = typeof value === "number" && Number.isInteger(value);
  return isWhole && !Number.isSafeInteger(value) && typeof label === "bigint";
}

function shownInputs(kernel) {
  const shown = kernel.inputs.slice(0, 6).map((label) => labelKey(label).replace("number ", ""));
  const more = kernel.inputs.length - shown.length;
  return `one of ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The label of the bin that a number lies in, by the edges of one attribute; else the value. */
function binned(value, bins) {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  if (!bins || !isNumber) return value;
  if (Number.isNaN(value)) return null;
  const { edges, isLeft, isWhole, labels } = bins;
  const last = edges.length - 1;
  const isFinite = value > -Infinity && value < Infinity;
  const isInside = isFinite && value >= edges[0] && value <= edges[last];
  if (!isInside || (isWhole && typeof value === "number" && !Number.isInteger(value))) return value;
  const passed = (edge) => (isLeft ? edge <= value : edge < value);
  return labels[edges.slice(1, last).filter(passed).length];
}

/** What is asked in one column: its kernel, the table that draws from it, and where values lie. */
class Question {
  constructor(kernel, data) {
    this.kernel = kernel;
    this.bins = data.bins;
    this.receipt = data.receipt;
    this.table = new Table(kernel.weights);
    this.places = new Map(kernel.inputs.map((label, i) => [labelKey(label), i]));
    this.most = kernel.inputs.reduce((most, label) => Math.max(most, partsOf(label, Infinity)), 1);
  }

  /** A value with labels in the place of numbers, where there are bins; arrays by their parts. */
  labelOf(value) {
    if (this.bins === null) return value;
    if (this.bins.length === 1) return binned(value, this.bins[0]);
    return Array.isArray(value) ? value.map((part, i) => binned(part, this.bins[i])) : value;
  }

  codeOf(given) {
    const subject = DATA.isPlan ? `value of ${this.kernel.column}` : "value";
    // Arrays with more parts than any label are none of them, and may have no end.
    const fits = partsOf(given, this.most) <= this.most;
    const value = fits ? this.labelOf(given) : undefined;
    const code = this.places.get(labelKey(value));
    if (code === undefined) {
      const isBinned = this.bins?.length === 1;
      const expected = `${isBinned ? "a number in " : ""}${shownInputs(this.kernel)}`;
      const remedy = isBinned ? "pass one that lies in a bin" : "pass one of them, of the same type";
      const got = `${kindOf(given)} that is ${isBinned ? "in " : ""}none`;
      throw new ClientError(subject, expected, got, remedy);
    }
    if (isRounded(value, this.kernel.inputs[code])) {
      const got = "a number above 2**53, which may have been rounded";
      throw new ClientError(subject, "an exact integer", got, "pass a BigInt, such as 1n");
    }
    return code;
  }
}

const questions = kernels.map((one, i) => new Question(one, DATA.columns[i]));
// The combinations of values that the guarantee is about; null for all of them.
const covered = DATA.combinations && new Set(DATA.combinations.map(String));

/** The positions of the values of each column. */
function codesOf(given) {
  if (!DATA.isPlan) return [questions[0].codeOf(given)];
  const names = kernels.map((one) => one.column);
  const fits = typeof given === "object" && given !== null && !Array.isArray(given);
  const others = fits ? Object.keys(given).filter((name) => !names.includes(name)) : [];
  if (!fits || others.length || names.some((name) => !Object.hasOwn(given, name))) {
    const got = fits ? "an object with others, or without some" : kindOf(given);
    const remedy = "pass one value for each column";
    throw new ClientError("values", `an object with ${names.join(", ")}`, got, remedy);
  }
  const codes = questions.map((question) => question.codeOf(given[question.kernel.column]));
  if (covered && !covered.has(String(codes))) {
    const remedy = "send nothing: the guarantee is not about it";
    throw new ClientError("values", "a combination that the plan knows", "another", remedy);
  }
  return codes;
}

/** A label as it stands in JSON: arrays as {"tuple": […]}, as in files of mechdesign. */
function plain(label) {
  if (Array.isArray(label)) return { tuple: label.map(plain) };
  if (typeof label === "number" && !Number.isFinite(label)) {
    return { float: label > 0 ? "inf" : "-inf" };
  }
  return label;
}

// Identities, as bytes that are equal in every language

function identityBytes(identity) {
  const isWhole = typeof identity === "bigint" || Number.isSafeInteger(identity);
  if (isWhole) return utf8.encode(`s${BigInt(identity)}`);
  if (typeof identity === "string") return joined(utf8.encode("s"), bytesOf(identity, "identity"));
  if (identity instanceof Uint8Array) return joined(utf8.encode("b"), identity);
  const remedy = "pass for example the number of the person, or a BigInt above 2**53";
  throw new ClientError("identity", "text, a whole number or bytes", kindOf(identity), remedy);
}

// Entropy

const MOST_AT_ONCE = 65536;

function systemBytes(bytes) {
  const source = globalThis.crypto;
  if (typeof source?.getRandomValues !== "function") {
    const remedy = "run it where there is one; there is no safe replacement";
    throw new ClientError("entropy", "crypto.getRandomValues", "none", remedy);
  }
  for (let start = 0; start < bytes.length; start += MOST_AT_ONCE) {
    source.getRandomValues(bytes.subarray(start, start + MOST_AT_ONCE));
  }
}

// Memory

const STORE = "reports";

/** What a request of a database gives. */
function answered(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function pageDatabases() {
  try {
    return globalThis.indexedDB;
  } catch {
    return undefined; // a page in a sandbox is refused its storage
  }
}

/**
 * IndexedDB, whose transactions are one after another among all tabs. Those of localStorage are
 * not: for a moment a tab does not see what another has written, whatever lock both hold.
 */
class PageStorage {
  constructor() {
    this.factory = pageDatabases();
    if (!this.factory) {
      const remedy = "pass storage, or a key and an identity";
      throw new ClientError("storage", "IndexedDB, or files", "none here", remedy);
    }
  }

  async keep(name, make) {
    const asked = this.factory.open("mechdesign", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE);
    const database = await answered(asked);
    try {
      const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
      const ended = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error ?? damaged("nothing"));
      });
      const [kept] = await Promise.all([keptIn(transaction.objectStore(STORE), name, make), ended]);
      return kept;
    } finally {
      database.close();
    }
  }
}

async function keptIn(store, name, make) {
  const found = await answered(store.get(name));
  if (found !== undefined) return found;
  const made = make();
  await answered(store.put(made, name));
  return made;
}

/**
 * A folder with a file for each name, made at once and never changed: of several processes that
 * make it, one does, and the others read it.
 */
class FileStorage {
  constructor(folder) {
    this.folder = folder;
  }

  async keep(name, make) {
    // Named in parts, so that nobody who packs the module for a browser looks for them there.
    const [fs, path, os] = await Promise.all(
      ["fs/promises", "path", "os"].map((part) => import(`node:${part}`)),
    );
    const folder = this.folder ?? path.join(...dataFolder(os.homedir(), os.platform()));
    const digest = hex(blake2b(utf8.encode(name), 16));
    const file = path.join(folder, `${digest}.json`);
    const found = await read(fs, file);
    if (found !== null) return found;
    await fs.mkdir(folder, { recursive: true, mode: 0o700 });
    const noise = new Uint8Array(8);
    systemBytes(noise);
    const draft = path.join(folder, `.${digest}.${hex(noise)}`);
    const kept = make();
    try {
      await synced(fs, draft, "wx", kept);
      // A name that is taken stays as it is.
      await fs.link(draft, file);
      if (os.platform() !== "win32") await synced(fs, folder, "r");
      return kept;
    } catch (problem) {
      if (problem.code !== "EEXIST") throw problem;
      const theirs = await read(fs, file);
      if (theirs === null) throw damaged("nothing");
      return theirs;
    } finally {
      await fs.rm(draft, { force: true });
    }
  }
}

function dataFolder(home, platform) {
  const { XDG_DATA_HOME: data, LOCALAPPDATA: local } = globalThis.process.env;
  if (platform === "win32") return [local || home, "mechdesign", "reports"];
  if (platform === "darwin") {
    return [home, "Library", "Application Support", "mechdesign", "reports"];
  }
  return [...(data ? [data] : [home, ".local", "share"]), "mechdesign", "reports"];
}

async function read(fs, file) {
  try {
    return await fs.readFile(file, "utf8");
  } catch (problem) {
    if (problem.code === "ENOENT") return null;
    throw problem;
  }
}

/** Have a file with a text, or a folder with its names, outlive a loss of power. */
async function synced(fs, file, flags, text) {
  const handle = await fs.open(file, flags, 0o600);
  try {
    if (text !== undefined) await handle.writeFile(text, "utf8");
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const hasFiles = () => typeof globalThis.process?.versions?.node === "string";

/** Where reports are remembered: what is given, else IndexedDB, else files. */
function storageOf(given) {
  if (typeof given === "string" && (!bytesOf(given, "storage").length || given.includes("\0"))) {
    throw new ClientError("storage", "a folder", "no name of one", "leave it out, or pass its path");
  }
  if (typeof given === "string" || (given === undefined && hasFiles() && !pageDatabases())) {
    if (!hasFiles()) {
      const remedy = "leave storage out: IndexedDB is taken";
      throw new ClientError("storage", "no folder in a browser", "text", remedy);
    }
    return new FileStorage(given);
  }
  if (given === undefined) return new PageStorage();
  return methodOf(given, "keep") ? given : new OwnStorage(given);
}

const queues = new Map();

/** A storage of this program alone: whoever asks for a name waits for those who asked before. */
class OwnStorage {
  constructor(storage) {
    const Shared = globalThis.Storage;
    if (Shared !== undefined && storage instanceof Shared) {
      const remedy = "leave storage out: IndexedDB is taken";
      throw new ClientError("storage", "one that all tabs see alike", "localStorage", remedy);
    }
    if (!methodOf(storage, "getItem") || !methodOf(storage, "setItem")) {
      const remedy = "pass for example a file of the application";
      throw new ClientError("storage", "getItem and setItem, or keep", kindOf(storage), remedy);
    }
    this.storage = storage;
  }

  keep(name, make) {
    const task = async () => {
      const found = await this.storage.getItem(name);
      if (found !== null && found !== undefined) return found;
      const kept = make();
      await this.storage.setItem(name, kept);
      // A report that is not remembered must not be told: the next one would be another.
      if ((await this.storage.getItem(name)) !== kept) throw damaged("nothing");
      return kept;
    };
    const found = (queues.get(name) ?? Promise.resolve()).then(task);
    const settled = found.then(
      () => {},
      () => {},
    );
    queues.set(name, settled);
    return found;
  }
}

function damaged(got) {
  const remedy = "restore it; a new draw would be a second report of the same value";
  return new ClientError("memory", "the reports that were stored", got, remedy);
}

/** The remembered output of each input; an error for anything else than what was stored. */
function recalled(text, kernel) {
  let record;
  try {
    record = Object.assign(Object.create(null), JSON.parse(text));
  } catch {
    throw damaged("text that is no JSON");
  }
  const { reports } = record;
  const fits =
    record.kernel === kernel.digest &&
    Array.isArray(reports) &&
    reports.length === kernel.inputs.length &&
    reports.every((y, x) => Number.isInteger(y) && kernel.weights[x][y] > 0n);
  if (!fits) throw damaged("a record that this kernel cannot have made");
  return reports;
}

/** Reports that are drawn once for each input and remembered from then on. */
class Remembered {
  constructor({ kernel, table }, column, { person, storage, random }) {
    this.kernel = kernel;
    this.table = table;
    this.storage = storageOf(storage);
    if (random !== undefined && typeof random !== "function") {
      const remedy = "leave it out: the system fills them";
      throw new ClientError("random", "a function that fills bytes", kindOf(random), remedy);
    }
    this.random = random ?? systemBytes;
    const about = person === undefined ? "" : hex(identityBytes(person));
    // What a test drew is never taken for a report.
    const what = random === undefined ? "reports" : "test";
    this.name = `mechdesign ${what} ${kernel.digest} ${hex(bytesOf(column, "column"))} ${about}`;
  }

  /** The position of the report of an input; the first call draws those of all. */
  async output(code) {
    const make = () => JSON.stringify({ kernel: this.kernel.digest, reports: this.draw() });
    return recalled(await this.storage.keep(this.name, make), this.kernel)[code];
  }

  draw() {
    const words = new Uint8Array(8 * this.kernel.inputs.length);
    this.random(words);
    const more = () => {
      const bytes = new Uint8Array(8);
      this.random(bytes);
      return bytes;
    };
    return this.kernel.inputs.map((_, code) =>
      this.table.outcome(code, integer(words.subarray(8 * code, 8 * code + 8)), more),
    );
  }
}

/** Reports that are a function of a secret key, as those of md.privatize with the same key. */
class Keyed {
  constructor({ kernel, table }, column, { key, identity, round }) {
    const isKey = key instanceof Uint8Array && key.length >= 32;
    if (!isKey) {
      const got = key instanceof Uint8Array ? `${key.length} bytes` : kindOf(key);
      const remedy = "take those of a file of md.release_key with keyFromText";
      throw new ClientError("key", "at least 32 secret bytes", got, remedy);
    }
    if (identity === undefined) {
      const remedy = "pass identity: whom the report is about";
      throw new ClientError("key", "an identity with it", "none", remedy);
    }
    this.identity = identityBytes(identity);
    this.table = table;
    this.round = roundOf(round);
    this.root = blake2b(key, 64, NO_BYTES, "mechdesign-root");
    const name = bytesOf(column, "column");
    const told = this.round === undefined ? NO_BYTES : bytesOf(this.round, "round");
    const context = joined(eightBytes(name.length), name, fromHex(kernel.digest), told);
    this.context = joined(eightBytes(context.length), context);
    this.fingerprint = hex(blake2b(NO_BYTES, 16, this.root, "mechdesign-name"));
  }

  output(code) {
    let counter = 0;
    const more = () => {
      const head = joined(eightBytes(code), eightBytes(counter++));
      return blake2b(joined(this.context, head, this.identity), 8, this.root, "mechdesign-words");
    };
    return this.table.outcome(code, integer(more()), more);
  }
}

/** The name of a round of fresh draws: a whole number is its digits. */
function roundOf(round) {
  if (round === undefined) return undefined;
  const found = Number.isSafeInteger(round) || typeof round === "bigint" ? String(round) : round;
  if (typeof found !== "string" || !found.trim()) {
    throw new ClientError("round", "a whole number or text", kindOf(round), "leave it out");
  }
  return found;
}

/** The secret bytes of a file that md.release_key wrote, from its text. */
export function keyFromText(text) {
  const given = reading("key", () => checkText(text, "key"));
  const found = /^mechdesign-key-1 ((?:[0-9a-f]{2}){32,})\r?\n?$/.exec(given);
  if (found === null) {
    const remedy = "pass the text of a file that md.release_key wrote";
    throw new ClientError("key", "a key of mechdesign", "something else", remedy);
  }
  return fromHex(found[1]);
}

// What an application uses

/**
 * Reports of one person.
 *
 * Options, all of which may be left out:
 * - column: what is asked, which belongs to the receipt and to the reports of a key; a plan has names
 * - storage: IndexedDB where there is one, in Node a folder, that of the user's data or one of a path;
 *   else getItem(name) and setItem(name, text) of a storage that this program has for itself, or
 *   keep(name, make), which gives the text of a name, or stores make(), at once for all who share it
 * - person: which person of a device that several share: text, a whole number or bytes
 * - key, identity, in the place of these two: at least 32 secret bytes, and whom the reports are
 *   about; identityColumn names the column of identities in the receipt, round a round of fresh draws,
 *   whose levels add up with those of others
 * - random: (bytes) => fills them, for tests only: receipts then say so
 */
export class Client {
  #sources;
  #fields;

  constructor(options = {}) {
    const own = DATA.isPlan ? [] : ["column"];
    const known = [...own, "storage", "person", "random"];
    const keyed = [...own, "key", "identity", "identityColumn", "round"];
    const [isKeyed, asked] = reading("client", () => {
      const names = ["key", "identity"].some((name) => Object.hasOwn(Object(options), name));
      return [names, optionsOf(options, names ? keyed : known, "client")];
    });
    const { column: given, identityColumn: person = "person" } = asked;
    const columns = questions.map(({ kernel: { column } }) => (given === undefined ? column : given));
    const Source = isKeyed ? Keyed : Remembered;
    this.#sources = reading("client", () => {
      checkText(person, "identityColumn");
      return questions.map((one, i) => new Source(one, checkText(columns[i], "column"), asked));
    });
    const isTest = asked.random !== undefined;
    this.#fields = this.#sources.map((source, i) =>
      isKeyed
        ? {
            column: columns[i],
            source: DATA.sources.key,
            for_production: true,
            person,
            key: source.fingerprint,
            ...(source.round !== undefined && { round: source.round }),
          }
        : {
            column: columns[i],
            source: isTest ? DATA.sources.test : DATA.sources.system,
            for_production: !isTest,
          },
    );
  }

  /** What made the reports of each column, in the form of the receipts of mechdesign. */
  get receipts() {
    return questions.map(({ receipt }, i) => ({ ...receipt, ...this.#fields[i] }));
  }

  /** The receipt, where one column is asked. */
  get receipt() {
    return DATA.isPlan ? null : this.receipts[0];
  }

  /** One file for all columns, which `md.estimate(..., receipt=)` reads. */
  get receiptFile() {
    // Built from entries: no name of a column is taken for anything else.
    const receipts = Object.fromEntries(this.receipts.map((one) => [one.column, one]));
    return `${JSON.stringify({ receipts }, null, 1)}\n`;
  }

  /**
   * The position among its kernel's outputs of the report of a value: the same whenever it is asked.
   * Of several columns a list of them.
   */
  async output(value) {
    const codes = reading(DATA.isPlan ? "values" : "value", () => codesOf(value));
    const found = await Promise.all(this.#sources.map((source, i) => source.output(codes[i])));
    return DATA.isPlan ? found : found[0];
  }

  /**
   * What is sent to a collector, with a new nonce; the same report whenever it is asked. Of several
   * columns a list, in the order of `kernels`.
   */
  async report(value) {
    const outputs = [await this.output(value)].flat();
    const made = outputs.map((output, i) => {
      const nonce = new Uint8Array(16);
      systemBytes(nonce);
      const report = plain(kernels[i].outputs[output]);
      return Object.freeze({ kernel: kernels[i].digest, report, nonce: hex(nonce) });
    });
    return DATA.isPlan ? Object.freeze(made) : made[0];
  }
}

/** Reports as JSON: integers above 2**53, which JSON.stringify refuses, with all their digits. */
export function toJSON(reports) {
  return reading("reports", () => jsonOf(reports, []));
}

function jsonOf(value, above) {
  if (typeof value === "bigint") return String(value);
  const isAlone = value === null || ["string", "boolean"].includes(typeof value);
  if (isAlone || Number.isFinite(value)) return JSON.stringify(value);
  const remedy = "pass what report() gave";
  if (above.includes(value)) throw new ClientError("reports", "an end", "a cycle", remedy);
  const inner = (part) => jsonOf(part, [...above, value]);
  // By places, as some of them may be empty.
  if (Array.isArray(value)) return `[${Array.from(value.keys(), (i) => inner(value[i]))}]`;
  if (!isPlain(value)) {
    throw new ClientError("reports", "arrays, plain objects and their parts", kindOf(value), remedy);
  }
  return `{${Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}:${inner(part)}`)}}`;
}

/** The address of a collector; on a page it may be relative. */
function addressOf(url) {
  let found = null;
  try {
    if (typeof url === "string" || url instanceof URL) found = new URL(url, globalThis.location?.href);
  } catch {
    // No address; said below.
  }
  if (!/^https?:$/.test(found?.protocol) || found.username || found.password) {
    const expected = "an address with http or https, and no name in it";
    throw new ClientError("url", expected, kindOf(url), "pass that of /reports of a collector");
  }
  return found;
}

/** Send one report, or a list, to a collector. After an error send the same ones again. */
export async function send(url, reports) {
  const address = reading("url", () => addressOf(url));
  if (typeof reports !== "object" || reports === null) {
    const expected = "a report or a list of them";
    throw new ClientError("reports", expected, kindOf(reports), "pass what report() gave");
  }
  const answer = await fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: toJSON(reports),
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });
  const remedy = "send the same reports again later, or ask who runs it";
  if (!answer.ok) {
    throw new ClientError("collector", "that it takes the reports", `${answer.status}`, remedy);
  }
  try {
    return await answer.json();
  } catch {
    throw new ClientError("collector", "JSON", "another answer", remedy);
  }
}
