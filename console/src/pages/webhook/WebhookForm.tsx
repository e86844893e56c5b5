/** Where a webhook sends, which events, and what it is for: for a new one, and to change one. */

import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { webhooks as text } from '@/strings';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';

export interface WebhookDraft {
  url: string;
  events: string[];
  description: string;
}

interface Props {
  title: string;
  action: string;
  before?: Schemas['Webhook'];
  hasSequel?: boolean;
  onSave: (draft: WebhookDraft) => Promise<unknown>;
  onClose: () => void;
}

export function WebhookForm({ title, action, before, hasSequel, onSave, onClose }: Props) {
  const [url, setUrl] = useState<string>(before?.url ?? '');
  const [events, setEvents] = useState(before?.events.join(', ') ?? 'allocation.*');
  const [description, setDescription] = useState<string>(before?.description ?? '');
  const patterns = events.split(/[\s,]+/).filter(Boolean);
  return (
    <FormDialog
      title={title}
      lead={before && text.changeLead}
      action={action}
      canSubmit={patterns.length > 0}
      hasSequel={hasSequel}
      onClose={onClose}
      onSubmit={() => onSave({ url: url.trim(), events: patterns, description: description.trim() })}
    >
      <Input
        label={text.url}
        hint={text.urlHint}
        type="url"
        required
        placeholder="https://example.com/hook"
        value={url}
        onChange={(event) => setUrl(event.target.value)}
      />
      <Input
        label={text.events}
        hint={text.eventsHint}
        required
        value={events}
        onChange={(event) => setEvents(event.target.value)}
      />
      <Input
        label={text.description}
        isOptional
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
    </FormDialog>
  );
}
