// The `utils` object of a tool. Each function checks what it is given and says what it wanted instead.
// Runs once, before the snapshot, after web.js.
(function (native, environment) {
  const fail = (message) => {
    throw new TypeError(message);
  };
  const kind = (value) => (value === null ? "null" : Array.isArray(value) ? "an array" : typeof value);
  const string = (value, of) =>
    typeof value === "string" ? value : typeof value === "number" ? String(value) : fail(`utils.${of} wants a string, not ${kind(value)}`);
  const array = (value, of) => (Array.isArray(value) ? value : fail(`utils.${of} wants an array, not ${kind(value)}`));
  const number = (value, of) => {
    const read = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    return typeof read === "number" && !Number.isNaN(read) ? read : fail(`utils.${of} wants a number, not ${show(value)}`);
  };
  const count = (value, of, least) => {
    const read = number(value, of);
    return Number.isInteger(read) && read >= least ? read : fail(`utils.${of} wants a whole number of at least ${least}, not ${read}`);
  };
  const show = (value) => (typeof value === "string" ? JSON.stringify(value) : typeof value === "number" ? String(value) : kind(value));

  // ---- Config Center, other tools, time ----

  const service = (name, of) => string(name, of);
  const config = {
    getApiKey: (name) => native.query("getApiKey", { service: service(name, "getApiKey") }) ?? undefined,
    getServiceConfig: (name) => native.query("getServiceConfig", { service: service(name, "getServiceConfig") }),
    getConfigEntry: (name, entry) =>
      native.query("getConfigEntry", { service: service(name, "getConfigEntry"), entry: entry ?? null }),
    getConfigEntries: (name) => native.query("getConfigEntries", { service: service(name, "getConfigEntries") }) ?? [],
    getFieldValue: (name, field, entry) =>
      native.query("getFieldValue", {
        service: service(name, "getFieldValue"),
        field: string(field, "getFieldValue"),
        entry: entry ?? null,
      }) ?? undefined,
  };

  const tools = {
    callTool: async (name, args = {}) => environment.operate("callTool", { name: string(name, "callTool"), args: args ?? {} }),
    listTools: () => native.query("listTools", null) ?? [],
    sleep: async (ms) => {
      const wait = number(ms, "sleep");
      if (wait < 0) fail("utils.sleep wants milliseconds of at least 0");
      await environment.operate("sleep", { ms: wait });
    },
  };

  // ---- hashing and randomness ----

  const below = (n) => Math.floor(native.random() * n);
  const pick = (from) => from[below(from.length)];
  const shuffled = (list) => {
    for (let i = list.length - 1; i > 0; i--) {
      const j = below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  };
  const CLASSES = ["abcdefghijkmnopqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", "!@#$%^&*-_=+?"];

  const crypto = {
    hash: (text, algorithm = "sha256") =>
      native.query("hash", { text: string(text, "hash"), algorithm: String(algorithm).toLowerCase().replace("-", "") }),
    uuid: () => {
      const bytes = Uint8Array.from({ length: 16 }, () => below(256));
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    },
    generatePassword: (length = 16) => {
      const size = count(length, "generatePassword", 4);
      if (size > 1024) fail("utils.generatePassword makes at most 1024 characters");
      const one = CLASSES.map(pick);
      const all = CLASSES.join("");
      return shuffled([...one, ...Array.from({ length: size - one.length }, () => pick(all))]).join("");
    },
  };

  // ---- encodings, all of the text's UTF-8 ----

  const encode = (text, of) => native.encode(string(text, of).toWellFormed());
  const decoded = (what, bytes) => {
    try {
      return native.decode(bytes());
    } catch (error) {
      throw new TypeError(`this is not ${what}: ${error.message}`);
    }
  };
  const coding = {
    base64Encode: (text) => encode(text, "base64Encode").toBase64(),
    base64Decode: (text) => {
      const plain = string(text, "base64Decode").replace(/-/g, "+").replace(/_/g, "/");
      return decoded("Base64", () => Uint8Array.fromBase64(plain));
    },
    urlEncode: (text) => encodeURIComponent(string(text, "urlEncode").toWellFormed()),
    urlDecode: (text) => {
      try {
        return decodeURIComponent(string(text, "urlDecode").replace(/\+/g, " "));
      } catch {
        return fail(`${show(text)} has a broken %-sequence`);
      }
    },
    hexEncode: (text) => encode(text, "hexEncode").toHex(),
    hexDecode: (hex) => decoded("hexadecimal", () => Uint8Array.fromHex(string(hex, "hexDecode").replace(/\s/g, ""))),
  };

  // ---- dates, in UTC ----

  const UNITS = { millisecond: 1, second: 1e3, minute: 6e4, hour: 36e5, day: 864e5, week: 6048e5 };
  const MONTHS = { month: 1, quarter: 3, year: 12 };
  const unitName = (unit) => String(unit).toLowerCase().replace(/s$/, "");
  const date = (value, of) => {
    if (value === "now") return new Date();
    const read = value instanceof Date ? new Date(value) : new Date(typeof value === "number" ? value : string(value, of));
    return Number.isNaN(read.getTime()) ? fail(`${show(value)} is not a date: pass ISO 8601, such as 2026-01-30`) : read;
  };
  const addMonths = (from, months) => {
    const day = from.getUTCDate();
    from.setUTCDate(1);
    from.setUTCMonth(from.getUTCMonth() + months);
    const last = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 0)).getUTCDate();
    from.setUTCDate(Math.min(day, last));
    return from;
  };
  const NAMES = {
    en: [
      "Sunday Monday Tuesday Wednesday Thursday Friday Saturday",
      "January February March April May June July August September October November December",
      "W, M D, Y",
    ],
    de: [
      "Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag",
      "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
      "W, D. M Y",
    ],
    fr: [
      "dimanche lundi mardi mercredi jeudi vendredi samedi",
      "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
      "W D M Y",
    ],
    es: [
      "domingo lunes martes miércoles jueves viernes sábado",
      "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
      "W, D de M de Y",
    ],
  };
  const clock = (at, american) => {
    const minutes = String(at.getUTCMinutes()).padStart(2, "0");
    const hours = at.getUTCHours();
    if (!american) return `${String(hours).padStart(2, "0")}:${minutes}`;
    return `${hours % 12 || 12}:${minutes} ${hours < 12 ? "AM" : "PM"}`;
  };
  const dates = {
    now: () => new Date().toISOString(),
    timestamp: () => Date.now(),
    dateDiff: (from, to, unit = "days") => {
      const size = UNITS[unitName(unit)] ?? fail(`utils.dateDiff counts in ${Object.keys(UNITS).join("s, ")}s, not ${show(unit)}`);
      return (date(to, "dateDiff") - date(from, "dateDiff")) / size;
    },
    dateAdd: (from, amount, unit = "days") => {
      const start = date(from, "dateAdd");
      const by = number(amount, "dateAdd");
      const name = unitName(unit);
      if (name in UNITS) return date(start.getTime() + by * UNITS[name]).toISOString();
      const months = MONTHS[name] ?? fail(`utils.dateAdd adds seconds, minutes, hours, days, weeks, months or years, not ${show(unit)}`);
      return date(addMonths(start, Math.trunc(by * months)).getTime()).toISOString();
    },
    // A date alone stays a date; with a time, the time is told too.
    formatDate: (value, locale = "en-US") => {
      const at = date(value, "formatDate");
      const language = String(locale).slice(0, 2).toLowerCase();
      const american = /^en(-us)?$/i.test(String(locale));
      const [days, months, order] = NAMES[language] ?? NAMES.en;
      const words = {
        W: days.split(" ")[at.getUTCDay()],
        M: months.split(" ")[at.getUTCMonth()],
        D: at.getUTCDate(),
        Y: at.getUTCFullYear(),
      };
      const day = (language === "en" && !american ? "W D M Y" : order).replace(/\b[WMDY]\b/g, (letter) => words[letter]);
      return /^\d{4}-\d\d-\d\d$/.test(String(value)) ? day : `${day}, ${clock(at, american)} UTC`;
    },
  };

  // ---- text ----

  const SPELLED = { ß: "ss", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", ø: "o", Ø: "O", đ: "d", Đ: "D", ł: "l", Ł: "L", þ: "th", Þ: "Th", ı: "i" };
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").normalize("NFC");
  const words = (text, of) =>
    string(text, of)
      .replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2")
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const capital = (word) => word.replace(/^./u, (first) => first.toUpperCase());
  const texts = {
    slugify: (text) =>
      plain(string(text, "slugify"))
        .replace(/[ßæÆœŒøØđĐłŁþÞı]/g, (letter) => SPELLED[letter])
        .toLowerCase()
        .replace(/['’]/g, "")
        .replace(/[^a-z0-9]+/g, "-")
        .replace(/^-|-$/g, ""),
    camelCase: (text) => words(text, "camelCase").map((word, i) => (i ? capital(word.toLowerCase()) : word.toLowerCase())).join(""),
    snakeCase: (text) => words(text, "snakeCase").join("_").toLowerCase(),
    kebabCase: (text) => words(text, "kebabCase").join("-").toLowerCase(),
    titleCase: (text) => string(text, "titleCase").replace(/\p{L}[\p{L}\p{M}\p{N}'’]*/gu, (word) => capital(word.toLowerCase())),
    // By characters, so that no emoji is cut in half; the suffix counts.
    truncate: (text, maxLength = 100, suffix = "...") => {
      const all = [...string(text, "truncate")];
      const most = count(maxLength, "truncate", 0);
      const end = [...String(suffix)];
      if (all.length <= most) return all.join("");
      return all.slice(0, Math.max(0, most - end.length)).join("") + end.slice(0, most).join("");
    },
    countWords: (text) => string(text, "countWords").match(/\S+/g)?.length ?? 0,
    removeDiacritics: (text) => plain(string(text, "removeDiacritics")),
  };

  // ---- validation: an answer for any value, never an error ----

  const text = (test) => (value) => typeof value === "string" && test(value);
  const parses = (read) => (value) => {
    try {
      read(value);
      return true;
    } catch {
      return false;
    }
  };
  const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
  const EMAIL = new RegExp(`^[\\w!#$%&'*+/=?^\`{|}~-]+(?:\\.[\\w!#$%&'*+/=?^\`{|}~-]+)*@(?:${LABEL}\\.)+${LABEL}$`, "i");
  const checks = {
    isEmail: text((value) => value.length <= 254 && EMAIL.test(value)),
    isUrl: text((value) => /^(https?|ftp):\/\/[^\s]+$/i.test(value) && URL.canParse(value)),
    isJson: text(parses(JSON.parse)),
    isUuid: text((value) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)),
  };

  // ---- math ----

  const numbers = (list, of) => array(list, of).map((value) => number(value, of));
  const math = {
    clamp: (value, min, max) => {
      const [low, high] = [number(min, "clamp"), number(max, "clamp")];
      if (low > high) fail(`utils.clamp wants min (${low}) not above max (${high})`);
      return Math.min(Math.max(number(value, "clamp"), low), high);
    },
    // By decimal text, so that 1.005 becomes 1.01.
    round: (value, decimals = 0) => {
      const [from, places] = [number(value, "round"), Math.trunc(number(decimals, "round"))];
      const shift = (amount, by) => {
        const [digits, exponent = "0"] = String(amount).split("e");
        return Number(`${digits}e${Number(exponent) + by}`);
      };
      const rounded = shift(Math.round(shift(Math.abs(from), places)), -places);
      return Number.isFinite(rounded) ? Math.sign(from) * rounded + 0 : from;
    },
    randomInt: (min = 0, max = 100) => {
      const [low, high] = [Math.ceil(number(min, "randomInt")), Math.floor(number(max, "randomInt"))];
      return low > high ? fail(`utils.randomInt wants min (${min}) not above max (${max})`) : low + below(high - low + 1);
    },
    sum: (list) => numbers(list, "sum").reduce((total, value) => total + value, 0),
    avg: (list) => (array(list, "avg").length === 0 ? 0 : math.sum(list) / list.length),
  };

  // ---- data ----

  const parseCsv = (csv, delimiter = ",") => {
    const source = string(csv, "parseCsv").replace(/^\uFEFF/, "");
    if (typeof delimiter !== "string" || delimiter.length !== 1) fail("utils.parseCsv wants a delimiter of one character");
    const rows = [];
    let row = [];
    let at = 0;
    const field = () => {
      let value = "";
      if (source[at] === '"') {
        for (;;) {
          const end = source.indexOf('"', at + 1);
          if (end < 0) fail(`utils.parseCsv: a quote in record ${rows.length + 1} is never closed`);
          value += source.slice(at + 1, end);
          at = end + 1;
          if (source[at] !== '"') break;
          value += '"';
        }
      }
      const from = at;
      while (at < source.length && source[at] !== delimiter && source[at] !== "\n" && source[at] !== "\r") at++;
      return value + source.slice(from, at);
    };
    while (at < source.length) {
      row.push(field());
      if (source[at] === delimiter) {
        at++;
        if (at < source.length) continue;
        row.push("");
      }
      if (source[at] === "\r") at++;
      if (source[at] === "\n") at++;
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
    }
    const [head = [], ...records] = rows;
    const names = head.map((name) => name.trim());
    return records.map((record) => Object.fromEntries(names.map((name, i) => [name, record[i] ?? ""])));
  };
  const leaf = (value) => typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Date;
  const data = {
    parseJson: (source) => {
      try {
        return JSON.parse(string(source, "parseJson"));
      } catch (error) {
        throw new SyntaxError(`utils.parseJson: ${error.message}`);
      }
    },
    toJson: (value, indent = 2) => JSON.stringify(value, null, indent) ?? "null",
    parseCsv,
    // Arrays are values: only objects become dots.
    flatten: (object, prefix = "") => {
      if (leaf(object)) fail(`utils.flatten wants an object, not ${kind(object)}`);
      const pairs = (from, path) =>
        Object.entries(from).flatMap(([key, value]) => {
          const name = path ? `${path}.${key}` : key;
          return leaf(value) || Object.keys(value).length === 0 ? [[name, value]] : pairs(value, name);
        });
      return Object.fromEntries(pairs(object, prefix));
    },
    getPath: (object, path) => {
      const steps = string(path, "getPath").match(/[^.[\]]+/g) ?? [];
      return steps.reduce((value, step) => {
        const key = step.replace(/^(["'])(.*)\1$/, "$2");
        return value != null && Object.hasOwn(Object(value), key) ? value[key] : undefined;
      }, object);
    },
  };

  const arrays = {
    unique: (list) => [...new Set(array(list, "unique"))],
    chunk: (list, size) => {
      const [all, step] = [array(list, "chunk"), count(size, "chunk", 1)];
      return Array.from({ length: Math.ceil(all.length / step) }, (_, i) => all.slice(i * step, i * step + step));
    },
    shuffle: (list) => shuffled([...array(list, "shuffle")]),
    sample: (list, n = 1) => shuffled([...array(list, "sample")]).slice(0, count(n, "sample", 0)),
    groupBy: (list, key) => {
      const of = typeof key === "function" ? key : (item) => item?.[key];
      const groups = new Map();
      for (const item of array(list, "groupBy")) {
        const name = String(of(item));
        groups.has(name) ? groups.get(name).push(item) : groups.set(name, [item]);
      }
      return Object.fromEntries(groups);
    },
  };

  const parts = [config, tools, crypto, coding, dates, texts, checks, math, data, arrays];
  environment.utils = Object.freeze(Object.assign({}, ...parts));
})
