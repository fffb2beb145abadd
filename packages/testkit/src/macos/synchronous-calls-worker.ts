import { workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';

const { controlUrl, port, signal } = workerData as {
  controlUrl: string;
  port: MessagePort;
  signal: Int32Array;
};

port.on('message', ({ name, argument }: { name: string; argument: object }) => {
  void respond(name, argument).then((message) => {
    port.postMessage(message);
    Atomics.store(signal, 0, 1);
    Atomics.notify(signal, 0);
  });
});

async function respond(name: string, argument: object): Promise<{ result?: unknown; error?: string }> {
  try {
    const response = await fetch(new URL(`/_control/${name}`, controlUrl), {
      method: 'POST',
      body: JSON.stringify(argument),
    });
    const result: unknown = await response.json();
    return response.ok ? { result } : { error: JSON.stringify(result) };
  } catch (error) {
    return { error: String(error) };
  }
}
