// Lines of a program's output, coloured by classes: the text is text, whatever it says.
import type { JSX } from 'preact';
import type { Run, Style } from './screen';
import './output.css';

function classOf({ ink, paper, bold, dim, italic, underline, inverse }: Style): string {
  return [
    ink && `ink-${ink}`, paper && `paper-${paper}`, bold && 'ansi-bold', dim && 'ansi-dim', italic && 'ansi-italic', underline && 'ansi-underline', inverse && 'ansi-inverse',
  ].filter(Boolean).join(' ');
}

export function OutputLines({ lines }: { lines: Run[][] }): JSX.Element {
  return (
    <>
      {lines.map((runs, n) => (
        <span key={n} class="out-line">
          {runs.map((run, at) => {
            const name = classOf(run.style);
            return name ? <span key={at} class={name}>{run.text}</span> : run.text;
          })}
        </span>
      ))}
    </>
  );
}
