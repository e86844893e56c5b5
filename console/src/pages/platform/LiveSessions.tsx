import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type AccessSession, allAccessSessionsQuery } from '@/api/access';
import { api, ask, once } from '@/api/client';
import { flat } from '@/api/lists';
import { SessionTable } from '@/pages/access/SessionTable';
import { access, common } from '@/strings';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer, Empty } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Page } from '@/ui/Page';
import { More } from '@/ui/Table';
import { Id } from '@/ui/Values';

const text = access.platform;
const words = access.sessions;

export function LiveSessions() {
  const query = useInfiniteQuery(allAccessSessionsQuery());
  const [ending, setEnding] = useState<AccessSession>();
  const [isEntering, setEntering] = useState(false);
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <Button kind="warn" onClick={() => setEntering(true)}>
          {text.glass}
        </Button>
      }
    >
      <Card flush>
        <Answer query={{ ...query, data: flat(query.data) }} lines={6}>
          {(items) =>
            items.length === 0 ? (
              <Empty
                icon="terminal"
                title={words.none}
                lead={words.noneLead}
                command={`${words.noneCommand} --all`}
              />
            ) : (
              <>
                <SessionTable
                  label={text.title}
                  items={items}
                  who={(it) => (
                    <span className="whitespace-nowrap">
                      <Id id={it.opened_by} />
                    </span>
                  )}
                  where={(it) => (
                    <span className="flex flex-col items-start whitespace-nowrap">
                      <Id id={it.allocation_id} />
                      <Link
                        to="/platform/organizations/$organization"
                        params={{ organization: it.organization_id }}
                        className="text-xs text-faint hover:underline"
                      >
                        {text.organization} …{it.organization_id.slice(-6)}
                      </Link>
                    </span>
                  )}
                  actions={(it) => (
                    <Button small kind="warn" onClick={() => setEnding(it)}>
                      {words.end}
                    </Button>
                  )}
                />
                <More query={query} />
              </>
            )
          }
        </Answer>
      </Card>
      {ending && <EndAny session={ending} onClose={() => setEnding(undefined)} />}
      {isEntering && <Enter onClose={() => setEntering(false)} />}
    </Page>
  );
}

function EndAny({ session, onClose }: { session: AccessSession; onClose: () => void }) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const word = words.confirmWord(session.id);
  return (
    <FormDialog
      title={words.endTitle}
      lead={text.endLead}
      action={words.endSession}
      canSubmit={reason.trim() !== '' && typed === word}
      onClose={onClose}
      onSubmit={async () => {
        await ask(
          api.POST('/v1/platform/access-sessions/{access_session_id}/end', {
            params: { path: { access_session_id: session.id }, header: once() },
            body: { reason: reason.trim() },
          }),
        );
        await queries.invalidateQueries({ queryKey: ['access_session'] });
      }}
    >
      <Input
        label={words.endReason}
        hint={words.endReasonHint}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <Input
        label={common.typeToConfirm(word)}
        value={typed}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  );
}

function Enter({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const [id, setId] = useState('');
  return (
    <FormDialog
      title={text.glassTitle}
      lead={text.glassLead}
      action={text.glassEnter}
      canSubmit={id.trim() !== ''}
      onClose={onClose}
      onSubmit={async () => {
        await navigate({
          to: '/platform/allocations/$allocation/terminal',
          params: { allocation: id.trim() },
        });
      }}
    >
      <Input
        label={text.glassAllocation}
        value={id}
        autoComplete="off"
        spellCheck={false}
        placeholder="alloc-…"
        onChange={(event) => setId(event.target.value)}
      />
    </FormDialog>
  );
}
