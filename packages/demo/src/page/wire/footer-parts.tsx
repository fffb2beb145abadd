import { parseFooter } from '@footbridge/kit';

/** What the kit makes of the message inside: the text for people, the metadata for programs. */
export function FooterParts({ body }: { body: string }) {
  const message = messageIn(body);
  if (message === undefined) return null;
  const { text, metadata, problem } = parseFooter(message);
  if (metadata === null && problem === undefined) return null;
  return (
    <div class="footer-parts">
      <div>
        <h5>Display text</h5>
        <p>{text === '' ? <i>none</i> : <bdi>{text}</bdi>}</p>
      </div>
      <div class="is-metadata">
        <h5>Metadata</h5>
        <pre>
          <bdi>{problem ?? JSON.stringify(metadata, shortened, 1)}</bdi>
        </pre>
      </div>
    </div>
  );
}

function messageIn(body: string): string | undefined {
  try {
    const { message }: Record<string, unknown> = JSON.parse(body);
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}

/** A sticker's bytes would fill the screen. */
const shortened = (_name: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > 160
    ? `${value.slice(0, 120)}… (${value.length} characters)`
    : value;
