import { useState } from 'react';
import { askCharges } from '@/api/money';
import { type Cell, csv, save } from '@/format/csv';
import { COLUMNS, focusRows } from '@/format/focus';
import { now } from '@/session/clock';
import { charges as text, common } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { Icon } from '@/ui/Icon';
import { Command, Time } from '@/ui/Values';

// bound: rows that a browser holds at once
const MOST_ROWS = 200_000;

interface Written {
  count: number;
  /** Absent where no file was written. */
  name?: string;
  postedTo: string;
  isTooMany: boolean;
}

/** All parts of a month, then one file: never a part of it. */
async function write(org: string, month: string, tell: (count: number) => void): Promise<Written> {
  const rows: Cell[][] = [];
  let after: string | undefined;
  for (;;) {
    const part = await askCharges(org, month, after);
    rows.push(...focusRows(part));
    tell(rows.length);
    const next = part.next_after ?? undefined;
    const sofar = { count: rows.length, postedTo: part.posted_to, isTooMany: false };
    if (next && next === after) throw new Error('the server exports the same part again');
    if (next && rows.length > MOST_ROWS) return { ...sofar, count: MOST_ROWS, isTooMany: true };
    after = next;
    if (after) continue;
    if (rows.length === 0) return sofar;
    const name = `focus-${month}.csv`;
    save(name, 'text/csv', csv([COLUMNS, ...rows]));
    return { ...sofar, name };
  }
}

export function Charges({ org }: { org: string }) {
  const [month, setMonth] = useState(() => new Date(now()).toISOString().slice(0, 7));
  const [count, setCount] = useState(0);
  const [written, setWritten] = useState<Written>();
  const { busy, error, act } = useAct();
  return (
    <Card title={text.title} lead={text.lead}>
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          setCount(0);
          setWritten(undefined);
          void act(async () => setWritten(await write(org, month, setCount)));
        }}
      >
        <Input
          label={text.month}
          type="month"
          required
          value={month}
          disabled={busy}
          onChange={(event) => {
            setMonth(event.target.value);
            setWritten(undefined);
          }}
          className="w-44"
        />
        <Button type="submit" busy={busy}>
          <Icon name="download" size={15} />
          {text.export}
        </Button>
      </form>
      {error !== undefined && (
        <div className="mt-4">
          <Failure error={error} />
        </div>
      )}
      <div role="status" className="mt-4 empty:hidden">
        {busy && <p className="text-busy">{text.soFar(count)}</p>}
        {written && <ExportResult written={written} />}
      </div>
      <div className="mt-4">
        <p className="mb-1.5 text-sm text-faint">{common.cliHint}</p>
        <Command>{text.command(month)}</Command>
      </div>
    </Card>
  );
}

function ExportResult({ written }: { written: Written }) {
  if (written.isTooMany) return <p className="text-warn">{text.tooMany(written.count)}</p>;
  return (
    <p className={written.name ? 'text-ok' : 'text-soft'}>
      {written.name ? text.written(written.count, written.name) : text.none}{' '}
      <Time at={written.postedTo} as="local" />. {text.later}
    </p>
  );
}
