/** Apart from the other decoders, so that an agent contains none of them. */
export const STICKER_PROGRAM = new URL('./sticker-program.ts', import.meta.url);
