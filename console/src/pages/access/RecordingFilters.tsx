import { type ReactNode, useState } from 'react';
import type { RecordingFilter } from '@/api/access';
import { access } from '@/strings';
import { Button } from '@/ui/Button';
import { Input } from '@/ui/Form';

const text = access.recordings;

interface Props {
  filter: RecordingFilter;
  onApply: (next: RecordingFilter) => void;
  /** How a person is chosen. */
  person: (value: string, onChange: (next: string) => void) => ReactNode;
}

/** What is kept in the address: whoever gets it sees the same list. */
export function RecordingFilters({ filter, onApply, person }: Props) {
  const [draft, setDraft] = useState(filter);
  return (
    <form
      className="grid grid-cols-2 items-end gap-3 lg:grid-cols-[2fr_1.5fr_1fr_1fr_auto]"
      onSubmit={(event) => {
        event.preventDefault();
        onApply(draft);
      }}
    >
      <Input
        label={text.allocation}
        autoComplete="off"
        placeholder="alloc-…"
        value={draft.allocation_id ?? ''}
        onChange={(event) => setDraft({ ...draft, allocation_id: event.target.value.trim() })}
      />
      {person(draft.user_id ?? '', (user_id) => setDraft({ ...draft, user_id }))}
      {(['since', 'until'] as const).map((side) => (
        <Input
          key={side}
          type="date"
          label={side === 'since' ? text.from : text.to}
          value={dayOf(draft[side])}
          onChange={(event) => setDraft({ ...draft, [side]: timeOf(event.target.value, side) })}
        />
      ))}
      <div className="col-span-2 flex gap-2 lg:col-span-1">
        <Button type="submit">{text.apply}</Button>
        <Button
          kind="quiet"
          onClick={() => {
            setDraft({});
            onApply({});
          }}
        >
          {text.clear}
        </Button>
      </div>
    </form>
  );
}

/** The day in the reader's zone, as a date field writes it. */
function dayOf(at: string | undefined): string {
  if (!at || Number.isNaN(Date.parse(at))) return '';
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The beginning of the day, or its end. */
function timeOf(day: string, side: 'since' | 'until'): string | undefined {
  const date = new Date(`${day}T${side === 'since' ? '00:00:00' : '23:59:59'}`);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Only what was filled in. */
export function filled(filter: RecordingFilter): RecordingFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
}
