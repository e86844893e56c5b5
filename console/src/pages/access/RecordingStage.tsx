/** A recording's player, what proves it, and its file: for members and for staff. */

import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { castQuery, verifyRecording } from '@/api/access';
import type { Schemas } from '@/api/client';
import { save } from '@/format/csv';
import { access } from '@/strings';
import { useAct } from '@/ui/act';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer, Failure } from '@/ui/Feedback';
import { Icon } from '@/ui/Icon';
import { Mono } from '@/ui/Values';

const text = access.recordings;
const Player = lazy(async () => ({ default: (await import('@/player/Player')).Player }));

interface Props {
  /** Nothing for platform staff. */
  organization: string | undefined;
  recording: string;
}

export function RecordingStage({ organization, recording }: Props) {
  const cast = useQuery(castQuery(organization, recording));
  return (
    <Card
      title={text.player}
      flush
      className="overflow-hidden"
      actions={
        <Button
          small
          disabled={!cast.data}
          onClick={() => save(`${recording}.cast`, 'application/x-asciicast', cast.data ?? '')}
        >
          <Icon name="download" size={15} />
          {text.download}
        </Button>
      }
    >
      <Answer query={cast} lines={6}>
        {(data) => (
          <Suspense fallback={<p className="p-4 text-faint">{access.terminal.loading}</p>}>
            <Player cast={data} />
          </Suspense>
        )}
      </Answer>
    </Card>
  );
}

export function Proof({ organization, recording }: Props) {
  const { busy, error, act } = useAct();
  const [proof, setProof] = useState<Schemas['RecordingProof']>();
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center gap-3">
        <Button
          small
          busy={busy}
          onClick={() => void act(async () => setProof(await verifyRecording(organization, recording)))}
        >
          <Icon name="seal" size={15} />
          {text.verify}
        </Button>
        <span role="status">
          {!proof ? (
            <span className="text-faint">{text.notVerified}</span>
          ) : proof.is_intact ? (
            <Badge tone="ok">{text.intact(proof.pieces)}</Badge>
          ) : (
            <Badge tone="bad">{text.altered}</Badge>
          )}
        </span>
      </div>
      {proof && !proof.is_intact && (
        <div className="rounded-lg bg-bad-soft p-3 text-bad">
          <p>{text.alteredLead}</p>
          <ul className="mt-1 list-inside list-disc text-sm">
            {proof.problems.map((it) => (
              <li key={it}>{it}</li>
            ))}
          </ul>
        </div>
      )}
      {proof && (
        <p className="text-sm break-all text-faint">
          {text.root} <Mono>{proof.root}</Mono>
        </p>
      )}
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}
