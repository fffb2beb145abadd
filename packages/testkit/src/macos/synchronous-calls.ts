import { MessageChannel, Worker, receiveMessageOnPort } from 'node:worker_threads';

/** Calls operations of a control port and blocks until the result is there: Apple events are synchronous. */
export interface SynchronousCalls {
  call(name: string, argument?: object): unknown;
  close(): void;
}

export function openSynchronousCalls(controlUrl: string): SynchronousCalls {
  const { port1, port2 } = new MessageChannel();
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('synchronous-calls-worker.ts', import.meta.url), {
    workerData: { controlUrl, port: port2, signal },
    transferList: [port2],
  });
  return {
    call: (name, argument = {}) => {
      Atomics.store(signal, 0, 0);
      port1.postMessage({ name, argument });
      Atomics.wait(signal, 0, 0);
      const received = receiveMessageOnPort(port1) as { message: { result?: unknown; error?: string } };
      const { result, error } = received.message;
      if (error !== undefined) throw new Error(error);
      return result;
    },
    close: () => void worker.terminate(),
  };
}
