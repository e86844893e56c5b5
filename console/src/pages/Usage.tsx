import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Schemas } from '@/api/client';
import { projectsQuery, skusQuery } from '@/api/compute';
import { type UsageBy, usageQuery } from '@/api/money';
import { csv, save } from '@/format/csv';
import { money } from '@/format/money';
import { gpuHours } from '@/format/size';
import { isRate, quantityOf } from '@/format/units';
import { now } from '@/session/clock';
import { useOrg } from '@/shell/organization';
import { allocations, common, usage as text } from '@/strings';
import { Button } from '@/ui/Button';
import { Card, Stat, Stats } from '@/ui/Card';
import { Chart } from '@/ui/Chart';
import { Answer } from '@/ui/Feedback';
import { Segments } from '@/ui/Form';
import { Icon } from '@/ui/Icon';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Money } from '@/ui/Values';
import { Charges } from './usage/Charges';
import { dailyTotals } from './usage/daily';

type Line = Schemas['UsageLine'];

interface Filters {
  by?: UsageBy;
  days?: string;
  tag?: string;
  project?: string;
}

/** The start of the day, UTC, so that the answer can be remembered for a day. */
function since(days: number): string {
  const at = new Date(now() - (days - 1) * 86_400_000);
  return `${at.toISOString().slice(0, 10)}T00:00:00Z`;
}

export function UsagePage() {
  const org = useOrg();
  const navigate = useNavigate();
  const filters = useSearch({ strict: false }) as Filters;
  const by = filters.by ?? 'project';
  const days = Number(filters.days ?? 30);
  const from = since(days);
  const within = filters.project ? { project_id: filters.project } : {};
  const daily = useQuery(usageQuery(org, { by: 'day', since: from, ...within }));
  const asked = { by, since: from, ...within, ...(by === 'tag' ? { tag: filters.tag || 'team' } : {}) };
  const lines = useQuery(usageQuery(org, asked));
  const projects = useQuery(projectsQuery(org));
  const skus = useQuery(skusQuery());
  const set = (change: Filters) =>
    void navigate({
      to: '/o/$org/usage',
      params: { org },
      search: Object.fromEntries(
        Object.entries({ ...filters, ...change }).filter(([, value]) => value),
      ) as never,
      replace: true,
    });
  const nameOf = (key: string) =>
    (by === 'project' && projects.data?.find((it) => it.id === key)?.name) ||
    (by === 'sku' && skus.data?.find((it) => it.id === key)?.name) ||
    key ||
    text.untagged;
  // Of the largest for days, of all for what adds up to it.
  const shareOf = (line: Line) => {
    const alike = (lines.data?.lines ?? []).filter((it) => it.currency === line.currency);
    const amounts = alike.map((it) => it.amount_micros);
    return by === 'day' ? Math.max(...amounts) : amounts.reduce((sum, it) => sum + it, 0);
  };
  const download = (items: readonly Line[]) => {
    const cost = (it: Line) => [it.amount_micros / 1e6, it.currency];
    const head = by === 'meter' ? ['quantity', 'unit'] : ['gpu_seconds'];
    const used = (it: Line) => (by === 'meter' ? [it.quantity ?? 0, it.unit ?? ''] : [it.gpu_seconds]);
    const rows = items.map((it) => [nameOf(it.key), ...used(it), ...cost(it)]);
    save(
      `usage-by-${by}-${from.slice(0, 10)}.csv`,
      'text/csv',
      csv([[text.key[by], ...head, 'amount', 'currency'], ...rows]),
    );
  };
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <>
          <select
            aria-label={common.project}
            className="field h-8! w-auto!"
            value={filters.project ?? ''}
            onChange={(event) => set({ project: event.target.value })}
          >
            <option value="">{allocations.allProjects}</option>
            {(projects.data ?? []).map((it) => (
              <option key={it.id} value={it.id}>
                {it.name}
              </option>
            ))}
          </select>
          <Segments
            label={text.span}
            value={String(days)}
            options={Object.entries(text.spans)}
            onChange={(next) => set({ days: next })}
          />
        </>
      }
    >
      <Answer query={daily}>{(data) => <Totals lines={data.lines} from={from} days={days} />}</Answer>
      <List
        title={
          <Segments
            label={text.by}
            value={by}
            options={Object.entries(text.bys) as [UsageBy, string][]}
            onChange={(next) => set({ by: next })}
          />
        }
        actions={
          <>
            {by === 'tag' && (
              <input
                aria-label={text.tag}
                className="field h-8! w-36!"
                defaultValue={filters.tag ?? 'team'}
                onBlur={(event) => set({ tag: event.target.value.trim() })}
                onKeyDown={(event) => event.key === 'Enter' && set({ tag: event.currentTarget.value.trim() })}
              />
            )}
            <Button
              small
              disabled={!lines.data?.lines.length}
              onClick={() => download(lines.data?.lines ?? [])}
            >
              <Icon name="download" size={15} />
              {common.download}
            </Button>
          </>
        }

        query={{ ...lines, data: lines.data?.lines }}
        empty={{ icon: 'usage', title: text.emptyTitle, lead: text.emptyLead, command: text.command }}
        label={text.title}
        keyOf={(it) => `${it.key} ${it.currency}`}
        columns={[
          { name: text.key[by], cell: (it) => <span className="font-medium">{nameOf(it.key)}</span> },
          {
            name: text.share,
            wide: true,
            cell: (it) => <Share value={it.amount_micros} of={shareOf(it)} />,
          },
          by === 'meter'
            ? { name: text.quantity, end: true, cell: metered }
            : { name: text.gpuHours, end: true, cell: (it) => gpuHours(it.gpu_seconds) },
          {
            name: text.cost,
            end: true,
            cell: (it) => <Money micros={it.amount_micros} currency={it.currency} />,
          },
        ]}
      />
      <Charges key={org} org={org} />
    </Page>
  );
}

/** What a meter measured or counted, in its unit. */
function metered({ unit, quantity }: Line): string {
  if (!unit || quantity == null) return '–';
  return quantityOf({ unit, consumed: isRate(unit) ? quantity * 1e6 : quantity });
}

function Totals({ lines, from, days }: { lines: readonly Line[]; from: string; days: number }) {
  const currency = lines[0]?.currency ?? 'USD';
  const series = useMemo(() => dailyTotals(lines, from, days, currency), [lines, from, days, currency]);
  const total = lines.filter((it) => it.currency === currency).reduce((sum, it) => sum + it.amount_micros, 0);
  const seconds = lines.reduce((sum, it) => sum + it.gpu_seconds, 0);
  return (
    <>
      <Stats>
        <Stat label={text.total} value={money(total, currency)} />
        <Stat label={text.gpuHours} value={gpuHours(seconds)} />
        <Stat label={text.average} value={money(Math.round(total / days), currency)} />
        <Stat
          label={text.perGpuHour}
          value={seconds > 0 ? money(Math.round((total * 3600) / seconds), currency) : '–'}
        />
      </Stats>
      {lines.length > 0 && (
        <Card title={`${text.perDay} (${currency})`} lead={text.daysAreUtc}>
          <Chart
            label={`${text.perDay} (${currency})`}
            kind="bars"
            isDaily
            height={220}
            times={series.times}
            span={series.span}
            series={[{ name: text.cost, values: series.amounts }]}
            format={(value) => money(Math.round(value * 1e6), currency).replace(` ${currency}`, '')}
          />
        </Card>
      )}
    </>
  );
}

/** How much of the whole a line is, as a bar. */
function Share({ value, of }: { value: number; of: number }) {
  const percent = of > 0 ? (100 * value) / of : 0;
  return (
    <span className="flex min-w-32 items-center gap-2.5">
      <span aria-hidden className="h-2 grow overflow-hidden rounded-full bg-sunken">
        <span className="block h-full rounded-full bg-accent" style={{ width: `${percent}%` }} />
      </span>
      <span className="numbers w-10 text-right text-sm text-soft">{Math.round(percent)}%</span>
    </span>
  );
}
