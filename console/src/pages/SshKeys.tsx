import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { sshKeysQuery, whoamiQuery } from '@/api/people';
import { useOpened } from '@/shell/opened';
import { common, sshKeys as text } from '@/strings';
import { Button, NewButton } from '@/ui/Button';
import { Confirm } from '@/ui/Dialog';
import { Field, Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Mono, Time } from '@/ui/Values';

export function SshKeys() {
  const query = useQuery(sshKeysQuery());
  const queries = useQueryClient();
  const adding = useOpened('new');
  const [removing, setRemoving] = useState<Schemas['SshKey']>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['ssh_key'] });
  const button = <NewButton onClick={adding.open}>{text.add}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <List
        query={query}
        empty={{
          icon: 'key',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          { name: text.name, cell: (it) => <span className="font-medium">{it.name}</span> },
          {
            name: text.fingerprint,
            cell: (it) => <Mono className="break-all text-soft">{it.fingerprint}</Mono>,
          },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
        rowActions={(it) => (
          <Button small kind="quiet" onClick={() => setRemoving(it)}>
            {common.remove}
          </Button>
        )}
      />
      {adding.isOpen && <AddKey onClose={adding.close} onDone={refresh} />}
      {removing && (
        <Confirm
          title={text.removeTitle}
          lead={text.removeLead}
          name={removing.name}
          action={common.remove}
          onClose={() => setRemoving(undefined)}
          onConfirm={async () => {
            await ask(
              api.DELETE('/v1/me/ssh-keys/{ssh_key_id}', { params: { path: { ssh_key_id: removing.id } } }),
            );
            await refresh();
          }}
        />
      )}
    </Page>
  );
}

function AddKey({ onClose, onDone }: { onClose: () => void; onDone: () => Promise<unknown> }) {
  const [name, setName] = useState('');
  const [key, setKey] = useState('');
  const [proof, setProof] = useState('');
  const me = useQuery(whoamiQuery()).data?.user?.id ?? '';
  return (
    <FormDialog
      title={text.add}
      action={text.add}
      onClose={onClose}
      onSubmit={async () => {
        const body = { name: name.trim(), public_key: key.trim(), proof: proof.trim() };
        await ask(api.POST('/v1/me/ssh-keys', { params: { header: once() }, body }));
        await onDone();
      }}
    >
      <Input
        label={text.name}
        hint={text.nameHint}
        required
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Field label={text.publicKey} hint={text.publicKeyHint}>
        {(ids) => (
          <textarea
            {...ids}
            required
            rows={4}
            spellCheck={false}
            value={key}
            onChange={(event) => {
              setKey(event.target.value);
              // The comment at a key's end often names the machine.
              const comment = event.target.value.trim().split(/\s+/)[2];
              if (comment && !name) setName(comment);
            }}
            className="field h-auto! py-2 font-mono text-xs!"
          />
        )}
      </Field>
      <Field label={text.proof} hint={text.proofHint}>
        {(ids) => (
          <>
            <Mono className="block break-all text-soft">{text.sign(me)}</Mono>
            <textarea
              {...ids}
              required
              rows={4}
              spellCheck={false}
              value={proof}
              onChange={(event) => setProof(event.target.value)}
              className="field h-auto! py-2 font-mono text-xs!"
            />
          </>
        )}
      </Field>
    </FormDialog>
  );
}
