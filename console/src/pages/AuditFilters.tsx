/** Which entries of an audit log are looked at. */

import { useState } from 'react';
import type { AuditFilter } from '@/api/people';
import { audit as text } from '@/strings';
import { Button } from '@/ui/Button';
import { Input } from '@/ui/Form';
import { actorOf } from './actor';

const FIELDS = ['action', 'actor', 'resource', 'correlation_id'] as const;
const NAMES: Record<(typeof FIELDS)[number], string> = {
  action: text.action,
  actor: text.actor,
  resource: text.resource,
  correlation_id: text.correlation,
};

interface Props {
  filter: AuditFilter;
  /** Told without the fields that are empty. */
  onApply: (filter: AuditFilter) => void;
}

export function AuditFilters({ filter, onApply }: Props) {
  const [draft, setDraft] = useState<AuditFilter>(filter);
  const apply = ({ actor, ...others }: AuditFilter) => {
    const wanted = { ...others, actor: actor && actorOf(actor) };
    onApply(Object.fromEntries(Object.entries(wanted).filter(([, value]) => value)));
  };
  return (
    <form
      className="grid grid-cols-2 items-end gap-3 lg:grid-cols-[1fr_1fr_1fr_1fr_auto]"
      onSubmit={(event) => {
        event.preventDefault();
        apply(draft);
      }}
    >
      {FIELDS.map((field) => (
        <Input
          key={field}
          label={NAMES[field]}
          autoComplete="off"
          placeholder={text.examples[field]}
          value={draft[field] ?? ''}
          onChange={(event) => setDraft({ ...draft, [field]: event.target.value.trim() })}
        />
      ))}
      <div className="col-span-2 flex gap-2 lg:col-span-1">
        <Button type="submit">{text.apply}</Button>
        <Button
          kind="quiet"
          onClick={() => {
            setDraft({});
            apply({});
          }}
        >
          {text.clear}
        </Button>
      </div>
    </form>
  );
}
