import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { paged } from '@/api/lists';
import { words } from '@/format/size';
import { now } from '@/session/clock';
import { billing, common, platform } from '@/strings';
import { useAct } from '@/ui/act';
import { State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Id, Money, Time } from '@/ui/Values';
import { RunbookLink } from './RunbookLink';

const text = platform.ledger;
type Correction = Schemas['Correction'];

const correctionsQuery = () =>
  paged<Correction>(['correction'], (cursor) =>
    ask(api.GET('/v1/platform/corrections', { params: { query: { limit: 50, cursor } } })),
  );

export function Ledger() {
  return (
    <Page title={text.title} lead={text.lead}>
      <Corrections />
      <Proof />
    </Page>
  );
}

function Corrections() {
  const queries = useQueryClient();
  const query = useInfiniteQuery(correctionsQuery());
  const { error, act } = useAct();
  const [rejecting, setRejecting] = useState<Correction>();
  const refresh = () =>
    Promise.all(['correction', 'balance'].map((it) => queries.invalidateQueries({ queryKey: [it] })));
  const approve = (correction: Correction) =>
    act(async () => {
      const params = { path: { correction_id: correction.id }, header: once() };
      await ask(api.POST('/v1/platform/corrections/{correction_id}/approve', { params }));
      await refresh();
    });
  return (
    <>
      <List
        title={text.corrections}
        query={query}
        error={error}
        empty={text.noCorrections}
        label={text.corrections}
        keyOf={(it) => it.id}
        columns={[
          { name: text.kind, cell: (it) => words(it.kind) },
          { name: common.state, cell: (it) => <State state={it.state} /> },
          {
            name: common.amount,
            end: true,
            cell: (it) =>
              it.amount_micros != null && it.currency ? (
                <Money micros={it.amount_micros} currency={it.currency} />
              ) : it.reverses != null ? (
                text.reverses(it.reverses)
              ) : (
                (it.summary ?? '–')
              ),
          },
          { name: billing.reason, wide: true, cell: (it) => it.reason },
          { name: text.by, wide: true, cell: (it) => <Id id={it.proposed_by} /> },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
        rowActions={(it) =>
          it.state === 'proposed' && (
            <span className="inline-flex gap-1">
              <Button small onClick={() => void approve(it)}>
                {text.approve}
              </Button>
              <Button small kind="quiet" onClick={() => setRejecting(it)}>
                {text.reject}
              </Button>
            </span>
          )
        }
      />
      {rejecting && (
        <Reject correction={rejecting} onClose={() => setRejecting(undefined)} onDone={refresh} />
      )}
    </>
  );
}

interface RejectProps {
  correction: Correction;
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

function Reject({ correction, onClose, onDone }: RejectProps) {
  const [reason, setReason] = useState('');
  return (
    <FormDialog
      title={text.rejectTitle}
      action={text.reject}
      onClose={onClose}
      onSubmit={async () => {
        const params = { path: { correction_id: correction.id }, header: once() };
        await ask(api.POST('/v1/platform/corrections/{correction_id}/reject', { params, body: { reason } }));
        await onDone();
      }}
    >
      <Input
        label={platform.why}
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </FormDialog>
  );
}

interface Proven {
  organizations: number;
  journals: number;
  intervals: number;
  difference?: string;
}

// bound: parts of a proof that are asked for at a click
const MOST_PARTS = 2_000;

async function prove(month: string): Promise<Proven> {
  const proven: Proven = { organizations: 0, journals: 0, intervals: 0 };
  let after: string | undefined;
  for (let part = 0; part < MOST_PARTS; part += 1) {
    const answer = await ask(api.GET('/v1/platform/proof', { params: { query: { month, after } } }));
    proven.organizations += answer.organizations;
    proven.journals += answer.journals;
    proven.intervals += answer.intervals;
    if (answer.difference) return { ...proven, difference: answer.difference.what };
    after = answer.next_after ?? undefined;
    if (!after) break;
  }
  return proven;
}

function Proof() {
  const [month, setMonth] = useState(() => new Date(now()).toISOString().slice(0, 7));
  const [proven, setProven] = useState<Proven>();
  const { busy, error, act } = useAct();
  return (
    <Card title={text.proof} lead={text.proofLead} actions={<RunbookLink name="ledger-proof-failed" />}>
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          setProven(undefined);
          void act(async () => setProven(await prove(month)));
        }}
      >
        <Input
          label={text.month}
          type="month"
          required
          value={month}
          onChange={(event) => setMonth(event.target.value)}
          className="w-44"
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
      <div role="status" className="mt-4">
        {proven && (
          <p className={proven.difference ? 'text-bad' : 'text-ok'}>
            {proven.difference ? `${text.differs}: ${proven.difference}` : text.proves}{' '}
            <span className="text-faint">
              {text.checked(proven.organizations, proven.journals, proven.intervals)}
            </span>
          </p>
        )}
      </div>
    </Card>
  );
}
