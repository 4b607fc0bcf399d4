// A form that Hob shows in a conversation: its fields as a JSON Schema, its answer sent back to the run.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { EachField } from '../forms/fields';
import { groupOf, type Schema } from '../forms/schema';
import { useForm } from '../forms/use-form';
import { sentence } from '../text';
import { asks } from '../text/asks';
import { list, object, plain, type Fields } from './blocks';
import type { Reply } from './card';

const TYPES: Record<string, Schema> = {
  number: { type: 'number' }, checkbox: { type: 'boolean' }, date: { type: 'string', format: 'date' }, textarea: { type: 'string', format: 'textarea' },
};

function schemaOf(field: Fields): Schema {
  const first = field['default'];
  const options = list(field['options']).map(plain);
  const type = plain(field['type']);
  return {
    ...(type === 'select' ? { enum: options } : TYPES[type] ?? { type: 'string', format: 'line' }),
    ...(type === 'checkbox' && field['required'] === true && { const: true }),
    title: plain(field['label']) || plain(field['name']),
    default: type === 'checkbox' ? first === true : type === 'number' ? first : plain(first) || undefined,
  };
}

/** The fields in the order Hob gave them. A required box has to be ticked. */
function groupIn(block: Fields) {
  const fields = list(block['fields']).map(object);
  const required = fields.filter((field) => field['required'] === true).map((field) => plain(field['name']));
  return groupOf({ required, properties: Object.fromEntries(fields.map((field) => [plain(field['name']), schemaOf(field)])) }, true);
}

export function BlockForm({ block, reply }: { block: Fields; reply?: Reply | undefined }): JSX.Element {
  const group = useMemo(() => groupIn(block), [block]);
  const form = useForm({
    group,
    sentence: (cause) => (cause instanceof Error ? sentence(cause.message) : ''),
    save: async (data) => {
      const refused = await reply?.give({ action: 'submit', data });
      if (refused) throw refused;
    },
  });
  return (
    <form ref={form.ref} class="fields block-form" noValidate onSubmit={(event) => void form.submit(event)}>
      <EachField group={group} draft={form.draft} problems={form.problems} disabled={!reply} onInput={form.set} />
      {reply && (
        <div class="buttons"><button class="go" aria-disabled={reply.busy}>{reply.busy ? asks.sending : plain(block['submitLabel']) || asks.send}</button></div>
      )}
    </form>
  );
}
