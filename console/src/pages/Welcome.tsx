/** Where somebody without an organization makes or joins one. */

import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once } from '@/api/client';
import { common, shell, signIn } from '@/strings';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { Page } from '@/ui/Page';

export function Welcome() {
  return (
    <Page title={signIn.firstOrganization} lead={signIn.firstOrganizationLead}>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Create />
        <Join />
      </div>
    </Page>
  );
}

function useEnter() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return async (id?: string) => {
    await queries.invalidateQueries({ queryKey: ['organization'] });
    if (id) await navigate({ to: '/o/$org', params: { org: id } });
    else await navigate({ to: '/' });
  };
}

function Create() {
  const enter = useEnter();
  const [name, setName] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const made = await ask(api.POST('/v1/organizations', { body: { name }, params: { header: once() } }));
      await enter(made.id);
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title={shell.newOrganization}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Input
          label={signIn.organizationName}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        {error !== undefined && <Failure error={error} />}
        <Button type="submit" kind="primary" busy={busy}>
          {common.create}
        </Button>
      </form>
    </Card>
  );
}

function Join() {
  const enter = useEnter();
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await ask(api.POST('/v1/invitations/accept', { body: { token }, params: { header: once() } }));
      await enter();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title={signIn.acceptInvitation} lead={signIn.acceptLead}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Input
          label={signIn.token}
          required
          autoComplete="off"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        {error !== undefined && <Failure error={error} />}
        <Button type="submit" busy={busy}>
          {signIn.accept}
        </Button>
      </form>
    </Card>
  );
}
