import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { balanceQuery, journalsQuery, paymentsQuery } from '@/api/money';
import { problemOf } from '@/api/problem';
import { money, parseMoney } from '@/format/money';
import { useOpened } from '@/shell/opened';
import { useMay, useOrg } from '@/shell/organization';
import { billing as text, common } from '@/strings';
import { State } from '@/ui/Badge';
import { buttonLook, NewButton } from '@/ui/Button';
import { Card, Stat, Stats } from '@/ui/Card';
import { Answer, Empty } from '@/ui/Feedback';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Icon } from '@/ui/Icon';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Money, Time } from '@/ui/Values';
import { Checkout } from './billing/Checkout';
import { Proof } from './billing/Proof';
import { StatementTable } from './StatementTable';

export function Billing() {
  const org = useOrg();
  const may = useMay('pay');
  const balance = useQuery(balanceQuery(org));
  const paying = useOpened('top-up');
  const isOff = problemOf(useInfiniteQuery(paymentsQuery(org)).error)?.code === 'payments_off';
  const button = may && !isOff && <NewButton onClick={paying.open}>{text.topUp}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <Answer query={balance}>
        {(data) =>
          data.items.every(isUntouched) ? (
            <Card>
              <Empty
                icon="billing"
                title={text.noWallet}
                lead={text.noWalletLead}
                command={text.command}
                action={button}
              />
            </Card>
          ) : (
            <>
              {data.items.map((wallet) => (
                <Wallet key={wallet.currency} wallet={wallet} />
              ))}
            </>
          )
        }
      </Answer>
      {may && <Payments org={org} />}
      <Statement org={org} />
      <Proof key={org} org={org} />
      {isOff && <p className="text-soft">{text.off}</p>}
      {paying.isOpen && balance.data && (
        <TopUp org={org} currency={balance.data.items[0]?.currency ?? 'USD'} onClose={paying.close} />
      )}
    </Page>
  );
}

/** There is a wallet from the first day; until something is in it, it says little. */
function isUntouched(wallet: Schemas['Balance']): boolean {
  return wallet.posted_micros === 0 && wallet.accrued_micros === 0 && wallet.held_micros === 0;
}

function Wallet({ wallet }: { wallet: Schemas['Balance'] }) {
  const show = (micros: number) => money(micros, wallet.currency);
  return (
    <>
      {wallet.grace_ends_at && (
        <p role="alert" className="flex items-center gap-2 rounded-lg bg-warn-soft px-4 py-3 text-warn">
          <Icon name="warn" />
          <span>
            {text.grace} <Time at={wallet.grace_ends_at} />. {text.graceWay}
          </span>
        </p>
      )}
      <Stats>
        <Stat
          label={text.available}
          value={show(wallet.available_micros)}
          detail={<State state={wallet.state} />}
        />
        <Stat label={text.held} value={show(wallet.held_micros)} detail={text.heldLead} />
        <Stat
          label={text.posted}
          value={show(wallet.posted_micros)}
          detail={wallet.accrued_micros ? text.accrued(show(wallet.accrued_micros)) : undefined}
        />
        <Stat
          label={text.burn}
          value={show(wallet.burn_micros_per_hour)}
          detail={
            wallet.lasts_until && (
              <>
                {text.runsOut} <Time at={wallet.lasts_until} />
              </>
            )
          }
        />
      </Stats>
    </>
  );
}

/** Amounts that people mean are typed; the provider's page does the rest. */
function TopUp({ org, currency: first, onClose }: { org: string; currency: string; onClose: () => void }) {
  const queries = useQueryClient();
  const [amount, setAmount] = useState('50');
  const [currency, setCurrency] = useState(first);
  const [made, setMade] = useState<string>();
  const micros = parseMoney(amount);
  const isGood = micros !== undefined && micros > 0;
  if (made) return <Checkout org={org} payment={made} onClose={onClose} />;
  return (
    <FormDialog
      title={text.topUp}
      lead={text.topUpLead}
      action={text.pay}
      canSubmit={isGood}
      hasSequel
      onClose={onClose}
      onSubmit={async () => {
        const { id } = await ask(
          api.POST('/v1/organizations/{organization_id}/payments', {
            params: { path: { organization_id: org }, header: once() },
            body: { amount_micros: micros ?? 0, currency },
          }),
        );
        await queries.invalidateQueries({ queryKey: ['payment'] });
        setMade(id);
      }}
    >
      <div className="grid grid-cols-[1fr_8rem] gap-3">
        <Input
          label={text.amount}
          inputMode="decimal"
          required
          value={amount}
          error={isGood ? undefined : text.amountBad}
          onChange={(event) => setAmount(event.target.value)}
        />
        <Select
          label={common.currency}
          value={currency}
          onChange={(event) => setCurrency(event.target.value)}
        >
          {[...new Set([first, 'USD', 'EUR'])].map((it) => (
            <option key={it}>{it}</option>
          ))}
        </Select>
      </div>
    </FormDialog>
  );
}

function Payments({ org }: { org: string }) {
  const query = useInfiniteQuery(paymentsQuery(org));
  if (problemOf(query.error)?.code === 'payments_off') return null;
  return (
    <List
      title={text.payments}
      query={query}
      empty={{
        icon: 'billing',
        title: text.noPayments,
        lead: text.topUpLead,
        command: text.command,
      }}
      label={text.payments}
      keyOf={(it) => it.id}
      columns={[
        { name: common.created, cell: (it) => <Time at={it.created_at} as="local" /> },
        { name: common.state, cell: (it) => <State state={it.state} /> },
        {
          name: text.amount,
          end: true,
          cell: (it) => <Money micros={it.amount_micros} currency={it.currency} />,
        },
      ]}
      rowActions={(it) =>
        it.state === 'pending' &&
        it.checkout_url && (
          <a href={it.checkout_url} className={buttonLook('plain', true)} rel="noreferrer">
            {text.goOn}
          </a>
        )
      }
    />
  );
}

function Statement({ org }: { org: string }) {
  const query = useInfiniteQuery(journalsQuery(org));
  return (
    <List
      title={text.statement}
      lead={text.statementLead}
      query={query}
      empty={text.noJournals}
      rows={(items) => <StatementTable journals={items} />}
    />
  );
}
