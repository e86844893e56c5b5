import { Link, useParams } from '@tanstack/react-router';
import { Proof, RecordingStage } from '@/pages/access/RecordingStage';
import { access } from '@/strings';
import { Card } from '@/ui/Card';
import { Page } from '@/ui/Page';
import { Id } from '@/ui/Values';

/** What is missing from it is marked in the player: the API tells staff no more of it. */
export function AnyRecording() {
  const { recording = '' } = useParams({ strict: false }) as { recording?: string };
  return (
    <Page
      title={access.recordings.one}
      above={
        <Link to="/platform/recordings" className="hover:underline">
          {access.platform.any}
        </Link>
      }
      lead={<Id id={recording} />}
    >
      <RecordingStage organization={undefined} recording={recording} />
      <Card title={access.recordings.verify}>
        <Proof organization={undefined} recording={recording} />
      </Card>
    </Page>
  );
}
