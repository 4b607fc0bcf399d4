// What the tools answer that the page calls by name. The tool catalogue carries no output schemas, so these are written by hand.

export interface Memory {
  id: string;
  content: string;
  type: string;
  importance: number;
  tags: string[];
  createdMs: number;
  uses: number;
  shared: boolean;
  /** Read from outside, and not vouched for by a person. */
  fromOutside?: boolean;
  /** Who shared it, where that is somebody else. */
  sharedBy?: string;
  /** How well it matches a search, 0 to 1, and why. */
  score?: number;
  why?: string;
  /** The texts it had before, the oldest first. */
  earlier?: { content: string; untilMs: number }[];
  /** What else counts for or against it, besides words and meaning. */
  besides?: string[];
}

export interface MemoryStats {
  total: number;
  facts: number;
  preferences: number;
  events: number;
  skills: number;
}

interface Memories {
  memories: Memory[];
  /** False when the embedding model was unavailable and only words were compared. */
  byMeaning?: boolean;
}

/** The level of a GPIO pin. */
export interface Level {
  pin: number;
  high: boolean;
  driven: boolean;
  /** What the household calls the thing at it, and whether that is only read. */
  name?: string;
  sensor?: boolean;
  /** The level that opens, unlocks or disarms something: a person is asked before it. */
  opensAt?: boolean;
}

export interface Sum {
  currency: string;
  total: number;
  count: number;
}

export interface ExpenseSummary {
  totals: (Sum & { average: number })[];
  byCategory: (Sum & { category: string; share: number })[];
  byDay?: (Sum & { day: string })[];
  byMonth?: (Sum & { month: string })[];
}

export interface SystemInfo {
  model?: string;
  os?: string;
  arch?: string;
  cpus?: number;
  load?: number[];
  memory?: { total: number; available: number };
  ownMemory?: number;
  disk?: { total: number; free: number };
  temperature?: number;
  uptime?: number;
  startedAt?: string;
  concerns?: string[];
}

type Records = Record<string, unknown> & { id: string };

/** Tool names and their results; every other tool answers `unknown`. */
export interface Results {
  recall: Memories;
  list_memories: Memories;
  memory_stats: MemoryStats;
  gpio_list: { driver: string; why: string; pins: Level[] };
  gpio_write: Level;
  expense_summary: ExpenseSummary;
  export_expenses: { content: string; nextOffset?: number | null };
  get_goal_details: Record<string, unknown>;
  system_info: SystemInfo;
  list_notices: { notices?: unknown[] };
  batch_use_tool: { results: { success: boolean; result?: Record<string, Records[]> }[] };
}

export type Result<T extends string> = T extends keyof Results ? Results[T] : unknown;
