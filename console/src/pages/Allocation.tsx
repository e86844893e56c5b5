import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { type Allocation, allocationQuery, projectsQuery, whyQuery } from '@/api/compute';
import { api, ask, once } from '@/api/client';
import { money } from '@/format/money';
import { plural, words } from '@/format/size';
import { useMay, useOrg } from '@/shell/organization';
import { allocations as text, common, launch } from '@/strings';
import { Button, buttonLook } from '@/ui/Button';
import { Card, Facts } from '@/ui/Card';
import { State } from '@/ui/Badge';
import { Confirm } from '@/ui/Dialog';
import { Answer, Failure } from '@/ui/Feedback';
import { Icon } from '@/ui/Icon';
import { Page } from '@/ui/Page';
import { Table } from '@/ui/Table';
import { Id, Mono, Time } from '@/ui/Values';
import { ConnectCard, PortsCard } from './allocation/ConnectCard';
import { CostStats, useCost } from './allocation/Cost';
import { Diagram } from './allocation/Diagram';
import { History } from './allocation/History';
import { SessionsCard } from './allocation/SessionsCard';
import { Stages } from './allocation/Stages';
import { Telemetry } from './allocation/Telemetry';
import { TerminalCard } from './allocation/TerminalCard';
import { likeIt } from './launch/spec';

export function AllocationPage() {
  const { project = '', allocation = '' } = useParams({ strict: false }) as {
    project?: string;
    allocation?: string;
  };
  const query = useQuery(allocationQuery(project, allocation));
  return (
    <Answer query={query} lines={8}>
      {(it) => <Shown key={it.id} allocation={it} />}
    </Answer>
  );
}

function Shown({ allocation }: { allocation: Allocation }) {
  const org = useOrg();
  const projects = useQuery(projectsQuery(org));
  const name = allocation.name ?? allocation.id;
  const [resume, setResume] = useState<string>();
  const open = (session: string) => {
    setResume(session);
    document.getElementById('terminal')?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <Page
      title={name}
      above={
        <Link to="/o/$org/allocations" params={{ org }} className="hover:underline">
          {text.title}
        </Link>
      }
      lead={
        <span className="inline-flex flex-wrap items-center gap-2">
          <State state={allocation.state} />
          <span>
            {allocation.nodes > 1 ? `${allocation.nodes} × ` : ''}
            {plural(allocation.gpus, 'GPU')} · {allocation.sku}
          </span>
        </span>
      }
      actions={<Actions allocation={allocation} />}
    >
      {allocation.needs_attention && (
        <p role="alert" className="flex items-center gap-2 rounded-lg bg-warn-soft px-4 py-3 text-warn">
          <Icon name="warn" />
          {text.attention}
        </p>
      )}
      <Card title={text.stages}>
        <Stages allocation={allocation} />
        {allocation.reason && <p className="mt-3 break-words text-soft">{allocation.reason}</p>}
        {(allocation.state === 'requested' || allocation.state === 'failed') && (
          <Why allocation={allocation} />
        )}
        <Diagram allocation={allocation} />
      </Card>
      <CostStats allocation={allocation} />
      <TerminalCard allocation={allocation} resume={resume} />
      <SessionsCard allocation={allocation} onResume={open} />
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <ConnectCard allocation={allocation} />
        <div className="min-w-0 space-y-5">
          <PortsCard allocation={allocation} />
          <Card title={text.details}>
            <Facts
              items={[
                [common.id, <Id key="id" id={allocation.id} />],
                [
                  common.project,
                  projects.data?.find((it) => it.id === allocation.project_id)?.name ?? allocation.project_id,
                ],
                [common.region, allocation.region ?? launch.anyRegion],
                [text.login, <Mono key="login">{allocation.login}</Mono>],
                [common.created, <Time key="at" at={allocation.created_at} as="local" />],
                Object.keys(allocation.tags).length > 0 && [
                  text.tags,
                  <span key="tags" className="flex flex-wrap gap-1.5">
                    {Object.entries(allocation.tags).map(([label, value]) => (
                      <span key={label} className="rounded-md bg-sunken px-1.5 py-0.5 font-mono text-xs">
                        {label}={value}
                      </span>
                    ))}
                  </span>,
                ],
              ]}
            />
          </Card>
        </div>
      </div>
      {allocation.active_at && <Telemetry allocation={allocation} />}
      {allocation.parts.length > 0 && (
        <Card title={text.hosts} flush>
          <Table
            label={text.hosts}
            items={allocation.parts}
            keyOf={(it) => it.node_id}
            columns={[
              { name: text.host, cell: (it) => it.host ?? <Id id={it.node_id} /> },
              { name: text.lastStage, cell: (it) => (it.stage ? words(it.stage) : '–') },
              {
                name: text.gpus,
                cell: (it) => (
                  <span className="font-mono text-xs text-soft">
                    {it.gpus.map((uuid) => uuid.slice(0, 12)).join(' ')}
                  </span>
                ),
              },
            ]}
          />
        </Card>
      )}
      <History allocation={allocation} />
    </Page>
  );
}

function Why({ allocation }: { allocation: Allocation }) {
  const why = useQuery(whyQuery(allocation.project_id, allocation.id));
  if (!why.data) return null;
  return (
    <div className="mt-4 rounded-lg bg-sunken p-3">
      <Facts
        items={[
          [text.why, <Sentence key="why">{why.data.rule}</Sentence>],
          why.data.change ? [text.whatChanges, <Sentence key="change">{why.data.change}</Sentence>] : null,
          why.data.waits_behind ? [common.state, text.behind(why.data.waits_behind)] : null,
          why.data.rejected.length > 0 && [
            text.rejected,
            why.data.rejected.map((it) => `${plural(it.nodes, 'node')}: ${it.reason}`).join('; '),
          ],
        ]}
      />
    </div>
  );
}

/** What the server says in lower case. */
function Sentence({ children }: { children: string }) {
  return <span className="inline-block first-letter:uppercase">{children}</span>;
}

type Asking = 'release' | 'stop';

function Actions({ allocation }: { allocation: Allocation }) {
  const may = useMay('use');
  const queries = useQueryClient();
  const [asking, setAsking] = useState<Asking>();
  const [error, setError] = useState<unknown>();
  const path = { project_id: allocation.project_id, allocation_id: allocation.id };
  const done = (next: Allocation) => {
    queries.setQueryData(allocationQuery(next.project_id, next.id).queryKey, next);
    void queries.invalidateQueries({ queryKey: ['allocation'] });
  };
  const start = async () => {
    setError(undefined);
    try {
      done(
        await ask(
          api.POST('/v1/projects/{project_id}/allocations/{allocation_id}/start', {
            params: { path, header: once() },
          }),
        ),
      );
    } catch (failed) {
      setError(failed);
    }
  };
  if (!may) return null;
  const isWaiting = allocation.state === 'requested';
  const canRelease = !['released', 'failed', 'releasing'].includes(allocation.state);
  return (
    <>
      <Link
        to="/o/$org/launch"
        params={{ org: allocation.organization_id }}
        search={likeIt(allocation) as never}
        className={buttonLook()}
      >
        {text.again}
      </Link>
      {allocation.state === 'stopped' && <Button onClick={() => void start()}>{text.start}</Button>}
      {allocation.state === 'active' && <Button onClick={() => setAsking('stop')}>{text.stop}</Button>}
      {canRelease && (
        <Button kind="warn" onClick={() => setAsking('release')}>
          {isWaiting ? text.cancel : text.release}
        </Button>
      )}
      {error !== undefined && <Failure error={error} />}
      {asking === 'release' && (
        <Confirm
          title={isWaiting ? text.cancelTitle : text.releaseTitle}
          lead={isWaiting ? text.cancelLead : <Consequences allocation={allocation} />}
          name={allocation.name ?? allocation.id.slice(-6)}
          action={isWaiting ? text.cancel : text.release}
          onClose={() => setAsking(undefined)}
          onConfirm={async () =>
            done(
              await ask(
                api.POST('/v1/projects/{project_id}/allocations/{allocation_id}/release', {
                  params: { path, header: once() },
                }),
              ),
            )
          }
        />
      )}
      {asking === 'stop' && (
        <Confirm
          title={text.stopTitle}
          lead={text.stopLead}
          action={text.stop}
          onClose={() => setAsking(undefined)}
          onConfirm={async () =>
            done(
              await ask(
                api.POST('/v1/projects/{project_id}/allocations/{allocation_id}/stop', {
                  params: { path, header: once() },
                }),
              ),
            )
          }
        />
      )}
    </>
  );
}

/** What a release ends and what it costs, spelled out. */
function Consequences({ allocation }: { allocation: Allocation }) {
  const cost = useCost(allocation).data;
  return (
    <>
      <p>{text.releaseLead}</p>
      <ul className="mt-2 list-disc space-y-1 pl-5">
        <li>
          {text.releaseHosts(allocation.parts.length || allocation.nodes, allocation.gpus * allocation.nodes)}
        </li>
        {cost && (
          <li>
            {text.releaseCost(money(cost.amount_micros, cost.currency))}{' '}
            <span className="text-faint">
              (<Time at={cost.at} as="exact" />)
            </span>
          </li>
        )}
        {cost && cost.held_micros > 0 && <li>{text.releaseHeld(money(cost.held_micros, cost.currency))}</li>}
      </ul>
    </>
  );
}
