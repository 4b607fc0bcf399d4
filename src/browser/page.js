(what, args) => {
  // Runs in a world of its own: it shares the document with the page's scripts, and nothing else.
  const ACTIVE = 'a[href],button,input:not([type=hidden]),select,textarea,summary,label,[role=button],[role=link],[role=tab],' +
    '[role=menuitem],[role=option],[role=checkbox],[role=radio],[role=switch],[contenteditable=""],[contenteditable=true],[onclick]';
  const NO_TEXT = ['button', 'checkbox', 'color', 'file', 'hidden', 'image', 'radio', 'range', 'reset', 'submit'];
  const OWN_FORM = ['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week'];
  const SKIPPED = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'OBJECT', 'EMBED', 'LINK', 'META', 'CANVAS']);
  const NEAR = 12;
  const LABEL = 120;
  // No element of the page can take this name.
  const HELD = Symbol.for('held');

  const line = (text, most = LABEL) => {
    const one = String(text ?? '').slice(0, 10 * most).replace(/\s+/g, ' ').trim();
    return one.length > most ? one.slice(0, most) + '…' : one;
  };
  const type = (el) => (el.tagName === 'INPUT' ? el.type : '');
  const isVisible = (el) => {
    const box = el.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && el.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const label = (el) => {
    const own = el.tagName === 'INPUT' && ['button', 'submit', 'reset'].includes(el.type) ? el.value || el.type : '';
    const labels = el.labels && el.tagName !== 'LABEL' ? [...el.labels].map((one) => one.innerText).join(' ') : '';
    const text = ['SELECT', 'INPUT', 'TEXTAREA'].includes(el.tagName) ? '' : el.innerText;
    const picture = el.querySelector?.('img[alt],svg title');
    const all = [el.getAttribute('aria-label'), labels, own, text, el.placeholder, el.title, el.alt,
      picture?.getAttribute('alt') ?? picture?.textContent, el.getAttribute('name')];
    return line(all.find((one) => typeof one === 'string' && one.trim()));
  };

  // The document, and the open shadow roots in it.
  const roots = () => {
    const all = [document];
    for (let at = 0; at < all.length && all.length < 200; at += 1) {
      for (const el of all[at].querySelectorAll('*')) if (el.shadowRoot) all.push(el.shadowRoot);
    }
    return all;
  };
  const query = (selector) => roots().flatMap((root) => [...root.querySelectorAll(selector)]);
  const active = () => query(ACTIVE).filter((el) => isVisible(el) && !(el.tagName === 'LABEL' && el.control && isVisible(el.control)));

  const selectorOf = (el) => {
    const root = el.getRootNode();
    const isOne = (selector) => root.querySelectorAll(selector).length === 1;
    const tag = el.tagName.toLowerCase();
    if (el.id && isOne('#' + CSS.escape(el.id))) return line('#' + CSS.escape(el.id));
    const name = el.getAttribute('name');
    if (name && isOne(`${tag}[name="${CSS.escape(name)}"]`)) return line(`${tag}[name="${CSS.escape(name)}"]`);
    let path = '';
    for (let at = el; at && at !== document.body && path.length < LABEL; at = at.parentElement) {
      const same = at.parentElement ? [...at.parentElement.children].filter((one) => one.tagName === at.tagName) : [at];
      const step = at.tagName.toLowerCase() + (same.length > 1 ? `:nth-of-type(${same.indexOf(at) + 1})` : '');
      path = path ? step + ' > ' + path : step;
      if (isOne(path)) return line(path, 2 * LABEL);
    }
    return line(path, 2 * LABEL);
  };
  const describe = (el) => {
    const isSending = (el.tagName === 'BUTTON' && el.type === 'submit') || ['submit', 'image'].includes(type(el));
    const leadsTo = el.closest('a[href]')?.href ?? (isSending && el.form ? el.form.action : '');
    return { tag: el.tagName.toLowerCase(), text: label(el), selector: selectorOf(el), leads_to: line(leadsTo, 500) };
  };

  const find = (selector) => {
    let found = [];
    let invalid = false;
    try {
      found = query(selector);
    } catch {
      invalid = true;
    }
    if (found.length) return { el: found.find(isVisible) ?? found[0] };
    const wanted = line(selector.replace(/^text=/i, '').replace(/^["'](.*)["']$/, '$1')).toLowerCase();
    const all = active();
    const named = all.map((el) => [el, label(el).toLowerCase()]);
    const same = named.filter(([, text]) => text === wanted);
    const within = wanted.length > 2 ? named.filter(([, text]) => text.includes(wanted)) : [];
    if (same.length) return { el: same[0][0] };
    if (within.length === 1) return { el: within[0][0] };
    const words = wanted.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2);
    const likeness = ([el, text]) => {
      const about = [text, el.id, el.getAttribute('name'), el.className].join(' ').toLowerCase();
      return words.filter((word) => about.includes(word)).length;
    };
    const ranked = named.map((one, at) => [likeness(one), -at, one[0]]).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
    return { invalid, near: ranked.slice(0, NEAR).map(([, , el]) => describe(el)) };
  };

  const held = () => {
    const el = globalThis[HELD];
    if (!el?.isConnected) throw new Error('the element is gone');
    return el;
  };
  const isWithin = (inner, outer) => {
    for (let at = inner; at; at = at.parentNode ?? at.host) if (at === outer) return true;
    return false;
  };
  const hit = (x, y) => {
    let el = document.elementFromPoint(x, y);
    for (let inner = el; inner?.shadowRoot; ) {
      inner = inner.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === el) break;
      el = inner;
    }
    return el;
  };

  // What a reader sees, as HTML: without what is hidden, and with what is in fields.
  const visible = (top, most) => {
    let html = '';
    let hidden = 0;
    let isCut = false;
    let nodes = 0;
    const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
    const isHidden = (el, style) => {
      if (style.display === 'none' || Number(style.opacity) < 0.05) return true;
      if (!['absolute', 'fixed'].includes(style.position)) return false;
      const box = el.getBoundingClientRect();
      const isTiny = box.width <= 1 && box.height <= 1 && style.overflow !== 'visible';
      return isTiny || box.right + scrollX <= 0 || box.bottom + scrollY <= 0;
    };
    const field = (el) => {
      const kind = el.tagName === 'INPUT' ? el.type : el.tagName.toLowerCase();
      if (kind === 'hidden') return '';
      const name = label(el);
      if (['button', 'submit', 'reset', 'image'].includes(kind)) return `[button: ${name}]`;
      if (['checkbox', 'radio'].includes(kind)) return `[${kind}${el.checked ? ', on' : ''}: ${name}]`;
      const value = kind === 'select' ? [...el.selectedOptions].map((one) => one.text).join(', ') : el.value;
      return `[${kind} ${name}: ${kind === 'password' ? '•'.repeat(Math.min(value.length, 8)) : line(value, 500)}]`;
    };
    const walk = (node, depth, isShown) => {
      nodes += 1;
      if (html.length >= most || nodes > 200_000 || depth > 1_500) {
        isCut = true;
        return;
      }
      if (node.nodeType === Node.TEXT_NODE) {
        if (isShown) html += escape(node.data);
        return;
      }
      if (node.nodeType === Node.DOCUMENT_FRAGMENT_NODE) {
        for (const child of node.childNodes) walk(child, depth + 1, isShown);
        return;
      }
      if (node.nodeType !== Node.ELEMENT_NODE || SKIPPED.has(node.tagName)) return;
      const style = getComputedStyle(node);
      if (isHidden(node, style)) {
        hidden += 1;
        return;
      }
      const shows = style.visibility === 'visible' && parseFloat(style.fontSize) >= 3;
      const tag = node.tagName.toLowerCase();
      if (['input', 'select', 'textarea'].includes(tag)) {
        if (shows) html += `<span> ${escape(field(node))} </span>`;
        return;
      }
      if (tag === 'iframe' || tag === 'frame') {
        // Those of other sites are closed.
        const body = node.contentDocument?.body;
        if (body && shows) walk(body, depth + 1, true);
        return;
      }
      if (tag === 'svg') {
        const title = node.querySelector('title')?.textContent;
        if (title) html += `<span>${escape(line(title))}</span>`;
        return;
      }
      const name = tag === 'button' || tag === 'body' ? 'div' : /^[a-z][a-z0-9]*$/.test(tag) ? tag : 'div';
      // A reader of HTML is bounded in depth; wrappers further down say nothing.
      const isWrapper = depth > 60 && ['div', 'span', 'section', 'article', 'main', 'center', 'font'].includes(name);
      html += isWrapper ? ' <wbr' : '<' + name;
      for (const kept of ['alt', 'colspan', 'rowspan', 'start', 'title']) {
        if (node.hasAttribute(kept)) html += ` ${kept}="${escape(node.getAttribute(kept))}"`;
      }
      if (tag === 'a' && node.href) html += ` href="${escape(String(node.href))}"`;
      if (tag === 'img') html += ` src="${escape(line(node.currentSrc || node.src, 500))}"`;
      html += '>';
      if (tag === 'button') html += `[button: ${escape(label(node))}]`;
      else for (const child of node.shadowRoot?.childNodes ?? (tag === 'slot' && node.assignedNodes().length ? node.assignedNodes() : node.childNodes)) walk(child, depth + 1, shows);
      if (!isWrapper && !['img', 'br', 'hr', 'wbr', 'col'].includes(name)) html += `</${name}>`;
    };
    if (top) walk(top, 0, true);
    return { html, is_cut: isCut, hidden };
  };

  const change = (el) => ['input', 'change'].forEach((name) => el.dispatchEvent(new Event(name, { bubbles: true })));
  const part = (text, offset, most) => ({ html: text.slice(offset, offset + most), is_cut: text.length > offset + most });

  switch (what) {
    case 'place':
      return { url: line(location.href, 2000), title: line(document.title, 300) };
    case 'find': {
      const { el, ...nothing } = find(args.selector);
      globalThis[HELD] = el;
      return el ? { element: describe(el) } : nothing;
    }
    case 'held':
      return globalThis[HELD]?.isConnected ? describe(globalThis[HELD]) : null;
    case 'point': {
      const el = held();
      el.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      const box = [...el.getClientRects()].find((one) => one.width > 0 && one.height > 0);
      if (!box) return { x: 0, y: 0, has_size: false };
      const middle = (from, to, end) => (Math.max(from, 0) + Math.min(to, end)) / 2;
      const [x, y] = [middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight)];
      const over = hit(x, y);
      // A label's text stands for its field.
      const isHit = !over || isWithin(over, el) || isWithin(el, over) || (over.closest('label')?.control ?? null) === el;
      return { x, y, has_size: true, covered_by: isHit ? null : describe(over) };
    }
    case 'click':
      held().click();
      return true;
    case 'focus': {
      let el = held();
      if (el.tagName === 'LABEL' && el.control) el = globalThis[HELD] = el.control;
      if (el.tagName === 'SELECT') return { kind: 'select', options: [...el.options].slice(0, 50).map((one) => line(one.text, 60)) };
      if (el.disabled || el.readOnly) return { kind: 'disabled' };
      if (OWN_FORM.includes(type(el))) return { kind: 'value', of: type(el) };
      if (NO_TEXT.includes(type(el))) return { kind: 'other' };
      const isField = el.tagName === 'INPUT' || el.tagName === 'TEXTAREA';
      if (!isField && !el.isContentEditable) return { kind: 'other' };
      el.scrollIntoView({ block: 'center', behavior: 'instant' });
      el.focus();
      if (isField) {
        if (args.all) el.select();
        // Some kinds of fields have no selection that could be set.
        else try { el.setSelectionRange(el.value.length, el.value.length); } catch { /* it is at the end */ }
      } else {
        const selection = getSelection();
        selection.selectAllChildren(el);
        if (!args.all) selection.collapseToEnd();
      }
      return { kind: 'text', multiline: el.tagName !== 'INPUT' };
    }
    case 'set': {
      const el = held();
      const wanted = line(args.value, 1000).toLowerCase();
      if (el.tagName === 'SELECT') {
        const options = [...el.options].filter((one) => !one.disabled);
        const fits = options.find((one) => one.value === args.value) ?? options.find((one) => line(one.text).toLowerCase() === wanted) ??
          options.find((one) => wanted && line(one.text).toLowerCase().includes(wanted));
        if (!fits || el.disabled) return false;
        el.value = fits.value;
      } else {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(el, args.value);
        // What has not the right form becomes empty.
        if (el.value === '' && args.value !== '') return false;
      }
      change(el);
      return true;
    }
    case 'visible':
      return visible(args.held ? held() : document.body, args.most);
    case 'html': {
      const el = args.held ? held() : document.body;
      return part(args.outer ? el.outerHTML : el.innerHTML, args.offset, args.most);
    }
    case 'area': {
      const el = held();
      const box = el.getBoundingClientRect();
      return { x: box.left + scrollX, y: box.top + scrollY, width: box.width, height: box.height };
    }
  }
  return null;
}
