/** libsodium. Null where there is no binary for the platform, for example musl: OpenSSL does its work then. */
export const sodium = await import('sodium-native').then(
  ({ default: library }) => library,
  () => null,
);
