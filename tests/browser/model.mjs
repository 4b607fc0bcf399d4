// A model server with a script, on loopback: each request takes the next answer of it, in OpenAI's streaming format.
import { createServer } from 'node:http';
import { api, enter, hob, launch, message, phone } from './page.mjs';

/** Words as an answer. */
export const says = (content) => ({ content });
/** Calls as an answer: `calls(['forget', { memoryId }])`. */
export const calls = (...all) => ({
  tool_calls: all.map(([name, args], index) => ({ index, id: `call_${Math.random().toString(36).slice(2)}`, type: 'function', function: { name, arguments: JSON.stringify(args) } })),
});

const used = (usage) => (usage ? `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'scripted', choices: [], usage })}\n\n` : '');

/**
 * A server at `port`, or any, whose `script` is set by the test; `asked` are the requests as they came. No answer goes out before `hold`, a promise;
 * `usage` is what it says it used. `refuse` (`{ status, error }`) is its answer to everything, `refuseAnswers` to all but the list.
 */
export async function modelServer(port = 0) {
  const it = { script: [], asked: [], hold: null, usage: null, refuse: null, refuseAnswers: null };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', async () => {
      const refusal = it.refuse ?? (request.method === 'GET' ? null : it.refuseAnswers);
      if (refusal) {
        response.writeHead(refusal.status, { 'content-type': 'application/json' });
        return response.end(JSON.stringify({ error: refusal.error }));
      }
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'application/json' });
        return response.end(JSON.stringify({ object: 'list', data: [{ id: 'scripted', object: 'model' }, { id: 'scripted-large', object: 'model' }] }));
      }
      it.asked.push(text ? JSON.parse(text) : null);
      await it.hold;
      const delta = it.script.shift() ?? says('The script is over.');
      const chunk = (choice) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'scripted', choices: [{ index: 0, ...choice }] })}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${chunk({ delta: { role: 'assistant', ...delta }, finish_reason: null })}${chunk({ delta: {}, finish_reason: delta.tool_calls ? 'tool_calls' : 'stop' })}${used(it.usage)}data: [DONE]\n\n`);
    });
  });
  await new Promise((listening) => server.listen(port, '127.0.0.1', listening));
  it.port = server.address().port;
  it.url = `http://127.0.0.1:${it.port}/v1`;
  it.close = () => (server.closeAllConnections(), server.close());
  return it;
}

/** Talk on a phone, answered by a model with a script; `close` ends browser and model. */
export async function talkWithModel() {
  const browser = await launch();
  const model = await modelServer();
  const close = async () => {
    await browser.close();
    model.close();
  };
  try {
    const { context, page, problems } = await enter(browser, { size: phone });
    await api(context, 'PUT', '/api/v1/model', { model: 'custom/scripted', url: model.url });
    await page.goto(hob);
    await message(page).waitFor();
    return { browser, model, context, page, problems, close };
  } catch (error) {
    await close();
    throw error;
  }
}
