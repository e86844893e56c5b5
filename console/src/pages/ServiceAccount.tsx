import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once } from '@/api/client';
import { serviceAccountKeysQuery, serviceAccountsQuery } from '@/api/people';
import { words } from '@/format/size';
import { useMay, useOrg } from '@/shell/organization';
import { common, serviceAccounts as text } from '@/strings';
import { Button } from '@/ui/Button';
import { Confirm } from '@/ui/Dialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Id } from '@/ui/Values';
import { KeyDialog } from './keys/KeyDialog';
import { KeyTable } from './keys/KeyTable';

export function ServiceAccountPage() {
  const org = useOrg();
  const { account = '' } = useParams({ strict: false }) as { account?: string };
  const may = useMay('administer');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const accounts = useQuery(serviceAccountsQuery(org));
  const keys = useQuery(serviceAccountKeysQuery(org, account));
  const [isMaking, setMaking] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const shown = accounts.data?.find((it) => it.id === account);
  const path = { organization_id: org, service_account_id: account };
  const refresh = () => queries.invalidateQueries({ queryKey: ['key'] });
  const button = may && (
    <Button kind="primary" onClick={() => setMaking(true)}>
      {text.newKey}
    </Button>
  );
  return (
    <Page
      title={shown?.name ?? text.title}
      above={
        <Link to="/o/$org/service-accounts" params={{ org }} className="hover:underline">
          {text.title}
        </Link>
      }
      lead={
        shown && (
          <span className="inline-flex flex-wrap items-center gap-x-2">
            {words(shown.role)} · <Id id={shown.id} />
          </span>
        )
      }
      actions={
        <>
          {may && <Button onClick={() => setDeleting(true)}>{common.delete}</Button>}
          {button}
        </>
      }
    >
      <List
        title={text.keys}
        query={keys}
        empty={{
          icon: 'key',
          title: text.noKeys,
          lead: text.noKeysLead,
          command: text.keyCommand(shown?.name ?? 'ci'),
          action: button,
        }}
        rows={(items) => (
          <KeyTable
            keys={items}
            onRevoke={async (key) => {
              await ask(
                api.DELETE(
                  '/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys/{key_id}',
                  {
                    params: { path: { ...path, key_id: key.id } },
                  },
                ),
              );
              await refresh();
            }}
          />
        )}
      />
      {isMaking && (
        <KeyDialog
          onClose={() => setMaking(false)}
          onCreate={async (body) => {
            const made = await ask(
              api.POST('/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys', {
                params: { path, header: once() },
                body,
              }),
            );
            void refresh();
            return made;
          }}
        />
      )}
      {isDeleting && shown && (
        <Confirm
          title={text.deleteTitle}
          lead={text.deleteLead}
          name={shown.name}
          action={common.delete}
          onClose={() => setDeleting(false)}
          onConfirm={async () => {
            await ask(
              api.DELETE('/v1/organizations/{organization_id}/service-accounts/{service_account_id}', {
                params: { path },
              }),
            );
            await queries.invalidateQueries({ queryKey: ['service_account'] });
            await navigate({ to: '/o/$org/service-accounts', params: { org } });
          }}
        />
      )}
    </Page>
  );
}
