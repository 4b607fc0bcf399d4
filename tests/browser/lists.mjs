// What the tests of the lists in the Memory room share: finding a line and a field, and pressing what stands there.
import { api } from './page.mjs';

/** A day so many days from now, as the page and the tools write it. */
export const iso = (days) => {
  const date = new Date(Date.now() + days * 86_400_000);
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`;
};

/** Calls a tool as whoever is signed in to this context. */
export const execute = async (context, tool, args = {}) => (await api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;

/** What one does on a page; `the` answers it, once there is one. Each takes another page as its last argument. */
export function lists(the) {
  const lines = (on = the()) => on.locator('.records > li');
  const line = (words, on = the()) => lines(on).filter({ hasText: words });
  const search = (words, on = the()) => on.getByRole('searchbox', { name: words });
  const heard = (words, on = the()) => on.getByRole('status').getByText(words, { exact: true }).first();
  const press = (name, on = the()) => on.getByRole('button', { name, exact: true }).click();
  const form = (on = the()) => on.locator('form.writing');
  // What may not stay empty says so within its label.
  const field = (label, on = the()) => form(on).getByLabel(new RegExp(`^${label}(required)?$`));
  const more = (on = the()) => form(on).locator('summary').filter({ hasText: 'More' }).click();

  /** Opens a part of the room by its tab. */
  const section = async (name, on = the()) => {
    await on.getByRole('navigation', { name: 'Lists' }).getByRole('link', { name, exact: true }).click();
    await on.locator('.lists').waitFor();
  };

  const remove = async (name, on = the()) => {
    await on.getByRole('button', { name: `Delete: ${name}`, exact: true }).click();
    await on.getByRole('alertdialog').getByRole('button', { name: 'Yes, delete it' }).click();
    await line(name, on).waitFor({ state: 'detached' });
    await heard(`“${name}” deleted.`, on).waitFor();
  };
  return { lines, line, search, heard, press, form, field, more, section, remove };
}
