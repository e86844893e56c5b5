/** Ways in besides the terminal: commands to copy, and web services in a tab of their own. */

import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { sshAddressesQuery, webTicket } from '@/api/access';
import type { Allocation } from '@/api/compute';
import { useMay } from '@/shell/organization';
import { access, allocations as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { Command } from '@/ui/Values';
import { ChooseKeys } from './ChooseKeys';
import { portOf, sshLine } from './ways';

const words = access.connect;
// bound: a platform with more fronts than this shows the first ones
const MOST_ADDRESSES = 3;

export function ConnectCard({ allocation }: { allocation: Allocation }) {
  const isActive = allocation.state === 'active';
  return (
    <Card title={text.connect} actions={<ChooseKeys allocation={allocation} />}>
      {isActive ? <Ways allocation={allocation} /> : <p className="text-faint">{text.connectLater}</p>}
    </Card>
  );
}

function Ways({ allocation }: { allocation: Allocation }) {
  const addresses = useQuery(sshAddressesQuery());
  const name = allocation.name ?? allocation.id;
  const gateways = (addresses.data ?? []).slice(0, MOST_ADDRESSES);
  const hosts = allocation.parts.filter((it) => it.host);
  return (
    <div className="space-y-4">
      <Way title={words.cli} lines={[`gpuaas ssh ${name}`]} />
      {gateways.length > 0 && (
        <Way title={words.ownKey} lines={gateways.map((it) => sshLine(allocation.id, it))} />
      )}
      {hosts.length > 0 && (
        <Way title={words.host} lines={hosts.map((it) => `ssh ${allocation.login}@${it.host}`)} />
      )}
    </div>
  );
}

function Way({ title, lines }: { title: string; lines: readonly string[] }) {
  return (
    <div className="space-y-1.5">
      <p className="text-sm text-faint">{title}</p>
      {lines.map((line) => (
        <Command key={line}>{line}</Command>
      ))}
    </div>
  );
}

export function PortsCard({ allocation }: { allocation: Allocation }) {
  const may = useMay('use');
  const [typed, setTyped] = useState('8888');
  const { busy, error, act } = useAct();
  if (!may || allocation.state !== 'active') return null;
  const port = portOf(typed);
  const name = allocation.name ?? allocation.id;
  const open = async (event: FormEvent) => {
    event.preventDefault();
    if (!port) return;
    await act(async () => enter(await webTicket(allocation, port)));
  };
  return (
    <Card title={words.ports} lead={words.portsLead}>
      <form className="flex items-end gap-3" onSubmit={(event) => void open(event)}>
        <Input
          label={words.port}
          inputMode="numeric"
          autoComplete="off"
          className="w-28"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button type="submit" busy={busy} disabled={!port}>
          {words.openWebService}
        </Button>
      </form>
      {typed && !port && <p className="mt-1 text-sm text-bad">{words.portBad}</p>}
      {error !== undefined && (
        <div className="mt-3">
          {error instanceof Error && error.message === words.noWebServices ? (
            <p role="alert">{words.noWebServices}</p>
          ) : (
            <Failure error={error} />
          )}
        </div>
      )}
      <div className="mt-4">
        <Way title={words.forward} lines={[words.forwardCommand(name, port ?? 8888)]} />
      </div>
    </Card>
  );
}

/** Goes to the web service with the ticket in a form: an address would be written to logs. */
function enter(ticket: { web_url?: string | null; ticket: string }): void {
  if (!ticket.web_url) throw new Error(words.noWebServices);
  const form = document.createElement('form');
  form.method = 'post';
  form.target = '_blank';
  form.rel = 'noopener';
  form.action = new URL('.gpuaas/enter', ticket.web_url).href;
  const field = document.createElement('input');
  field.type = 'hidden';
  field.name = 'ticket';
  field.value = ticket.ticket;
  form.append(field);
  document.body.append(form);
  form.submit();
  form.remove();
}
