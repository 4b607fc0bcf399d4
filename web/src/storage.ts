// Browser storage: the draft (this tab) and the last conversation (this device).
// Storage may be full or forbidden; the page works without it.

function put(store: () => Storage, key: string, value: string): void {
  try {
    if (value) store().setItem(key, value);
    else store().removeItem(key);
  } catch {
    // The value stays in memory until the tab closes.
  }
}

function take(store: () => Storage, key: string): string {
  try {
    return store().getItem(key) ?? '';
  } catch {
    return '';
  }
}

const tab = () => sessionStorage;
const device = () => localStorage;

export const draft = {
  get: () => take(tab, 'hob.draft'),
  set: (value: string) => put(tab, 'hob.draft', value),
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
  add: (one: { model: string; url: string }) => put(device, 'hob.models', JSON.stringify([one, ...recentModels.get().filter(({ model }) => model !== one.model)].slice(0, 5))),
};

export const lastConversation = {
  get: () => take(device, 'hob.conversation'),
  set: (id: string) => put(device, 'hob.conversation', id),
};
