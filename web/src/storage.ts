// Browser storage: the draft (this tab) and the last conversation (this device).
// Storage may be full or forbidden; the page works without it.

/** Stores a value, or removes it where it is ''; answers whether the browser took it. */
export function put(store: () => Storage, key: string, value: string): boolean {
  try {
    if (value) store().setItem(key, value);
    else store().removeItem(key);
    return true;
  } catch {
    // The value stays in memory until the tab closes.
    return false;
  }
}

export function take(store: () => Storage, key: string): string {
  try {
    return store().getItem(key) ?? '';
  } catch {
    return '';
  }
}

const tab = () => sessionStorage;
export const device = () => localStorage;

export const draft = {
  get: () => take(tab, 'hob.draft'),
  set: (value: string) => void put(tab, 'hob.draft', value),
};

/** Models of servers of one's own that were in use: the device lists only the one in use. */
export const recentModels = {
  get: (): { model: string; url: string }[] => {
    try {
      const found: unknown = JSON.parse(take(device, 'hob.models') || '[]');
      return Array.isArray(found) ? found.filter((one) => typeof one?.model === 'string' && typeof one?.url === 'string').slice(0, 5) : [];
    } catch {
      return [];
    }
  },
  add: (one: { model: string; url: string }) => void put(device, 'hob.models', JSON.stringify([one, ...recentModels.get().filter(({ model }) => model !== one.model)].slice(0, 5))),
};

export const lastConversation = {
  get: () => take(device, 'hob.conversation'),
  set: (id: string) => void put(device, 'hob.conversation', id),
};
