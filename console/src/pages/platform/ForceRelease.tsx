/** An operator takes an allocation back, whatever its project wants. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once } from '@/api/client';
import { common, operations, platform } from '@/strings';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';

const text = operations.force;

interface Props {
  allocation: { id: string; name?: string | null };
  onClose: () => void;
}

/** What it is called where it has no name: the end of its id. */
export function shortName({ id, name }: Props['allocation']): string {
  return name ?? id.slice(-8);
}

export function ForceRelease({ allocation, onClose }: Props) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const word = shortName(allocation);
  return (
    <FormDialog
      title={`${text.release}: ${word}`}
      lead={text.lead}
      action={text.release}
      canSubmit={reason.trim() !== '' && typed === word}
      onClose={onClose}
      onSubmit={async () => {
        await ask(
          api.POST('/v1/platform/allocations/{allocation_id}/force-release', {
            params: { path: { allocation_id: allocation.id }, header: once() },
            body: { reason: reason.trim() },
          }),
        );
        await Promise.all(
          ['allocation', 'node'].map((noun) => queries.invalidateQueries({ queryKey: [noun] })),
        );
      }}
    >
      <Input
        label={platform.why}
        hint={platform.whyHint}
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <Input
        label={common.typeToConfirm(word)}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  );
}
