import { writeFooter } from '@footbridge/protocol/footer';
import type { Metadata } from '@footbridge/protocol/metadata';

export { parseFooter, stripFooter, type ReadFooter } from '@footbridge/protocol/footer';

export interface FooterOptions {
  /** What people read in the CRM, before the footer. */
  readonly text?: string;
  /** The sentinel is for channels that do not keep line breaks. */
  readonly form?: 'block' | 'sentinel';
}

/** Writes a message with a footer that `parseFooter` takes apart again exactly, whatever the text holds. */
export function makeFooter(metadata: Metadata, { text = '', form = 'block' }: FooterOptions = {}): string {
  return writeFooter(text, metadata, form);
}
