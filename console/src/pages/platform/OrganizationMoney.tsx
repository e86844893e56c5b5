/** What staff set for one organization and see of it: quotas, its billing profile, what it used. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, type Schemas } from '@/api/client';
import { skusQuery } from '@/api/compute';
import { anyBillingProfileQuery, anyQuotasQuery, anyUsageQuery } from '@/api/platform';
import { save } from '@/format/csv';
import { focus } from '@/format/focus';
import { gpuHours } from '@/format/size';
import { now } from '@/session/clock';
import { common, limits, operations, usage as used } from '@/strings';
import { Button } from '@/ui/Button';
import { Confirm } from '@/ui/Dialog';
import { Input, Segments } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Icon } from '@/ui/Icon';
import { List } from '@/ui/List';
import { Meter } from '@/ui/Meter';
import { Money } from '@/ui/Values';
import { ProfileCard } from './ProfileForm';

interface Props {
  organization: string;
  /** As commands call it. */
  name: string;
}

type Sku = Pick<Schemas['Sku'], 'id' | 'name'>;

export function Quotas({ organization, name }: Props) {
  const text = operations.quotas;
  const queries = useQueryClient();
  const skus = useQuery(skusQuery());
  const quotas = useQuery(anyQuotasQuery(organization));
  const [setting, setSetting] = useState<Sku>();
  const [unsetting, setUnsetting] = useState<Sku>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['quota'] });
  const of = (sku: Sku) => quotas.data?.find((it) => it.sku_id === sku.id);
  const standing = (sku: Sku) => {
    const quota = of(sku);
    if (quota)
      return <Meter value={quota.used} most={quota.gpus} label={limits.of(quota.used, quota.gpus)} />;
    return quotas.data ? text.unset : '…';
  };
  return (
    <>
      <List
        title={limits.quotas}
        lead={text.lead}
        query={skus}
        error={quotas.error ?? undefined}
        empty={{ icon: 'limits', title: text.emptyTitle, lead: text.emptyLead, command: text.command(name) }}
        label={limits.quotas}
        keyOf={(it) => it.id}
        columns={[
          { name: limits.sku, cell: (it) => <span className="font-medium">{it.name}</span> },
          { name: limits.used, cell: (it) => standing(it) },
        ]}
        rowActions={(it) => (
          <span className="inline-flex gap-2">
            <Button small onClick={() => setSetting(it)}>
              {text.set}
            </Button>
            {of(it) && (
              <Button small kind="quiet" onClick={() => setUnsetting(it)}>
                {common.remove}
              </Button>
            )}
          </span>
        )}
      />
      {setting && (
        <SetQuota
          organization={organization}
          sku={setting}
          before={of(setting)?.gpus}
          onClose={() => setSetting(undefined)}
          onDone={refresh}
        />
      )}
      {unsetting && (
        <Confirm
          title={text.removeTitle}
          lead={text.removeLead}
          name={unsetting.name}
          action={common.remove}
          onClose={() => setUnsetting(undefined)}
          onConfirm={async () => {
            const path = { organization_id: organization, sku_id: unsetting.id };
            await ask(
              api.DELETE('/v1/platform/organizations/{organization_id}/quotas/{sku_id}', {
                params: { path },
              }),
            );
            await refresh();
          }}
        />
      )}
    </>
  );
}

interface SetProps {
  organization: string;
  sku: Sku;
  before: number | undefined;
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

function SetQuota({ organization, sku, before, onClose, onDone }: SetProps) {
  const text = operations.quotas;
  const [gpus, setGpus] = useState(before === undefined ? '' : String(before));
  return (
    <FormDialog
      title={`${text.set}: ${sku.name}`}
      lead={text.setLead}
      action={text.set}
      onClose={onClose}
      onSubmit={async () => {
        const path = { organization_id: organization, sku_id: sku.id };
        const body = { gpus: Number(gpus) };
        await ask(
          api.PUT('/v1/platform/organizations/{organization_id}/quotas/{sku_id}', {
            params: { path },
            body,
          }),
        );
        await onDone();
      }}
    >
      <Input
        label={text.gpus}
        hint={text.gpusHint}
        type="number"
        min={0}
        max={1_000_000}
        required
        value={gpus}
        onChange={(event) => setGpus(event.target.value)}
      />
    </FormDialog>
  );
}

export function AnyProfile({ organization, name }: Props) {
  const text = operations.profiles;
  return (
    <ProfileCard
      title={text.any}
      lead={text.anyLead}
      none={text.anyNone}
      command={text.anyCommand(name)}
      query={useQuery(anyBillingProfileQuery(organization))}
      save={(body) =>
        ask(
          api.PUT('/v1/platform/organizations/{organization_id}/billing-profile', {
            params: { path: { organization_id: organization } },
            body,
          }),
        )
      }
    />
  );
}

const CUTS = ['project', 'sku', 'day'] as const;
const DAYS = 30;

/** The start of the day, UTC, so that the answer can be remembered for a day. */
function monthAgo(): string {
  return `${new Date(now() - (DAYS - 1) * 86_400_000).toISOString().slice(0, 10)}T00:00:00Z`;
}

export function AnyUsage({ organization, name }: Props) {
  const text = operations.anyUsage;
  const [by, setBy] = useState<(typeof CUTS)[number]>('project');
  const [isExporting, setExporting] = useState(false);
  const query = useQuery(anyUsageQuery(organization, by, monthAgo()));
  return (
    <>
      <List
        title={used.title}
        lead={text.lead}
        actions={
          <>
            <Segments
              label={used.by}
              value={by}
              options={CUTS.map((it) => [it, used.bys[it]] as const)}
              onChange={setBy}
            />
            <Button small onClick={() => setExporting(true)}>
              <Icon name="download" size={15} />
              {text.export}
            </Button>
          </>
        }
        query={{ ...query, data: query.data?.lines }}
        empty={{
          icon: 'usage',
          title: used.emptyTitle,
          lead: used.emptyLead,
          command: text.command(name),
        }}
        label={used.title}
        keyOf={(it) => `${it.key} ${it.currency}`}
        columns={[
          { name: used.key[by], cell: (it) => <span className="font-medium">{it.key}</span> },
          { name: used.gpuHours, end: true, cell: (it) => gpuHours(it.gpu_seconds) },
          {
            name: used.cost,
            end: true,
            cell: (it) => <Money micros={it.amount_micros} currency={it.currency} />,
          },
        ]}
      />
      {isExporting && <Export organization={organization} name={name} onClose={() => setExporting(false)} />}
    </>
  );
}

// bound: parts of an export that are asked for at a click
const MOST_PARTS = 2_000;

/** All of a month, or nothing: half of a table looks like a whole one. */
async function charges(organization: string, month: string): Promise<Schemas['UsageExport'][]> {
  const parts: Schemas['UsageExport'][] = [];
  let after: string | undefined;
  do {
    const part = await ask(
      api.GET('/v1/platform/organizations/{organization_id}/usage/charges', {
        params: { path: { organization_id: organization }, query: { month, after } },
      }),
    );
    parts.push(part);
    after = part.next_after ?? undefined;
  } while (after && parts.length < MOST_PARTS);
  if (after) throw new Error('the month has too many parts');
  return parts;
}

function Export({ organization, name, onClose }: Props & { onClose: () => void }) {
  const text = operations.anyUsage;
  const [month, setMonth] = useState(() => new Date(now()).toISOString().slice(0, 7));
  return (
    <FormDialog
      title={text.exportTitle}
      lead={text.exportLead}
      action={common.download}
      onClose={onClose}
      onSubmit={async () => {
        const table = focus(await charges(organization, month));
        save(`usage-${name.replaceAll(' ', '-')}-${month}.csv`, 'text/csv', table);
      }}
    >
      <Input
        label={text.month}
        hint={text.monthHint}
        type="month"
        required
        value={month}
        onChange={(event) => setMonth(event.target.value)}
      />
    </FormDialog>
  );
}
