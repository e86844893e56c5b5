import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { words } from '@/format/size';
import { billing, common, platform } from '@/strings';
import { Facts } from '@/ui/Card';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Command, Money, Time } from '@/ui/Values';

const text = platform.organizations;

interface Props {
  organization: string;
  journal: Schemas['Journal'];
  onClose: () => void;
  onNote: (note: string) => void;
}

/** Takes a journal back by its opposite, with a reason and its name typed. */
export function Reverse({ organization, journal, onClose, onNote }: Props) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const name = text.reverseName(journal.number);
  return (
    <FormDialog
      title={text.reverseTitle}
      lead={text.reverseLead}
      action={text.reverse}
      canSubmit={typed === name && reason.trim() !== ''}
      onClose={onClose}
      onSubmit={async () => {
        const made = await ask(
          api.POST('/v1/platform/organizations/{organization_id}/journals/{journal_id}/reverse', {
            params: { path: { organization_id: organization, journal_id: journal.id }, header: once() },
            body: { reason: reason.trim() },
          }),
        );
        onNote(made.state === 'proposed' ? text.proposed : text.reversed(journal.number));
        await Promise.all(
          ['balance', 'journal', 'correction'].map((it) => queries.invalidateQueries({ queryKey: [it] })),
        );
      }}
    >
      <Facts
        items={[
          [billing.kind, `${words(journal.kind)}, ${name}`],
          [common.created, <Time key="at" at={journal.at} as="exact" />],
          journal.reason ? [billing.reason, journal.reason] : null,
          [
            billing.change,
            <ul key="wallets">
              {journal.wallets.map((it) => (
                <li key={it.currency}>
                  <Money micros={it.amount_micros} currency={it.currency} />
                </li>
              ))}
            </ul>,
          ],
        ]}
      />
      <Input
        label={platform.why}
        hint={platform.whyHint}
        required
        maxLength={500}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <Input
        label={common.typeToConfirm(name)}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        autoComplete="off"
        spellCheck={false}
      />
      <div>
        <p className="mb-1.5 text-sm text-faint">{common.cliHint}</p>
        <Command>{text.reverseCommand(organization, journal.id)}</Command>
      </div>
    </FormDialog>
  );
}
