import { stripFooter } from '@footbridge/kit';
import { useEffect, useRef, useState } from 'preact/hooks';

import { inbox, phone } from './events.ts';
import { nameOf } from './people.ts';

/** Announces new messages to screen readers, one announcement per burst. */
export function Announcer() {
  const [announcement, setAnnouncement] = useState('');
  const before = useRef<{ phone: number; inbox: number }>(undefined);
  const onPhone = phone.value?.chats.flatMap(({ messages }) => messages) ?? [];
  const inInbox = inbox.value.messages;
  const counts = { phone: onPhone.length, inbox: inInbox.length };

  useEffect(() => {
    const last = before.current;
    if (phone.value !== undefined) before.current = counts;
    if (last === undefined) return;
    const arrivedPhone = onPhone.slice(last.phone).findLast(({ from }) => from === 'me');
    const arrivedInbox = inInbox.slice(last.inbox).at(-1);
    const parts = [
      arrivedPhone && `On the phone, ${nameOf('me')}: ${arrivedPhone.text.slice(0, 120)}`,
      arrivedInbox && `In the inbox: ${stripFooter(arrivedInbox.message).slice(0, 120)}`,
    ];
    if (parts.some(Boolean)) setAnnouncement(parts.filter(Boolean).join('. '));
  }, [counts.phone, counts.inbox]);

  return (
    <div class="visually-hidden" aria-live="polite">
      {announcement}
    </div>
  );
}
