// What is not well and what to do about it, all checks, and the file for those who help. For admins.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import * as api from '../api';
import { Notice } from '../form';
import { doctor as words } from '../text/backup';
import { download } from './download';
import { useAction, useRead } from './part';
import { size } from './units';

export function Doctor(): JSX.Element | null {
  const read = useRead(api.doctor);
  const [done, setDone] = useState('');
  const act = useAction();
  if (!read.data) return null;
  const { checks, writes } = read.data;
  const open = checks.filter((check) => check.outcome !== 'well' && check.name !== 'answers');
  const support = () => void act.run(async () => {
    setDone('');
    const { file, name } = await api.support();
    download(file, name);
    setDone(words.supportDone(size(file.size)));
  });
  return (
    <>
      {open.length > 0 && (
        <ul class="concerns">
          {open.map((check) => <li key={check.text}>{check.text} {check.todo && words.todo(check.todo)}</li>)}
        </ul>
      )}
      <p class="soft small">{writes.say}</p>
      <details>
        <summary class="soft small">{words.all(checks.length)}</summary>
        <ul>
          {checks.map((check) => <li key={check.name + check.text}>{check.name}: {check.text}</li>)}
        </ul>
      </details>
      <p class="soft small">{words.supportWhat}</p>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {done && <Notice>{done}</Notice>}
      <div class="buttons"><button type="button" aria-disabled={act.busy} onClick={support}>{words.support}</button></div>
    </>
  );
}
