import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '@/api/client';
import type { Allocation } from '@/api/compute';
import { sshKeysQuery } from '@/api/people';
import { useMay } from '@/shell/organization';
import { allocations as text, common, launch } from '@/strings';
import { Button } from '@/ui/Button';
import { FormDialog } from '@/ui/FormDialog';

/** Which of the reader's keys are let in from now on. */
export function ChooseKeys({ allocation }: { allocation: Allocation }) {
  const may = useMay('use');
  const keys = useQuery(sshKeysQuery());
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  if (!may || !['active', 'stopped'].includes(allocation.state)) return null;
  const known = keys.data ?? [];
  const open = () => {
    setChosen(known.map((it) => it.id));
    setOpen(true);
  };
  return (
    <>
      <Button small onClick={open}>
        {text.chooseKeys}
      </Button>
      {isOpen && (
        <FormDialog
          title={text.chooseKeys}
          lead={known.length === 0 ? launch.keysNone : text.chooseKeysLead}
          action={common.save}
          canSubmit={chosen.length > 0}
          onClose={() => setOpen(false)}
          onSubmit={() =>
            ask(
              api.PUT('/v1/projects/{project_id}/allocations/{allocation_id}/ssh-keys', {
                params: { path: { project_id: allocation.project_id, allocation_id: allocation.id } },
                body: { ssh_keys: [...chosen] },
              }),
            )
          }
        >
          {known.map((it) => (
            <label key={it.id} className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={chosen.includes(it.id)}
                onChange={() =>
                  setChosen(chosen.includes(it.id) ? chosen.filter((id) => id !== it.id) : [...chosen, it.id])
                }
                className="size-4 accent-accent"
              />
              {it.name}
            </label>
          ))}
        </FormDialog>
      )}
    </>
  );
}
