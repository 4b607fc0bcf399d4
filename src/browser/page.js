
  // The second part of the function that begins in seen.js: finding and using elements.
  // The document, and the open shadow roots in it.
  const roots = () => {
    const all = [document];
    for (let at = 0; at < all.length && all.length < 200; at += 1) {
      for (const el of all[at].querySelectorAll('*')) {
        const shadow = shadowOf(el);
        if (!shadow) continue;
        watch(shadow);
        all.push(shadow);
      }
    }
    return all;
  };
  const query = (selector) => roots().flatMap((root) => [...root.querySelectorAll(selector)]);
  const active = () => query(ACTIVE).filter((el) => isVisible(el) && !(tagOf(el) === 'LABEL' && el.control && isVisible(el.control)));

  const selectorOf = (el) => {
    const root = rootOf(el);
    const isOne = (selector) => root.querySelectorAll(selector).length === 1;
    const tag = tagOf(el).toLowerCase();
    const [id, name] = [attr(el, 'id'), attr(el, 'name')];
    if (id && isOne('#' + CSS.escape(id))) return line('#' + CSS.escape(id));
    if (name && isOne(`${tag}[name="${CSS.escape(name)}"]`)) return line(`${tag}[name="${CSS.escape(name)}"]`);
    let path = '';
    for (let at = el; at && at !== document.body && path.length < LABEL; at = outerOf(at)) {
      const same = outerOf(at) ? [...childrenOf(outerOf(at))].filter((one) => tagOf(one) === tagOf(at)) : [at];
      const step = tagOf(at).toLowerCase() + (same.length > 1 ? `:nth-of-type(${same.indexOf(at) + 1})` : '');
      path = path ? step + ' > ' + path : step;
      if (isOne(path)) return line(path, 2 * LABEL);
    }
    return line(path, 2 * LABEL);
  };

  // What a click on an element sets off: a link or control that it is, or is in.
  const actorOf = (el) => {
    for (let at = el; at; at = parentOf(at) ?? (at instanceof ShadowRoot ? at.host : null)) {
      if (kindOf(at) !== Node.ELEMENT_NODE) continue;
      if (tagOf(at) === 'LABEL' && at.control && at.control !== at) return at.control;
      if (Element.prototype.matches.call(at, 'a[href],area[href],button,input,select,textarea,summary')) return at;
    }
    return null;
  };
  const isValue = (field, kind) => ['INPUT', 'SELECT', 'TEXTAREA'].includes(tagOf(field)) && !['button', 'submit', 'reset', 'image'].includes(kind) &&
    (field.checked || !['checkbox', 'radio'].includes(kind));
  // What it leads to: a link's address, or a form's with all that it sends.
  const leads = (actor, sender = actor) => {
    if (!actor) return null;
    if (['A', 'AREA', 'a'].includes(tagOf(actor))) {
      // Links in drawings have theirs as it is written.
      return { leads_to: line(typeof actor.href === 'string' ? actor.href : actor.href.baseVal, 2_000) };
    }
    const isSending = actor === sender ? (tagOf(actor) === 'BUTTON' && actor.type === 'submit') || ['submit', 'image'].includes(type(actor)) : true;
    const form = isSending ? actor.form : null;
    if (!form) return null;
    const own = (name) => sender && sender.hasAttribute(name);
    const to = own('formaction') ? sender.formAction : formOf.action(form);
    const method = own('formmethod') ? sender.formMethod : formOf.method(form);
    if (method === 'dialog') return null;
    // Read field by field: FormData would tell the page of it.
    let data = '';
    const hidden = [];
    let count = 0;
    for (const field of formOf.fields(form)) {
      const kind = type(field) || tagOf(field).toLowerCase();
      const isSent = field.name && isValue(field, kind) && !field.matches(':disabled');
      if (!isSent || data.length > DATA) continue;
      const value = kind === 'file' ? [...field.files].map((one) => [one.name, one.size]) : kind === 'select' ? [...field.selectedOptions].map((one) => one.value) : field.value;
      data += JSON.stringify([field.name, value]);
      if (kind !== 'hidden' && isVisible(field) && look(field, TOP)?.isShown) continue;
      count += 1;
      const isDotted = watched.secrets.has(field) || (kind !== 'hidden' && isSecret(field));
      if (hidden.length < LISTED) hidden.push(`${line(field.name, 40)} = ${isDotted ? DOTS : line(value, 80)}`);
    }
    if (count > hidden.length) hidden.push(`and ${count - hidden.length} more`);
    const isLarge = data.length > DATA;
    return { leads_to: line(to, 2_000), form: { method: method.toUpperCase(), hidden, data: isLarge ? '' : data, is_large: isLarge } };
  };
  // The button that Enter in a field presses, and whether it sends the form without one.
  const byEnter = (el) => {
    const form = tagOf(el) === 'INPUT' ? el.form : null;
    if (!form) return null;
    const root = rootOf(form);
    const button = [...root.querySelectorAll('button,input')].find((one) => one.form === form &&
      ((tagOf(one) === 'BUTTON' && one.type === 'submit') || ['submit', 'image'].includes(type(one))));
    const lines = [...formOf.fields(form)].filter((one) => IMPLICIT.includes(type(one))).length;
    return { form, button, sends: button ? !button.matches(':disabled') : lines <= 1 };
  };
  // With what is set off by a click, or by Enter, where one of these is meant.
  const describe = (el, aim) => {
    const said = spoken(el);
    // A label stands for its field.
    const field = tagOf(el) === 'LABEL' && el.control ? el.control : el;
    const text = label(el);
    const about = {
      tag: tagOf(el).toLowerCase(), selector: selectorOf(el), is_secret: isSecret(field),
      text: said && said !== text && aim ? `${text} (called “${said}” for readers of the screen)` : text,
    };
    if (aim === 'click') return { ...about, ...leads(actorOf(el)) };
    const enter = aim === 'enter' ? byEnter(field) : null;
    return enter?.sends ? { ...about, ...leads(field, enter.button ?? null) } : about;
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
    // Further ones are found by a selector.
    const all = active().slice(0, 20_000);
    const named = all.map((el) => [el, label(el).toLowerCase()]);
    const same = named.filter(([el, text]) => text === wanted || spoken(el).toLowerCase() === wanted);
    const within = wanted.length > 2 ? named.filter(([, text]) => text.includes(wanted)) : [];
    if (same.length) return { el: same[0][0] };
    if (within.length === 1) return { el: within[0][0] };
    const words = wanted.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2);
    const likeness = ([el, text]) => {
      const about = [text, attr(el, 'id'), attr(el, 'name'), attr(el, 'class')].join(' ').toLowerCase();
      return words.filter((word) => about.includes(word)).length;
    };
    const ranked = named.map((one, at) => [likeness(one), -at, one[0]]).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
    return { invalid, near: ranked.slice(0, NEAR).map(([, , el]) => describe(el)) };
  };

  const held = () => {
    const el = globalThis[HELD];
    if (!el || !isConnected(el)) throw new Error('the element is gone');
    return el;
  };
  const isWithin = (inner, outer) => {
    for (let at = inner; at; at = parentOf(at) ?? (at instanceof ShadowRoot ? at.host : null)) if (at === outer) return true;
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

  const change = (el) => ['input', 'change'].forEach((name) => el.dispatchEvent(new Event(name, { bubbles: true })));
  const isText = (el) => tagOf(el) === 'INPUT' || tagOf(el) === 'TEXTAREA';
  // Editors have the focus as a whole.
  const hasFocus = (el) => {
    const active = rootOf(el).activeElement;
    return Boolean(active) && (active === el || (!isText(el) && active.isContentEditable && isWithin(el, active)));
  };
  const insert = (text) => document.execCommand(text ? 'insertText' : 'delete', false, text);
  // HTML as it stands, without what is in fields for secrets.
  const markup = (el, outer) => {
    const secrets = (of) => [of, ...of.querySelectorAll('input[value],textarea')];
    const all = secrets(el);
    if (!all.some((one) => kindOf(one) === Node.ELEMENT_NODE && isSecret(one))) return outer ? el.outerHTML : el.innerHTML;
    // In a document of its own the copy loads and runs nothing.
    const copy = document.implementation.createHTMLDocument('').importNode(el, true);
    secrets(copy).forEach((one, at) => {
      if (!isSecret(all[at])) return;
      if (tagOf(one) === 'TEXTAREA') one.textContent = DOTS;
      else if (one.hasAttribute('value')) one.setAttribute('value', DOTS);
    });
    return outer ? copy.outerHTML : copy.innerHTML;
  };
  const part = (text, offset, most) => ({ html: text.slice(offset, offset + most), is_cut: text.length > offset + most });

  switch (what) {
    case 'place':
      return { url: line(location.href, 2000), title: line(document.title, 300) };
    case 'find': {
      const { el, ...nothing } = find(args.selector);
      globalThis[HELD] = el;
      return el ? { element: describe(el) } : nothing;
    }
    case 'held': {
      const el = globalThis[HELD];
      return el && isConnected(el) ? describe(el, args.aim) : null;
    }
    case 'point': {
      const el = held();
      el.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      const box = [...el.getClientRects()].find((one) => one.width > 0 && one.height > 0);
      if (!box) return { x: 0, y: 0, has_size: false, element: describe(el, 'click') };
      const middle = (from, to, end) => (Math.max(from, 0) + Math.min(to, end)) / 2;
      const [x, y] = [middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight)];
      const over = hit(x, y);
      // A label's text stands for its field.
      const isWithinIt = over && isWithin(over, el);
      const isHit = !over || isWithinIt || isWithin(el, over) || (closest(over, 'label')?.control ?? null) === el;
      // A part of it may lead to somewhere else than was shown.
      const struck = isWithinIt ? actorOf(over) : null;
      const isOther = struck !== actorOf(el) && leads(struck) !== null;
      return { x, y, has_size: true, covered_by: isHit && !isOther ? null : describe(isOther ? struck : over), is_within: isOther, element: describe(el, 'click') };
    }
    case 'click':
      HTMLElement.prototype.click.call(held());
      return true;
    case 'field': {
      let el = held();
      if (tagOf(el) === 'LABEL' && el.control) el = globalThis[HELD] = el.control;
      if (tagOf(el) === 'SELECT') return { kind: 'select', options: [...el.options].slice(0, 50).map((one) => line(one.text, 60)) };
      if (el.disabled || el.readOnly) return { kind: 'disabled' };
      if (OWN_FORM.includes(type(el))) return { kind: 'value', of: type(el) };
      if (NO_TEXT.includes(type(el))) return { kind: 'other' };
      const isField = isText(el);
      if (!isField && !el.isContentEditable) return { kind: 'other' };
      const most = isField ? el.maxLength : -1;
      if (most >= 0 && (args.all ? 0 : el.value.length) + args.length > most) return { kind: 'short', most };
      return { kind: 'text', multiline: tagOf(el) !== 'INPUT' };
    }
    // Text goes into this element or nowhere: whatever else takes the focus (a frame of another site may), it is one script.
    case 'type': {
      const el = held();
      el.scrollIntoView({ block: 'center', behavior: 'instant' });
      const isField = isText(el);
      let host = el;
      while (!isField && outerOf(host)?.isContentEditable) host = outerOf(host);
      HTMLElement.prototype.focus.call(host);
      const before = isField ? el.value : '';
      const wanted = isField ? (args.all ? '' : before) + args.text : args.text;
      globalThis[WANTED] = wanted;
      if (!isConnected(el) || (isField ? el.disabled || el.readOnly : !el.isContentEditable || !hasFocus(el))) return false;
      const event = (name, more) => el.dispatchEvent(new InputEvent(name, { bubbles: true, composed: true, inputType: 'insertText', data: args.text, ...more }));
      // The page may refuse it, or put it in by itself.
      if (!event('beforeinput', { cancelable: true }) || !isConnected(el)) return true;
      let isHeard = false;
      const hear = () => { isHeard = true; };
      el.addEventListener('input', hear, { capture: true, once: true });
      if (!isField) {
        const selection = getSelection();
        selection.selectAllChildren(el);
        if (!args.all) selection.collapseToEnd();
        insert(args.text);
      } else if (hasFocus(el)) {
        let text = args.text;
        if (args.all) el.select();
        else {
          try {
            el.setSelectionRange(before.length, before.length);
          } catch {
            // Such a field has no selection that could be set, but all of it can be selected.
            el.select();
            text = wanted;
          }
        }
        insert(text);
      }
      el.removeEventListener('input', hear, { capture: true });
      if (isField && !isHeard && el.value === before && before !== wanted && el.isConnected) {
        const proto = tagOf(el) === 'INPUT' ? HTMLInputElement.prototype : HTMLTextAreaElement.prototype;
        Object.getOwnPropertyDescriptor(proto, 'value').set.call(el, wanted);
        event('input');
        el.dispatchEvent(new Event('change', { bubbles: true }));
      }
      return true;
    }
    // What the page has made of it since.
    case 'typed': {
      const wanted = globalThis[WANTED] ?? '';
      globalThis[WANTED] = null;
      const el = globalThis[HELD];
      if (!el || !isConnected(el)) return { is_as_typed: false, holds: null };
      if (!isText(el)) {
        const squeezed = (text) => clean(text).replace(/\s+/g, '');
        return { is_as_typed: squeezed(el.textContent).includes(squeezed(wanted)), holds: line(el.textContent, 200) };
      }
      const same = ['email', 'url'].includes(type(el)) ? el.value === wanted.trim() : el.value === wanted;
      return { is_as_typed: same, holds: isSecret(el) ? DOTS : line(el.value, 200) };
    }
    case 'enter': {
      const el = held();
      HTMLElement.prototype.focus.call(el);
      const key = { key: 'Enter', code: 'Enter', keyCode: 13, which: 13, bubbles: true, cancelable: true, composed: true, view: window };
      const press = (name, more) => el.dispatchEvent(new KeyboardEvent(name, { ...key, ...more }));
      const goesOn = press('keydown') && press('keypress', { charCode: 13 });
      if (goesOn && isConnected(el)) {
        if (tagOf(el) === 'INPUT') {
          el.dispatchEvent(new Event('change', { bubbles: true }));
          const enter = isConnected(el) ? byEnter(el) : null;
          if (enter?.sends) enter.button ? enter.button.click() : HTMLFormElement.prototype.requestSubmit.call(enter.form);
        } else if (hasFocus(el)) {
          if (tagOf(el) === 'TEXTAREA') document.execCommand('insertText', false, '\n');
          else document.execCommand('insertParagraph');
        }
      }
      press('keyup');
      return true;
    }
    case 'set': {
      const el = held();
      const wanted = line(args.value, 1000).toLowerCase();
      if (tagOf(el) === 'SELECT') {
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
      return part(markup(el, args.outer), args.offset, args.most);
    }
    case 'area': {
      const el = held();
      const box = boxOf(el);
      return { x: box.left + scrollX, y: box.top + scrollY, width: box.width, height: box.height };
    }
  }
  return null;
}
