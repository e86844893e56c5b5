import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { flat } from '@/api/lists';
import { machinesQuery, providersQuery } from '@/api/platform';
import { words } from '@/format/size';
import { common, operations, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer, Empty } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Menu, MenuItem } from '@/ui/Menu';
import { Page } from '@/ui/Page';
import { More, Table } from '@/ui/Table';
import { Id, Time } from '@/ui/Values';
import { Choice } from './Choice';
import { Providers } from './Providers';
import { RunbookLink } from './RunbookLink';

const text = operations.machines;
type Machine = Schemas['Machine'];
type MachineState = Schemas['MachineStateChoice'];
type Move = 'retry' | 'retire' | 'abandon' | 'on' | 'off' | 'query';

const STATES: readonly MachineState[] = [
  'discovered',
  'acquiring',
  'deploying',
  'enrolling',
  'in_service',
  'releasing',
  'erased',
  'failed',
  'retired',
];

/** What an operator may ask of a machine in a state; the API decides. */
function movesOf(machine: Machine): readonly Move[] {
  if (machine.state === 'failed') return ['retry', 'abandon', 'on', 'off', 'query'];
  if (machine.state === 'retired') return ['retry'];
  return ['retire', 'on', 'off', 'query'];
}

export function Machines() {
  const navigate = useNavigate();
  const { state } = useSearch({ strict: false }) as { state?: MachineState };
  const query = useInfiniteQuery(machinesQuery(state));
  const providers = useQuery(providersQuery());
  const [asking, setAsking] = useState<{ machine: Machine; move: Move }>();
  const providerName = (id: string) => providers.data?.find((it) => it.id === id)?.name ?? id.slice(-6);
  return (
    <Page title={text.title} lead={text.lead} actions={<RunbookLink name="maas-machine-failed" />}>
      <Card
        title={text.title}
        flush
        actions={
          <Choice
            label={common.state}
            value={state}
            none={operations.anyState}
            onChange={(next) =>
              void navigate({
                to: '/platform/machines',
                search: (next ? { state: next } : {}) as never,
                replace: true,
              })
            }
          >
            {STATES.map((it) => [it, words(it)])}
          </Choice>
        }
      >
        <Answer query={{ ...query, data: flat(query.data) }}>
          {(items) =>
            items.length === 0 ? (
              <Empty
                icon="allocations"
                title={text.emptyTitle}
                lead={text.emptyLead}
                command={text.command}
              />
            ) : (
              <>
                <Table
                  label={text.title}
                  items={items}
                  keyOf={(it) => it.id}
                  columns={[
                    {
                      name: text.machine,
                      cell: (it) => (
                        <>
                          <span className="font-medium">{it.hostname}</span>
                          {it.reason && <span className="block text-sm text-soft">{it.reason}</span>}
                        </>
                      ),
                    },
                    { name: common.state, cell: (it) => <State state={it.state} /> },
                    { name: text.since, wide: true, cell: (it) => <Time at={it.state_since} /> },
                    { name: text.observed, wide: true, cell: (it) => it.observed ?? '–' },
                    { name: text.power, wide: true, cell: (it) => <Power machine={it} /> },
                    { name: text.provider, wide: true, cell: (it) => providerName(it.provider_id) },
                    {
                      name: text.node,
                      wide: true,
                      cell: (it) =>
                        it.node_id ? (
                          <Link
                            to="/platform/nodes/$node"
                            params={{ node: it.node_id }}
                            className="hover:text-accent-ink hover:underline"
                          >
                            <Id id={it.node_id} />
                          </Link>
                        ) : (
                          '–'
                        ),
                    },
                    {
                      name: common.actions,
                      quiet: true,
                      end: true,
                      cell: (it) => (
                        <Menu
                          label={`${common.actions}: ${it.hostname}`}
                          trigger={<Button small>{common.actions}</Button>}
                        >
                          {movesOf(it).map((move) => (
                            <MenuItem key={move} onSelect={() => setAsking({ machine: it, move })}>
                              {text[move]}
                            </MenuItem>
                          ))}
                        </Menu>
                      ),
                    },
                  ]}
                />
                <More query={query} />
              </>
            )
          }
        </Answer>
      </Card>
      <Providers />
      {asking && <MoveDialog {...asking} onClose={() => setAsking(undefined)} />}
    </Page>
  );
}

function Power({ machine }: { machine: Machine }) {
  const wanted = machine.power_wanted ? ` → ${words(machine.power_wanted)}` : '';
  return (
    <span title={machine.power_error ?? undefined} className={machine.power_error ? 'text-bad' : undefined}>
      {machine.power ? words(machine.power) : '–'}
      {wanted}
    </span>
  );
}

function MoveDialog({ machine, move, onClose }: { machine: Machine; move: Move; onClose: () => void }) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const params = { path: { machine_id: machine.id }, header: once() };
  const send = async () => {
    const because = { params, body: { reason } };
    if (move === 'retry') await ask(api.POST('/v1/platform/machines/{machine_id}/retry', because));
    else if (move === 'retire') await ask(api.POST('/v1/platform/machines/{machine_id}/retire', because));
    else if (move === 'abandon') await ask(api.POST('/v1/platform/machines/{machine_id}/abandon', because));
    else {
      const body = { action: move, force: false, reason };
      await ask(api.POST('/v1/platform/machines/{machine_id}/power', { params, body }));
    }
    await queries.invalidateQueries({ queryKey: ['machine'] });
  };
  return (
    <FormDialog
      title={`${text[move]}: ${machine.hostname}`}
      lead={text[`${move}Lead`]}
      action={text[move]}
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
    </FormDialog>
  );
}
