import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api, ask, once } from '@/api/client';
import { capacityQuery, type Project, projectsQuery, regionsQuery, type Sku, skusQuery } from '@/api/compute';
import { balanceQuery } from '@/api/money';
import { sshKeysQuery } from '@/api/people';
import { problemOf } from '@/api/problem';
import { useOrg } from '@/shell/organization';
import { recall, remember } from '@/shell/remember';
import { common, launch as text, projects as projectText } from '@/strings';
import { Button, buttonLook } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer, Empty, Failure } from '@/ui/Feedback';
import { Input, Segments, Select } from '@/ui/Form';
import { Page } from '@/ui/Page';
import { type Asked, type Draft, parseTags, toSpec } from './launch/spec';
import { SkuChoice } from './launch/SkuChoice';
import { Summary } from './launch/Summary';

export function Launch() {
  const org = useOrg();
  const projects = useQuery(projectsQuery(org));
  const skus = useQuery(skusQuery());
  return (
    <Page title={text.title} lead={text.lead}>
      <Answer query={projects}>
        {(known) =>
          known.length === 0 ? (
            <Card>
              <Empty
                icon="project"
                title={text.noProject}
                lead={text.noProjectLead}
                command={projectText.command}
                action={
                  <Link to="/o/$org/projects" params={{ org }} className={buttonLook('primary')}>
                    {projectText.create}
                  </Link>
                }
              />
            </Card>
          ) : (
            <Answer query={skus}>
              {(offered) =>
                offered.length === 0 ? (
                  <Card>
                    <Empty icon="tag" title={text.noSkus} lead={text.noSkusLead} command="gpuaas skus list" />
                  </Card>
                ) : (
                  <LaunchForm org={org} projects={known} skus={offered} />
                )
              }
            </Answer>
          )
        }
      </Answer>
    </Page>
  );
}

function LaunchForm({ org, projects, skus }: { org: string; projects: Project[]; skus: Sku[] }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const regions = useQuery(regionsQuery());
  const capacity = useQuery(capacityQuery());
  const balance = useQuery(balanceQuery(org));
  const currency = balance.data?.items[0]?.currency ?? 'USD';
  const asked = useSearch({ strict: false }) as Asked;
  const smallest = [...skus].sort((a, b) => Math.min(...a.gpu_counts) - Math.min(...b.gpu_counts))[0];
  const [draft, setDraft] = useState<Draft>(() => {
    const sku = skus.find((it) => it.name === asked.sku) ?? smallest;
    const known = (id: string | undefined) => projects.find((it) => it.id === id)?.id;
    return {
      project: known(asked.project) ?? known(recall('project')) ?? projects[0]?.id ?? '',
      sku: sku?.name ?? '',
      gpus: sku?.gpu_counts.find((it) => it === Number(asked.gpus)) ?? sku?.gpu_counts[0] ?? 1,
      nodes: Math.max(1, Math.trunc(Number(asked.nodes)) || 1),
      sameFabric: true,
      region: asked.region ?? '',
      name: asked.name ?? '',
      leaseMinutes: asked.lease === undefined ? 240 : Number(asked.lease) || undefined,
      tags: asked.tags ?? '',
      keys: undefined,
    };
  });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const sku = skus.find((it) => it.name === draft.sku);
  const freeIn = (region: string) => {
    const line = capacity.data?.find((it) => it.sku_id === sku?.id && it.region === region);
    return line ? `${region} – ${text.free(line.free, line.unit)}` : region;
  };
  const tagsAreBad = parseTags(draft.tags) === undefined;
  const field = problemOf(error)?.field;

  const submit = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const made = await ask(
        api.POST('/v1/projects/{project_id}/allocations', {
          params: { path: { project_id: draft.project }, header: once() },
          body: toSpec(draft),
        }),
      );
      remember('project', draft.project);
      void queries.invalidateQueries({ queryKey: ['allocation'] });
      await navigate({
        to: '/o/$org/allocations/$project/$allocation',
        params: { org, project: made.project_id, allocation: made.id },
      });
    } catch (failed) {
      setError(failed);
      setBusy(false);
      // What is free may be why.
      void capacity.refetch();
    }
  };

  return (
    <form
      className="grid items-start gap-5 lg:grid-cols-[1fr_20rem]"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div className="min-w-0 space-y-5">
        <Card title={text.sku} lead={text.skuLead}>
          <SkuChoice
            skus={skus}
            region={draft.region}
            currency={currency}
            value={draft.sku}
            onChange={(it) => set({ sku: it.name, gpus: it.gpu_counts[0] ?? 1 })}
          />
        </Card>
        <Card title={text.size}>
          <div className="grid gap-4 sm:grid-cols-2">
            <Group label={text.gpus}>
              <Segments
                label={text.gpus}
                value={String(draft.gpus)}
                options={(sku?.gpu_counts ?? [1]).map((it) => [String(it), String(it)] as const)}
                onChange={(it) => set({ gpus: Number(it) })}
              />
            </Group>
            <Input
              label={text.nodes}
              hint={text.nodesHint}
              type="number"
              min={1}
              max={64}
              required
              value={draft.nodes}
              onChange={(event) => set({ nodes: Math.max(1, Number(event.target.value) || 1) })}
            />
            <Select
              label={text.region}
              value={draft.region}
              onChange={(event) => set({ region: event.target.value })}
            >
              <option value="">{text.anyRegion}</option>
              {(regions.data ?? []).map((it) => (
                <option key={it.id} value={it.name}>
                  {freeIn(it.name)}
                </option>
              ))}
            </Select>
            <Select
              label={text.lease}
              hint={text.leaseHint}
              value={draft.leaseMinutes ?? ''}
              onChange={(event) => set({ leaseMinutes: Number(event.target.value) || undefined })}
            >
              {Object.entries(text.leaseUnits).map(([minutes, name]) => (
                <option key={minutes} value={minutes}>
                  {name}
                </option>
              ))}
              <option value="">{text.leaseNone}</option>
            </Select>
            {draft.nodes > 1 && (
              <label className="flex items-center gap-2 sm:col-span-2">
                <input
                  type="checkbox"
                  checked={draft.sameFabric}
                  onChange={(event) => set({ sameFabric: event.target.checked })}
                  className="size-4 accent-accent"
                />
                {text.sameFabric}
              </label>
            )}
          </div>
        </Card>
        <Card title={text.project}>
          <div className="grid gap-4 sm:grid-cols-2">
            <Select
              label={text.project}
              value={draft.project}
              onChange={(event) => set({ project: event.target.value })}
            >
              {projects.map((it) => (
                <option key={it.id} value={it.id}>
                  {it.name}
                </option>
              ))}
            </Select>
            <Input
              label={text.name}
              hint={text.nameHint}
              isOptional
              autoComplete="off"
              value={draft.name}
              error={field === 'name' ? problemOf(error)?.detail : undefined}
              onChange={(event) => set({ name: event.target.value })}
            />
            <Input
              className="sm:col-span-2"
              label={text.tags}
              hint={text.tagsHint}
              isOptional
              autoComplete="off"
              value={draft.tags}
              error={tagsAreBad ? text.tagsBad : undefined}
              onChange={(event) => set({ tags: event.target.value })}
            />
            <KeyChoice value={draft.keys} onChange={(keys) => set({ keys })} />
          </div>
        </Card>
      </div>
      <div className="min-w-0 lg:sticky lg:top-6">
        <Card title={text.summary}>
          <Summary
            org={org}
            sku={sku}
            draft={draft}
            project={projects.find((it) => it.id === draft.project)?.name ?? draft.project}
            currency={currency}
          />
          {error !== undefined && (
            <div className="mt-4">
              <Failure error={error} />
            </div>
          )}
          <Button type="submit" kind="primary" busy={busy} disabled={tagsAreBad} className="mt-4 w-full">
            {text.submit}
          </Button>
        </Card>
      </div>
    </form>
  );
}

function Group({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <p className="mb-1 text-sm font-medium">{label}</p>
      {children}
    </div>
  );
}

function KeyChoice({
  value,
  onChange,
}: {
  value: string[] | undefined;
  onChange: (keys: string[] | undefined) => void;
}) {
  const keys = useQuery(sshKeysQuery());
  if (keys.data?.length === 0) {
    return (
      <p className="text-sm text-soft sm:col-span-2">
        {text.keysNone}{' '}
        <Link to="/account/ssh-keys" className="text-accent-ink underline">
          {text.addKey}
        </Link>
      </p>
    );
  }
  const chosen = value ?? [];
  const toggle = (id: string) => {
    const next = chosen.includes(id) ? chosen.filter((it) => it !== id) : [...chosen, id];
    onChange(next.length > 0 ? next : undefined);
  };
  return (
    <fieldset className="sm:col-span-2">
      <legend className="mb-1 text-sm font-medium">{text.keys}</legend>
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            checked={value === undefined}
            onChange={() => onChange(undefined)}
            className="size-4 accent-accent"
          />
          {text.keysAll}
        </label>
        {(keys.data ?? []).map((it) => (
          <label key={it.id} className="flex items-center gap-2">
            <input
              type="checkbox"
              checked={chosen.includes(it.id)}
              onChange={() => toggle(it.id)}
              className="size-4 accent-accent"
            />
            {it.name}
          </label>
        ))}
      </div>
      <span className="sr-only">{common.optional}</span>
    </fieldset>
  );
}
