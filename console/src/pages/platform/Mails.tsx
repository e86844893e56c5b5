import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Schemas } from '@/api/client';
import { flat } from '@/api/lists';
import { mailsQuery } from '@/api/platform';
import { words } from '@/format/size';
import { account, common, operations } from '@/strings';
import { State } from '@/ui/Badge';
import { Card } from '@/ui/Card';
import { Answer, Empty } from '@/ui/Feedback';
import { Page } from '@/ui/Page';
import { More, Table } from '@/ui/Table';
import { Id, Time } from '@/ui/Values';
import { Choice } from './Choice';
import { OrganizationName } from './OrganizationName';

const text = operations.mails;
type MailState = Schemas['MailStateChoice'];
const STATES: readonly MailState[] = ['pending', 'sent', 'refused', 'exhausted', 'withdrawn'];

export function Mails() {
  const navigate = useNavigate();
  const { state } = useSearch({ strict: false }) as { state?: MailState };
  const query = useInfiniteQuery(mailsQuery(state));
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <Choice
          label={common.state}
          value={state}
          none={operations.anyState}
          onChange={(next) =>
            void navigate({
              to: '/platform/mails',
              search: (next ? { state: next } : {}) as never,
              replace: true,
            })
          }
        >
          {STATES.map((it) => [it, words(it)])}
        </Choice>
      }
    >
      <Card flush>
        <Answer query={{ ...query, data: flat(query.data) }}>
          {(items) =>
            items.length === 0 ? (
              <Empty icon="letter" title={text.emptyTitle} lead={text.emptyLead} command={text.command} />
            ) : (
              <>
                <Table
                  label={text.title}
                  items={items}
                  keyOf={(it) => it.id}
                  columns={[
                    { name: text.kind, cell: (it) => account.kinds[it.kind] ?? words(it.kind) },
                    { name: common.state, cell: (it) => <State state={it.state} /> },
                    { name: text.to, wide: true, cell: (it) => <To mail={it} /> },
                    {
                      name: operations.organization,
                      wide: true,
                      cell: (it) => <OrganizationName id={it.organization_id} />,
                    },
                    { name: text.attempts, end: true, wide: true, cell: (it) => it.attempts },
                    {
                      name: text.answer,
                      wide: true,
                      cell: (it) => (
                        <span className="text-soft">
                          {[it.last_code, it.error].filter(Boolean).join(' ') || '–'}
                        </span>
                      ),
                    },
                    { name: common.created, end: true, cell: (it) => <Time at={it.created_at} /> },
                    {
                      name: text.next,
                      wide: true,
                      end: true,
                      cell: (it) => <Time at={it.next_attempt_at} />,
                    },
                  ]}
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

function To({ mail }: { mail: Schemas['Mail'] }) {
  const id = mail.user_id ?? mail.invitation_id;
  return id ? <Id id={id} /> : <span className="text-faint">–</span>;
}
