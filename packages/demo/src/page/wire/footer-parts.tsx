import { parseFooter } from '@footbridge/kit';

/** The parsed footer of the message in a body: its text and its metadata. */
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

/** Truncates long values, such as the bytes of a sticker. */
const shortened = (_name: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > 160
    ? `${value.slice(0, 120)}… (${value.length} characters)`
    : value;
