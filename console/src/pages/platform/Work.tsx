import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { workQuery } from '@/api/platform';
import { words } from '@/format/size';
import { common, platform } from '@/strings';
import { useAct } from '@/ui/act';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Mono, Time } from '@/ui/Values';
import { RunbookLink } from './RunbookLink';
import { runbookOf } from './runbooks';

const text = platform.work;

export function Work() {
  const queries = useQueryClient();
  const [onlyStuck, setOnlyStuck] = useState(false);
  const query = useInfiniteQuery(workQuery(onlyStuck));
  const { error, act } = useAct();
  const retry = (item: Schemas['WorkItem']) =>
    act(async () => {
      const path = { kind: item.kind, id: item.id };
      await ask(api.POST('/v1/platform/work/{kind}/{id}/retry', { params: { path, header: once() } }));
      await queries.invalidateQueries({ queryKey: ['work'] });
    });
  return (
    <Page title={text.title} lead={text.lead} actions={<RunbookLink name="work-stuck" />}>
      <label className="flex w-fit items-center gap-2">
        <input
          type="checkbox"
          checked={onlyStuck}
          onChange={(event) => setOnlyStuck(event.target.checked)}
          className="size-4 accent-accent"
        />
        {text.onlyStuck}
      </label>
      {error !== undefined && <Failure error={error} />}
      <List
        query={query}
        empty={{ icon: 'work', title: text.emptyTitle, lead: text.emptyLead, command: text.command }}
        label={text.title}
        keyOf={(it) => `${it.kind} ${it.id}`}
        columns={[
          {
            name: text.kind,
            cell: (it) => (
              <span className="inline-flex flex-wrap items-center gap-2">
                <span className="font-medium">{words(it.kind)}</span>
                {it.needs_attention && <Badge tone="bad">{text.attention}</Badge>}
              </span>
            ),
          },
          { name: common.id, wide: true, cell: (it) => <Mono className="text-soft">{it.id}</Mono> },
          { name: text.due, cell: (it) => <Time at={it.due_at} /> },
          { name: text.attempts, end: true, wide: true, cell: (it) => it.attempts },
          {
            name: text.error,
            wide: true,
            cell: (it) => <span className="text-soft">{it.last_error ?? '–'}</span>,
          },
        ]}
        rowActions={(it) =>
          it.needs_attention && (
            <span className="inline-flex items-center gap-3">
              <RunbookLink name={runbookOf(it.kind)} />
              <Button small onClick={() => void retry(it)}>
                {text.retry}
              </Button>
            </span>
          )
        }
      />
    </Page>
  );
}
