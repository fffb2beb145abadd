/** Matches a footer in either form, as plain text or inside JSON, where line breaks are escaped. */
const FOOTER = /-- svc-metadata:v\d+ --[\s\S]*?-- end svc-metadata --|\[\[SVMD:v\d+:[\w+/=]*\]\]/g;
const MAX_SHOWN = 12_000;

/** Shows the unmodified text with its footer highlighted. */
export function RawText({ text }: { text: string }) {
  const shown = text.slice(0, MAX_SHOWN);
  const parts: { text: string; isFooter: boolean }[] = [];
  let end = 0;
  for (const match of shown.matchAll(FOOTER)) {
    parts.push({ text: shown.slice(end, match.index), isFooter: false }, { text: match[0], isFooter: true });
    end = match.index + match[0].length;
  }
  parts.push({ text: shown.slice(end), isFooter: false });
  return (
    <code class="raw-text">
      {parts
        .filter((part) => part.text !== '')
        .map((part, index) =>
          part.isFooter ? (
            <mark key={index} class="footer-mark" title="Metadata footer">
              <bdi>{part.text}</bdi>
            </mark>
          ) : (
            <bdi key={index}>{part.text}</bdi>
          ),
        )}
      {text.length > MAX_SHOWN && (
        <span>… and {(text.length - MAX_SHOWN).toLocaleString('en')} more characters</span>
      )}
    </code>
  );
}
