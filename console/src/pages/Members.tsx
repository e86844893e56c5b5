import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { invitationsQuery, membersQuery, ROLES, whoamiQuery } from '@/api/people';
import { words } from '@/format/size';
import { useOpened } from '@/shell/opened';
import { useMay, useOrg } from '@/shell/organization';
import { common, members as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button, NewButton } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Confirm, SecretOnce } from '@/ui/Dialog';
import { Failure } from '@/ui/Feedback';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Table } from '@/ui/Table';
import { Time } from '@/ui/Values';

type Role = Schemas['RoleChoice'];

export function Members() {
  const org = useOrg();
  const may = useMay('administer');
  const queries = useQueryClient();
  const me = useQuery(whoamiQuery());
  const query = useInfiniteQuery(membersQuery(org));
  const inviting = useOpened('invite');
  const [removing, setRemoving] = useState<Schemas['Member']>();
  const [leaving, setLeaving] = useState<Schemas['Member']>();
  const { error, act } = useAct();
  const navigate = useNavigate();
  const refresh = () => queries.invalidateQueries({ queryKey: ['member'] });
  const change = (member: Schemas['Member'], role: Role) =>
    act(async () => {
      const path = { organization_id: org, user_id: member.user_id };
      await ask(
        api.PUT('/v1/organizations/{organization_id}/members/{user_id}', {
          params: { path },
          body: { role },
        }),
      );
      await refresh();
    });
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={may && <NewButton onClick={inviting.open}>{text.invite}</NewButton>}
    >
      {error !== undefined && <Failure error={error} />}
      <List
        query={query}
        empty={text.none}
        label={text.title}
        keyOf={(it) => it.user_id}
        columns={[
          {
            name: common.name,
            cell: (it) => (
              <span>
                <span className="font-medium">{it.name}</span>
                {it.user_id === me.data?.user?.id && <span className="text-faint"> ({text.you})</span>}
                <span className="block text-sm text-faint">{it.email}</span>
              </span>
            ),
          },
          {
            name: text.role,
            cell: (it) =>
              may && it.user_id !== me.data?.user?.id ? (
                <select
                  aria-label={text.changeRole(it.name)}
                  className="field h-8! w-auto!"
                  value={it.role}
                  onChange={(event) => void change(it, event.target.value as Role)}
                >
                  {ROLES.map((role) => (
                    <option key={role} value={role}>
                      {words(role)}
                    </option>
                  ))}
                </select>
              ) : (
                words(it.role)
              ),
          },
          { name: text.joined, wide: true, cell: (it) => <Time at={it.joined_at} /> },
        ]}
        rowActions={(it) =>
          it.user_id === me.data?.user?.id ? (
            <Button small kind="quiet" onClick={() => setLeaving(it)}>
              {text.leave}
            </Button>
          ) : (
            may && (
              <Button small kind="quiet" onClick={() => setRemoving(it)}>
                {common.remove}
              </Button>
            )
          )
        }
      />
      {may && <Invitations org={org} />}
      {inviting.isOpen && <Invite org={org} onClose={inviting.close} />}
      {removing && (
        <Confirm
          title={text.removeTitle}
          lead={text.removeLead}
          name={removing.email}
          action={common.remove}
          onClose={() => setRemoving(undefined)}
          onConfirm={async () => {
            const path = { organization_id: org, user_id: removing.user_id };
            await ask(
              api.DELETE('/v1/organizations/{organization_id}/members/{user_id}', { params: { path } }),
            );
            await refresh();
          }}
        />
      )}
      {leaving && (
        <Confirm
          title={text.leaveTitle}
          lead={text.leaveLead}
          name={leaving.email}
          action={text.leave}
          onClose={() => setLeaving(undefined)}
          onConfirm={async () => {
            const path = { organization_id: org };
            await ask(api.DELETE('/v1/me/memberships/{organization_id}', { params: { path } }));
            await queries.invalidateQueries({ queryKey: ['organization'] });
            await navigate({ to: '/' });
          }}
        />
      )}
    </Page>
  );
}

function Invite({ org, onClose }: { org: string; onClose: () => void }) {
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('member');
  const [token, setToken] = useState<string>();
  if (token) return <SecretOnce title={text.token} secret={token} onClose={onClose} />;
  return (
    <FormDialog
      title={text.inviteTitle}
      lead={text.inviteLead}
      action={text.invite}
      hasSequel
      onClose={onClose}
      onSubmit={async () => {
        const made = await ask(
          api.POST('/v1/organizations/{organization_id}/invitations', {
            params: { path: { organization_id: org }, header: once() },
            body: { email, role },
          }),
        );
        void queries.invalidateQueries({ queryKey: ['invitation'] });
        setToken(made.token);
      }}
    >
      <Input
        label={text.email}
        type="email"
        required
        autoComplete="off"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <Select label={text.role} value={role} onChange={(event) => setRole(event.target.value as Role)}>
        {ROLES.map((it) => (
          <option key={it} value={it}>
            {text.roles[it]}
          </option>
        ))}
      </Select>
    </FormDialog>
  );
}

function Invitations({ org }: { org: string }) {
  const queries = useQueryClient();
  const query = useQuery(invitationsQuery(org));
  const [revoking, setRevoking] = useState<Schemas['Invitation']>();
  if (!query.data?.length) return null;
  return (
    <Card title={text.pending} flush>
      <Table
        label={text.pending}
        items={query.data}
        keyOf={(it) => it.id}
        columns={[
          { name: text.email, cell: (it) => it.email },
          { name: text.role, cell: (it) => words(it.role) },
          { name: text.expires, wide: true, cell: (it) => <Time at={it.expires_at} /> },
        ]}
        rowActions={(it) => (
          <Button small kind="quiet" onClick={() => setRevoking(it)}>
            {common.revoke}
          </Button>
        )}
      />
      {revoking && (
        <Confirm
          title={text.revokeTitle}
          lead={text.revokeLead}
          name={revoking.email}
          action={common.revoke}
          onClose={() => setRevoking(undefined)}
          onConfirm={async () => {
            const path = { organization_id: org, invitation_id: revoking.id };
            await ask(
              api.DELETE('/v1/organizations/{organization_id}/invitations/{invitation_id}', {
                params: { path },
              }),
            );
            await queries.invalidateQueries({ queryKey: ['invitation'] });
          }}
        />
      )}
    </Card>
  );
}
