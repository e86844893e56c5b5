import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { all, api, ask, once, type Schemas } from '@/api/client';
import { problemOf } from '@/api/problem';
import { useMay, useOrg, useOrganization } from '@/shell/organization';
import { common, platform, settings as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Confirm } from '@/ui/Dialog';
import { Answer, Failure } from '@/ui/Feedback';
import { Field, Input } from '@/ui/Form';
import { Page } from '@/ui/Page';
import { Ends } from './Ends';
import { type Level, PolicyTable } from './PolicyTable';

export function Settings() {
  const org = useOrg();
  const organization = useOrganization();
  return (
    <Page title={text.title} lead={text.lead}>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        {organization && <Rename key={organization.name} org={org} name={organization.name} />}
        <BillingProfile org={org} />
      </div>
      <Policies org={org} />
      {organization?.role === 'owner' && <Close org={org} name={organization.name} />}
    </Page>
  );
}

function Rename({ org, name: before }: { org: string; name: string }) {
  const may = useMay('administer');
  const queries = useQueryClient();
  const [name, setName] = useState(before);
  const { busy, error, act } = useAct();
  const save = () =>
    act(async () => {
      const params = { path: { organization_id: org }, header: once() };
      await ask(api.PATCH('/v1/organizations/{organization_id}', { params, body: { name: name.trim() } }));
      await queries.invalidateQueries({ queryKey: ['organization'] });
    });
  return (
    <Card title={text.name}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Input
          label={text.name}
          required
          readOnly={!may}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        {error !== undefined && <Failure error={error} />}
        {may && (
          <Button type="submit" busy={busy} disabled={name.trim() === before}>
            {text.rename}
          </Button>
        )}
      </form>
    </Card>
  );
}

function BillingProfile({ org }: { org: string }) {
  const query = useQuery({
    queryKey: ['billing_profile', org],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/billing-profile', {
          params: { path: { organization_id: org } },
        }),
      ),
  });
  const isUnset = problemOf(query.error)?.code === 'not_found';
  return (
    <Card title={text.profile} lead={isUnset ? text.profileNone : text.profileLead}>
      {isUnset ? (
        <ProfileForm org={org} party={undefined} />
      ) : (
        <Answer query={query}>
          {(profile) => <ProfileForm key={profile.set_at} org={org} party={profile.party} />}
        </Answer>
      )}
    </Card>
  );
}

function ProfileForm({ org, party }: { org: string; party: Schemas['Party'] | undefined }) {
  const may = useMay('pay');
  const queries = useQueryClient();
  const [name, setName] = useState(party?.legal_name ?? '');
  const [address, setAddress] = useState(party?.address.join('\n') ?? '');
  const [taxId, setTaxId] = useState(party?.tax_id ?? '');
  const [email, setEmail] = useState(party?.email ?? '');
  const [isSaved, setSaved] = useState(false);
  const { busy, error, act } = useAct();
  const save = async () => {
    setSaved(false);
    const body = {
      legal_name: name.trim(),
      address: address
        .split('\n')
        .map((it) => it.trim())
        .filter(Boolean),
      ...(taxId.trim() ? { tax_id: taxId.trim() } : {}),
      ...(email.trim() ? { email: email.trim() } : {}),
    };
    const params = { path: { organization_id: org } };
    const isDone = await act(() =>
      ask(api.PUT('/v1/organizations/{organization_id}/billing-profile', { params, body })),
    );
    setSaved(isDone);
    if (isDone) void queries.invalidateQueries({ queryKey: ['billing_profile'] });
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Input label={text.legalName} required value={name} onChange={(event) => setName(event.target.value)} />
      <Field label={text.address} hint={text.addressHint}>
        {(ids) => (
          <textarea
            {...ids}
            required
            rows={3}
            value={address}
            onChange={(event) => setAddress(event.target.value)}
            className="field h-auto! py-2"
          />
        )}
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label={text.taxId}
          isOptional
          value={taxId}
          onChange={(event) => setTaxId(event.target.value)}
        />
        <Input
          label={text.email}
          isOptional
          type="email"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
      </div>
      {error !== undefined && <Failure error={error} />}
      {may && (
        <div className="flex items-center gap-3">
          <Button type="submit" busy={busy}>
            {common.save}
          </Button>
          <span role="status" className="text-ok">
            {isSaved ? text.saved : ''}
          </span>
        </div>
      )}
    </form>
  );
}

function Policies({ org }: { org: string }) {
  const may = useMay('administer');
  const navigate = useNavigate();
  const { find = '', key } = useSearch({ strict: false }) as { find?: string; key?: string };
  const set = (change: { find?: string; key?: string | undefined }) =>
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, ...change })) as never,
      replace: true,
    });
  const query = useQuery({
    queryKey: ['policy', org, 'list'],
    queryFn: () =>
      all<Schemas['Policy']>((cursor) =>
        ask(
          api.GET('/v1/organizations/{organization_id}/policies', {
            params: { path: { organization_id: org }, query: { limit: 200, cursor } },
          }),
        ),
      ),
  });
  const level: Level = {
    name: 'organization',
    set: (key, value) =>
      ask(
        api.PUT('/v1/organizations/{organization_id}/policies/{key}', {
          params: { path: { organization_id: org, key } },
          body: { value },
        }),
      ),
    unset: (key) =>
      ask(
        api.DELETE('/v1/organizations/{organization_id}/policies/{key}', {
          params: { path: { organization_id: org, key } },
        }),
      ),
  };
  return (
    <Card
      title={text.policies}
      lead={text.policiesLead}
      flush
      actions={
        <input
          type="search"
          aria-label={platform.policies.search}
          placeholder={platform.policies.search}
          className="field h-8! w-48!"
          value={find}
          onChange={(event) => set({ find: event.target.value || undefined })}
        />
      }
    >
      <Answer query={query}>
        {(items) => (
          <PolicyTable
            // Those that an organization can set; the others are the platform's.
            items={items.filter((it) => it.lowest_level !== 'platform')}
            typed={String(find)}
            level={may ? level : undefined}
            opened={key}
            onOpen={(next) => set({ key: next })}
          />
        )}
      </Answer>
    </Card>
  );
}

function Close({ org, name }: { org: string; name: string }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  return (
    <Card title={text.close} lead={text.closeLead}>
      <Button kind="warn" onClick={() => setAsking(true)}>
        {text.close}
      </Button>
      {isAsking && (
        <Confirm
          title={text.closeTitle}
          lead={
            <Ends
              lead={text.closeLead}
              id={org}
              load={() =>
                ask(
                  api.GET('/v1/organizations/{organization_id}/closing-preview', {
                    params: { path: { organization_id: org } },
                  }),
                )
              }
            />
          }
          name={name}
          action={text.close}
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await ask(
              api.DELETE('/v1/organizations/{organization_id}', {
                params: { path: { organization_id: org } },
              }),
            );
            await navigate({ to: '/welcome' });
            await queries.invalidateQueries();
          }}
        />
      )}
    </Card>
  );
}
