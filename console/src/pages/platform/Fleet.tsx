import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { regionsQuery } from '@/api/compute';
import { type Node, poolsQuery } from '@/api/platform';
import { count, words } from '@/format/size';
import { fleet, refreshFleet, watchFleet } from '@/live/fleet';
import { useStore } from '@/session/store';
import { common, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { Button, buttonLook } from '@/ui/Button';
import { Card, Stat, Stats } from '@/ui/Card';
import { Empty, Failure, Skeleton } from '@/ui/Feedback';
import { Icon } from '@/ui/Icon';
import { Page } from '@/ui/Page';
import { Table } from '@/ui/Table';
import { Time } from '@/ui/Values';
import { Choice } from './Choice';
import { FleetMap } from './FleetMap';
import { sums } from './tiles';

const text = platform.fleet;
const STATES = [
  'enrolling',
  'ready',
  'cordoned',
  'draining',
  'maintenance',
  'sanitizing',
  'failed',
  'retired',
];
const HEALTHS = ['unknown', 'ok', 'degraded', 'silent', 'lying'];
// bound: rows that are drawn at once; the map shows all
const ROWS = 50;

interface Filters {
  state?: string;
  health?: string;
  pool?: string;
  region?: string;
}

export function Fleet() {
  const { nodes, isWhole, error } = useStore(fleet);
  useEffect(watchFleet, []);
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <Link to="/platform/enrollment" className={buttonLook('primary')}>
          <Icon name="plus" size={16} />
          {text.enroll}
        </Link>
      }
    >
      {error !== undefined && <Failure error={error} onRetry={refreshFleet} />}
      {nodes.length > 0 ? (
        <Nodes nodes={nodes} />
      ) : isWhole ? (
        <Card>
          <Empty icon="fleet" title={text.emptyTitle} lead={text.emptyLead} command={text.command} />
        </Card>
      ) : (
        error === undefined && <Skeleton lines={8} />
      )}
    </Page>
  );
}

function Nodes({ nodes }: { nodes: readonly Node[] }) {
  const navigate = useNavigate();
  const filters = useSearch({ strict: false }) as Filters;
  const pools = useQuery(poolsQuery());
  const regions = useQuery(regionsQuery());
  const set = (change: Filters) => {
    const search = Object.fromEntries(Object.entries({ ...filters, ...change }).filter(([, value]) => value));
    void navigate({ to: '/platform/fleet', search: search as never, replace: true });
  };
  const shown = useMemo(
    () =>
      nodes.filter(
        (it) =>
          (filters.state ? it.state === filters.state : it.state !== 'retired') &&
          (!filters.health || it.health === filters.health) &&
          (!filters.pool || it.pool_id === filters.pool) &&
          (!filters.region || it.region_id === filters.region),
      ),
    [nodes, filters.state, filters.health, filters.pool, filters.region],
  );
  const { gpus, free, bad } = useMemo(() => sums(shown), [shown]);
  const poolName = useCallback(
    (id: string) => pools.data?.find((it) => it.id === id)?.name ?? id.slice(-6),
    [pools.data],
  );
  const regionName = useCallback(
    (id: string) => regions.data?.find((it) => it.id === id)?.name ?? id.slice(-6),
    [regions.data],
  );
  return (
    <>
      <Stats>
        <Stat label={text.nodes} value={count(shown.length)} />
        <Stat label={text.gpus} value={count(gpus)} />
        <Stat label={text.free} value={count(free)} />
        <Stat label={text.attention} value={count(bad)} />
      </Stats>
      <Card
        title={text.map}
        actions={
          <>
            {(regions.data ?? []).length > 1 && (
              <Choice
                label={common.region}
                value={filters.region}
                onChange={(region) => set({ region })}
                none={text.anyRegion}
              >
                {(regions.data ?? []).map((it) => [it.id, it.name])}
              </Choice>
            )}
            <Choice
              label={text.pool}
              value={filters.pool}
              onChange={(pool) => set({ pool })}
              none={text.anyPool}
            >
              {(pools.data ?? []).map((it) => [it.id, it.name])}
            </Choice>
            <Choice
              label={common.state}
              value={filters.state}
              onChange={(state) => set({ state })}
              none={text.anyState}
            >
              {STATES.map((it) => [it, words(it)])}
            </Choice>
            <Choice
              label={text.health}
              value={filters.health}
              onChange={(health) => set({ health })}
              none={text.anyHealth}
            >
              {HEALTHS.map((it) => [it, words(it)])}
            </Choice>
          </>
        }
      >
        {shown.length === 0 ? (
          <p className="text-faint">{text.noneFits}</p>
        ) : (
          <FleetMap nodes={shown} poolName={poolName} regionName={regionName} />
        )}
      </Card>
      {shown.length > 0 && <List nodes={shown} poolName={poolName} />}
    </>
  );
}

function List({ nodes, poolName }: { nodes: readonly Node[]; poolName: (id: string) => string }) {
  const [rows, setRows] = useState(ROWS);
  return (
    <Card title={text.list} flush>
      <Table
        label={text.list}
        items={nodes.slice(0, rows)}
        keyOf={(it) => it.id}
        columns={[
          {
            name: text.node,
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
          { name: common.state, cell: (it) => <State state={it.state} /> },
          { name: text.health, cell: (it) => <State state={it.health} /> },
          {
            name: text.taken,
            end: true,
            wide: true,
            cell: (it) => `${it.gpus - it.gpus_free} / ${it.gpus}`,
          },
          { name: text.pool, wide: true, cell: (it) => poolName(it.pool_id) },
          { name: text.agent, wide: true, cell: (it) => it.agent_version ?? '–' },
          { name: text.seen, wide: true, end: true, cell: (it) => <Time at={it.last_seen_at} /> },
        ]}
      />
      {rows < nodes.length && (
        <div className="border-t p-3 text-center">
          <Button small onClick={() => setRows(rows + ROWS)}>
            {common.more}
          </Button>
        </div>
      )}
    </Card>
  );
}
