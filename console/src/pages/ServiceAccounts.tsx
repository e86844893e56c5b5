import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { ROLES, serviceAccountsQuery } from '@/api/people';
import { words } from '@/format/size';
import { useOpened } from '@/shell/opened';
import { useMay, useOrg } from '@/shell/organization';
import { common, members, serviceAccounts as text } from '@/strings';
import { NewButton } from '@/ui/Button';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Time } from '@/ui/Values';

export function ServiceAccounts() {
  const org = useOrg();
  const may = useMay('administer');
  const query = useQuery(serviceAccountsQuery(org));
  const making = useOpened('new');
  const button = may && <NewButton onClick={making.open}>{text.create}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <List
        query={query}
        empty={{
          icon: 'robot',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          {
            name: text.name,
            cell: (it) => (
              <Link
                to="/o/$org/service-accounts/$account"
                params={{ org, account: it.id }}
                className="font-medium hover:text-accent-ink hover:underline"
              >
                {it.name}
              </Link>
            ),
          },
          { name: text.role, cell: (it) => words(it.role) },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
      />
      {making.isOpen && <NewAccount org={org} onClose={making.close} />}
    </Page>
  );
}

function NewAccount({ org, onClose }: { org: string; onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [role, setRole] = useState<Schemas['RoleChoice']>('member');
  return (
    <FormDialog
      title={text.create}
      action={common.create}
      onClose={onClose}
      onSubmit={async () => {
        const made = await ask(
          api.POST('/v1/organizations/{organization_id}/service-accounts', {
            params: { path: { organization_id: org }, header: once() },
            body: { name: name.trim(), role },
          }),
        );
        await queries.invalidateQueries({ queryKey: ['service_account'] });
        await navigate({ to: '/o/$org/service-accounts/$account', params: { org, account: made.id } });
      }}
    >
      <Input label={text.name} required value={name} onChange={(event) => setName(event.target.value)} />
      <Select
        label={text.role}
        value={role}
        onChange={(event) => setRole(event.target.value as Schemas['RoleChoice'])}
      >
        {ROLES.filter((it) => it !== 'owner').map((it) => (
          <option key={it} value={it}>
            {members.roles[it]}
          </option>
        ))}
      </Select>
    </FormDialog>
  );
}
