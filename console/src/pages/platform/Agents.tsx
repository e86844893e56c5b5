import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { agentsQuery, poolsQuery } from '@/api/platform';
import { bytes, count } from '@/format/size';
import { fleet, watchFleet } from '@/live/fleet';
import { useStore } from '@/session/store';
import { common, operations, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer } from '@/ui/Feedback';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Page } from '@/ui/Page';
import { Table } from '@/ui/Table';
import { Mono } from '@/ui/Values';
import { byPool, type PoolAgents } from './byPool';

const text = operations.agents;
// bound: nodes of the list; the pools count all
const MOST_ROWS = 100;

export function Agents() {
  const agents = useQuery(agentsQuery());
  const pools = useQuery(poolsQuery());
  const { nodes } = useStore(fleet);
  useEffect(watchFleet, []);
  const [asking, setAsking] = useState<{ pool: PoolAgents; isStop: boolean }>();
  const here = useMemo(() => nodes.filter((it) => it.state !== 'retired'), [nodes]);
  const running = useMemo(() => byPool(here), [here]);
  const told = here.filter((it) => it.agent_update).slice(0, MOST_ROWS);
  const poolName = (id: string) => pools.data?.find((it) => it.id === id)?.name ?? id.slice(-6);
  return (
    <Page title={text.title} lead={text.lead}>
      <Card title={text.pools} flush>
        <Table
          label={text.pools}
          items={running}
          keyOf={(it) => it.pool}
          columns={[
            {
              name: platform.fleet.pool,
              cell: (it) => <span className="font-medium">{poolName(it.pool)}</span>,
            },
            {
              name: text.running,
              cell: (it) =>
                it.versions.map(([version, nodes]) => (
                  <span key={version} className="mr-3 whitespace-nowrap">
                    {version} <span className="text-faint">× {count(nodes)}</span>
                  </span>
                )),
            },
            { name: text.updating, end: true, wide: true, cell: (it) => count(it.updating) },
            { name: text.failing, end: true, wide: true, cell: (it) => count(it.failing) },
            {
              name: common.actions,
              quiet: true,
              end: true,
              cell: (it) =>
                it.updating > 0 ? (
                  <Button small onClick={() => setAsking({ pool: it, isStop: true })}>
                    {text.stop}
                  </Button>
                ) : (
                  <Button
                    small
                    disabled={!agents.data?.length}
                    onClick={() => setAsking({ pool: it, isStop: false })}
                  >
                    {text.update}
                  </Button>
                ),
            },
          ]}
        />
      </Card>
      <Card title={text.nodes} flush>
        {told.length === 0 ? (
          <p className="p-4 text-faint">{text.noNodes}</p>
        ) : (
          <Table
            label={text.nodes}
            items={told}
            keyOf={(it) => it.id}
            columns={[
              {
                name: platform.fleet.node,
                cell: (it) => (
                  <Link
                    to="/platform/nodes/$node"
                    params={{ node: it.id }}
                    className="font-medium hover:text-accent-ink hover:underline"
                  >
                    {it.name}
                  </Link>
                ),
              },
              { name: text.running, cell: (it) => it.agent_version ?? '–' },
              { name: text.wanted, wide: true, cell: (it) => it.agent_wanted ?? '–' },
              { name: text.outcome, cell: (it) => <State state={it.agent_update ?? ''} /> },
              { name: text.reason, wide: true, cell: (it) => it.agent_update_reason ?? '–' },
            ]}
          />
        )}
      </Card>
      <Card title={text.available} flush>
        <Answer query={agents}>
          {(items) =>
            items.length === 0 ? (
              <p className="p-4 text-faint">{text.none}</p>
            ) : (
              <Table
                label={text.available}
                items={items}
                keyOf={(it) => `${it.version} ${it.target}`}
                columns={[
                  { name: text.version, cell: (it) => <span className="font-medium">{it.version}</span> },
                  { name: text.target, cell: (it) => <Mono>{it.target}</Mono> },
                  { name: text.size, end: true, wide: true, cell: (it) => bytes(it.size_bytes) },
                  {
                    name: 'SHA-256',
                    wide: true,
                    cell: (it) => <Mono className="text-soft">{it.sha256.slice(0, 16)}…</Mono>,
                  },
                ]}
              />
            )
          }
        </Answer>
      </Card>
      {asking && (
        <PoolDialog
          name={poolName(asking.pool.pool)}
          pool={asking.pool.pool}
          isStop={asking.isStop}
          agents={agents.data ?? []}
          onClose={() => setAsking(undefined)}
        />
      )}
    </Page>
  );
}

interface PoolDialogProps {
  name: string;
  pool: string;
  isStop: boolean;
  agents: readonly Schemas['Agent'][];
  onClose: () => void;
}

function PoolDialog({ name, pool, isStop, agents, onClose }: PoolDialogProps) {
  const queries = useQueryClient();
  const [version, setVersion] = useState('');
  const [reason, setReason] = useState('');
  const versions = [...new Set(agents.map((it) => it.version))];
  const send = async () => {
    const params = { path: { pool_id: pool }, header: once() };
    if (isStop) await ask(api.POST('/v1/platform/pools/{pool_id}/update/stop', { params, body: { reason } }));
    else {
      const body = { reason, ...(version ? { version } : {}) };
      await ask(api.POST('/v1/platform/pools/{pool_id}/update', { params, body }));
    }
    await queries.invalidateQueries({ queryKey: ['agent_update'] });
  };
  return (
    <FormDialog
      title={`${isStop ? text.stop : text.update}: ${name}`}
      lead={isStop ? text.stopLead : text.updateLead}
      action={isStop ? text.stop : text.update}
      onSubmit={send}
      onClose={onClose}
    >
      {!isStop && (
        <Select label={text.version} value={version} onChange={(event) => setVersion(event.target.value)}>
          <option value="">{text.newest}</option>
          {versions.map((it) => (
            <option key={it} value={it}>
              {it}
            </option>
          ))}
        </Select>
      )}
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
