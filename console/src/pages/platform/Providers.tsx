import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { poolsQuery, providersQuery } from '@/api/platform';
import { common, operations } from '@/strings';
import { State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Confirm } from '@/ui/Dialog';
import { Answer } from '@/ui/Feedback';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Table } from '@/ui/Table';
import { Mono, Time } from '@/ui/Values';

const text = operations.providers;
type Provider = Schemas['Provider'];
type Erase = Schemas['EraseChoice'];
type Kind = Schemas['ProviderKindChoice'];

const KINDS: readonly Kind[] = ['maas'];

type Asking = { create: true } | { change: Provider } | { remove: Provider };

/** The MAAS servers that machines come from. */
export function Providers() {
  const queries = useQueryClient();
  const query = useQuery(providersQuery());
  const pools = useQuery(poolsQuery());
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const refresh = () => queries.invalidateQueries({ queryKey: ['provider'] });
  const usable = (pools.data ?? []).filter((it) => it.provider === 'maas');
  return (
    <Card
      title={text.title}
      lead={pools.data && usable.length === 0 ? text.noPool : undefined}
      flush
      actions={
        <Button small disabled={usable.length === 0} onClick={() => setAsking({ create: true })}>
          {text.create}
        </Button>
      }
    >
      <Answer query={query}>
        {(items) =>
          items.length === 0 ? (
            <p className="p-4 text-faint">{text.none}</p>
          ) : (
            <Table
              label={text.title}
              items={items}
              keyOf={(it) => it.id}
              columns={[
                {
                  name: common.name,
                  cell: (it) => (
                    <>
                      <span className="font-medium">{it.name}</span>
                      {it.last_error && <span className="block text-sm text-bad">{it.last_error}</span>}
                    </>
                  ),
                },
                { name: common.state, cell: (it) => <State state={it.state} /> },
                { name: text.kind, wide: true, cell: (it) => text.kinds[it.kind] ?? it.kind },
                { name: text.url, wide: true, cell: (it) => <Mono>{it.url}</Mono> },
                { name: text.series, wide: true, cell: (it) => it.series },
                { name: text.most, wide: true, end: true, cell: (it) => it.max_machines },
                { name: text.heard, wide: true, cell: (it) => <Time at={it.heard_at} /> },
                {
                  name: common.actions,
                  quiet: true,
                  end: true,
                  cell: (it) =>
                    it.state === 'active' && (
                      <span className="inline-flex gap-1">
                        <Button small onClick={() => setAsking({ change: it })}>
                          {text.change}
                        </Button>
                        <Button small kind="quiet" onClick={() => setAsking({ remove: it })}>
                          {text.remove}
                        </Button>
                      </span>
                    ),
                },
              ]}
            />
          )
        }
      </Answer>
      {asking && 'create' in asking && <Create pools={usable} onClose={close} onDone={refresh} />}
      {asking && 'change' in asking && <Change provider={asking.change} onClose={close} onDone={refresh} />}
      {asking && 'remove' in asking && (
        <Confirm
          title={text.removeTitle}
          lead={text.removeLead}
          name={asking.remove.name}
          action={text.remove}
          onClose={close}
          onConfirm={async () => {
            const params = { path: { provider_id: asking.remove.id } };
            await ask(api.DELETE('/v1/platform/providers/{provider_id}', { params }));
            await refresh();
          }}
        />
      )}
    </Card>
  );
}

interface DialogProps {
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

function Create({ pools, onClose, onDone }: DialogProps & { pools: readonly Schemas['Pool'][] }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Kind>('maas');
  const [pool, setPool] = useState(pools[0]?.id ?? '');
  const [url, setUrl] = useState('');
  const [key, setKey] = useState('');
  const [series, setSeries] = useState('noble');
  const [erase, setErase] = useState<Erase>('secure');
  const [most, setMost] = useState(10);
  const [maasPool, setMaasPool] = useState('');
  const [tags, setTags] = useState('');
  return (
    <FormDialog
      title={text.create}
      lead={text.createLead}
      action={text.create}
      onClose={onClose}
      onSubmit={async () => {
        const body = {
          name: name.trim(),
          kind,
          pool_id: pool,
          url: url.trim(),
          api_key: key.trim(),
          series: series.trim(),
          erase,
          max_machines: most,
          tags: tags.split(/[\s,]+/).filter(Boolean),
          ...(maasPool ? { maas_pool: maasPool.trim() } : {}),
        };
        await ask(api.POST('/v1/platform/providers', { params: { header: once() }, body }));
        await onDone();
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Input label={common.name} required value={name} onChange={(event) => setName(event.target.value)} />
        <Select label={text.pool} value={pool} onChange={(event) => setPool(event.target.value)}>
          {pools.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </Select>
      </div>
      <Select label={text.kind} value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
        {KINDS.map((it) => (
          <option key={it} value={it}>
            {text.kinds[it]}
          </option>
        ))}
      </Select>
      <Input
        label={text.url}
        hint={text.urlHint}
        type="url"
        required
        value={url}
        onChange={(event) => setUrl(event.target.value)}
      />
      <Key hint={text.keyHint} value={key} onChange={setKey} isRequired />
      <Usage {...{ series, setSeries, erase, setErase, most, setMost }} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label={text.maasPool}
          isOptional
          value={maasPool}
          onChange={(event) => setMaasPool(event.target.value)}
        />
        <Input
          label={text.tags}
          hint={text.tagsHint}
          isOptional
          value={tags}
          onChange={(event) => setTags(event.target.value)}
        />
      </div>
    </FormDialog>
  );
}

function Change({ provider, onClose, onDone }: DialogProps & { provider: Provider }) {
  const [url, setUrl] = useState(provider.url);
  const [key, setKey] = useState('');
  const [series, setSeries] = useState(provider.series);
  const [erase, setErase] = useState<Erase>(provider.erase === 'quick' ? 'quick' : 'secure');
  const [most, setMost] = useState(provider.max_machines);
  const isMoved = url.trim() !== provider.url;
  return (
    <FormDialog
      title={`${text.change}: ${provider.name}`}
      action={common.save}
      onClose={onClose}
      onSubmit={async () => {
        const body = {
          url: url.trim(),
          series: series.trim(),
          erase,
          max_machines: most,
          ...(key ? { api_key: key.trim() } : {}),
        };
        const params = { path: { provider_id: provider.id }, header: once() };
        await ask(api.PATCH('/v1/platform/providers/{provider_id}', { params, body }));
        await onDone();
      }}
    >
      <Input
        label={text.url}
        type="url"
        required
        value={url}
        onChange={(event) => setUrl(event.target.value)}
      />
      <Key
        hint={isMoved ? text.movedKeyHint : text.newKeyHint}
        value={key}
        onChange={setKey}
        isRequired={isMoved}
      />
      <Usage {...{ series, setSeries, erase, setErase, most, setMost }} />
    </FormDialog>
  );
}

interface KeyProps {
  hint: string;
  value: string;
  onChange: (next: string) => void;
  isRequired?: boolean;
}

function Key({ hint, value, onChange, isRequired = false }: KeyProps) {
  return (
    <Input
      label={text.key}
      hint={hint}
      type="password"
      autoComplete="off"
      required={isRequired}
      isOptional={!isRequired}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

interface UsageProps {
  series: string;
  setSeries: (next: string) => void;
  erase: Erase;
  setErase: (next: Erase) => void;
  most: number;
  setMost: (next: number) => void;
}

function Usage({ series, setSeries, erase, setErase, most, setMost }: UsageProps) {
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label={text.series}
          hint={text.seriesHint}
          required
          value={series}
          onChange={(event) => setSeries(event.target.value)}
        />
        <Input
          label={text.most}
          type="number"
          min={0}
          required
          value={most}
          onChange={(event) => setMost(Number(event.target.value))}
        />
      </div>
      <Select label={text.erase} value={erase} onChange={(event) => setErase(event.target.value as Erase)}>
        {Object.entries(text.erases).map(([value, about]) => (
          <option key={value} value={value}>
            {about}
          </option>
        ))}
      </Select>
    </>
  );
}
