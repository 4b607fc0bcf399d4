// The result of a tool: a sentence, the full value, and the duration.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ToolRun } from '../api';
import { Copy } from '../copy';
import { duration, text } from '../text';

const words = text.toolsRoom;

export function Result({ ran, title = words.result }: { ran: ToolRun; title?: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plain = typeof ran.result === 'string' ? ran.result : JSON.stringify(ran.result, null, 2);
  const empty = ran.result === null || ran.result === undefined || plain === '';
  const logs = (ran.metadata as { logs?: { level: string; text: string }[] } | undefined)?.logs;

  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [ran]);

  return (
    <div class={ran.isError ? 'result failed' : 'result'} ref={box}>
      <p class="say" role={ran.isError ? 'alert' : 'status'}>
        {ran.isError ? words.didNotWork : (ran.say ?? (empty ? words.done : title))}
      </p>
      {!empty && plain !== ran.say && (
        <pre class={typeof ran.result === 'string' ? 'prose' : undefined} tabIndex={0} role="region" aria-label={title}>{plain}</pre>
      )}
      {logs && logs.length > 0 && (
        <>
          <p class="soft small">{words.logs}</p>
          <pre tabIndex={0} role="region" aria-label={words.logs}>{logs.map((log) => log.text).join('\n')}</pre>
        </>
      )}
      <p class="result-foot">
        {ran.duration !== undefined && <span class="soft small">{words.took(duration(ran.duration))}</span>}
        {!empty && <Copy value={plain} />}
      </p>
    </div>
  );
}
