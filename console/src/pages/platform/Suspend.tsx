/** An operator suspends an organization: what that stops is listed before anybody types the name. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { runningOfQuery } from '@/api/platform';
import { common, ends, platform } from '@/strings';
import { Answer } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { shortName } from './ForceRelease';

const text = platform.organizations;
/** How many are listed; the rest is counted. */
const SHOWN = 10;

interface Props {
  organization: string;
  name: string;
  onClose: () => void;
}

export function Suspend({ organization, name, onClose }: Props) {
  const queries = useQueryClient();
  const running = useQuery(runningOfQuery(organization));
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  return (
    <FormDialog
      title={text.suspend}
      lead={text.suspendLead}
      action={text.suspend}
      canSubmit={reason.trim() !== '' && typed === name}
      onClose={onClose}
      onSubmit={async () => {
        await ask(
          api.POST('/v1/platform/organizations/{organization_id}/suspend', {
            params: { path: { organization_id: organization }, header: once() },
            body: { reason: reason.trim() },
          }),
        );
        await Promise.all(
          ['organization', 'allocation'].map((noun) => queries.invalidateQueries({ queryKey: [noun] })),
        );
      }}
    >
      <Answer query={running} lines={2}>
        {(found) => <Stops running={found} />}
      </Answer>
      <Input
        label={platform.why}
        hint={platform.whyHint}
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <Input
        label={common.typeToConfirm(name)}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  );
}

function Stops({ running }: { running: Schemas['Allocation'][] }) {
  if (running.length === 0) return <p>{text.suspendNothing}</p>;
  const gpus = running.reduce((sum, it) => sum + it.gpus * it.nodes, 0);
  return (
    <div>
      <p className="font-medium text-ink">{text.suspendStops(running.length, gpus)}</p>
      <ul className="list-disc pl-5">
        {running.slice(0, SHOWN).map((it) => (
          <li key={it.id}>
            {shortName(it)}, {it.state}
          </li>
        ))}
        {running.length > SHOWN && <li>{ends.more(running.length - SHOWN)}</li>}
      </ul>
    </div>
  );
}
