import { listMessages, showMessage } from '@footbridge/protocol/operator/messages';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { TableHead, TableRow } from '../controls.tsx';
import { isPaused } from '../live.ts';
import { follow, goTo, hrefOf, route } from '../route.ts';
import { call } from '../session.ts';
import { timeText } from '../times.ts';
import { useVisibleRows } from '../use-visible-rows.ts';
import { StatusChip } from './status-chip.tsx';
import type { Message } from './types.ts';
import { MAX_LOADED, useMessages } from './use-messages.ts';
import type { Filters } from './use-messages.ts';
import { stopReading, useReading } from './use-reading.ts';

const newMessagesText = (count: number, isMore: boolean) =>
  isMore ? `${count} or more new messages` : `${count} new ${count === 1 ? 'message' : 'messages'}`;
const onlyNewestText = (count: number) =>
  `Only the newest ${count.toLocaleString('en-US')} messages are shown. Filters find older ones.`;

const FILTERS = [
  'locationId',
  'phone',
  'contactId',
  'direction',
  'status',
  'code',
  'kind',
  'from',
  'until',
] as const;
/** Filters without a form field: links from other pages set them. */
const CHIPS = ['locationId', 'code', 'kind', 'from', 'until'] as const;
const STATUSES = [
  'accepted',
  'written',
  'pending',
  'delivered',
  'failed',
  'rejected',
  'received',
  'undeliverable',
];

const DIRECTIONS = listMessages.query.properties.direction.enum;

/** The filters in the address; empty ones are left out. */
function filtersOf(query: URLSearchParams): Filters {
  const { direction, ...rest } = Object.fromEntries(
    FILTERS.map((name) => [name, query.get(name) || undefined]),
  );
  return { ...rest, direction: DIRECTIONS.find((known) => known === direction) };
}

/** The newest messages, with filters in the address. */
export function MessagesPage() {
  const { query } = route.value;
  const filters = filtersOf(query);
  const list = useRef<HTMLTableSectionElement>(null);
  const isReading = useReading(list);
  const { messages, held, hasOlder, isFull, problem, loadOlder } = useMessages(filters, isReading);
  return (
    <>
      <div class="page-head">
        <h1>Messages</h1>
        <button
          type="button"
          class="text-button"
          aria-pressed={isPaused.value}
          aria-keyshortcuts="p"
          onClick={() => (isPaused.value = !isPaused.value)}
        >
          Pause
        </button>
      </div>
      <FilterBar filters={filters} />
      {problem.value !== undefined && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      {messages?.length === 0 && <p class="hint">No message matches these filters.</p>}
      <div class="new-messages" role="status">
        {held.count > 0 && (
          <button type="button" class="main-button" onClick={stopReading}>
            {newMessagesText(held.count, held.isMore)}
          </button>
        )}
      </div>
      {messages !== undefined && messages.length > 0 && (
        <MessageTable list={list} messages={messages} loadOlder={hasOlder ? loadOlder : undefined} />
      )}
      {isFull && <p class="hint">{onlyNewestText(MAX_LOADED)}</p>}
    </>
  );
}

function FilterBar({ filters }: { readonly filters: Filters }) {
  const set = (changed: Record<string, string | undefined>) =>
    goTo(hrefOf('/messages', { ...filters, ...changed }));

  const searches = useRef(0);

  async function search(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const entered = new FormData(event.currentTarget as HTMLFormElement).get('search');
    const text = typeof entered === 'string' ? entered.trim() : '';
    if (text === '') return set({ phone: undefined, contactId: undefined });
    if (isHandle(text)) return set({ phone: text, contactId: undefined });
    const path = `/messages/${encodeURIComponent(text)}`;
    const shown = route.peek();
    const number = ++searches.current;
    const exists = await call(showMessage, { id: text }).then(
      () => true,
      () => false,
    );
    // The user may have navigated or started another search meanwhile.
    if (route.peek() !== shown || searches.current !== number) return;
    if (exists) goTo(hrefOf(path));
    else set({ contactId: text, phone: undefined });
  }

  return (
    <div class="filters">
      <form role="search" onSubmit={(event) => void search(event)}>
        <input
          key={filters.phone ?? filters.contactId}
          type="search"
          name="search"
          aria-keyshortcuts="/"
          aria-label="Phone number, message id, request id or contact id"
          placeholder="Phone number, message id, request id or contact id"
          defaultValue={filters.phone ?? filters.contactId ?? ''}
        />
        <button type="submit" class="main-button">
          Search
        </button>
      </form>
      <label>
        Direction
        <select
          aria-keyshortcuts="f"
          value={filters.direction ?? ''}
          onChange={(e) => set({ direction: e.currentTarget.value })}
        >
          <option value="">Any</option>
          <option value="outbound">To the customer</option>
          <option value="inbound">From the customer</option>
        </select>
      </label>
      <label>
        Status
        <select value={filters.status ?? ''} onChange={(e) => set({ status: e.currentTarget.value })}>
          <option value="">Any</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      {CHIPS.map(
        (name) =>
          filters[name] !== undefined && (
            <span key={name} class="chip">
              <bdi>{filters[name]}</bdi>
            </span>
          ),
      )}
      {Object.values(filters).some(Boolean) && (
        <a href={hrefOf('/messages')} onClick={follow}>
          Clear filters
        </a>
      )}
    </div>
  );
}

/** A phone number, or an email address. Anything else is an id. */
const isHandle = (text: string) => /^\+?[\d\s().-]{5,}$/.test(text) || text.includes('@');

const COLUMNS = ['Time', 'Direction', 'Location', 'Customer', 'Kind', 'Status'];

interface TableProps {
  readonly list: RefObject<HTMLTableSectionElement | null>;
  readonly messages: readonly Message[];
  /** Undefined: there are no older ones. */
  readonly loadOlder: (() => Promise<void>) | undefined;
}

/** Draws the rows on the screen. Scrolling to the end loads older messages. */
function MessageTable({ list, messages, loadOlder }: TableProps) {
  const { first, end, above, below } = useVisibleRows(list, messages.length);
  useEffect(() => {
    if (end === messages.length && first > 0) void loadOlder?.();
  }, [end, first, messages.length, loadOlder]);
  return (
    <>
      <table class="messages" aria-rowcount={messages.length + 1}>
        <TableHead names={COLUMNS} />
        <tbody ref={list}>
          {above > 0 && <tr class="not-drawn" aria-hidden="true" style={{ height: `${above}px` }} />}
          {messages.slice(first, end).map((message, index) => (
            <MessageRow key={message.id} message={message} rowIndex={first + index + 2} />
          ))}
          {below > 0 && <tr class="not-drawn" aria-hidden="true" style={{ height: `${below}px` }} />}
        </tbody>
      </table>
      {loadOlder !== undefined && (
        <p>
          <button type="button" class="text-button" onClick={() => void loadOlder()}>
            Load older messages
          </button>
        </p>
      )}
    </>
  );
}

function MessageRow({ message, rowIndex }: { readonly message: Message; readonly rowIndex: number }) {
  return (
    <TableRow names={COLUMNS} rowIndex={rowIndex}>
      <td>
        <a data-row href={hrefOf(`/messages/${encodeURIComponent(message.id)}`)} onClick={follow}>
          {timeText(message.createdAt)}
        </a>
      </td>
      <td>{message.direction === 'outbound' ? 'To the customer' : 'From the customer'}</td>
      <td title={message.locationId}>
        <bdi>{message.locationId}</bdi>
      </td>
      <td>
        <bdi>{message.phone}</bdi>
      </td>
      <td>{message.kind}</td>
      <td>
        <StatusChip status={message.status} code={message.code} />
      </td>
    </TableRow>
  );
}
