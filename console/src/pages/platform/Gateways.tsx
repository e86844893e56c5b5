import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { regionsQuery } from '@/api/compute';
import { gatewaysQuery } from '@/api/platform';
import { useOpened } from '@/shell/opened';
import { common, operations } from '@/strings';
import { State } from '@/ui/Badge';
import { Button, NewButton } from '@/ui/Button';
import { Confirm, Dialog, DialogActions } from '@/ui/Dialog';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Below } from '@/ui/Table';
import { Command, Lines, Mono, Time } from '@/ui/Values';
import { GATEWAY_COMMAND, gatewayLines } from './gatewayLines';

const text = operations.gateways;
type Gateway = Schemas['Gateway'];

export function Gateways() {
  const queries = useQueryClient();
  const query = useInfiniteQuery(gatewaysQuery());
  const regions = useQuery(regionsQuery());
  const making = useOpened('new');
  const [removing, setRemoving] = useState<Gateway>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['gateway'] });
  const regionName = (id: string) => regions.data?.find((it) => it.id === id)?.name ?? id;
  const button = <NewButton onClick={making.open}>{text.create}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <List
        query={query}
        empty={{
          icon: 'terminal',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          {
            name: common.name,
            cell: (it) => (
              <span className="font-medium">
                {it.name}
                <Below>{regionName(it.region_id)}</Below>
              </span>
            ),
          },
          { name: common.region, wide: true, cell: (it) => regionName(it.region_id) },
          { name: common.state, cell: (it) => <State state={it.status} /> },
          { name: text.publicUrl, wide: true, cell: (it) => <Mono>{it.public_url}</Mono> },
          { name: text.nodes, end: true, wide: true, cell: (it) => it.nodes },
          { name: text.sessions, end: true, cell: (it) => it.sessions },
          { name: text.seen, wide: true, cell: (it) => <Time at={it.last_seen_at} /> },
          { name: text.version, wide: true, cell: (it) => it.version ?? '–' },
        ]}
        rowActions={(it) =>
          it.status !== 'removed' && (
            <Button small kind="quiet" onClick={() => setRemoving(it)}>
              {common.remove}
            </Button>
          )
        }
      />
      {making.isOpen && regions.data && (
        <NewGateway regions={regions.data} onClose={making.close} onDone={refresh} />
      )}
      {removing && (
        <Confirm
          title={text.removeTitle}
          lead={text.removeLead}
          name={removing.name}
          action={common.remove}
          onClose={() => setRemoving(undefined)}
          onConfirm={async () => {
            const path = { gateway_id: removing.id };
            await ask(api.DELETE('/v1/platform/gateways/{gateway_id}', { params: { path } }));
            await refresh();
          }}
        />
      )}
    </Page>
  );
}

interface NewProps {
  regions: readonly Schemas['Region'][];
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

function NewGateway({ regions, onClose, onDone }: NewProps) {
  const [name, setName] = useState('');
  const [region, setRegion] = useState(regions[0]?.id ?? '');
  const [agentUrl, setAgentUrl] = useState('');
  const [publicUrl, setPublicUrl] = useState('');
  const [webDomain, setWebDomain] = useState('');
  const [ssh, setSsh] = useState('');
  const [made, setMade] = useState<Schemas['NewGateway']>();
  if (made) return <Started made={made} onClose={onClose} />;
  return (
    <FormDialog
      title={text.create}
      lead={text.createLead}
      action={common.create}
      canSubmit={region !== ''}
      hasSequel
      onClose={onClose}
      onSubmit={async () => {
        const body = {
          name: name.trim(),
          region_id: region,
          agent_url: agentUrl.trim(),
          public_url: publicUrl.trim(),
          web_domain: webDomain.trim(),
          ...(ssh.trim() ? { ssh_address: ssh.trim() } : {}),
        };
        setMade(await ask(api.POST('/v1/platform/gateways', { params: { header: once() }, body })));
        void onDone();
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label={common.name}
          required
          placeholder="edge-1"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Select
          label={common.region}
          hint={regions.length === 0 ? text.noRegions : undefined}
          value={region}
          onChange={(event) => setRegion(event.target.value)}
        >
          {regions.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </Select>
      </div>
      <Input
        label={text.agentUrl}
        hint={text.agentUrlHint}
        required
        spellCheck={false}
        value={agentUrl}
        onChange={(event) => setAgentUrl(event.target.value)}
      />
      <Input
        label={text.publicUrl}
        hint={text.publicUrlHint}
        required
        spellCheck={false}
        value={publicUrl}
        onChange={(event) => setPublicUrl(event.target.value)}
      />
      <Input
        label={text.webDomain}
        hint={text.webDomainHint}
        required
        spellCheck={false}
        value={webDomain}
        onChange={(event) => setWebDomain(event.target.value)}
      />
      <Input
        label={text.ssh}
        hint={text.sshHint}
        isOptional
        spellCheck={false}
        value={ssh}
        onChange={(event) => setSsh(event.target.value)}
      />
    </FormDialog>
  );
}

/** The token is in it, once: only saying that it was kept closes this. */
function Started({ made, onClose }: { made: Schemas['NewGateway']; onClose: () => void }) {
  return (
    <Dialog title={text.start(made.gateway.name)} lead={text.startLead} onClose={onClose} isFirm>
      <div className="space-y-3">
        <Lines>{gatewayLines(made, location.origin)}</Lines>
        <p className="text-sm text-faint">{text.listenNote}</p>
        <p className="text-sm text-faint">{text.then}</p>
        <Command>{GATEWAY_COMMAND}</Command>
      </div>
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          {common.secretSaved}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
