// What a tool knows from browsers and Node: console, fetch, Headers, URL, text coding; and what it must not find.
// Runs once, before the snapshot. Nothing here is a boundary: the host checks each operation again.
(function (native, environment) {
  const world = globalThis;
  const define = (target, name, value) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });

  // ---- console ----

  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    try {
      return JSON.stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const logger = (level) => (...values) => native.log(level, values.map(show).join(" "));
  environment.console = { debug: logger(0), log: logger(1), info: logger(1), warn: logger(2), error: logger(3) };

  // ---- operations: the error is made here, so that its stack leads to the tool's line ----

  environment.operate = (op, input) => native.operate(op, input, new Error("pending"));

  // ---- fetch ----

  class Headers {
    #list = new Map();
    constructor(init) {
      const pairs = init == null ? [] : typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const [name, value] of pairs) this.append(name, value);
    }
    append(name, value) {
      this.set(name, this.has(name) ? `${this.get(name)}, ${value}` : value);
    }
    set(name, value) {
      this.#list.set(String(name).toLowerCase(), String(value));
    }
    get(name) {
      return this.#list.get(String(name).toLowerCase()) ?? null;
    }
    has(name) {
      return this.#list.has(String(name).toLowerCase());
    }
    delete(name) {
      this.#list.delete(String(name).toLowerCase());
    }
    forEach(call) {
      this.#list.forEach((value, name) => call(value, name, this));
    }
    entries() {
      return this.#list.entries();
    }
    keys() {
      return this.#list.keys();
    }
    values() {
      return this.#list.values();
    }
    [Symbol.iterator]() {
      return this.entries();
    }
  }

  const STATUS = {
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content", 304: "Not Modified",
    400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
    413: "Content Too Large", 415: "Unsupported Media Type", 422: "Unprocessable Content", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout",
  };

  class Response {
    #body;
    constructor({ status, statusText, headers, url, body }) {
      this.#body = body ?? "";
      this.status = status;
      this.ok = status >= 200 && status < 300;
      this.statusText = statusText ?? STATUS[status] ?? "";
      this.headers = new Headers(headers);
      this.url = url ?? "";
    }
    async text() {
      return this.#body;
    }
    async json() {
      try {
        return JSON.parse(this.#body);
      } catch (error) {
        const start = this.#body.slice(0, 80);
        throw new SyntaxError(`the response (status ${this.status}) is not JSON: ${error.message}; it begins: ${start}`);
      }
    }
    async arrayBuffer() {
      return native.encode(this.#body).buffer;
    }
  }

  environment.fetch = async function fetch(target, options) {
    const { method, headers, body } = options ?? {};
    const all = new Headers(headers);
    let text = body ?? null;
    if (text instanceof URLSearchParams) {
      if (!all.has("content-type")) all.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
      text = text.toString();
    }
    if (text !== null && typeof text !== "string") {
      throw new TypeError("the body of fetch must be a string: use JSON.stringify(value) or URLSearchParams");
    }
    const request = {
      url: String(target?.href ?? target),
      method: String(method ?? "GET").toUpperCase(),
      headers: Object.fromEntries(all),
      body: text,
    };
    return new Response(await environment.operate("fetch", request));
  };

  // ---- URL, parsed by the host ----

  const unplus = (text) => {
    const spaced = text.replace(/\+/g, " ");
    try {
      return decodeURIComponent(spaced);
    } catch {
      return spaced;
    }
  };
  const formEncode = (text) =>
    encodeURIComponent(text.toWellFormed())
      .replace(/%20/g, "+")
      .replace(/[!'()~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

  class URLSearchParams {
    #pairs = [];
    #changed = null;
    constructor(init) {
      if (init == null) return;
      if (typeof init === "string") this.#parse(init);
      else {
        const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
        for (const [name, value] of pairs) this.#pairs.push([String(name), String(value)]);
      }
    }
    #parse(text) {
      for (const part of text.replace(/^\?/, "").split("&")) {
        if (part === "") continue;
        const at = part.indexOf("=");
        this.#pairs.push(at < 0 ? [unplus(part), ""] : [unplus(part.slice(0, at)), unplus(part.slice(at + 1))]);
      }
    }
    static bound(search, changed) {
      const params = new URLSearchParams(search);
      params.#changed = changed;
      return params;
    }
    append(name, value) {
      this.#pairs.push([String(name), String(value)]);
      this.#changed?.();
    }
    delete(name) {
      this.#pairs = this.#pairs.filter(([key]) => key !== String(name));
      this.#changed?.();
    }
    set(name, value) {
      const at = this.#pairs.findIndex(([key]) => key === String(name));
      if (at < 0) return this.append(name, value);
      this.#pairs = this.#pairs.filter(([key], i) => i <= at || key !== String(name));
      this.#pairs[at][1] = String(value);
      this.#changed?.();
    }
    get(name) {
      return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value);
    }
    has(name) {
      return this.#pairs.some(([key]) => key === String(name));
    }
    forEach(call) {
      for (const [name, value] of this.#pairs) call(value, name, this);
    }
    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed?.();
    }
    get size() {
      return this.#pairs.length;
    }
    keys() {
      return this.#pairs.map(([name]) => name).values();
    }
    values() {
      return this.#pairs.map(([, value]) => value).values();
    }
    entries() {
      return this.#pairs.map((pair) => [...pair]).values();
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.#pairs.map(([name, value]) => `${formEncode(name)}=${formEncode(value)}`).join("&");
    }
  }

  const { bound } = URLSearchParams;
  delete URLSearchParams.bound;

  class URL {
    #parts;
    #params;
    constructor(href, base) {
      this.#read({ href: String(href), base: base === undefined ? null : String(base) });
    }
    #read(request) {
      try {
        this.#parts = native.query("url", request);
      } catch (error) {
        throw new TypeError(`Invalid URL: ${request.href} (${error.message})`);
      }
      this.#params = null;
    }
    static canParse(href, base) {
      try {
        return Boolean(new URL(href, base));
      } catch {
        return false;
      }
    }
    static part(url, name) {
      return url.#parts[name];
    }
    static change(url, name, value) {
      url.#read(name === "href" ? { href: value } : { href: url.#parts.href, set: [name, value] });
    }
    get searchParams() {
      this.#params ??= bound(this.#parts.search, () => {
        const params = this.#params;
        this.search = params.toString();
        this.#params = params;
      });
      return this.#params;
    }
    toString() {
      return this.#parts.href;
    }
    toJSON() {
      return this.#parts.href;
    }
  }
  // Only this file may reach behind the private fields.
  const { part, change } = URL;
  delete URL.part;
  delete URL.change;
  const readable = ["href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
  for (const name of readable) {
    Object.defineProperty(URL.prototype, name, {
      get() {
        return part(this, name);
      },
      set(value) {
        change(this, name, String(value));
      },
      configurable: true,
      enumerable: true,
    });
  }
  Object.defineProperty(URL.prototype, "origin", {
    get() {
      return part(this, "origin");
    },
    configurable: true,
  });

  // ---- text coding and copies ----

  class TextEncoder {
    encoding = "utf-8";
    encode(text = "") {
      return native.encode(String(text).toWellFormed());
    }
  }
  class TextDecoder {
    encoding = "utf-8";
    constructor(label = "utf-8") {
      if (!/^utf-?8$/i.test(label)) throw new RangeError(`TextDecoder knows utf-8 only, not ${label}`);
    }
    decode(bytes = new Uint8Array()) {
      const view = ArrayBuffer.isView(bytes)
        ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
        : new Uint8Array(bytes);
      return native.decode(view).replace(/^\uFEFF/, "");
    }
  }

  function structuredClone(value, _options, seen = new Map()) {
    if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`a ${typeof value} cannot be cloned`);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const copy = (inner) => structuredClone(inner, undefined, seen);
    const keep = (made) => (seen.set(value, made), made);
    if (value instanceof Date) return keep(new Date(value));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer || (ArrayBuffer.isView(value) && value.slice)) return keep(value.slice());
    if (value instanceof Map) {
      const made = keep(new Map());
      value.forEach((item, key) => made.set(copy(key), copy(item)));
      return made;
    }
    if (value instanceof Set) {
      const made = keep(new Set());
      value.forEach((item) => made.add(copy(item)));
      return made;
    }
    if (value instanceof Error) {
      return keep(Object.assign(new world[value.name in world ? value.name : "Error"](value.message), { stack: value.stack }));
    }
    const made = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) define(made, key, copy(value[key]));
    for (const key of Object.keys(value)) Object.defineProperty(made, key, { enumerable: true });
    return made;
  }

  const globals = { Headers, Response, URL, URLSearchParams, TextEncoder, TextDecoder, structuredClone };
  for (const [name, value] of Object.entries(globals)) define(world, name, value);

  // ---- what the snapshot must not freeze, and what is not there ----

  define(Math, "random", () => native.random());
  const makers = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (const maker of makers) {
    Object.defineProperty(Object.getPrototypeOf(maker), "constructor", { value: undefined, configurable: false, writable: false });
  }
  for (const name of ["eval", "Function", "SharedArrayBuffer", "Atomics", "WebAssembly", "globalThis"]) delete world[name];
})
