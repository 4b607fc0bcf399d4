// The known models: suggestions while typing, and a model's facts in one line.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { facts } from '../text';
import { mind } from '../text/mind';
import { dollars, short } from './amounts';
import * as api from './api';

const words = mind.models;

/** All known models; empty while they are loading. */
export function useKnownModels(): api.KnownModel[] {
  const [all, setAll] = useState<api.KnownModel[]>([]);
  useEffect(() => {
    let over = false;
    void api.models().then(({ models }) => !over && setAll(models), () => undefined);
    return () => void (over = true);
  }, []);
  return all;
}

/** What a model costs and can do. */
export function about({ context, inputPrice, outputPrice, images, audio, files, tools }: api.KnownModel): string {
  const price = inputPrice === null || outputPrice === null ? '' : inputPrice + outputPrice === 0 ? words.free : words.price(dollars(inputPrice), dollars(outputPrice));
  return facts(context > 0 && words.context(short(context)), price, images && words.sees, audio && words.hears, files && words.reads, !tools && words.noTools);
}

/** Suggestions for a field, shown by the browser. */
export function Choices({ id, models, whole }: { id: string; models: api.KnownModel[]; whole?: boolean }): JSX.Element {
  return <datalist id={id}>{models.map((one) => <option key={one.model} value={whole ? one.model : one.name} label={about(one)} />)}</datalist>;
}
