// What one chooses from to make a schedule or trigger: read when their part of the room opens.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { useLive } from '../live';

export type Choices = api.AutomationChoices;
export type Cause = Choices['causes'][number];
export type CauseField = Cause['fields'][number];

/** null until they have been read. */
export const choices = signal<Choices | null>(null);

const NOTHING: Choices = {
  actions: [],
  causes: [],
  conditions: [],
  people: [],
  pins: [],
  place: false,
  things: [],
  tools: [],
  triggers: [],
};

async function readChoices(): Promise<void> {
  try {
    choices.value = await api.automationChoices();
  } catch (cause) {
    // Without them, forms still offer what needs no choice.
    if (!(cause instanceof api.Unreachable)) choices.value ??= NOTHING;
  }
}

/** Keeps them current. */
export function useChoices(): void {
  const away = deviceAway.value;
  useEffect(() => {
    if (!away) void readChoices();
  }, [away]);
  useLive(['tools:changed', 'groups:changed'], () => void readChoices());
}

/** The title of a tool: "Add a task". */
export const toolTitle = (name: string): string => choices.value?.tools.find((tool) => tool.name === name)?.title ?? name.replaceAll('_', ' ');
