import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { allRecordingsQuery, type RecordingFilter } from '@/api/access';
import { flat } from '@/api/lists';
import { filled, RecordingFilters } from '@/pages/access/RecordingFilters';
import { RecordingTable } from '@/pages/access/RecordingTable';
import { access } from '@/strings';
import { Card } from '@/ui/Card';
import { Answer, Empty } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { Page } from '@/ui/Page';
import { More } from '@/ui/Table';
import { Id } from '@/ui/Values';

const text = access.recordings;

export function AllRecordings() {
  const navigate = useNavigate();
  const filter = useSearch({ strict: false }) as RecordingFilter;
  const query = useInfiniteQuery(allRecordingsQuery(filter));
  const isFiltered = Object.keys(filled(filter)).length > 0;
  return (
    <Page title={access.platform.any} lead={access.platform.anyLead}>
      <RecordingFilters
        key={JSON.stringify(filter)}
        filter={filter}
        onApply={(next) =>
          void navigate({ to: '/platform/recordings', search: filled(next) as never, replace: true })
        }
        person={(value, onChange) => (
          <Input
            label={text.person}
            autoComplete="off"
            placeholder="user-…"
            value={value}
            onChange={(event) => onChange(event.target.value.trim())}
          />
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
                  who={(it) => (
                    <span className="whitespace-nowrap">
                      <Id id={it.opened_by} />
                    </span>
                  )}
                  where={(it) => (
                    <span className="whitespace-nowrap">
                      <Id id={it.allocation_id} />
                    </span>
                  )}
                  link={(it, name) => (
                    <Link
                      to="/platform/recordings/$recording"
                      params={{ recording: it.id }}
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
