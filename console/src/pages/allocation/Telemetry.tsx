import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { type Allocation, type Span, telemetryQuery } from '@/api/compute';
import { now } from '@/session/clock';
import { allocations as text, common } from '@/strings';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer } from '@/ui/Feedback';
import { Segments } from '@/ui/Form';
import { Icon } from '@/ui/Icon';
import { GpuCharts } from './GpuCharts';

// bound: a chart of less says nothing
const LEAST_MS = 120_000;

/** Of one that is younger than the span, only its own time is drawn. */
function shownSince(allocation: Allocation, { since, until }: { since: string; until: string }): string {
  const latest = Date.parse(until) - LEAST_MS;
  const began = Math.min(latest, Date.parse(allocation.active_at ?? since));
  return new Date(Math.max(Date.parse(since), began)).toISOString();
}

export function Telemetry({ allocation }: { allocation: Allocation }) {
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as { span?: Span };
  const span = search.span && search.span in text.spans ? search.span : 'hour';
  const setSpan = (next: Span) =>
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, span: next })) as never,
      replace: true,
    });
  const query = useQuery(telemetryQuery(allocation.project_id, allocation.id, span, now));
  const spans = useMemo(() => Object.entries(text.spans) as [Span, string][], []);
  return (
    <Card
      title={text.telemetry}
      actions={
        <>
          <Segments label={text.telemetry} value={span} options={spans} onChange={setSpan} />
          <Button
            small
            aria-label={common.refresh}
            busy={query.isFetching}
            onClick={() => void query.refetch()}
          >
            <Icon name="refresh" size={15} />
          </Button>
        </>
      }
    >
      <Answer query={query}>
        {(data) => <GpuCharts gpus={data.gpus} since={shownSince(allocation, data)} until={data.until} />}
      </Answer>
    </Card>
  );
}
