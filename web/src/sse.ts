// Reads `text/event-stream`: fields, multi-line data, comments, any line ending, any split of bytes.

export interface ServerEvent {
  /** The event's name; '' when it has none. */
  type: string;
  data: string;
}

/** Yields each event; calls `heard` for every chunk, comments included. Throws what the body throws. */
export async function* serverEvents(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffer = '';
  let type = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      heard();
      buffer += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // A carriage return at the end may be half of a line ending: leave it for the next read.
      const held = !done && buffer.endsWith('\r') ? '\r' : '';
      const lines = (held ? buffer.slice(0, -1) : buffer).split(/\r\n|\r|\n/);
      buffer = (lines.pop() ?? '') + held;
      for (const line of lines) {
        if (line === '') {
          const event = { type, data: data.join('\n') };
          const whole = data.length > 0;
          type = '';
          data = [];
          if (whole) yield event;
        } else if (line.startsWith('event:')) {
          type = line.slice(6).trim();
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        }
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
