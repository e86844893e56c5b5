import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { flat } from '@/api/lists';
import { allocationsOfQuery, allOrganizationsQuery, anyBalanceQuery, anyJournalsQuery } from '@/api/platform';
import { money, parseMoney } from '@/format/money';
import { billing, common, operations, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Stat, Stats } from '@/ui/Card';
import { Answer } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Id, Time } from '@/ui/Values';
import { StatementTable } from '../StatementTable';
import { ForceRelease, shortName } from './ForceRelease';
import { AnyProfile, AnyUsage, Quotas } from './OrganizationMoney';
import { Reverse } from './Reverse';
import { Suspend } from './Suspend';

const text = platform.organizations;
/** Nothing is left to take back. */
const ENDED: readonly string[] = ['released', 'failed'];

type Asking = 'credit' | 'adjust' | 'suspend' | 'resume';

export function OrganizationPage() {
  const { organization = '' } = useParams({ strict: false }) as { organization?: string };
  const known = useInfiniteQuery(allOrganizationsQuery());
  const shown = flat(known.data)?.find((it) => it.id === organization);
  const name = shown?.name ?? organization;
  const balance = useQuery(anyBalanceQuery(organization));
  const [asking, setAsking] = useState<Asking>();
  const [note, setNote] = useState('');
  return (
    <Page
      title={name}
      above={
        <Link to="/platform/organizations" className="hover:underline">
          {text.title}
        </Link>
      }
      lead={
        <span className="inline-flex flex-wrap items-center gap-2">
          {shown && <State state={shown.state} />} <Id id={organization} />
        </span>
      }
      actions={
        <>
          {shown?.state === 'suspended' ? (
            <Button onClick={() => setAsking('resume')}>{text.resume}</Button>
          ) : (
            <Button kind="warn" onClick={() => setAsking('suspend')}>
              {text.suspend}
            </Button>
          )}
          <Button onClick={() => setAsking('adjust')}>{text.adjust}</Button>
          <Button kind="primary" onClick={() => setAsking('credit')}>
            {text.credit}
          </Button>
        </>
      }
    >
      {note && (
        <p role="status" className="rounded-lg bg-busy-soft px-4 py-3 text-busy">
          {note}
        </p>
      )}
      <Answer query={balance}>
        {(data) =>
          data.items.length === 0 ? (
            <p className="text-faint">{text.noWallet}</p>
          ) : (
            <>
              {data.items.map((wallet) => (
                <Stats key={wallet.currency}>
                  <Stat
                    label={text.balance}
                    value={money(wallet.available_micros, wallet.currency)}
                    detail={<State state={wallet.state} />}
                  />
                  <Stat label={text.held} value={money(wallet.held_micros, wallet.currency)} />
                  <Stat label={text.burn} value={money(wallet.burn_micros_per_hour, wallet.currency)} />
                  <Stat label={billing.posted} value={money(wallet.posted_micros, wallet.currency)} />
                </Stats>
              ))}
            </>
          )
        }
      </Answer>
      <Holdings organization={organization} />
      {/* What is typed about one organization never shows at another. */}
      <Quotas key={`quotas ${organization}`} organization={organization} name={name} />
      <AnyUsage key={`usage ${organization}`} organization={organization} name={name} />
      <Statement organization={organization} onNote={setNote} />
      <AnyProfile key={`profile ${organization}`} organization={organization} name={name} />
      {(asking === 'credit' || asking === 'adjust') && (
        <Correct
          organization={organization}
          kind={asking}
          currency={balance.data?.items[0]?.currency ?? 'USD'}
          onClose={() => setAsking(undefined)}
          onNote={setNote}
        />
      )}
      {asking === 'suspend' && (
        <Suspend organization={organization} name={name} onClose={() => setAsking(undefined)} />
      )}
      {asking === 'resume' && <Resume organization={organization} onClose={() => setAsking(undefined)} />}
    </Page>
  );
}

function Holdings({ organization }: { organization: string }) {
  const query = useInfiniteQuery(allocationsOfQuery(organization));
  const [releasing, setReleasing] = useState<Schemas['Allocation']>();
  return (
    <>
      <List
        title={text.allocations}
        query={query}
        empty={text.noAllocations}
        label={text.allocations}
        keyOf={(it) => it.id}
        columns={[
          {
            name: common.name,
            cell: (it) => <span className="font-medium">{shortName(it)}</span>,
          },
          { name: common.state, cell: (it) => <State state={it.state} /> },
          { name: 'SKU', wide: true, cell: (it) => it.sku },
          { name: 'GPUs', end: true, cell: (it) => it.gpus * it.nodes },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
        rowActions={(it) =>
          !ENDED.includes(it.state) && (
            <Button small kind="warn" onClick={() => setReleasing(it)}>
              {operations.force.release}
            </Button>
          )
        }
      />
      {releasing && <ForceRelease allocation={releasing} onClose={() => setReleasing(undefined)} />}
    </>
  );
}

function Statement({ organization, onNote }: { organization: string; onNote: (note: string) => void }) {
  const query = useInfiniteQuery(anyJournalsQuery(organization));
  const [reversing, setReversing] = useState<Schemas['Journal']>();
  const takenBack = new Set(flat(query.data)?.map((it) => it.reverses));
  return (
    <>
      <List
        title={text.journals}
        query={query}
        empty={billing.noJournals}
        rows={(items) => (
          <StatementTable
            journals={items}
            rowActions={(it) =>
              !takenBack.has(it.number) && (
                <Button small kind="quiet" onClick={() => setReversing(it)}>
                  {text.reverse}
                </Button>
              )
            }
          />
        )}
      />
      {reversing && (
        <Reverse
          organization={organization}
          journal={reversing}
          onClose={() => setReversing(undefined)}
          onNote={onNote}
        />
      )}
    </>
  );
}

interface CorrectProps {
  organization: string;
  kind: 'credit' | 'adjust';
  currency: string;
  onClose: () => void;
  onNote: (note: string) => void;
}

function Correct({ organization, kind, currency: first, onClose, onNote }: CorrectProps) {
  const queries = useQueryClient();
  const [amount, setAmount] = useState('100');
  const [currency, setCurrency] = useState(first);
  const [reason, setReason] = useState('');
  const micros = parseMoney(amount);
  const isGood = micros !== undefined && micros !== 0 && (kind === 'adjust' || micros > 0);
  return (
    <FormDialog
      title={text[kind]}
      lead={kind === 'adjust' ? text.adjustLead : undefined}
      action={text[kind]}
      canSubmit={isGood}
      onClose={onClose}
      onSubmit={async () => {
        const params = { path: { organization_id: organization }, header: once() };
        const body = { amount_micros: micros ?? 0, currency, reason };
        const made =
          kind === 'credit'
            ? await ask(api.POST('/v1/platform/organizations/{organization_id}/credits', { params, body }))
            : await ask(
                api.POST('/v1/platform/organizations/{organization_id}/adjustments', { params, body }),
              );
        onNote(made.state === 'proposed' ? text.proposed : '');
        await Promise.all(
          ['balance', 'journal'].map((noun) => queries.invalidateQueries({ queryKey: [noun] })),
        );
      }}
    >
      <div className="grid gap-4 sm:grid-cols-[1fr_8rem]">
        <Input
          label={text.amount}
          hint={kind === 'adjust' ? text.amountHint : undefined}
          inputMode="decimal"
          required
          value={amount}
          error={isGood ? undefined : text.amountBad}
          onChange={(event) => setAmount(event.target.value)}
        />
        <Input
          label={common.currency}
          required
          maxLength={3}
          value={currency}
          onChange={(event) => setCurrency(event.target.value.toUpperCase())}
        />
      </div>
      <Input
        label={platform.why}
        hint={platform.whyHint}
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </FormDialog>
  );
}

function Resume({ organization, onClose }: { organization: string; onClose: () => void }) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  return (
    <FormDialog
      title={text.resume}
      lead={text.resumeLead}
      action={text.resume}
      onClose={onClose}
      onSubmit={async () => {
        const params = { path: { organization_id: organization }, header: once() };
        const body = { reason };
        await ask(api.POST('/v1/platform/organizations/{organization_id}/resume', { params, body }));
        await queries.invalidateQueries({ queryKey: ['organization'] });
      }}
    >
      <Input
        label={platform.why}
        hint={platform.whyHint}
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </FormDialog>
  );
}
