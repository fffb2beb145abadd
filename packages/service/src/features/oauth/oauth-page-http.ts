import type { FastifyReply } from 'fastify';

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}';

/** The page for a person who installs the app in a browser. A failure shows its code. */
export function oauthPage(reply: FastifyReply, title: string, text: string, code?: string): FastifyReply {
  const shown = code === undefined ? '' : `<p><code>${escape(code)}</code></p>`;
  return reply
    .headers({ 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': POLICY })
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
        `<title>${escape(title)}</title><style>${STYLE}</style><h1>${escape(title)}</h1><p>${escape(text)}</p>${shown}</html>`,
    );
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escape = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
