import { writeFooter } from '@footbridge/protocol/footer';
import type { Metadata } from '@footbridge/protocol/metadata';

export { parseFooter, stripFooter, type ReadFooter } from '@footbridge/protocol/footer';

export interface FooterOptions {
  /** The text before the footer, which the CRM displays. */
  readonly text?: string;
  /** Defaults to `block`. `sentinel` is for channels that do not preserve line breaks. */
  readonly form?: 'block' | 'sentinel';
}

/** Returns a message with a footer. `parseFooter` returns exactly the same text and metadata, whatever the text contains. */
export function makeFooter(metadata: Metadata, { text = '', form = 'block' }: FooterOptions = {}): string {
  return writeFooter(text, metadata, form);
}
