// Server-sent events over fetch: EventSource cannot send the API key.

export interface ServerEvent {
  type: string;
  id: string;
  data: string;
}

/** events parses a stream of server-sent events. It throws if nothing comes for stallMilliseconds. */
export async function* events(body: ReadableStream<Uint8Array>, stallMilliseconds: number): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const text = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await withLimit(reader.read(), stallMilliseconds);
      if (done) return;
      rest += text.decode(value, { stream: true });
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the connection may be gone already
  }
}

/** parse returns undefined for comments, which keep the connection alive. */
function parse(block: string): ServerEvent | undefined {
  const event = { type: "message", id: "" };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === "event") event.type = value;
    if (name === "id") event.id = value;
    if (name === "data") data.push(value);
  }
  return data.length > 0 ? { ...event, data: data.join("\n") } : undefined;
}

function withLimit<T>(what: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no event and no heartbeat came")), milliseconds);
    what.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
