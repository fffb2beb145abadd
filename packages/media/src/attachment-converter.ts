/** Every decoder. */
export const ATTACHMENT_PROGRAM = new URL('./convert-program.ts', import.meta.url);
