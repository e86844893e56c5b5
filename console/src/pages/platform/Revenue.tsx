import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Schemas } from '@/api/client';
import { revenueQuery, utilizationQuery } from '@/api/platform';
import { csv, save } from '@/format/csv';
import { money } from '@/format/money';
import { gpuHours } from '@/format/size';
import { now } from '@/session/clock';
import { common, operations, usage } from '@/strings';
import { Button } from '@/ui/Button';
import { Card, Stat, Stats } from '@/ui/Card';
import { Chart } from '@/ui/Chart';
import { Answer, Empty } from '@/ui/Feedback';
import { Segments } from '@/ui/Form';
import { Icon } from '@/ui/Icon';
import { Page } from '@/ui/Page';
import { Table } from '@/ui/Table';
import { Money } from '@/ui/Values';
import { dailyTotals } from '../usage/daily';
import { bySku, currencies, hours, share } from './earned';

const text = operations.revenue;
type RevenueLine = Schemas['RevenueLine'];
type UtilizationLine = Schemas['UtilizationLine'];

interface Filters {
  days?: string;
  currency?: string;
}

/** The start of the day, UTC, so that the first day is whole. */
function since(days: number): string {
  const at = new Date(now() - (days - 1) * 86_400_000);
  return `${at.toISOString().slice(0, 10)}T00:00:00Z`;
}

export function RevenuePage() {
  const navigate = useNavigate();
  const filters = useSearch({ strict: false }) as Filters;
  const days = Number(filters.days ?? 30);
  const from = since(days);
  const revenue = useQuery(revenueQuery(from));
  const utilization = useQuery(utilizationQuery(from));
  const set = (change: Filters) =>
    void navigate({
      to: '/platform/revenue',
      search: { ...filters, ...change } as never,
      replace: true,
    });
  const found = currencies(revenue.data?.lines ?? []);
  const currency = filters.currency ?? found[0] ?? 'USD';
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <>
          {found.length > 1 && (
            <Segments
              label={text.currencyOf}
              value={currency}
              options={found.map((it) => [it, it] as const)}
              onChange={(next) => set({ currency: next })}
            />
          )}
          <Segments
            label={usage.span}
            value={String(days)}
            options={Object.entries(usage.spans)}
            onChange={(next) => set({ days: next })}
          />
        </>
      }
    >
      <Sums lines={revenue.data?.lines} sold={utilization.data?.lines} currency={currency} />
      <Answer query={revenue}>
        {(data) => <Earned lines={data.lines} from={from} days={days} currency={currency} />}
      </Answer>
      <Answer query={utilization}>{(data) => <Hours lines={data.lines} from={from} days={days} />}</Answer>
    </Page>
  );
}

interface SumsProps {
  lines: readonly RevenueLine[] | undefined;
  sold: readonly UtilizationLine[] | undefined;
  currency: string;
}

function Sums({ lines, sold, currency }: SumsProps) {
  const earned = (lines ?? []).filter((it) => it.currency === currency);
  const total = earned.reduce((sum, it) => sum + it.amount_micros, 0);
  const used = (sold ?? []).reduce((sum, it) => sum + it.sold_gpu_seconds, 0);
  const there = (sold ?? []).reduce((sum, it) => sum + it.there_gpu_seconds, 0);
  return (
    <Stats>
      <Stat label={text.earned} value={lines ? money(total, currency) : '…'} />
      <Stat label={text.sold} value={sold ? gpuHours(used) : '…'} />
      <Stat label={text.available} value={sold ? gpuHours(there) : '…'} />
      <Stat label={text.utilization} value={sold ? share(used, there) : '…'} />
    </Stats>
  );
}

interface EarnedProps {
  lines: readonly RevenueLine[];
  from: string;
  days: number;
  currency: string;
}

function Earned({ lines, from, days, currency }: EarnedProps) {
  const series = useMemo(
    () =>
      dailyTotals(
        lines.map((it) => ({ ...it, key: it.day })),
        from,
        days,
        currency,
      ),
    [lines, from, days, currency],
  );
  const skus = useMemo(() => bySku(lines, currency), [lines, currency]);
  const total = skus.reduce((sum, it) => sum + it.amount_micros, 0);
  const download = () => {
    const head = ['day', 'sku', 'amount', 'currency'];
    const rows = lines.map((it) => [it.day, it.sku, it.amount_micros / 1e6, it.currency]);
    save(`revenue-${from.slice(0, 10)}.csv`, 'text/csv', csv([head, ...rows]));
  };
  if (lines.length === 0) {
    return (
      <Card title={text.perDay}>
        <Empty icon="usage" title={text.emptyTitle} lead={text.emptyLead} command={text.command} />
      </Card>
    );
  }
  return (
    <>
      <Card
        title={text.perDay}
        actions={
          <Button small onClick={download}>
            <Icon name="download" size={15} />
            {common.download}
          </Button>
        }
      >
        <Chart
          label={text.perDay}
          kind="bars"
          isDaily
          height={220}
          times={series.times}
          span={series.span}
          series={[{ name: text.perDay, values: series.amounts }]}
          format={(value) => money(Math.round(value * 1e6), currency).replace(` ${currency}`, '')}
        />
      </Card>
      <Card title={text.bySku} flush>
        <Table
          label={text.bySku}
          items={skus}
          keyOf={(it) => it.sku}
          columns={[
            { name: text.sku, cell: (it) => <span className="font-medium">{it.sku}</span> },
            { name: text.share, end: true, wide: true, cell: (it) => share(it.amount_micros, total) },
            {
              name: common.amount,
              end: true,
              cell: (it) => <Money micros={it.amount_micros} currency={currency} />,
            },
          ]}
        />
      </Card>
    </>
  );
}

function Hours({ lines, from, days }: { lines: readonly UtilizationLine[]; from: string; days: number }) {
  const series = useMemo(() => hours(lines, from, days), [lines, from, days]);
  return (
    <Card title={text.hours}>
      <Chart
        label={text.hours}
        isDaily
        height={220}
        times={series.times}
        span={series.span}
        series={[
          { name: text.availableSeries, values: series.there },
          { name: text.soldSeries, values: series.sold },
        ]}
        format={(value) => gpuHours(value * 3600)}
      />
    </Card>
  );
}
