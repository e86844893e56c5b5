import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type RecordingFilter, recordingsQuery } from '@/api/access';
import { flat } from '@/api/lists';
import { membersQuery } from '@/api/people';
import { useOrg } from '@/shell/organization';
import { access } from '@/strings';
import { Card } from '@/ui/Card';
import { Answer, Empty } from '@/ui/Feedback';
import { Select } from '@/ui/Form';
import { Page } from '@/ui/Page';
import { More } from '@/ui/Table';
import { useAllocationNames, useWho } from './access/names';
import { filled, RecordingFilters } from './access/RecordingFilters';
import { RecordingTable } from './access/RecordingTable';

const text = access.recordings;

export function Recordings() {
  const org = useOrg();
  const navigate = useNavigate();
  const filter = useSearch({ strict: false }) as RecordingFilter;
  const query = useInfiniteQuery(recordingsQuery(org, filter));
  const members = useInfiniteQuery(membersQuery(org));
  const who = useWho(org);
  const nameOf = useAllocationNames(org);
  const isFiltered = Object.keys(filled(filter)).length > 0;
  const apply = (next: RecordingFilter) =>
    void navigate({
      to: '/o/$org/recordings',
      params: { org },
      search: filled(next) as never,
      replace: true,
    });
  return (
    <Page title={text.title} lead={text.lead}>
      <RecordingFilters
        key={JSON.stringify(filter)}
        filter={filter}
        onApply={apply}
        person={(value, onChange) => (
          <Select label={text.person} value={value} onChange={(event) => onChange(event.target.value)}>
            <option value="">{text.anybody}</option>
            {(flat(members.data) ?? []).map((it) => (
              <option key={it.user_id} value={it.user_id}>
                {it.name}
              </option>
            ))}
          </Select>
        )}
      />
      <Card flush>
        <Answer query={{ ...query, data: flat(query.data) }} lines={6}>
          {(items) =>
            items.length === 0 ? (
              <Empty
                icon="record"
                title={isFiltered ? text.nothingFound : text.none}
                lead={isFiltered ? text.nothingFoundLead : text.noneLead}
                {...(isFiltered ? {} : { command: text.noneCommand })}
              />
            ) : (
              <>
                <RecordingTable
                  items={items}
                  who={who}
                  where={nameOf}
                  link={(it, name) => (
                    <Link
                      to="/o/$org/recordings/$recording"
                      params={{ org, recording: it.id }}
                      className="font-medium hover:underline"
                    >
                      {name}
                    </Link>
                  )}
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
