import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { accessSessionsQuery } from '@/api/access';
import { flat } from '@/api/lists';
import { whoamiQuery } from '@/api/people';
import { useMay, useOrg } from '@/shell/organization';
import { access } from '@/strings';
import { Card } from '@/ui/Card';
import { Answer, Empty } from '@/ui/Feedback';
import { Segments } from '@/ui/Form';
import { Page } from '@/ui/Page';
import { More } from '@/ui/Table';
import { EndSession } from './access/EndSession';
import { useAllocationNames, useWho } from './access/names';
import { SessionTable } from './access/SessionTable';

const text = access.sessions;

export function Sessions() {
  const org = useOrg();
  const navigate = useNavigate();
  const administers = useMay('administer');
  const me = useQuery(whoamiQuery());
  const who = useWho(org);
  const nameOf = useAllocationNames(org);
  const { state } = useSearch({ strict: false }) as { state?: string };
  const isOver = state === 'ended';
  const query = useInfiniteQuery(accessSessionsQuery(org, isOver ? { state: 'ended' } : {}));
  const choose = (next: 'live' | 'ended') =>
    void navigate({
      to: '/o/$org/sessions',
      params: { org },
      search: (next === 'ended' ? { state: 'ended' } : {}) as never,
      replace: true,
    });
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <Segments
          label={text.filter}
          value={isOver ? 'ended' : 'live'}
          options={[
            ['live', text.states.live],
            ['ended', text.states.ended],
          ]}
          onChange={choose}
        />
      }
    >
      <Card flush>
        <Answer query={{ ...query, data: flat(query.data) }} lines={5}>
          {(items) =>
            items.length === 0 ? (
              <Empty icon="terminal" title={text.none} lead={text.noneLead} command={text.noneCommand} />
            ) : (
              <>
                <SessionTable
                  label={text.title}
                  items={items}
                  who={who}
                  where={(it) => (
                    <Link
                      to="/o/$org/allocations/$project/$allocation"
                      params={{ org, project: it.project_id, allocation: it.allocation_id }}
                      className="font-medium hover:underline"
                    >
                      {nameOf(it)}
                    </Link>
                  )}
                  actions={(it) =>
                    (administers || (it.user_id && it.user_id === me.data?.user?.id)) && (
                      <EndSession session={it} />
                    )
                  }
                />
                <More query={query} />
              </>
            )
          }
        </Answer>
      </Card>
    </Page>
  );
}
