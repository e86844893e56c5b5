import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once } from '@/api/client';
import { webhooksQuery } from '@/api/people';
import { useOpened } from '@/shell/opened';
import { useMay, useOrg } from '@/shell/organization';
import { common, webhooks as text } from '@/strings';
import { State } from '@/ui/Badge';
import { NewButton } from '@/ui/Button';
import { SecretOnce } from '@/ui/Dialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Mono } from '@/ui/Values';
import { WebhookForm } from './webhook/WebhookForm';

export function Webhooks() {
  const org = useOrg();
  const may = useMay('administer');
  const query = useQuery(webhooksQuery(org));
  const making = useOpened('new');
  const button = may && <NewButton onClick={making.open}>{text.create}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <List
        query={query}
        empty={{
          icon: 'webhook',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          {
            name: text.url,
            cell: (it) => (
              <Link
                to="/o/$org/webhooks/$webhook"
                params={{ org, webhook: it.id }}
                className="font-medium break-all hover:text-accent-ink hover:underline"
              >
                {it.url}
              </Link>
            ),
          },
          { name: common.state, cell: (it) => <State state={it.state} /> },
          { name: text.events, wide: true, cell: (it) => <Mono>{it.events.join(' ')}</Mono> },
          { name: text.description, wide: true, cell: (it) => it.description ?? '' },
        ]}
      />
      {making.isOpen && <NewWebhook org={org} onClose={making.close} />}
    </Page>
  );
}

function NewWebhook({ org, onClose }: { org: string; onClose: () => void }) {
  const queries = useQueryClient();
  const [secret, setSecret] = useState<string>();
  if (secret) return <SecretOnce title={text.secret} secret={secret} onClose={onClose} />;
  return (
    <WebhookForm
      title={text.create}
      action={common.create}
      hasSequel
      onClose={onClose}
      onSave={async ({ url, events, description }) => {
        const made = await ask(
          api.POST('/v1/organizations/{organization_id}/webhooks', {
            params: { path: { organization_id: org }, header: once() },
            body: { url, events, ...(description ? { description } : {}) },
          }),
        );
        void queries.invalidateQueries({ queryKey: ['webhook'] });
        setSecret(made.secret);
      }}
    />
  );
}
