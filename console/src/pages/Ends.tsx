import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@/api/client';
import { money } from '@/format/money';
import { ends as text } from '@/strings';
import { Answer } from '@/ui/Feedback';

type Preview = Schemas['EndingPreview'];

/** How many are listed; the rest is counted. */
const SHOWN = 10;

interface Props {
  lead: string;
  /** Whose end it is. */
  id: string;
  load: () => Promise<Preview>;
}

/** What an end ends, listed before anybody types the name. */
export function Ends({ lead, id, load }: Props) {
  const query = useQuery({ queryKey: ['ending_preview', id], queryFn: load, gcTime: 0 });
  return (
    <div className="space-y-2">
      <p>{lead}</p>
      <Answer query={query} lines={2}>
        {(preview) => <List preview={preview} />}
      </Answer>
    </div>
  );
}

function List({ preview }: { preview: Preview }) {
  if (preview.count === 0) return <p>{text.nothing}</p>;
  const shown = preview.ends.slice(0, SHOWN);
  const burn = preview.burn.map((it) => money(it.micros_per_hour, it.currency)).join(', ');
  return (
    <>
      <p className="font-medium text-ink">{text.summary(preview.count, preview.gpus)}</p>
      <ul className="list-disc pl-5">
        {shown.map((it) => (
          <li key={it.id}>
            {it.name ?? it.id}, {it.state}
          </li>
        ))}
        {preview.count > shown.length && <li>{text.more(preview.count - shown.length)}</li>}
      </ul>
      {burn && <p>{text.costs(burn)}</p>}
    </>
  );
}
