// The pages about models, persona, prompt and runs; loaded on demand.
import type { JSX } from 'preact';
import { Document } from './document';
import './mind.css';
import { Models } from './models';
import { Persona } from './persona';
import { Prompt } from './prompt';
import { Runs } from './runs';

export function MindPages({ path }: { path: string[] }): JSX.Element {
  const [page, name] = path;
  switch (page) {
    case 'models': return <Models />;
    case 'prompt': return <Prompt />;
    case 'runs': return <Runs />;
    default: return name ? <Document key={name} name={name} /> : <Persona />;
  }
}
