import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once } from '@/api/client';
import { personalKeysQuery, sessionsQuery, whoamiQuery } from '@/api/people';
import { signOut } from '@/session/session';
import { useOpened } from '@/shell/opened';
import { account as text, common, serviceAccounts, signIn } from '@/strings';
import { useAct } from '@/ui/act';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Confirm } from '@/ui/Dialog';
import { Answer, Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Below } from '@/ui/Table';
import { Id, Time } from '@/ui/Values';
import { AddressCard } from './AddressCard';
import { KeyDialog } from './keys/KeyDialog';
import { KeyTable } from './keys/KeyTable';
import { Factors } from './mfa/Factors';

export function Account() {
  const me = useQuery(whoamiQuery());
  return (
    <Page title={text.title} lead={text.lead}>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Answer query={me}>
          {(data) =>
            data.user && <Profile key={data.user.name} name={data.user.name} email={data.user.email} />
          }
        </Answer>
        <Password />
        <AddressCard />
      </div>
      <Factors />
      <Sessions />
      <Keys />
    </Page>
  );
}

function Profile({ name: before, email }: { name: string; email: string }) {
  const queries = useQueryClient();
  const [name, setName] = useState(before);
  const { busy, error, act } = useAct();
  const save = () =>
    act(async () => {
      await ask(api.PUT('/v1/me', { body: { name: name.trim() } }));
      await queries.invalidateQueries({ queryKey: ['user'] });
    });
  return (
    <Card title={text.profile}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Input label={text.name} required value={name} onChange={(event) => setName(event.target.value)} />
        <Input label={text.email} value={email} readOnly />
        {error !== undefined && <Failure error={error} />}
        <Button type="submit" busy={busy} disabled={name.trim() === before}>
          {common.save}
        </Button>
      </form>
    </Card>
  );
}

function Password() {
  const queries = useQueryClient();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [isDone, setDone] = useState(false);
  const { busy, error, act } = useAct();
  const change = async () => {
    setDone(false);
    const done = await act(() => ask(api.PUT('/v1/me/password', { body: { current, new: next } })));
    if (!done) return;
    setCurrent('');
    setNext('');
    setDone(true);
    void queries.invalidateQueries({ queryKey: ['session'] });
  };
  return (
    <Card title={text.password}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          void change();
        }}
      >
        <Input
          label={text.current}
          type="password"
          required
          autoComplete="current-password"
          value={current}
          onChange={(event) => setCurrent(event.target.value)}
        />
        <Input
          label={text.next}
          hint={signIn.passwordHint}
          type="password"
          required
          minLength={12}
          autoComplete="new-password"
          value={next}
          onChange={(event) => setNext(event.target.value)}
        />
        {error !== undefined && <Failure error={error} />}
        <p role="status" className="text-ok">
          {isDone ? text.passwordChanged : ''}
        </p>
        <Button type="submit" busy={busy}>
          {text.changePassword}
        </Button>
      </form>
    </Card>
  );
}

function Sessions() {
  const queries = useQueryClient();
  const query = useQuery(sessionsQuery());
  const { error, act } = useAct();
  const [isEnding, setEnding] = useState(false);
  const end = (id: string) =>
    act(async () => {
      await ask(api.DELETE('/v1/sessions/{session_id}', { params: { path: { session_id: id } } }));
      await queries.invalidateQueries({ queryKey: ['session'] });
    });
  return (
    <>
      <List
        title={text.sessions}
        actions={
          <Button small onClick={() => setEnding(true)}>
            {text.endAll}
          </Button>
        }
        query={query}
        error={error}
        empty={text.noSessions}
        label={text.sessions}
        keyOf={(it) => it.id}
        columns={[
          {
            name: common.id,
            cell: (it) => (
              <>
                <span className="inline-flex flex-wrap items-center gap-x-2">
                  <Id id={it.id} />
                  {it.current && <Badge tone="ok">{text.thisSession}</Badge>}
                </span>
                <Below>
                  {text.lastUsed} <Time at={it.last_used_at} />
                </Below>
              </>
            ),
          },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
          { name: text.lastUsed, wide: true, cell: (it) => <Time at={it.last_used_at} /> },
          { name: text.expires, wide: true, cell: (it) => <Time at={it.expires_at} /> },
        ]}
        rowActions={(it) =>
          !it.current && (
            <Button small kind="quiet" onClick={() => void end(it.id)}>
              {text.end}
            </Button>
          )
        }
      />
      {isEnding && (
        <Confirm
          title={text.endAllTitle}
          lead={text.endAllLead}
          action={text.endAll}
          onClose={() => setEnding(false)}
          onConfirm={async () => {
            await ask(api.DELETE('/v1/sessions'));
            await signOut();
            queries.clear();
          }}
        />
      )}
    </>
  );
}

function Keys() {
  const queries = useQueryClient();
  const query = useQuery(personalKeysQuery());
  const making = useOpened('key');
  const refresh = () => queries.invalidateQueries({ queryKey: ['key'] });
  return (
    <>
      <List
        title={text.keys}
        lead={text.keysLead}
        actions={
          <Button small onClick={making.open}>
            {text.newKey}
          </Button>
        }
        query={query}
        empty={{
          icon: 'key',
          title: serviceAccounts.noKeys,
          lead: serviceAccounts.noKeysLead,
          command: text.keyCommand,
        }}
        rows={(items) => (
          <KeyTable
            keys={items}
            onRevoke={async (key) => {
              await ask(api.DELETE('/v1/me/keys/{key_id}', { params: { path: { key_id: key.id } } }));
              await refresh();
            }}
          />
        )}
      />
      {making.isOpen && (
        <KeyDialog
          onClose={making.close}
          onCreate={async (body) => {
            const made = await ask(api.POST('/v1/me/keys', { params: { header: once() }, body }));
            void refresh();
            return made;
          }}
        />
      )}
    </>
  );
}
