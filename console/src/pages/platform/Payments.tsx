import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { flat } from '@/api/lists';
import { allPaymentsQuery, paymentDriftQuery, paymentEventsQuery } from '@/api/platform';
import { parseMoney } from '@/format/money';
import { words } from '@/format/size';
import { common, operations, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer, Empty } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Page } from '@/ui/Page';
import { More, Table } from '@/ui/Table';
import { Id, Money, Mono, Time } from '@/ui/Values';
import { OrganizationName } from './OrganizationName';
import { Refunds } from './Refunds';
import { RunbookLink } from './RunbookLink';

const text = operations.payments;
type Payment = Schemas['Payment'];

export function Payments() {
  return (
    <Page title={text.title} lead={text.lead}>
      <Drift />
      <All />
      <ProviderEvents />
    </Page>
  );
}

function Drift() {
  const [isAll, setAll] = useState(false);
  const query = useInfiniteQuery(paymentDriftQuery(isAll));
  const amount = (micros: number, it: Schemas['PaymentDrift']) =>
    it.currency ? <Money micros={micros} currency={it.currency} /> : '–';
  return (
    <Card
      title={text.drift}
      lead={text.driftLead}
      flush
      actions={
        <>
          <label className="flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={isAll}
              onChange={(event) => setAll(event.target.checked)}
              className="size-4 accent-accent"
            />
            {text.alsoResolved}
          </label>
          <RunbookLink name="payments-differ" />
        </>
      }
    >
      <Answer query={{ ...query, data: flat(query.data) }}>
        {(items) =>
          items.length === 0 ? (
            <p className="p-4 text-ok">{text.noDrift}</p>
          ) : (
            <>
              <Table
                label={text.drift}
                items={items}
                keyOf={(it) => it.id}
                columns={[
                  { name: text.drift, cell: (it) => text.kinds[it.kind] ?? words(it.kind) },
                  { name: text.object, wide: true, cell: (it) => <Mono>{it.object_id}</Mono> },
                  { name: text.provider, end: true, cell: (it) => amount(it.provider_micros, it) },
                  { name: text.ledger, end: true, cell: (it) => amount(it.ledger_micros, it) },
                  {
                    name: text.difference,
                    end: true,
                    wide: true,
                    cell: (it) => (
                      <span className="font-medium">{amount(it.provider_micros - it.ledger_micros, it)}</span>
                    ),
                  },
                  { name: text.found, wide: true, cell: (it) => <Time at={it.found_at} /> },
                  { name: text.resolved, wide: true, cell: (it) => <Time at={it.resolved_at} /> },
                ]}
              />
              <More query={query} />
            </>
          )
        }
      </Answer>
    </Card>
  );
}

function All() {
  const query = useInfiniteQuery(allPaymentsQuery());
  const [refunding, setRefunding] = useState<Payment>();
  const [looking, setLooking] = useState<Payment>();
  const left = (it: Payment) => it.received_micros - it.refunded_micros - it.refunding_micros;
  return (
    <Card title={text.all} flush>
      <Answer query={{ ...query, data: flat(query.data) }}>
        {(items) =>
          items.length === 0 ? (
            <Empty icon="billing" title={text.emptyTitle} lead={text.emptyLead} command={text.command} />
          ) : (
            <>
              <Table
                label={text.all}
                items={items}
                keyOf={(it) => it.id}
                columns={[
                  {
                    name: operations.organization,
                    cell: (it) => <OrganizationName id={it.organization_id} />,
                  },
                  { name: common.state, cell: (it) => <State state={it.state} /> },
                  {
                    name: common.amount,
                    end: true,
                    cell: (it) => <Money micros={it.amount_micros} currency={it.currency} />,
                  },
                  {
                    name: text.received,
                    end: true,
                    wide: true,
                    cell: (it) => <Money micros={it.received_micros} currency={it.currency} />,
                  },
                  {
                    name: text.refunded,
                    end: true,
                    wide: true,
                    cell: (it) => <Money micros={it.refunded_micros} currency={it.currency} />,
                  },
                  { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
                  { name: common.id, wide: true, cell: (it) => <Id id={it.id} /> },
                  {
                    name: common.actions,
                    quiet: true,
                    end: true,
                    cell: (it) =>
                      it.received_micros > 0 && (
                        <span className="inline-flex flex-wrap gap-1">
                          <Button small kind="quiet" onClick={() => setLooking(it)}>
                            {text.refunds}
                          </Button>
                          {left(it) > 0 && (
                            <Button small onClick={() => setRefunding(it)}>
                              {text.refund}
                            </Button>
                          )}
                        </span>
                      ),
                  },
                ]}
              />
              <More query={query} />
            </>
          )
        }
      </Answer>
      {looking && <Refunds payment={looking.id} onClose={() => setLooking(undefined)} />}
      {refunding && <Refund payment={refunding} onClose={() => setRefunding(undefined)} />}
    </Card>
  );
}

function Refund({ payment, onClose }: { payment: Payment; onClose: () => void }) {
  const queries = useQueryClient();
  const [amount, setAmount] = useState('');
  const [reason, setReason] = useState('');
  const micros = amount ? parseMoney(amount) : undefined;
  return (
    <FormDialog
      title={text.refund}
      lead={text.refundLead}
      action={text.refund}
      canSubmit={amount === '' || (micros !== undefined && micros > 0)}
      onClose={onClose}
      onSubmit={async () => {
        await ask(
          api.POST('/v1/platform/payments/{payment_id}/refunds', {
            params: { path: { payment_id: payment.id }, header: once() },
            body: { reason, ...(micros ? { amount_micros: micros } : {}) },
          }),
        );
        await Promise.all(['payment', 'refund'].map((it) => queries.invalidateQueries({ queryKey: [it] })));
      }}
    >
      <Input
        label={`${common.amount} (${payment.currency})`}
        hint={text.refundHint}
        isOptional
        inputMode="decimal"
        value={amount}
        onChange={(event) => setAmount(event.target.value)}
      />
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

function ProviderEvents() {
  const query = useInfiniteQuery(paymentEventsQuery());
  return (
    <Card title={text.providerEvents} flush>
      <Answer query={{ ...query, data: flat(query.data) }}>
        {(items) =>
          items.length === 0 ? (
            <p className="p-4 text-faint">{text.noProviderEvents}</p>
          ) : (
            <>
              <Table
                label={text.providerEvents}
                items={items}
                keyOf={(it) => it.id}
                columns={[
                  { name: text.event, cell: (it) => <Mono>{it.kind}</Mono> },
                  { name: text.outcome, cell: (it) => <State state={it.outcome} /> },
                  { name: text.object, wide: true, cell: (it) => <Mono>{it.object_id ?? '–'}</Mono> },
                  { name: text.deliveries, end: true, wide: true, cell: (it) => it.deliveries },
                  { name: text.at, end: true, cell: (it) => <Time at={it.received_at} /> },
                ]}
              />
              <More query={query} />
            </>
          )
        }
      </Answer>
    </Card>
  );
}
