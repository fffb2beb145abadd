/** Replaces control and format characters, so that untrusted text cannot move the cursor or change terminal colours. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '·').toWellFormed();
}
