import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { pricesQuery, type Sku, skusQuery } from '@/api/compute';
import { priceAt } from '@/api/prices';
import { parseMoney } from '@/format/money';
import { words } from '@/format/size';
import { priceUnit } from '@/format/units';
import { now } from '@/session/clock';
import { common, launch, platform } from '@/strings';
import { Button, NewButton } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Confirm } from '@/ui/Dialog';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Table } from '@/ui/Table';
import { Money, Time } from '@/ui/Values';

const text = platform.skus;
const SHAPES: readonly Schemas['ShapeChoice'][] = ['gpu_slice', 'baremetal', 'mig_slice', 'container'];

type Asking = { create: true } | { price: Sku } | { retire: Sku };

export function Skus() {
  const queries = useQueryClient();
  const query = useQuery(skusQuery());
  const prices = useQueries({ queries: (query.data ?? []).map((it) => pricesQuery(it.id)) });
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const refresh = () =>
    Promise.all(['sku', 'price'].map((noun) => queries.invalidateQueries({ queryKey: [noun] })));
  const pricesOf = (sku: Sku) => prices[(query.data ?? []).indexOf(sku)]?.data ?? [];
  const current = (sku: Sku) => {
    const currencies = [...new Set(pricesOf(sku).map((it) => it.currency))];
    return currencies.map((it) => priceAt(pricesOf(sku), it, now())).filter((it) => it !== undefined);
  };
  const button = <NewButton onClick={() => setAsking({ create: true })}>{text.create}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <List
        query={query}
        empty={{
          icon: 'tag',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          { name: text.name, cell: (it) => <span className="font-medium">{it.name}</span> },
          { name: text.shape, wide: true, cell: (it) => launch.shapes[it.shape] ?? it.shape },
          { name: text.model, wide: true, cell: (it) => it.gpu_model ?? '–' },
          { name: text.counts, wide: true, cell: (it) => it.gpu_counts.join(', ') },
          {
            name: text.price,
            end: true,
            cell: (it) =>
              current(it).map((price) => (
                <span key={price.id} className="block">
                  <Money micros={price.price_micros} currency={price.currency} />
                </span>
              )),
          },
        ]}
        rowActions={(it) => (
          <span className="inline-flex gap-1">
            <Button small onClick={() => setAsking({ price: it })}>
              {text.setPrice}
            </Button>
            <Button small kind="quiet" onClick={() => setAsking({ retire: it })}>
              {text.retire}
            </Button>
          </span>
        )}
      />
      {(query.data ?? []).map((sku) => (
        <History key={sku.id} sku={sku} prices={pricesOf(sku)} />
      ))}
      {asking && 'create' in asking && <NewSku onClose={close} onDone={refresh} />}
      {asking && 'price' in asking && <NewPrice sku={asking.price} onClose={close} onDone={refresh} />}
      {asking && 'retire' in asking && (
        <Confirm
          title={text.retireTitle}
          lead={text.retireLead}
          name={asking.retire.name}
          action={text.retire}
          onClose={close}
          onConfirm={async () => {
            await ask(
              api.DELETE('/v1/platform/skus/{sku_id}', { params: { path: { sku_id: asking.retire.id } } }),
            );
            await refresh();
          }}
        />
      )}
    </Page>
  );
}

function History({ sku, prices }: { sku: Sku; prices: readonly Schemas['Price'][] }) {
  if (prices.length === 0) return null;
  return (
    <Card title={`${text.history}: ${sku.name}`} flush>
      <Table
        label={`${text.history}: ${sku.name}`}
        items={prices}
        keyOf={(it) => it.id}
        columns={[
          { name: text.version, wide: true, cell: (it) => it.version },
          { name: text.from, cell: (it) => <Time at={it.effective_at} as="local" /> },
          { name: text.per, wide: true, cell: (it) => priceUnit(it) },
          { name: text.kind, wide: true, cell: (it) => words(it.kind) },
          {
            name: text.amount,
            end: true,
            cell: (it) => <Money micros={it.price_micros} currency={it.currency} />,
          },
        ]}
      />
    </Card>
  );
}

interface DialogProps {
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

function NewPrice({ sku, onClose, onDone }: DialogProps & { sku: Sku }) {
  const [amount, setAmount] = useState('');
  const [currency, setCurrency] = useState('USD');
  const [from, setFrom] = useState('');
  const micros = parseMoney(amount);
  return (
    <FormDialog
      title={`${text.setPrice}: ${sku.name}`}
      action={text.setPrice}
      canSubmit={micros !== undefined && micros >= 0}
      onClose={onClose}
      onSubmit={async () => {
        await ask(
          api.POST('/v1/platform/skus/{sku_id}/prices', {
            params: { path: { sku_id: sku.id }, header: once() },
            body: {
              price_micros: micros ?? 0,
              currency,
              ...(from ? { effective_at: new Date(from).toISOString() } : {}),
            },
          }),
        );
        await onDone();
      }}
    >
      <div className="grid gap-4 sm:grid-cols-[1fr_8rem]">
        <Input
          label={text.perGpuHour}
          inputMode="decimal"
          required
          value={amount}
          onChange={(event) => setAmount(event.target.value)}
        />
        <Input
          label={common.currency}
          required
          maxLength={3}
          value={currency}
          onChange={(event) => setCurrency(event.target.value.toUpperCase())}
        />
      </div>
      <Input
        label={text.effective}
        hint={text.effectiveHint}
        isOptional
        type="datetime-local"
        value={from}
        onChange={(event) => setFrom(event.target.value)}
      />
    </FormDialog>
  );
}

function NewSku({ onClose, onDone }: DialogProps) {
  const [name, setName] = useState('');
  const [shape, setShape] = useState<Schemas['ShapeChoice']>('gpu_slice');
  const [model, setModel] = useState('');
  const [counts, setCounts] = useState('1,2,4,8');
  const [cpus, setCpus] = useState('');
  const [memory, setMemory] = useState('');
  const gpu_counts = counts
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
  const isGood = gpu_counts.length > 0 && gpu_counts.every((it) => Number.isInteger(it) && it > 0);
  return (
    <FormDialog
      title={text.create}
      action={common.create}
      canSubmit={isGood}
      onClose={onClose}
      onSubmit={async () => {
        const limits = {
          ...(cpus ? { cpus_per_gpu: Number(cpus) } : {}),
          ...(memory ? { memory_gib_per_gpu: Number(memory) } : {}),
        };
        const body = {
          name: name.trim(),
          shape,
          gpu_counts,
          limits,
          ...(model ? { gpu_model: model.trim() } : {}),
        };
        await ask(api.POST('/v1/platform/skus', { params: { header: once() }, body }));
        await onDone();
      }}
    >
      <Input label={text.name} required value={name} onChange={(event) => setName(event.target.value)} />
      <Select
        label={text.shape}
        value={shape}
        onChange={(event) => setShape(event.target.value as Schemas['ShapeChoice'])}
      >
        {SHAPES.map((it) => (
          <option key={it} value={it}>
            {launch.shapes[it]}
          </option>
        ))}
      </Select>
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label={text.model}
          isOptional
          placeholder="NVIDIA H200"
          value={model}
          onChange={(event) => setModel(event.target.value)}
        />
        <Input
          label={text.counts}
          hint={text.countsHint}
          required
          value={counts}
          onChange={(event) => setCounts(event.target.value)}
        />
        <Input
          label={text.cpus}
          hint={text.limitsHint}
          isOptional
          type="number"
          min={1}
          max={1024}
          value={cpus}
          onChange={(event) => setCpus(event.target.value)}
        />
        <Input
          label={text.memory}
          hint={text.limitsHint}
          isOptional
          type="number"
          min={1}
          max={16384}
          value={memory}
          onChange={(event) => setMemory(event.target.value)}
        />
      </div>
    </FormDialog>
  );
}
