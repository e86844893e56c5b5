import { useState } from 'react';
import { askProof } from '@/api/money';
import { common, proof as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { Command } from '@/ui/Values';
import { NOTHING, prove, type Proven } from './proving';

export function Proof({ org }: { org: string }) {
  const [month, setMonth] = useState('');
  const [proven, setProven] = useState<Proven>();
  const { busy, error, act } = useAct();
  const start = (from: Proven) =>
    void act(() => prove(from, (after) => askProof(org, month || undefined, after), setProven));
  return (
    <Card title={text.title} lead={text.lead}>
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          setProven(undefined);
          start(NOTHING);
        }}
      >
        <Input
          label={text.month}
          type="month"
          value={month}
          disabled={busy}
          onChange={(event) => {
            setMonth(event.target.value);
            // What was proven was another time.
            setProven(undefined);
          }}
          className="w-60"
        />
        <Button type="submit" busy={busy}>
          {text.prove}
        </Button>
      </form>
      {error !== undefined && (
        <div className="mt-4">
          <Failure error={error} />
        </div>
      )}
      <div role="status" className="mt-4 space-y-2 empty:hidden">
        {busy && <p className="text-busy">{text.running}</p>}
        {proven && <ProofResult proven={proven} isRunning={busy} hasFailed={error !== undefined} />}
      </div>
      {proven?.after && !busy && (
        <Button className="mt-3" onClick={() => start(proven)}>
          {text.goOn}
        </Button>
      )}
      <div className="mt-4">
        <p className="mb-1.5 text-sm text-faint">{common.cliHint}</p>
        <Command>{text.command(month)}</Command>
      </div>
    </Card>
  );
}

/** Nothing is called proven before its end. */
function ProofResult({
  proven,
  isRunning,
  hasFailed,
}: {
  proven: Proven;
  isRunning: boolean;
  hasFailed: boolean;
}) {
  const { difference, journals, entries, intervals } = proven;
  const checked = <p className="numbers text-sm text-faint">{text.checked(journals, entries, intervals)}</p>;
  if (difference) {
    const where = difference.journal == null ? [] : [text.journal(difference.journal)];
    const what = [...where, difference.subject, difference.what].filter(Boolean).join(': ');
    return (
      <>
        <p className="font-medium text-bad">
          {text.differs} {what}
        </p>
        <p>{text.advice}</p>
        {checked}
      </>
    );
  }
  if (isRunning) return checked;
  if (proven.after) {
    return (
      <>
        <p className="text-warn">{hasFailed ? text.failed : text.unfinished}</p>
        {checked}
      </>
    );
  }
  return journals === 0 ? (
    <p className="text-soft">{text.nothing}</p>
  ) : (
    <>
      <p className="font-medium text-ok">{text.proven}</p>
      {checked}
    </>
  );
}
