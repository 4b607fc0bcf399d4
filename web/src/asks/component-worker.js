// The worker that runs a component's code. A worker has no document, no WebRTC, no links, forms or navigation, and the frame's policy
// forbids every request it could make, so the code cannot reach the network. It renders into the small DOM below, whose changes are
// sent to the frame; the frame applies the allowed ones to the real document and sends events back.
// Sent as text by frame.tsx; `preactText` and `hooksText` are set by the frame in front of it.
'use strict';
const HTML = 'http://www.w3.org/1999/xhtml';
const nodes = new Map();
const listened = new Set();
let queue = [];
let nextHandle = 1;

function send(...op) {
  if (queue.push(op) === 1) queueMicrotask(flush);
}
function flush() {
  const ops = queue;
  queue = [];
  if (ops.length) postMessage({ ops });
}

class MirrorNode {
  constructor(nodeType, handle = nextHandle++) {
    Object.assign(this, { nodeType, handle, childNodes: [], parentNode: null, listeners: new Map() });
    nodes.set(handle, this);
  }
  get firstChild() { return this.childNodes[0] ?? null; }
  get lastChild() { return this.childNodes.at(-1) ?? null; }
  get nextSibling() { return this.sibling(1); }
  get previousSibling() { return this.sibling(-1); }
  get parentElement() { return this.parentNode; }
  get ownerDocument() { return document; }
  get isConnected() { return this === root || Boolean(this.parentNode?.isConnected); }
  sibling(step) {
    const all = this.parentNode?.childNodes ?? [];
    return all[all.indexOf(this) + step] ?? null;
  }
  detach() {
    const all = this.parentNode?.childNodes;
    if (all) all.splice(all.indexOf(this), 1);
    this.parentNode = null;
  }
  contains(other) {
    for (let node = other; node; node = node.parentNode) if (node === this) return true;
    return false;
  }
  insertBefore(node, before) {
    node.detach();
    const at = before ? this.childNodes.indexOf(before) : -1;
    this.childNodes.splice(at < 0 ? this.childNodes.length : at, 0, node);
    node.parentNode = this;
    send('insert', this.handle, node.handle, at < 0 ? 0 : before.handle);
    return node;
  }
  appendChild(node) { return this.insertBefore(node, null); }
  append(...all) { for (const one of all) this.appendChild(typeof one === 'object' ? one : document.createTextNode(one)); }
  removeChild(node) { node.remove(); return node; }
  remove() {
    if (!this.parentNode) return;
    this.detach();
    send('remove', this.handle);
  }
  addEventListener(type, listener, capture) {
    type = String(type);
    if (!listened.has(type)) listened.add(type), send('listen', type);
    const key = `${type} ${Boolean(capture?.capture ?? capture)}`;
    const all = this.listeners.get(key) ?? new Set();
    this.listeners.set(key, all.add(listener));
  }
  removeEventListener(type, listener, capture) {
    this.listeners.get(`${type} ${Boolean(capture?.capture ?? capture)}`)?.delete(listener);
  }
  hear(event, capture) {
    event.currentTarget = this;
    for (const listener of [...(this.listeners.get(`${event.type} ${capture}`) ?? [])]) {
      if (typeof listener === 'function') listener.call(this, event);
      else listener?.handleEvent?.(event);
    }
  }
  get textContent() { return this.nodeType === 3 ? this.data : this.childNodes.map((child) => child.textContent).join(''); }
  set textContent(text) {
    while (this.firstChild) this.firstChild.remove();
    this.append(String(text ?? ''));
  }
}

class MirrorText extends MirrorNode {
  #data;
  constructor(data) {
    super(3);
    this.#data = String(data);
    send('text', this.handle, this.#data);
  }
  get data() { return this.#data; }
  set data(data) { send('data', this.handle, (this.#data = String(data))); }
}

class MirrorElement extends MirrorNode {
  #attributes = new Map();
  state = {};
  constructor(namespaceURI, localName, handle) {
    super(1, handle);
    Object.assign(this, { namespaceURI, localName, tagName: localName.toUpperCase(), nodeName: localName.toUpperCase() });
    if (!handle) send('create', this.handle, namespaceURI, localName);
    const set = (_, key, value) => (send('style', this.handle, String(key), String(value ?? '')), true);
    this.style = new Proxy({ setProperty: (key, value) => set(null, key, value), removeProperty: (key) => set(null, key, '') }, { set });
  }
  get attributes() { return [...this.#attributes].map(([name, value]) => ({ name, value })); }
  getAttribute(name) { return this.#attributes.get(name) ?? null; }
  hasAttribute(name) { return this.#attributes.has(name); }
  setAttribute(name, value) {
    this.#attributes.set(name, String(value));
    send('attribute', this.handle, name, String(value));
    this.drawing?.resize();
  }
  removeAttribute(name) {
    this.#attributes.delete(name);
    send('attribute', this.handle, name, null);
  }
  set innerHTML(text) {
    for (const child of [...this.childNodes]) child.remove();
    send('html', this.handle, String(text ?? ''));
  }
  /** The controls of a form, by name, as far as their values are known here. */
  get elements() {
    const found = {};
    const walk = (node) => node.childNodes.forEach((child) => {
      const name = child.nodeType === 1 && (child.getAttribute('name') || child.getAttribute('id'));
      if (name) found[name] ??= child;
      walk(child);
    });
    walk(this);
    return found;
  }
  get files() { return this.state.files ?? []; }
  get selectedOptions() { return (this.state.selected ?? []).map((value) => ({ value })); }
  getBoundingClientRect() { return this.state.rect ?? { x: 0, y: 0, left: 0, top: 0, right: 0, bottom: 0, width: 0, height: 0 }; }
  focus() { send('call', this.handle, 'focus'); }
  blur() { send('call', this.handle, 'blur'); }
  select() { send('call', this.handle, 'select'); }
  scrollIntoView() { send('call', this.handle, 'scrollIntoView'); }
  getContext(kind) {
    if (this.localName !== 'canvas') return null;
    this.drawing ??= drawingOf(this, kind);
    return this.drawing.context;
  }
  get width() { return Number(this.getAttribute('width') ?? 300); }
  set width(value) { this.setAttribute('width', value); }
  get height() { return Number(this.getAttribute('height') ?? 150); }
  set height(value) { this.setAttribute('height', value); }
}
for (const [property, attribute] of [['className', 'class'], ['htmlFor', 'for'], ['id', 'id'], ['name', 'name'], ['type', 'type'], ['title', 'title'], ['defaultValue', 'value']]) {
  Object.defineProperty(MirrorElement.prototype, property, {
    get() { return this.getAttribute(attribute) ?? ''; },
    set(value) { this.setAttribute(attribute, value); },
  });
}
for (const property of ['value', 'checked', 'selected', 'indeterminate']) {
  Object.defineProperty(MirrorElement.prototype, property, {
    get() { return this.state[property] ?? (property === 'value' ? (this.getAttribute('value') ?? '') : false); },
    set(value) { send('property', this.handle, property, (this.state[property] = property === 'value' ? String(value) : Boolean(value))); },
  });
}

/** A drawing surface whose pictures are sent to the canvas in the frame after something was drawn. */
function drawingOf(canvas, kind) {
  const surface = new OffscreenCanvas(canvas.width, canvas.height);
  const real = surface.getContext(kind);
  let waits = false;
  const drawn = () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(async () => {
      waits = false;
      const picture = await createImageBitmap(surface);
      flush();
      postMessage({ picture, id: canvas.handle }, [picture]);
    });
  };
  const context = new Proxy(real, {
    get(target, name) {
      if (name === 'canvas') return canvas;
      const value = target[name];
      return typeof value !== 'function' ? value : (...args) => (drawn(), value.apply(target, args));
    },
    set: (target, name, value) => ((target[name] = value), true),
  });
  const resize = () => {
    if (surface.width !== canvas.width || surface.height !== canvas.height) Object.assign(surface, { width: canvas.width, height: canvas.height });
  };
  return { context, resize };
}

const document = {
  createElementNS: (namespace, name) => new MirrorElement(namespace ?? HTML, String(name)),
  createElement: (name) => new MirrorElement(HTML, String(name).toLowerCase()),
  createTextNode: (data) => new MirrorText(data),
  addEventListener: (...listen) => root.addEventListener(...listen),
  removeEventListener: (...listen) => root.removeEventListener(...listen),
  getElementById: (id) => [...nodes.values()].find((node) => node.nodeType === 1 && node.isConnected && node.getAttribute('id') === id) ?? null,
};
const root = new MirrorElement(HTML, 'div', 'root');
Object.assign(document, { body: root, documentElement: root });
const BaseFormData = self.FormData;
Object.assign(self, {
  window: self,
  document,
  FormData: class FormData extends BaseFormData {
    constructor(form) {
      super();
      for (const [name, value] of form?.state?.fields ?? []) this.append(name, value);
    }
  },
});

/** An event of the frame, given to the listeners here on its way down and up. */
function dispatch({ type, target, bubbles, states, ...more }) {
  for (const [id, state] of states) {
    const node = nodes.get(id);
    if (node) Object.assign(node.state, state);
  }
  let stopped = false;
  const stop = () => { stopped = true; };
  const event = { ...more, type, bubbles, target: nodes.get(target), defaultPrevented: false, preventDefault() { this.defaultPrevented = true; }, stopPropagation: stop, stopImmediatePropagation: stop, persist() {} };
  event.nativeEvent = event;
  const path = [];
  for (let node = event.target; node; node = node.parentNode) path.push(node);
  for (const node of [...path].reverse()) if (!stopped) node.hear(event, true);
  for (const node of bubbles ? path : path.slice(0, 1)) if (!stopped) node.hear(event, false);
}

const why = (error) => String((error && error.message) || error);
addEventListener('error', (event) => postMessage({ broken: event.message || 'its code failed' }));
addEventListener('unhandledrejection', (event) => postMessage({ broken: why(event.reason) }));

function start({ code, props }) {
  const preact = new Function(preactText)();
  const hooks = new Function('preact', hooksText)(preact);
  const React = { ...preact, ...hooks };
  const callTool = (action, payload) => postMessage({ call: String(action), payload: JSON.parse(JSON.stringify(payload === undefined ? {} : payload)) });
  let named = '';
  const plain = code
    .replace(/^\s*import\s[^;]*?from\s*['"](react|preact)[^'"]*['"];?[^\S\n]*$/gm, '')
    .replace(/export\s+default\s+(async\s+)?function\s+([A-Za-z_$][\w$]*)/, (_, kind, name) => ((named = name), `${kind || ''}function ${name}`))
    .replace(/export\s+default\s+/, () => ((named = '__shown'), 'const __shown = '));
  const last = [...plain.matchAll(/(?:function|const|let|var|class)\s+([A-Z][\w$]*)/g)].map((found) => found[1]);
  const wanted = named || (last.includes('Component') ? 'Component' : last.includes('App') ? 'App' : last.at(-1)) || 'Component';
  let Component;
  try {
    Component = new Function('React', ...Object.keys(React), 'props', 'callTool', `${plain}\n;return ${wanted};`)(React, ...Object.values(React), props, callTool);
  } catch (error) {
    if (error instanceof SyntaxError && /<\/?[A-Za-z]|<>/.test(code)) return postMessage({ jsx: true });
    throw error;
  }
  if (typeof Component !== 'function') throw new Error(`${wanted} is not a function`);
  preact.render(preact.h(Component, { ...props, props, callTool }), root);
  flush();
  postMessage({ shown: true });
}

addEventListener('message', ({ data }) => {
  try {
    if (data.event) dispatch(data.event);
    else start(data);
  } catch (error) {
    postMessage({ broken: why(error) });
  }
});
