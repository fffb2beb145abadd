export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly name: string;
  readonly data: string;
}

/** Far larger than any event that the service sends. */
const MAX_EVENT_UNITS = 1024 * 1024;

/** Parses an event stream. Ends without an error if the connection breaks. */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  try {
    yield* read(body);
  } catch {
    // The caller can resume after the last event.
  }
}

async function* read(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > MAX_EVENT_UNITS) throw new Error('the event is too large');
    for (const block of blocks) {
      const fields = new Map<string, string>();
      for (const line of block.split('\n')) {
        const colon = line.indexOf(':');
        if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
      }
      const data = fields.get('data');
      if (data !== undefined) yield { id: fields.get('id'), name: fields.get('event') ?? 'message', data };
    }
  }
}
