(what, args) => {
  // The first part of the function: what a reader sees. page.js has the rest.
  // Runs in a world of its own: it shares the document with the page's scripts, and nothing else.
  const ACTIVE = 'a[href],button,input:not([type=hidden]),select,textarea,summary,label,[role=button],[role=link],[role=tab],' +
    '[role=menuitem],[role=option],[role=checkbox],[role=radio],[role=switch],[contenteditable=""],[contenteditable=true],[onclick]';
  const NO_TEXT = ['button', 'checkbox', 'color', 'file', 'hidden', 'image', 'radio', 'range', 'reset', 'submit'];
  const OWN_FORM = ['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week'];
  const SKIPPED = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'OBJECT', 'EMBED', 'LINK', 'META', 'CANVAS']);
  const SECRET_HINT = /(?:^|\s)(?:current-password|new-password|one-time-code)(?:\s|$)/i;
  const SECRET_NAME = /pass(?:$|[^a-z]|w|code|phrase|key)|pwd|kennwort|geheim|contrase|parola|senha|wachtwoord|\bpin\b|secret/i;
  const IMPLICIT = ['text', 'search', 'tel', 'url', 'email', 'password', 'date', 'month', 'week', 'time', 'datetime-local', 'number'];
  const NEAR = 12;
  const LABEL = 120;
  // The most of a form that is compared, and of what is listed of it.
  const DATA = 1_000_000;
  const LISTED = 10;
  const DOTS = '••••••••';
  // Control characters, marks of direction, and what has no width.
  const UNSEEN = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;
  // No element of the page can take these names.
  const [HELD, WANTED, WATCHED] = ['held', 'wanted', 'watched'].map((name) => Symbol.for(name));

  // A form's own properties may be hidden by fields with their names; those of its prototypes are not.
  const getter = (proto, name) => {
    const { get } = Object.getOwnPropertyDescriptor(proto, name);
    return (el) => get.call(el);
  };
  const parentOf = getter(Node.prototype, 'parentNode');
  const outerOf = getter(Node.prototype, 'parentElement');
  const nodesOf = getter(Node.prototype, 'childNodes');
  const textOf = getter(HTMLElement.prototype, 'innerText');
  const kindOf = getter(Node.prototype, 'nodeType');
  const isConnected = getter(Node.prototype, 'isConnected');
  const rootOf = (node) => Node.prototype.getRootNode.call(node);
  const tagOf = getter(Element.prototype, 'tagName');
  const shadowOf = getter(Element.prototype, 'shadowRoot');
  const childrenOf = getter(Element.prototype, 'children');
  const attr = (el, name) => Element.prototype.getAttribute.call(el, name);
  const closest = (el, selector) => Element.prototype.closest.call(el, selector);
  const inside = (el, selector) => Element.prototype.querySelector.call(el, selector);
  const boxOf = (el) => Element.prototype.getBoundingClientRect.call(el);
  const [widthOf, heightOf] = ['offsetWidth', 'offsetHeight'].map((name) => getter(HTMLElement.prototype, name));
  const formOf = { action: getter(HTMLFormElement.prototype, 'action'), method: getter(HTMLFormElement.prototype, 'method'), fields: getter(HTMLFormElement.prototype, 'elements') };

  const clean = (text) => String(text ?? '').replace(UNSEEN, '');
  const line = (text, most = LABEL) => {
    const one = clean(String(text ?? '').slice(0, 100_000)).slice(0, 10 * most).replace(/\s+/g, ' ').trim();
    return one.length > most ? one.slice(0, most) + '…' : one;
  };
  const type = (el) => (tagOf(el) === 'INPUT' ? el.type : '');
  const isVisible = (el) => {
    const box = boxOf(el);
    return box.width > 0 && box.height > 0 && Element.prototype.checkVisibility.call(el, { opacityProperty: true, visibilityProperty: true });
  };

  // Fields that were passwords once; a page can show what is in them by another type.
  const watched = globalThis[WATCHED] ??= { secrets: new WeakSet(), roots: new WeakSet(), observer: null };
  const note = (changes) => changes.forEach((one) => one.oldValue?.trim().toLowerCase() === 'password' && watched.secrets.add(one.target));
  watched.observer ??= new MutationObserver(note);
  note(watched.observer.takeRecords());
  const watch = (root) => {
    if (watched.roots.has(root)) return;
    watched.roots.add(root);
    watched.observer.observe(root, { subtree: true, attributes: true, attributeFilter: ['type'], attributeOldValue: true });
  };
  watch(document);
  const isSecret = (el) => {
    if (!['INPUT', 'TEXTAREA'].includes(tagOf(el)) || NO_TEXT.includes(type(el)) && type(el) !== 'hidden') return false;
    return type(el) === 'password' || watched.secrets.has(el) || SECRET_HINT.test(attr(el, 'autocomplete') ?? '') ||
      SECRET_NAME.test(`${attr(el, 'name') ?? ''} ${el.id}`) || (getComputedStyle(el).webkitTextSecurity ?? 'none') !== 'none';
  };

  // What a reader sees of an element, going down from the one around it; null where neither it nor anything in it is seen.
  const colour = (text) => {
    const parts = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
    return parts && [Number(parts[1]), Number(parts[2]), Number(parts[3]), Number(parts[4] ?? 1)];
  };
  const isCutAway = (style) => {
    const [, inset] = /^inset\(([^)]*?)(?: round .*)?\)$/.exec(style.clipPath) ?? [];
    if (inset !== undefined) {
      const [top, right = top, bottom = top, left = right] = inset.split(' ').map((one) => (one.endsWith('%') ? parseFloat(one) : 0));
      if (top + bottom >= 100 || left + right >= 100) return true;
    }
    if (/^(?:circle|ellipse)\(0(?:px|%)?[ )]/.test(style.clipPath)) return true;
    const [, rect] = style.position === 'absolute' || style.position === 'fixed' ? /^rect\((.*)\)$/.exec(style.clip) ?? [] : [];
    const [top, right, bottom, left] = rect?.split(', ').map(parseFloat) ?? [];
    return top >= bottom || left >= right;
  };
  const isMasked = (style) => {
    const mask = style.maskImage ?? style.webkitMaskImage ?? 'none';
    const colours = mask.includes('gradient') && !mask.includes('url(') ? mask.match(/[a-z]+\([^()]*\)/g) : null;
    return Boolean(colours?.length) && colours.every((one) => colour(one)?.[3] < 0.1);
  };
  const filtered = (style) => {
    if (style.filter === 'none') return 1;
    const [, opacity = '1'] = /opacity\(([\d.]+)\)/.exec(style.filter) ?? [];
    const [, blur = '0'] = /blur\(([\d.]+)px\)/.exec(style.filter) ?? [];
    return Number(blur) >= 8 ? 0 : Number(opacity);
  };
  const TOP = { opacity: 1, back: null, backOf: null, isShown: true };
  const look = (el, above) => {
    const style = getComputedStyle(el);
    const opacity = above.opacity * Number(style.opacity) * filtered(style);
    if (style.display === 'none' || style.contentVisibility === 'hidden' || opacity < 0.1 || isCutAway(style) || isMasked(style)) return null;
    const box = boxOf(el);
    const tag = tagOf(el);
    const isBlock = style.display !== 'inline' && style.display !== 'contents' && tag !== 'HTML' && tag !== 'BODY';
    const isNarrow = box.width <= 1 || box.height <= 1;
    if (isBlock && isNarrow && style.overflowX !== 'visible' && style.overflowY !== 'visible') return null;
    // It has a size, and is turned away or scaled down.
    if (isBlock && isNarrow && el instanceof HTMLElement && widthOf(el) > 1 && heightOf(el) > 1) return null;
    const view = el.ownerDocument?.defaultView ?? window;
    const root = view.document.documentElement;
    const least = getComputedStyle(root).direction === 'rtl' ? -root.scrollWidth : 0;
    let isOut = box.right + view.scrollX <= least || box.bottom + view.scrollY <= 0 || box.left + view.scrollX > 20_000;
    if (style.position === 'fixed') isOut ||= box.left >= view.innerWidth || box.top >= view.innerHeight || box.right <= 0 || box.bottom <= 0;
    // A part of it is; its text may be.
    const isPartlyOut = box.left + view.scrollX < least - 100 || box.top + view.scrollY < -100;
    isOut &&= style.display !== 'contents' && (box.width > 0 || box.height > 0);
    const indent = parseFloat(style.textIndent) || 0;
    const isPushed = Math.abs(indent) >= (style.textIndent.endsWith('%') ? 100 : 500) && (indent < 0 || style.overflowX !== 'visible');
    let { back, backOf } = above;
    const ground = colour(style.backgroundColor);
    if (style.backgroundImage !== 'none' || !ground || (ground[3] > 0 && ground[3] < 0.95 && !back)) back = null;
    else if (ground[3] >= 0.95) [back, backOf] = [ground, el];
    else if (ground[3] > 0) back = [0, 1, 2].map((at) => ground[at] * ground[3] + back[at] * (1 - ground[3]));
    const isShown = style.visibility === 'visible' && parseFloat(style.fontSize) >= 4 && !isOut && !isPushed;
    return { el, style, box, opacity, back, backOf, isShown, isNarrow, isPartlyOut, least };
  };
  // Whether the letters in an element have a colour of their own. What lies under them may be something else than what is around.
  let looks = 20_000;
  const paints = (el) => {
    const style = getComputedStyle(el);
    return /^(?:IMG|VIDEO|CANVAS|PICTURE|IFRAME|OBJECT|EMBED)$/i.test(tagOf(el)) || tagOf(el) === 'svg' || childrenOf(el).length > 0 ||
      style.backgroundImage !== 'none' || (colour(style.backgroundColor)?.[3] ?? 1) > 0;
  };
  const liesOver = (state) => {
    for (let at = state.el; at; at = outerOf(at)) {
      if (['::before', '::after'].some((one) => !['none', 'normal'].includes(getComputedStyle(at, one).content))) return true;
      if (at === state.backOf) return false;
      for (const near of outerOf(at) ? childrenOf(outerOf(at)) : []) {
        looks -= 1;
        if (looks < 0) return false;
        if (near === at) continue;
        const [a, b] = [boxOf(near), state.box];
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1 && paints(near)) return true;
      }
    }
    return false;
  };
  const isLegible = (state) => {
    const { style, back } = state;
    if (style.textShadow !== 'none' || parseFloat(style.webkitTextStrokeWidth) > 0 || style.backgroundClip.includes('text')) return true;
    const ink = colour(style.webkitTextFillColor);
    if (!ink) return true;
    if (ink[3] < 0.1) return false;
    if (!back || ink[3] < 0.95 && ink[3] >= 0.3) return true;
    const isSame = [0, 1, 2].every((at) => Math.abs(ink[at] - back[at]) * ink[3] <= 16);
    return !isSame || liesOver(state);
  };
  const isBeside = (text, { least }) => {
    const range = text.ownerDocument.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    return box.right + scrollX <= least || box.bottom + scrollY <= 0;
  };
  const isSeen = (state, text) => (state.isRead ??= state.isShown && (!state.el || isLegible(state))) && !(state.isPartlyOut && isBeside(text, state));
  // The background of a page without one is white, unless it is made for the dark.
  const paper = (of) => {
    const scheme = getComputedStyle(of.documentElement).colorScheme;
    return { ...TOP, back: /^(?:normal|light|light only|only light)$/.test(scheme) ? [255, 255, 255] : null };
  };

  // The words in an element that a reader sees.
  const words = (top) => {
    let text = '';
    let nodes = 0;
    const walk = (node, state, depth) => {
      nodes += 1;
      if (text.length > 4 * LABEL || nodes > 400 || depth > 60) return;
      if (kindOf(node) === Node.TEXT_NODE) {
        if (node.data.trim() && isSeen(state, node)) text += node.data;
        return;
      }
      if (kindOf(node) !== Node.ELEMENT_NODE || SKIPPED.has(tagOf(node)) || ['INPUT', 'SELECT', 'TEXTAREA', 'svg'].includes(tagOf(node))) return;
      const here = look(node, state);
      if (!here) return;
      if (here.style.display !== 'inline') text += ' ';
      for (const child of shadowOf(node)?.childNodes ?? nodesOf(node)) walk(child, here, depth + 1);
      if (here.style.display !== 'inline') text += ' ';
    };
    walk(top, TOP, 0);
    return text;
  };
  // What is written on it, and else what is said of it.
  const label = (el) => {
    const tag = tagOf(el);
    const own = tag === 'INPUT' && ['button', 'submit', 'reset'].includes(el.type) ? el.value || el.type : '';
    const labels = ['INPUT', 'SELECT', 'TEXTAREA'].includes(tag) ? [...(el.labels ?? [])].map(words).join(' ') : '';
    const text = ['SELECT', 'INPUT', 'TEXTAREA'].includes(tag) ? '' : words(el);
    const picture = inside(el, 'img[alt],svg title');
    const forReaders = ['SELECT', 'INPUT', 'TEXTAREA'].includes(tag) ? [...(el.labels ?? [])] : [el].filter((one) => one instanceof HTMLElement);
    const unseen = forReaders.map(textOf).join(' ').slice(0, 1_000);
    const all = [labels, own, text, attr(el, 'aria-label'), attr(el, 'placeholder'), attr(el, 'title'), attr(el, 'alt'),
      picture?.getAttribute('alt') ?? picture?.textContent, unseen, attr(el, 'name')];
    return line(all.find((one) => typeof one === 'string' && clean(one).trim()));
  };
  const spoken = (el) => line(attr(el, 'aria-label'));

  // What a reader sees, as HTML: without what is hidden, and with what is in fields.
  const visible = (top, most) => {
    let html = '';
    let hidden = 0;
    let isCut = false;
    let nodes = 0;
    const escape = (text) => clean(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
    const field = (el) => {
      const kind = el.tagName === 'INPUT' ? el.type : el.tagName.toLowerCase();
      if (kind === 'hidden') return '';
      const name = label(el);
      if (['button', 'submit', 'reset', 'image'].includes(kind)) return `[button: ${name}]`;
      if (['checkbox', 'radio'].includes(kind)) return `[${kind}${el.checked ? ', on' : ''}: ${name}]`;
      const value = kind === 'select' ? [...el.selectedOptions].map((one) => one.text).join(', ') : el.value;
      return `[${kind} ${name}: ${isSecret(el) && value ? DOTS : line(value, 500)}]`;
    };
    const walk = (node, depth, state) => {
      nodes += 1;
      if (html.length >= most || nodes > 200_000 || depth > 1_500) {
        isCut = true;
        return;
      }
      const kind = kindOf(node);
      if (kind === Node.TEXT_NODE) {
        if (!/\S/.test(node.data)) html += node.data;
        else if (isSeen(state, node)) html += escape(node.data);
        else if (state.isShown) [state.isShown, hidden] = [false, hidden + 1];
        return;
      }
      if (kind === Node.DOCUMENT_FRAGMENT_NODE) {
        for (const child of nodesOf(node)) walk(child, depth + 1, state);
        return;
      }
      if (kind !== Node.ELEMENT_NODE || SKIPPED.has(tagOf(node))) return;
      const here = look(node, state);
      if (!here) {
        hidden += 1;
        return;
      }
      if (!here.isShown && state.isShown && here.style.visibility === 'visible') hidden += 1;
      const tag = tagOf(node).toLowerCase();
      const isSmall = here.isNarrow && here.style.display !== 'contents';
      if (['input', 'select', 'textarea'].includes(tag)) {
        if (here.isShown && here.box.width > 6 && here.box.height > 6) html += `<span> ${escape(field(node))} </span>`;
        return;
      }
      if (tag === 'iframe' || tag === 'frame') {
        // Those of other sites are closed.
        const inner = node.contentDocument;
        if (inner?.body && here.isShown && here.box.width > 4 && here.box.height > 4) walk(inner.body, depth + 1, { ...paper(inner), opacity: here.opacity });
        return;
      }
      if (tag === 'svg') {
        const title = here.isShown && !isSmall && inside(node, 'title')?.textContent;
        if (title) html += `<span>${escape(line(title))}</span>`;
        return;
      }
      const name = tag === 'button' || tag === 'body' || tag === 'details' ? 'div' : /^[a-z][a-z0-9]*$/.test(tag) ? tag : 'div';
      // A reader of HTML is bounded in depth; wrappers further down say nothing.
      const isWrapper = depth > 60 && ['div', 'span', 'section', 'article', 'main', 'center', 'font'].includes(name);
      html += isWrapper ? ' <wbr' : '<' + name;
      for (const kept of ['alt', 'colspan', 'rowspan', 'start', 'title']) {
        const value = attr(node, kept);
        if (value !== null && !((isSmall || !here.isShown) && ['alt', 'title'].includes(kept))) html += ` ${kept}="${escape(value)}"`;
      }
      if (tag === 'a' && node.href) html += ` href="${escape(String(node.href))}"`;
      if (tag === 'img') html += ` src="${escape(line(node.currentSrc || node.src, 500))}"`;
      html += '>';
      const isClosed = tag === 'details' && attr(node, 'open') === null;
      if (tag === 'button') html += here.isShown ? `[button: ${escape(label(node))}]` : '';
      else if (isClosed) [...childrenOf(node)].filter((one) => tagOf(one) === 'SUMMARY').slice(0, 1).forEach((one) => walk(one, depth + 1, here));
      else for (const child of shadowOf(node)?.childNodes ?? (tag === 'slot' && node.assignedNodes().length ? node.assignedNodes() : nodesOf(node))) walk(child, depth + 1, here);
      if (!isWrapper && !['img', 'br', 'hr', 'wbr', 'col'].includes(name)) html += `</${name}>`;
    };
    if (top) {
      // What is around it says on what it stands.
      const around = [];
      for (let at = outerOf(top); at; at = outerOf(at)) around.unshift(at);
      const state = around.reduce((above, el) => above && look(el, above), paper(document));
      if (state) walk(top, 0, state);
      else hidden += 1;
    }
    return { html, is_cut: isCut, hidden };
  };
