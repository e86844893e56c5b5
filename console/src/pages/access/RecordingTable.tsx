import type { ReactNode } from 'react';
import type { Recording } from '@/api/access';
import { bytes } from '@/format/size';
import { duration } from '@/format/time';
import { access } from '@/strings';
import { Badge, type Tone } from '@/ui/Badge';
import { Below, Table } from '@/ui/Table';
import { Time } from '@/ui/Values';

const text = access.recordings;
const TONES: Readonly<Record<string, Tone>> = { recording: 'busy', sealed: 'ok' };

export function RecordingState({ state }: { state: string }) {
  return <Badge tone={TONES[state] ?? 'idle'}>{text.states[state] ?? state}</Badge>;
}

interface Props {
  items: readonly Recording[];
  who: (recording: Recording) => ReactNode;
  where: (recording: Recording) => ReactNode;
  /** The link to its page. */
  link: (recording: Recording, name: ReactNode) => ReactNode;
}

export function RecordingTable({ items, who, where, link }: Props) {
  return (
    <Table
      label={text.title}
      items={items}
      keyOf={(it) => it.id}
      columns={[
        {
          name: text.began,
          cell: (it) => (
            <>
              {link(it, <Time at={it.created_at} as="exact" />)}
              <Below>{who(it)}</Below>
              <Below>{where(it)}</Below>
            </>
          ),
        },
        { name: text.who, wide: true, cell: who },
        { name: text.allocation, wide: true, cell: where },
        { name: text.length, end: true, wide: true, cell: (it) => duration(it.duration_ms / 1000) },
        { name: text.size, end: true, wide: true, cell: (it) => bytes(it.size_bytes) },
        { name: text.state, cell: (it) => <RecordingState state={it.state} /> },
      ]}
    />
  );
}
