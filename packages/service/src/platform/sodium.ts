/** libsodium, or null where the package has no binary for the platform, for example musl. OpenSSL is used there. */
export const sodium = await import('sodium-native').then(
  ({ default: library }) => library,
  () => null,
);
