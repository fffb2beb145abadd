import type { MessagesApp } from './messages-app.ts';

/** The operations of the control port. The types of the remote client derive from this table. */
export function operationsOf(app: MessagesApp) {
  return {
    write: app.write.bind(app),
    react: app.react.bind(app),
    ghost: ({ chatIdentifier }: { chatIdentifier: string }) => app.ghost(chatIdentifier),
    change: app.change.bind(app),
    hold: () => app.hold(),
    release: () => app.release(),
    settled: () => app.settled(),
    checkpoint: () => app.checkpoint(),
    rotate: () => app.rotate(),
    lock: app.lock.bind(app),
    alter: app.alter.bind(app),
    backUp: () => app.backUp(),
    restore: () => app.restore(),
    rebuild: () => app.rebuild(),
    damage: () => app.damage(),
    remove: () => app.remove(),
  };
}

export type MessagesOperations = ReturnType<typeof operationsOf>;
