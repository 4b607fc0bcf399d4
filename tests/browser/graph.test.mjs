// The knowledge graph in the Memory room: it is searched, an entity is opened, facts are deleted, a link leads to what is gone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, becomes, counted, desktop, enter, fits, hob, launch, phone, schemes, shot, sizes } from './page.mjs';

let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
});

after(async () => {
  await browser?.close();
});

const call = async (tool, args = {}) => (await api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;
const add = (subject, predicate, object, more = {}) => call('add_knowledge_fact', { subject, predicate, object, ...more });
const field = () => page.getByRole('searchbox', { name: 'Search people and things' });
const entities = () => page.locator('.graph-list > li');
const fact = (words) => page.getByRole('listitem').filter({ hasText: words }).last();
const heard = (words) => page.getByRole('status').getByText(words, { exact: true });

test('what Hob knows is a picture and a list, and is found by a name', async () => {
  await page.goto(`${hob}/#/memory/graph`);
  await page.getByText('Hob knows no people or things yet.').waitFor();
  await add('Anna', 'sister of', 'me', { subjectType: 'person' });
  await add('Anna', 'works at', 'Siemens', { objectType: 'organisation' });
  // A type is a word of somebody: it is no class of the page, and no property of an object.
  await add('Robot', 'cleans', 'Kitchen', { subjectType: 'unseen', objectType: 'constructor' });
  await page.reload();
  await counted(entities(), 5);
  await page.getByRole('img', { name: 'A picture of 5 entities and 3 facts.' }).waitFor();
  const robot = page.locator('svg.graph g.entity').filter({ has: page.locator('text', { hasText: /^Robot$/ }) });
  assert.equal(await robot.getAttribute('class'), 'entity');
  await entities().filter({ hasText: 'Kitchen' }).getByText('constructor', { exact: true }).waitFor();
  await field().fill('Robot');
  await heard('2 found.').waitFor();
  await counted(entities(), 2);
});

test('an entity that is opened takes the place of the search', async () => {
  await page.getByRole('link', { name: 'Show what is around Robot' }).click();
  await becomes(() => field().inputValue(), '');
  await counted(entities(), 2);
  await page.getByRole('link', { name: 'Show everything' }).click();
  await counted(entities(), 5);
});

test('a fact is deleted after a question, and with its last one the entity on view goes', async () => {
  await call('remember', { content: 'Tom works at Bosch' });
  await becomes(async () => (await api(context, 'GET', '/api/v1/graph')).entities.length, 7);
  await page.reload();
  await page.getByRole('link', { name: 'Show what is around Bosch' }).click();
  await counted(entities(), 2);
  const remover = page.getByRole('button', { name: 'Delete: Tom – works at – Bosch' });
  await remover.click();
  await page.getByRole('button', { name: 'No', exact: true }).click();
  await becomes(() => remover.evaluate((button) => button === document.activeElement), true);
  await remover.click();
  await page.getByRole('button', { name: 'Yes, delete', exact: true }).click();
  await heard('Deleted: Tom – works at – Bosch.').waitFor();
  await becomes(() => field().evaluate((input) => input === document.activeElement), true);
  // Everything else is shown again.
  await counted(entities(), 5);
  assert.match(page.url(), /#\/memory\/graph$/);
});

test('a link to what is gone says so and leads back', async () => {
  await page.goto(`${hob}/#/memory/graph/0197f3a2-0000-7000-8000-000000000000`);
  await page.getByText('This is not known any more').waitFor();
  await counted(entities(), 0);
  await page.getByRole('link', { name: 'Show everything' }).click();
  await fact('works at').waitFor();
  assert.deepEqual(problems, []);
});

for (const [name, size] of Object.entries(sizes)) {
  for (const scheme of schemes) {
    test(`the graph looks right on a ${name}, ${scheme}`, async () => {
      const it = await enter(browser, { size, scheme });
      await it.page.goto(`${hob}/#/memory/graph`);
      await it.page.locator('.graph-list > li').first().waitFor();
      await fits(it.page, size, `the graph on a ${name}`);
      await accessible(it.page, `the graph on a ${name}, ${scheme}`);
      await shot(it.page, `graph-${name}-${scheme}`);
      await it.page.getByRole('button', { name: 'Delete: Anna – works at – Siemens' }).click();
      await it.page.getByRole('alertdialog').waitFor();
      await accessible(it.page, `the question of the graph on a ${name}, ${scheme}`);
      if (size === phone) await fits(it.page, size, 'the question of the graph');
      assert.deepEqual(it.problems, []);
      await it.context.close();
    });
  }
}
