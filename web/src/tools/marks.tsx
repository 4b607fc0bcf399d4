// The status line of a custom tool, and its permissions in words.
import type { JSX } from 'preact';
import type { CustomTool } from '../api';
import { text } from '../text';

const words = text.toolsRoom;

export function StatusLine({ tool, long = false }: { tool: CustomTool; long?: boolean }): JSX.Element {
  return (
    <span class="status-line">
      <span><i class={`dot is-${tool.status}`} />{words.status[tool.status] ?? tool.status}</span>
      <span><i class={`dot by-${tool.createdBy}`} />{words.by[tool.createdBy] ?? tool.createdBy}</span>
      <span>{words.version(tool.version)}</span>
      {long && <span>{words.used(tool.usageCount)}</span>}
    </span>
  );
}

/** Permissions in words: `network` is "reach the internet". */
export const mayWords = (permissions: CustomTool['permissions']) => permissions.map((one) => words.may[one] ?? one);
