import type { MessagesHelper } from './messages-helper.ts';
import type { BlueBubblesServer } from './server.ts';

/** The operations of the control port. The types of the remote client derive from this table. */
export function operationsOf(server: BlueBubblesServer, helper: MessagesHelper) {
  return {
    configure: server.configure.bind(server),
    fail: server.fail.bind(server),
    restart: server.restart.bind(server),
    reset: () => server.reset(),
    heal: () => server.heal(),
    endStalls: () => server.endStalls(),
    /** Every call with a valid password, in order. */
    calls: () => server.calls,
    /** Every command that Messages got, in order. */
    performed: () => server.performed,
    settled: () => helper.settled(),
  };
}

export type BlueBubblesOperations = ReturnType<typeof operationsOf>;
