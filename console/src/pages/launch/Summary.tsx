import { useQuery } from '@tanstack/react-query';
import { pricesQuery, type Sku } from '@/api/compute';
import { balanceQuery, policyQuery } from '@/api/money';
import { priceAt } from '@/api/prices';
import { money } from '@/format/money';
import { now } from '@/session/clock';
import { launch as text } from '@/strings';
import { Command } from '@/ui/Values';
import { type Draft, estimate, toCommand } from './spec';

interface Props {
  org: string;
  sku: Sku | undefined;
  draft: Draft;
  /** The name of the project. */
  project: string;
  currency: string;
}

/** What it will hold and cost, before anything happens. */
export function Summary({ org, sku, draft, project, currency }: Props) {
  const prices = useQuery({ ...pricesQuery(sku?.id ?? ''), enabled: sku !== undefined });
  const balance = useQuery(balanceQuery(org));
  const required = useQuery(policyQuery(org, 'billing.required'));
  const holdMinutes = useQuery(policyQuery(org, 'billing.hold_minutes'));
  const wallet = balance.data?.items.find((it) => it.currency === currency);
  const price = prices.data && priceAt(prices.data, currency, now());
  const costs = price && estimate(draft, price.price_micros, Number(holdMinutes.data?.value ?? 60));
  const isHeld = required.data?.value === 'true';
  return (
    <div className="space-y-4">
      {costs ? (
        <dl className="space-y-2.5">
          <Line name={text.perHour} value={money(costs.perHour, currency)} strong />
          <Line name={text.perDay} value={money(costs.perDay, currency)} />
          {costs.total !== undefined && <Line name={text.atMost} value={money(costs.total, currency)} />}
          <Line
            name={text.hold}
            value={isHeld ? money(costs.hold, currency) : '–'}
            note={isHeld ? text.holdHint : text.holdOff}
          />
          {wallet && <Line name={text.available} value={money(wallet.available_micros, currency)} />}
        </dl>
      ) : (
        <p className="text-faint">{text.noPrice}</p>
      )}
      {isHeld && costs && wallet && wallet.available_micros < costs.hold && (
        <p role="alert" className="rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
          {text.notEnough}
        </p>
      )}
      <div>
        <p className="mb-1.5 text-sm text-faint">{text.command}</p>
        <Command>{toCommand(draft, project)}</Command>
      </div>
    </div>
  );
}

interface LineProps {
  name: string;
  value: string;
  note?: string;
  strong?: boolean;
}

function Line({ name, value, note, strong }: LineProps) {
  return (
    <div
      className={
        note
          ? 'flex flex-wrap items-baseline justify-between gap-x-3 border-t pt-2.5'
          : 'flex items-baseline justify-between gap-3'
      }
    >
      <dt className="text-soft">{name}</dt>
      <dd className={strong ? 'numbers text-xl font-semibold' : 'numbers font-medium'}>{value}</dd>
      {note && <dd className="w-full text-sm text-faint">{note}</dd>}
    </div>
  );
}
