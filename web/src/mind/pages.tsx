// The pages about models, persona, skills, prompt and runs; loaded on demand.
import type { JSX } from 'preact';
import { Document } from './document';
import { MemoryDocument, NewMemoryDocument } from './memory-documents';
import './mind.css';
import { Models } from './models';
import { Persona } from './persona';
import { Prompt } from './prompt';
import { Runs } from './runs';
import { SkillPage, Skills } from './skills';

export function MindPages({ path }: { path: string[] }): JSX.Element {
  const [page, name] = path;
  switch (page) {
    case 'models': return <Models />;
    case 'prompt': return <Prompt />;
    case 'runs': return <Runs />;
    case 'skills': return name ? <SkillPage key={name} name={name} /> : <Skills />;
    default:
      if (name === 'memory/') return <NewMemoryDocument />;
      if (name?.includes('/')) return <MemoryDocument key={name} path={name} />;
      return name ? <Document key={name} name={name} /> : <Persona />;
  }
}
