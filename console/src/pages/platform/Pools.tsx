import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { regionsQuery } from '@/api/compute';
import { poolsQuery } from '@/api/platform';
import { words } from '@/format/size';
import { common, platform } from '@/strings';
import { Button } from '@/ui/Button';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Id, Time } from '@/ui/Values';

const text = platform.pools;
const PROVIDERS: readonly Schemas['PoolProviderChoice'][] = ['enrolled', 'maas', 'sim'];

export function Pools() {
  const queries = useQueryClient();
  const regions = useQuery(regionsQuery());
  const pools = useQuery(poolsQuery());
  const [asking, setAsking] = useState<'region' | 'pool'>();
  const [changing, setChanging] = useState<Schemas['Pool']>();
  const close = () => setAsking(undefined);
  const refresh = () =>
    Promise.all(['region', 'pool'].map((noun) => queries.invalidateQueries({ queryKey: [noun] })));
  const regionName = (id: string) => regions.data?.find((it) => it.id === id)?.name ?? id;
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <>
          <Button onClick={() => setAsking('region')}>{text.newRegion}</Button>
          <Button kind="primary" disabled={!regions.data?.length} onClick={() => setAsking('pool')}>
            {text.newPool}
          </Button>
        </>
      }
    >
      <List
        title={text.pools}
        query={pools}
        empty={{ icon: 'project', title: text.noPools, lead: text.noPoolsLead, command: text.command }}
        label={text.pools}
        keyOf={(it) => it.id}
        columns={[
          { name: common.name, cell: (it) => <span className="font-medium">{it.name}</span> },
          { name: text.region, cell: (it) => regionName(it.region_id) },
          { name: text.provider, wide: true, cell: (it) => words(it.provider) },
          {
            name: text.isolation,
            wide: true,
            cell: (it) => text.isolations[it.isolation] ?? it.isolation,
          },
          { name: common.id, wide: true, cell: (it) => <Id id={it.id} /> },
        ]}
        rowActions={(it) => (
          <Button small onClick={() => setChanging(it)}>
            {common.change}
          </Button>
        )}
      />
      <List
        title={text.regions}
        query={regions}
        empty={text.noRegions}
        label={text.regions}
        keyOf={(it) => it.id}
        columns={[
          { name: common.name, cell: (it) => <span className="font-medium">{it.name}</span> },
          { name: common.created, cell: (it) => <Time at={it.created_at} /> },
        ]}
      />
      {asking === 'region' && <NewRegion onClose={close} onDone={refresh} />}
      {changing && <ChangePool pool={changing} onClose={() => setChanging(undefined)} onDone={refresh} />}
      {asking === 'pool' && <NewPool regions={regions.data ?? []} onClose={close} onDone={refresh} />}
    </Page>
  );
}

interface DialogProps {
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

function NewRegion({ onClose, onDone }: DialogProps) {
  const [name, setName] = useState('');
  return (
    <FormDialog
      title={text.newRegion}
      action={common.create}
      onClose={onClose}
      onSubmit={async () => {
        await ask(
          api.POST('/v1/platform/regions', { params: { header: once() }, body: { name: name.trim() } }),
        );
        await onDone();
      }}
    >
      <Input label={common.name} required value={name} onChange={(event) => setName(event.target.value)} />
    </FormDialog>
  );
}

function NewPool({ regions, onClose, onDone }: DialogProps & { regions: readonly Schemas['Region'][] }) {
  const [name, setName] = useState('');
  const [region, setRegion] = useState(regions[0]?.id ?? '');
  const [provider, setProvider] = useState<Schemas['PoolProviderChoice']>('enrolled');
  const [isolation, setIsolation] = useState<Schemas['IsolationChoice']>('user_revoke');
  return (
    <FormDialog
      title={text.newPool}
      action={common.create}
      onClose={onClose}
      onSubmit={async () => {
        const body = { name: name.trim(), region_id: region, provider, isolation };
        await ask(api.POST('/v1/platform/pools', { params: { header: once() }, body }));
        await onDone();
      }}
    >
      <Input label={common.name} required value={name} onChange={(event) => setName(event.target.value)} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Select label={text.region} value={region} onChange={(event) => setRegion(event.target.value)}>
          {regions.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </Select>
        <Select
          label={text.provider}
          value={provider}
          onChange={(event) => setProvider(event.target.value as Schemas['PoolProviderChoice'])}
        >
          {PROVIDERS.map((it) => (
            <option key={it} value={it}>
              {words(it)}
            </option>
          ))}
        </Select>
      </div>
      <IsolationSelect value={isolation} onChange={setIsolation} />
    </FormDialog>
  );
}

function ChangePool({ pool, onClose, onDone }: DialogProps & { pool: Schemas['Pool'] }) {
  const [isolation, setIsolation] = useState(pool.isolation as Schemas['IsolationChoice']);
  return (
    <FormDialog
      title={`${common.change}: ${pool.name}`}
      lead={text.changeLead}
      action={common.save}
      canSubmit={isolation !== pool.isolation}
      onClose={onClose}
      onSubmit={async () => {
        const params = { path: { pool_id: pool.id }, header: once() };
        await ask(api.PATCH('/v1/platform/pools/{pool_id}', { params, body: { isolation } }));
        await onDone();
      }}
    >
      <IsolationSelect value={isolation} onChange={setIsolation} />
    </FormDialog>
  );
}

interface IsolationProps {
  value: Schemas['IsolationChoice'];
  onChange: (next: Schemas['IsolationChoice']) => void;
}

function IsolationSelect({ value, onChange }: IsolationProps) {
  return (
    <Select
      label={text.isolation}
      value={value}
      onChange={(event) => onChange(event.target.value as Schemas['IsolationChoice'])}
    >
      {Object.entries(text.isolations).map(([isolation, about]) => (
        <option key={isolation} value={isolation}>
          {about}
        </option>
      ))}
    </Select>
  );
}
