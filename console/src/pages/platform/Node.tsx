import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { nodeQuery, nodeTelemetryQuery, poolsQuery } from '@/api/platform';
import { bytes, count } from '@/format/size';
import { now } from '@/session/clock';
import { common, operations, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { Button, buttonLook } from '@/ui/Button';
import { Card, Facts } from '@/ui/Card';
import { Answer } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Icon } from '@/ui/Icon';
import { Page } from '@/ui/Page';
import { Table } from '@/ui/Table';
import { Id, Mono, Time } from '@/ui/Values';
import { GpuCharts } from '../allocation/GpuCharts';
import { ForceRelease } from './ForceRelease';
import { Certificates, NodeEvents, Tasks, Topology } from './NodeParts';

const text = platform.node;
const more = operations.node;

export function NodePage() {
  const { node = '' } = useParams({ strict: false }) as { node?: string };
  const query = useQuery(nodeQuery(node));
  return (
    <Answer query={query} lines={8}>
      {(it) => <Shown detail={it} />}
    </Answer>
  );
}

function Shown({ detail }: { detail: Schemas['NodeDetail'] }) {
  const { node, slots, host, certificates, tasks } = detail;
  const pools = useQuery(poolsQuery());
  const telemetry = useQuery(nodeTelemetryQuery(node.id, now));
  const [slot, setSlot] = useState<Schemas['Slot']>();
  const [releasing, setReleasing] = useState<string>();
  return (
    <Page
      title={node.name}
      above={
        <Link to="/platform/fleet" className="hover:underline">
          {platform.fleet.title}
        </Link>
      }
      lead={
        <span className="inline-flex flex-wrap items-center gap-2">
          <State state={node.state} /> <State state={node.health} />
          <span>
            {text.taken(node.gpus - node.gpus_free, node.gpus)} · {node.gpu_model ?? 'GPU'}
          </span>
        </span>
      }
      actions={<Actions node={node} />}
    >
      {node.health_reason && (
        <p className="rounded-lg bg-warn-soft px-4 py-3 text-warn">{node.health_reason}</p>
      )}
      <Topology slots={slots} fabric={node.fabric_domain} />
      <Card title={text.slots} flush>
        <Table
          label={text.slots}
          items={slots}
          keyOf={(it) => it.id}
          columns={[
            { name: text.slot, cell: (it) => <span className="font-medium">GPU {it.index}</span> },
            { name: text.condition, cell: (it) => <State state={it.condition} /> },
            { name: text.allocation, cell: (it) => (it.held_by ? <Id id={it.held_by} /> : common.none) },
            { name: text.model, wide: true, cell: (it) => `${it.model}, ${bytes(it.memory_bytes)}` },
            { name: text.numa, wide: true, end: true, cell: (it) => it.numa ?? '–' },
            { name: 'PCI', wide: true, cell: (it) => <Mono>{it.pci}</Mono> },
            {
              name: common.actions,
              quiet: true,
              end: true,
              cell: (it) => {
                const { held_by: holder } = it;
                if (holder)
                  return (
                    <Button small kind="warn" onClick={() => setReleasing(holder)}>
                      {operations.force.release}
                    </Button>
                  );
                return ['dirty', 'quarantined'].includes(it.condition) ? (
                  <Button small onClick={() => setSlot(it)}>
                    {more.attestSlot}
                  </Button>
                ) : null;
              },
            },
          ]}
        />
      </Card>
      <Card
        title={text.telemetry}
        actions={
          <Button small aria-label={common.refresh} onClick={() => void telemetry.refetch()}>
            <Icon name="refresh" size={15} />
          </Button>
        }
      >
        <Answer query={telemetry}>
          {(data) => <GpuCharts gpus={data.gpus} since={data.since} until={data.until} />}
        </Answer>
      </Card>
      <Card title={text.details}>
        <Facts
          items={[
            [common.id, <Id key="id" id={node.id} />],
            [platform.fleet.pool, pools.data?.find((it) => it.id === node.pool_id)?.name ?? node.pool_id],
            [platform.fleet.agent, node.agent_version ?? '–'],
            [text.serves, node.serves ? <Id key="serves" id={node.serves} /> : text.anyone],
            [platform.fleet.seen, <Time key="seen" at={node.last_seen_at} />],
            [common.created, <Time key="created" at={node.created_at} as="local" />],
            host ? [more.cpus, count(host.cpus)] : null,
            host ? [more.memory, bytes(host.memory_bytes)] : null,
            host ? [more.os, `${host.os}, ${host.kernel}`] : null,
            host?.driver_version ? [more.driver, host.driver_version] : null,
            node.drain_deadline_at
              ? [text.drainDeadline, <Time key="drain" at={node.drain_deadline_at} as="local" />]
              : null,
          ]}
        />
      </Card>
      <Tasks tasks={tasks} />
      <NodeEvents node={node.id} />
      <Certificates certificates={certificates} />
      {slot && <AttestDialog node={node} slot={slot} onClose={() => setSlot(undefined)} />}
      {releasing && <ForceRelease allocation={{ id: releasing }} onClose={() => setReleasing(undefined)} />}
    </Page>
  );
}

type Move = 'cordon' | 'uncordon' | 'drain' | 'restore' | 'retire' | 'attest' | 'update';

/** What an operator may ask of a node in a state; the API decides. */
const MOVES: Readonly<Record<string, readonly Move[]>> = {
  enrolling: ['retire'],
  ready: ['cordon', 'drain', 'update'],
  cordoned: ['uncordon', 'drain', 'update', 'retire'],
  draining: ['uncordon', 'retire'],
  maintenance: ['restore', 'update', 'retire'],
  sanitizing: ['attest', 'retire'],
  failed: ['restore', 'drain', 'retire'],
};

/** What each is called, and what it does. */
const WORDS: Readonly<Record<Move, readonly [string, string]>> = {
  cordon: [text.cordon, text.cordonLead],
  uncordon: [text.uncordon, text.uncordonLead],
  drain: [text.drain, text.drainLead],
  restore: [text.restore, text.restoreLead],
  retire: [text.retire, text.retireLead],
  attest: [text.attest, text.attestLead],
  update: [more.update, more.updateLead],
};

function Actions({ node }: { node: Schemas['Node'] }) {
  const [asking, setAsking] = useState<Move>();
  return (
    <>
      {(MOVES[node.state] ?? []).map((move) => (
        <Button key={move} kind={move === 'retire' ? 'warn' : 'plain'} onClick={() => setAsking(move)}>
          {WORDS[move][0]}
        </Button>
      ))}
      {node.state !== 'retired' && (
        <Link to="/platform/maintenance" className={buttonLook('plain')}>
          {more.plan}
        </Link>
      )}
      {asking && <MoveDialog node={node} move={asking} onClose={() => setAsking(undefined)} />}
    </>
  );
}

function MoveDialog({ node, move, onClose }: { node: Schemas['Node']; move: Move; onClose: () => void }) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const [minutes, setMinutes] = useState(60);
  const [version, setVersion] = useState('');
  const [typed, setTyped] = useState('');
  const [isLost, setLost] = useState(false);
  const params = { path: { node_id: node.id }, header: once() };
  const send = async () => {
    const because = { params, body: { reason } };
    if (move === 'drain') {
      await ask(
        api.POST('/v1/platform/nodes/{node_id}/drain', {
          params,
          body: { reason, deadline_seconds: minutes * 60 },
        }),
      );
    } else if (move === 'update') {
      const body = { reason, ...(version ? { version } : {}) };
      await ask(api.POST('/v1/platform/nodes/{node_id}/update', { params, body }));
    } else if (move === 'cordon') await ask(api.POST('/v1/platform/nodes/{node_id}/cordon', because));
    else if (move === 'uncordon') await ask(api.POST('/v1/platform/nodes/{node_id}/uncordon', because));
    else if (move === 'restore') await ask(api.POST('/v1/platform/nodes/{node_id}/restore', because));
    else if (move === 'retire')
      await ask(api.POST('/v1/platform/nodes/{node_id}/retire', { params, body: { reason, lost: isLost } }));
    else await ask(api.POST('/v1/platform/nodes/{node_id}/attest', because));
    await queries.invalidateQueries({ queryKey: ['node'] });
  };
  return (
    <FormDialog
      title={`${WORDS[move][0]}: ${node.name}`}
      lead={WORDS[move][1]}
      action={WORDS[move][0]}
      canSubmit={move !== 'retire' || typed === node.name}
      onSubmit={send}
      onClose={onClose}
    >
      <Input
        label={platform.why}
        hint={platform.whyHint}
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      {move === 'update' && (
        <Input
          label={more.version}
          hint={more.versionHint}
          isOptional
          value={version}
          onChange={(event) => setVersion(event.target.value)}
        />
      )}
      {move === 'retire' && (
        <label className="flex items-start gap-2">
          <input
            type="checkbox"
            className="mt-1 size-4 accent-accent"
            checked={isLost}
            onChange={(event) => setLost(event.target.checked)}
          />
          <span>
            {text.lost}
            <span className="block text-soft">{text.lostHint}</span>
          </span>
        </label>
      )}
      {move === 'retire' && (
        <Input
          label={common.typeToConfirm(node.name)}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
      {move === 'drain' && (
        <Input
          label={text.deadline}
          type="number"
          min={0}
          required
          value={minutes}
          onChange={(event) => setMinutes(Number(event.target.value))}
        />
      )}
    </FormDialog>
  );
}

interface AttestProps {
  node: Schemas['Node'];
  slot: Schemas['Slot'];
  onClose: () => void;
}

function AttestDialog({ node, slot, onClose }: AttestProps) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  return (
    <FormDialog
      title={`${more.attestSlot}: ${node.name}, GPU ${slot.index}`}
      lead={more.attestSlotLead}
      action={more.attestSlot}
      onClose={onClose}
      onSubmit={async () => {
        const params = { path: { node_id: node.id, slot_id: slot.id }, header: once() };
        const address = '/v1/platform/nodes/{node_id}/slots/{slot_id}/attest';
        await ask(api.POST(address, { params, body: { reason } }));
        await queries.invalidateQueries({ queryKey: ['node'] });
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
