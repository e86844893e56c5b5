import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { enrollmentTokensQuery, poolsQuery } from '@/api/platform';
import { common, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { Button, NewButton } from '@/ui/Button';
import { Confirm, Dialog, DialogActions } from '@/ui/Dialog';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Command, Id, Time } from '@/ui/Values';

const text = platform.enroll;

export function Enrollment() {
  const queries = useQueryClient();
  const query = useInfiniteQuery(enrollmentTokensQuery());
  const pools = useQuery(poolsQuery());
  const [isMaking, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Schemas['EnrollmentToken']>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['enrollment_token'] });
  const poolName = (id: string) => pools.data?.find((it) => it.id === id)?.name ?? id;
  const button = <NewButton onClick={() => setMaking(true)}>{text.create}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <List
        query={query}
        empty={{
          icon: 'enroll',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          { name: common.id, cell: (it) => <Id id={it.id} /> },
          { name: text.pool, cell: (it) => poolName(it.pool_id) },
          { name: common.state, cell: (it) => <State state={it.status} /> },
          {
            name: text.expires,
            wide: true,
            cell: (it) => <Time at={it.status === 'unused' ? it.expires_at : null} />,
          },
        ]}
        rowActions={(it) =>
          (it.status === 'unused' || it.status === 'used') && (
            <Button small kind="quiet" onClick={() => setRevoking(it)}>
              {common.revoke}
            </Button>
          )
        }
      />
      {isMaking && <NewToken pools={pools.data ?? []} onClose={() => setMaking(false)} onDone={refresh} />}
      {revoking && (
        <Confirm
          title={text.revokeTitle}
          lead={text.revokeLead}
          action={common.revoke}
          onClose={() => setRevoking(undefined)}
          onConfirm={async () => {
            const path = { enrollment_token_id: revoking.id };
            await ask(
              api.DELETE('/v1/platform/enrollment-tokens/{enrollment_token_id}', { params: { path } }),
            );
            await refresh();
          }}
        />
      )}
    </Page>
  );
}

interface NewProps {
  pools: readonly Schemas['Pool'][];
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

function NewToken({ pools, onClose, onDone }: NewProps) {
  const usable = pools.filter((it) => it.provider === 'enrolled');
  const [chosen, setChosen] = useState('');
  const [minutes, setMinutes] = useState(60);
  const [made, setMade] = useState<Schemas['NewEnrollmentToken']>();
  const pool = chosen || usable[0]?.id || pools[0]?.id || '';
  if (made) {
    const line = `GPUAAS_NODE_TOKEN=${made.secret} gpuaas-node enroll --url ${made.node_url} --ca-fingerprint ${made.ca_fingerprint}`;
    return (
      <Dialog title={text.paste} lead={text.pasteLead} onClose={onClose} isFirm>
        <div className="space-y-3">
          <Command>{line}</Command>
          <p className="text-sm text-faint">{text.then}</p>
          <Command>systemctl enable --now gpuaas-node</Command>
        </div>
        <DialogActions>
          <Button kind="primary" onClick={onClose}>
            {common.secretSaved}
          </Button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={text.create}
      action={common.create}
      canSubmit={pool !== ''}
      hasSequel
      onClose={onClose}
      onSubmit={async () => {
        const body = { pool_id: pool, lifetime_minutes: minutes };
        setMade(await ask(api.POST('/v1/platform/enrollment-tokens', { params: { header: once() }, body })));
        void onDone();
      }}
    >
      <Select
        label={text.pool}
        hint={pools.length === 0 ? text.noPools : undefined}
        value={pool}
        onChange={(event) => setChosen(event.target.value)}
      >
        {pools.map((it) => (
          <option key={it.id} value={it.id}>
            {it.name}
          </option>
        ))}
      </Select>
      <Input
        label={text.minutes}
        type="number"
        min={1}
        required
        value={minutes}
        onChange={(event) => setMinutes(Number(event.target.value))}
      />
    </FormDialog>
  );
}
