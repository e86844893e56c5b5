import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { deadLettersQuery } from '@/api/platform';
import { common, platform } from '@/strings';
import { useAct } from '@/ui/act';
import { State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Mono, Time } from '@/ui/Values';
import { RunbookLink } from './RunbookLink';

const text = platform.deadLetters;
type Letter = Schemas['DeadLetter'];

export function DeadLetters() {
  const queries = useQueryClient();
  const query = useInfiniteQuery(deadLettersQuery());
  const { error, act } = useAct();
  const [discarding, setDiscarding] = useState<Letter>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['dead_letter'] });
  const replay = (letter: Letter) =>
    act(async () => {
      const path = { dead_letter_id: letter.id };
      await ask(
        api.POST('/v1/platform/dead-letters/{dead_letter_id}/replay', { params: { path, header: once() } }),
      );
      await refresh();
    });
  const isOpen = (letter: Letter) => letter.state === 'waiting' || letter.state === 'exhausted';
  return (
    <Page title={text.title} lead={text.lead} actions={<RunbookLink name="dead-letters" />}>
      {error !== undefined && <Failure error={error} />}
      <List
        query={query}
        empty={{ icon: 'letter', title: text.emptyTitle, lead: text.emptyLead, command: text.command }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          { name: text.subject, cell: (it) => <Mono>{it.subject}</Mono> },
          { name: common.state, cell: (it) => <State state={it.state} /> },
          { name: text.consumer, wide: true, cell: (it) => it.consumer },
          { name: text.attempts, wide: true, end: true, cell: (it) => it.attempts },
          {
            name: text.error,
            wide: true,
            cell: (it) => <span className="text-soft">{it.error}</span>,
          },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
        rowActions={(it) =>
          isOpen(it) && (
            <span className="inline-flex gap-1">
              <Button small onClick={() => void replay(it)}>
                {text.replay}
              </Button>
              <Button small kind="quiet" onClick={() => setDiscarding(it)}>
                {text.discard}
              </Button>
            </span>
          )
        }
      />
      {discarding && (
        <Discard letter={discarding} onClose={() => setDiscarding(undefined)} onDone={refresh} />
      )}
    </Page>
  );
}

function Discard({
  letter,
  onClose,
  onDone,
}: {
  letter: Letter;
  onClose: () => void;
  onDone: () => Promise<unknown>;
}) {
  const [reason, setReason] = useState('');
  return (
    <FormDialog
      title={text.discardTitle}
      lead={text.discardLead}
      action={text.discard}
      onClose={onClose}
      onSubmit={async () => {
        const params = { path: { dead_letter_id: letter.id }, header: once() };
        await ask(
          api.POST('/v1/platform/dead-letters/{dead_letter_id}/discard', { params, body: { reason } }),
        );
        await onDone();
      }}
    >
      <Input
        label={platform.why}
        hint={platform.whyHint}
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </FormDialog>
  );
}
