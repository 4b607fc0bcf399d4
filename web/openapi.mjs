// Writes src/openapi.ts: the types of every operation in the API's OpenAPI document, for TypeScript alone.
// The document is the golden file that the daemon's own /api/v1/openapi.json is tested against.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const SOURCE = new URL('../tests/golden/openapi.json', import.meta.url);
const TARGET = new URL('src/openapi.ts', import.meta.url);

const { paths, components } = JSON.parse(readFileSync(SOURCE, 'utf8'));

const union = (types) => [...new Set(types)].join(' | ') || 'never';
const property = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));
/** A value fits all of these: alternatives are put in parentheses. */
const both = (types) => types.map((type) => (types.length > 1 && type.includes(' | ') ? `(${type})` : type)).join(' & ');

function comment(text, indent) {
  return text ? `${indent}/** ${text.replace(/\s+/g, ' ').replaceAll('*/', '* /').trim()} */\n` : '';
}

function objectType(schema, indent) {
  const inner = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const lines = Object.entries(schema.properties).map(([name, of]) =>
    `${comment(of.description, inner)}${inner}${property(name)}${required.has(name) ? '' : '?'}: ${typeOf(of, inner)};\n`);
  return `{\n${lines.join('')}${indent}}`;
}

function typeOf(schema, indent = '') {
  if (schema === true || schema === undefined) return 'unknown';
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const ways = schema.oneOf ?? schema.anyOf;
  if (ways) {
    const way = union(ways.map((one) => typeOf(one, indent)));
    return schema.properties ? both([way, objectType(schema, indent)]) : way;
  }
  const types = [schema.type ?? (schema.properties ? 'object' : 'any')].flat();
  return union(types.map((type) => {
    switch (type) {
      case 'string': case 'boolean': case 'null': return type;
      case 'integer': case 'number': return 'number';
      case 'array': {
        const item = typeOf(schema.items, indent);
        return /[ {]/.test(item) ? `(${item})[]` : `${item}[]`;
      }
      case 'object': {
        if (schema.properties && Object.keys(schema.properties).length) return objectType(schema, indent);
        return `{ [name: string]: ${typeof schema.additionalProperties === 'object' ? typeOf(schema.additionalProperties, indent) : 'unknown'} }`;
      }
      default: return 'unknown';
    }
  }));
}

/** The parameters of one place (`path` or `query`) as an object type; '' where there are none. */
function parameters(all, place) {
  const found = all.filter((one) => one.in === place);
  if (!found.length) return '';
  const required = found.filter((one) => one.required).map((one) => one.name);
  return `    ${place}${required.length ? '' : '?'}: ${objectType({ properties: Object.fromEntries(found.map((one) => [one.name, one.schema])), required }, '    ')};\n`;
}

function operation(method, path, { parameters: given = [], requestBody, responses, summary }) {
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  const data = success?.content?.['application/json']?.schema?.properties?.data;
  const body = requestBody?.content?.['application/json']?.schema;
  return `${comment(summary, '  ')}  '${method.toUpperCase()} ${path}': {\n${parameters(given, 'path')}${parameters(given, 'query')}`
    + `${body ? `    body${requestBody.required ? '' : '?'}: ${typeOf(body, '    ')};\n` : ''}    data: ${typeOf(data, '    ')};\n  };\n`;
}

const operations = Object.entries(paths).filter(([path]) => path.startsWith('/api/v1/'))
  .flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => operation(method, path, about)));

/** The component types that are reachable from the operations. */
const types = new Map();
const wanted = (text) => 
  [...text.replace(/\/\*\*.*/g, '').matchAll(/\b[A-Z]\w*/g)].map(([name]) => name).filter((name) => name in components.schemas && !types.has(name));
const queue = wanted(operations.join(''));
for (let name = queue.pop(); name; name = queue.pop()) {
  if (types.has(name)) continue;
  types.set(name, `${comment(components.schemas[name].description, '')}type ${name} = ${typeOf(components.schemas[name])};\n`);
  queue.push(...wanted(types.get(name)));
}
const text = `// Made by openapi.mjs from the API's OpenAPI document: the types of its operations. Do not edit.\n
/** By method and path: what goes in the path, the query and the body, and what the answer holds. */
export interface Operations {\n${operations.join('')}}\n\n${[...types.keys()].sort().map((name) => types.get(name)).join('\n')}`;

// An unchanged file keeps its time, so that nothing is built again for it.
if (!existsSync(TARGET) || readFileSync(TARGET, 'utf8') !== text) writeFileSync(TARGET, text);
