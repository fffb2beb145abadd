import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { RawText } from '../chat/raw-text.tsx';
import { about } from '../events.ts';
import { Icon } from '@footbridge/ui/icons';
import type { CallOrFrame, HttpExchange } from '../types.ts';
import { CopyButton } from './copy-button.tsx';
import { asCurl } from './curl.ts';
import { describe } from './describe.ts';
import { FooterParts } from './footer-parts.tsx';
import { Signature } from './signature.tsx';

/** All details of one call or frame. */
export function Detail({ entry, onClose }: { entry: CallOrFrame; onClose: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [isExact, setExact] = useState(false);
  useLayoutEffect(() => heading.current?.focus(), []);
  const { title, state } = describe(entry);
  const curl = entry.kind === 'http' && about.value ? asCurl(entry, about.value) : undefined;

  return (
    <section
      class="detail"
      aria-label="Selected call or frame"
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
      }}
    >
      <header class="detail-head">
        <div class="detail-what">
          <h3 ref={heading} tabIndex={-1}>
            <bdi>{title}</bdi> <span class="detail-state">{state}</span>
          </h3>
          <span class="detail-when">
            {exactTime(entry.at)}
            {entry.kind === 'http' && entry.ms !== undefined && ` · ${entry.ms.toFixed(1)} ms`}
          </span>
        </div>
        <div class="detail-actions">
          <button type="button" class="text-button" aria-pressed={isExact} onClick={() => setExact(!isExact)}>
            Exact bytes
          </button>
          {curl !== undefined && <CopyButton label="Copy as curl" text={curl} />}
          {entry.kind === 'frame' && <CopyButton label="Copy frame" text={entry.text} />}
          <button type="button" class="quiet-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
      </header>
      <div class="detail-body" tabIndex={0} role="group" aria-label="Headers and bytes">
        {entry.kind === 'http' ? (
          <Http entry={entry} isExact={isExact} />
        ) : (
          <Body text={entry.text} bytes={new TextEncoder().encode(entry.text).length} isExact={isExact} />
        )}
      </div>
    </section>
  );
}

const exactTime = (at: number): string => {
  const two = '2-digit';
  return new Date(at).toLocaleTimeString('en-GB', {
    hour: two,
    minute: two,
    second: two,
    fractionalSecondDigits: 3,
  });
};

function Http({ entry, isExact }: { entry: HttpExchange; isExact: boolean }) {
  return (
    <>
      <h4>Request</h4>
      <p class="detail-path">
        <code>
          {entry.method} <bdi>{entry.path}</bdi>
        </code>
      </p>
      <Headers headers={entry.requestHeaders} />
      <Body text={entry.requestBody} bytes={entry.requestBytes} isExact={isExact} />
      {entry.leg === 'crm→service' && entry.method === 'POST' && <Signature entry={entry} />}
      <h4>
        {entry.status === undefined
          ? 'Response pending'
          : entry.status === null
            ? 'No response'
            : `Response ${entry.status}`}
      </h4>
      <Headers headers={entry.answerHeaders} />
      <Body text={entry.answerBody} bytes={entry.answerBytes} isExact={isExact} />
    </>
  );
}

function Headers({ headers }: { headers: HttpExchange['requestHeaders'] }) {
  if (headers.length === 0) return null;
  return (
    <dl class="headers">
      {headers.map(([name, value], index) => (
        <div key={index} class={/signature/i.test(name) ? 'is-signature' : ''}>
          <dt>{name}</dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Body({ text, bytes, isExact }: { text: string; bytes: number; isExact: boolean }) {
  if (bytes === 0) return null;
  return (
    <>
      <pre class="body">
        <RawText text={isExact ? text : pretty(text)} />
      </pre>
      <p class="body-size">
        {bytes.toLocaleString('en')} bytes{isExact ? ', shown exactly' : ', formatted'}
      </p>
      <FooterParts body={text} />
    </>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
