import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { paged } from '@/api/lists';
import { poolsQuery } from '@/api/platform';
import { fleet, watchFleet } from '@/live/fleet';
import { useStore } from '@/session/store';
import { common, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { Button, NewButton } from '@/ui/Button';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Time } from '@/ui/Values';

const text = platform.maintenance;
type Window = Schemas['MaintenanceWindow'];

const windowsQuery = () =>
  paged<Window>(['maintenance_window'], (cursor) =>
    ask(api.GET('/v1/platform/maintenance-windows', { params: { query: { limit: 50, cursor } } })),
  );

export function Maintenance() {
  const queries = useQueryClient();
  const query = useInfiniteQuery(windowsQuery());
  const pools = useQuery(poolsQuery());
  const { nodes } = useStore(fleet);
  useEffect(watchFleet, []);
  const [isPlanning, setPlanning] = useState(false);
  const [canceling, setCanceling] = useState<Window>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['maintenance_window'] });
  const place = (it: Window) =>
    pools.data?.find((pool) => pool.id === it.pool_id)?.name ??
    nodes.find((node) => node.id === it.node_id)?.name ??
    it.node_id ??
    it.pool_id;
  const button = <NewButton onClick={() => setPlanning(true)}>{text.plan}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <List
        query={query}
        empty={{
          icon: 'work',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          { name: text.place, cell: (it) => <span className="font-medium">{place(it)}</span> },
          { name: common.state, cell: (it) => <State state={it.state} /> },
          { name: text.from, cell: (it) => <Time at={it.starts_at} as="local" /> },
          { name: text.to, wide: true, cell: (it) => <Time at={it.ends_at} as="local" /> },
          { name: platform.why, wide: true, cell: (it) => it.reason },
        ]}
        rowActions={(it) =>
          (it.state === 'planned' || it.state === 'active') && (
            <Button small kind="quiet" onClick={() => setCanceling(it)}>
              {text.cancel}
            </Button>
          )
        }
      />
      {isPlanning && (
        <Plan
          pools={pools.data ?? []}
          nodes={nodes.filter((it) => it.state !== 'retired')}
          onClose={() => setPlanning(false)}
          onDone={refresh}
        />
      )}
      {canceling && <Cancel window={canceling} onClose={() => setCanceling(undefined)} onDone={refresh} />}
    </Page>
  );
}

interface DialogProps {
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

interface PlanProps extends DialogProps {
  pools: readonly Schemas['Pool'][];
  nodes: readonly Schemas['Node'][];
}

function Plan({ pools, nodes, onClose, onDone }: PlanProps) {
  const [place, setPlace] = useState('');
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [reason, setReason] = useState('');
  const isGood = place !== '' && from !== '' && to > from;
  return (
    <FormDialog
      title={text.plan}
      lead={text.planLead}
      action={text.plan}
      canSubmit={isGood}
      onClose={onClose}
      onSubmit={async () => {
        const body = {
          reason,
          starts_at: new Date(from).toISOString(),
          ends_at: new Date(to).toISOString(),
          ...(place.startsWith('pool-') ? { pool_id: place } : { node_id: place }),
        };
        await ask(api.POST('/v1/platform/maintenance-windows', { params: { header: once() }, body }));
        await onDone();
      }}
    >
      <Select label={text.place} required value={place} onChange={(event) => setPlace(event.target.value)}>
        <option value="" />
        <optgroup label={platform.pools.pools}>
          {pools.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </optgroup>
        <optgroup label={platform.fleet.nodes}>
          {nodes.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </optgroup>
      </Select>
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label={text.from}
          type="datetime-local"
          required
          value={from}
          onChange={(event) => setFrom(event.target.value)}
        />
        <Input
          label={text.to}
          type="datetime-local"
          required
          value={to}
          error={from && to && to <= from ? text.order : undefined}
          onChange={(event) => setTo(event.target.value)}
        />
      </div>
      <Input
        label={platform.why}
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </FormDialog>
  );
}

function Cancel({ window, onClose, onDone }: DialogProps & { window: Window }) {
  const [reason, setReason] = useState('');
  return (
    <FormDialog
      title={text.cancelTitle}
      lead={text.cancelLead}
      action={text.cancel}
      onClose={onClose}
      onSubmit={async () => {
        const params = { path: { maintenance_window_id: window.id }, header: once() };
        await ask(
          api.POST('/v1/platform/maintenance-windows/{maintenance_window_id}/cancel', {
            params,
            body: { reason },
          }),
        );
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
