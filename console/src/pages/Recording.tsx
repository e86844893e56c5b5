import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { recordingQuery } from '@/api/access';
import type { Schemas } from '@/api/client';
import { bytes } from '@/format/size';
import { duration, local } from '@/format/time';
import { useOrg } from '@/shell/organization';
import { access } from '@/strings';
import { Card, Facts } from '@/ui/Card';
import { Answer } from '@/ui/Feedback';
import { Icon } from '@/ui/Icon';
import { Page } from '@/ui/Page';
import { Id, Mono, Time } from '@/ui/Values';
import { useAllocationNames, useWho } from './access/names';
import { Proof, RecordingStage } from './access/RecordingStage';
import { RecordingState } from './access/RecordingTable';

const text = access.recordings;

export function RecordingPage() {
  const org = useOrg();
  const { recording = '' } = useParams({ strict: false }) as { recording?: string };
  const query = useQuery(recordingQuery(org, recording));
  return (
    <Answer query={query} lines={8}>
      {(it) => <Shown detail={it} />}
    </Answer>
  );
}

function Shown({ detail }: { detail: Schemas['RecordingDetail'] }) {
  const org = useOrg();
  const who = useWho(org);
  const nameOf = useAllocationNames(org);
  const { recording: it, segments, gaps } = detail;
  const isDeleted = it.state === 'deleted';
  return (
    <Page
      title={text.of(local(it.created_at))}
      above={
        <Link to="/o/$org/recordings" params={{ org }} className="hover:underline">
          {text.title}
        </Link>
      }
      lead={
        <span className="inline-flex flex-wrap items-center gap-2">
          <RecordingState state={it.state} />
          <span>
            {who(it)} · {nameOf(it)} · {duration(it.duration_ms / 1000)}
          </span>
        </span>
      }
    >
      {isDeleted ? (
        <p className="rounded-lg bg-sunken px-4 py-3">{text.deleted}</p>
      ) : (
        <RecordingStage organization={org} recording={it.id} />
      )}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card title={text.integrity}>
          {!isDeleted && <Proof organization={org} recording={it.id} />}
          {it.sealed_at ? (
            <div className="mt-3 space-y-1 text-sm text-faint">
              <p>
                {text.states.sealed} <Time at={it.sealed_at} as="local" />
              </p>
              {it.root && (
                <p className="break-all">
                  {text.root} <Mono>{it.root}</Mono>
                </p>
              )}
            </div>
          ) : (
            <p className="mt-3 text-sm text-faint">{text.notSealed}</p>
          )}
          <Gaps
            gaps={gaps}
            isIncomplete={segments.some((part) => !part.is_complete) && Boolean(it.sealed_at)}
          />
        </Card>
        <Card title={text.one}>
          <Facts
            items={[
              [text.who, who(it)],
              [
                text.allocation,
                <Link
                  key="allocation"
                  to="/o/$org/allocations/$project/$allocation"
                  params={{ org, project: it.project_id, allocation: it.allocation_id }}
                  className="hover:underline"
                >
                  {nameOf(it)}
                </Link>,
              ],
              [text.session, <Id key="session" id={it.session_id} />],
              [text.began, <Time key="began" at={it.created_at} as="exact" />],
              [text.hasInput, it.has_input ? text.withInput : text.withoutInput],
              [
                text.segments,
                text.segmentsOf(
                  segments.length,
                  segments.reduce((sum, part) => sum + part.pieces, 0),
                ),
              ],
              [text.size, bytes(it.size_bytes)],
            ]}
          />
        </Card>
      </div>
    </Page>
  );
}

function Gaps({ gaps, isIncomplete }: { gaps: Schemas['RecordingGap'][]; isIncomplete: boolean }) {
  const isWhole = gaps.length === 0 && !isIncomplete;
  return (
    <div className="mt-4">
      <h3 className="text-sm font-medium">{text.gaps}</h3>
      {isWhole ? (
        <p className="text-sm text-faint">{text.noGaps}</p>
      ) : (
        <ul className="mt-1 space-y-1 text-sm text-warn">
          {gaps.map((gap) => (
            <li key={gap.from} className="flex items-center gap-2">
              <Icon name="warn" size={15} />
              {text.gap(bytes(gap.to - gap.from))}
            </li>
          ))}
          {isIncomplete && (
            <li className="flex items-center gap-2">
              <Icon name="warn" size={15} />
              {text.incomplete}
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
