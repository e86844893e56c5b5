import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { webhooksQuery } from '@/api/people';
import { useOpened } from '@/shell/opened';
import { useMay, useOrg } from '@/shell/organization';
import { common, webhooks as text } from '@/strings';
import { useAct } from '@/ui/act';
import { State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Confirm, SecretOnce } from '@/ui/Dialog';
import { Failure } from '@/ui/Feedback';
import { Page } from '@/ui/Page';
import { Mono, Time } from '@/ui/Values';
import { Deliveries } from './webhook/Deliveries';
import { WebhookForm } from './webhook/WebhookForm';

type Webhook = Schemas['Webhook'];

export function WebhookPage() {
  const org = useOrg();
  const { webhook = '' } = useParams({ strict: false }) as { webhook?: string };
  const query = useQuery(webhooksQuery(org));
  const shown = query.data?.find((it) => it.id === webhook);
  return (
    <Page
      title={shown?.url ?? text.title}
      above={
        <Link to="/o/$org/webhooks" params={{ org }} className="hover:underline">
          {text.title}
        </Link>
      }
      lead={shown && <Lead webhook={shown} />}
      actions={shown && <Actions webhook={shown} />}
    >
      {shown?.disabled_reason && (
        <p role="alert" className="rounded-lg bg-bad-soft px-4 py-3 text-bad">
          {text.disabled}: {shown.disabled_reason}
        </p>
      )}
      <Deliveries org={org} webhook={webhook} />
    </Page>
  );
}

function Lead({ webhook }: { webhook: Webhook }) {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
      <State state={webhook.state} /> <Mono>{webhook.events.join(' ')}</Mono>
      {webhook.description && <span>{webhook.description}</span>}
      {webhook.previous_secret_until && (
        <span className="text-sm text-faint">
          {text.oldSecret} <Time at={webhook.previous_secret_until} />
        </span>
      )}
    </span>
  );
}

function Actions({ webhook }: { webhook: Webhook }) {
  const may = useMay('administer');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { busy, error, act } = useAct();
  const changing = useOpened('change');
  const [asking, setAsking] = useState<'rotate' | 'delete'>();
  const [secret, setSecret] = useState<string>();
  const [isTested, setTested] = useState(false);
  if (!may) return null;
  const path = { organization_id: webhook.organization_id, webhook_id: webhook.id };
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhook'] });
  const test = async () => {
    const address = '/v1/organizations/{organization_id}/webhooks/{webhook_id}/test';
    setTested(await act(() => ask(api.POST(address, { params: { path, header: once() } }))));
    await queries.invalidateQueries({ queryKey: ['webhook_delivery'] });
  };
  const turn = (isOn: boolean) =>
    act(async () => {
      const params = { path, header: once() };
      await (isOn
        ? ask(api.POST('/v1/organizations/{organization_id}/webhooks/{webhook_id}/enable', { params }))
        : ask(api.POST('/v1/organizations/{organization_id}/webhooks/{webhook_id}/disable', { params })));
      await refresh();
    });
  return (
    <>
      <Button onClick={changing.open}>{common.change}</Button>
      {webhook.state === 'disabled' ? (
        <Button onClick={() => void turn(true)}>{text.enable}</Button>
      ) : (
        <Button onClick={() => void turn(false)}>{text.disable}</Button>
      )}
      <Button busy={busy} onClick={() => void test()}>
        {text.test}
      </Button>
      <Button onClick={() => setAsking('rotate')}>{text.rotate}</Button>
      <Button kind="warn" onClick={() => setAsking('delete')}>
        {common.delete}
      </Button>
      <span role="status" className="text-sm text-ok empty:hidden">
        {isTested ? text.tested : ''}
      </span>
      {error !== undefined && <Failure error={error} />}
      {changing.isOpen && (
        <WebhookForm
          title={text.changeTitle}
          action={common.save}
          before={webhook}
          onClose={changing.close}
          onSave={async (body) => {
            await ask(
              api.PATCH('/v1/organizations/{organization_id}/webhooks/{webhook_id}', {
                params: { path, header: once() },
                body,
              }),
            );
            await refresh();
          }}
        />
      )}
      {asking === 'rotate' && (
        <Confirm
          title={text.rotateTitle}
          lead={text.rotateLead}
          action={text.rotate}
          onClose={() => setAsking(undefined)}
          onConfirm={async () => {
            const made = await ask(
              api.POST('/v1/organizations/{organization_id}/webhooks/{webhook_id}/rotate', {
                params: { path, header: once() },
              }),
            );
            void refresh();
            setSecret(made.secret);
          }}
        />
      )}
      {asking === 'delete' && (
        <Confirm
          title={text.deleteTitle}
          lead={text.deleteLead}
          name={new URL(webhook.url).hostname}
          action={common.delete}
          onClose={() => setAsking(undefined)}
          onConfirm={async () => {
            await ask(
              api.DELETE('/v1/organizations/{organization_id}/webhooks/{webhook_id}', { params: { path } }),
            );
            await refresh();
            await navigate({ to: '/o/$org/webhooks', params: { org: webhook.organization_id } });
          }}
        />
      )}
      {secret && <SecretOnce title={text.secret} secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}
