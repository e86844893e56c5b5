import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useEffect } from 'react';
import { type Allocation, allocationQuery } from '@/api/compute';
import { access, common } from '@/strings';
import { State } from '@/ui/Badge';
import { buttonLook } from '@/ui/Button';
import { Answer, Empty } from '@/ui/Feedback';
import { Icon } from '@/ui/Icon';
import { panelOf } from './allocation/TerminalCard';

const text = access.terminal;
const Panel = lazy(async () => ({ default: (await import('@/terminal/Panel')).Panel }));

/** The terminals of an allocation, as large as the window. */
export function TerminalPage() {
  const {
    org = '',
    project = '',
    allocation = '',
  } = useParams({ strict: false }) as { org?: string; project?: string; allocation?: string };
  const query = useQuery(allocationQuery(project, allocation));
  return <Answer query={query}>{(it) => <Full key={it.id} org={org} allocation={it} />}</Answer>;
}

function Full({ org, allocation }: { org: string; allocation: Allocation }) {
  const navigate = useNavigate();
  const params = { org, project: allocation.project_id, allocation: allocation.id };
  const name = allocation.name ?? allocation.id;
  useEffect(() => {
    document.title = `${text.label(name)} · ${common.product}`;
  }, [name]);
  return (
    <div className="flex h-dvh flex-col bg-surface">
      <header className="flex items-center gap-3 border-b px-3 py-2">
        <Link
          to="/o/$org/allocations/$project/$allocation"
          params={params}
          aria-label={text.leaveFullScreen}
          title={text.leaveFullScreen}
          className={buttonLook('quiet', true)}
        >
          <Icon name="shrink" size={15} />
        </Link>
        <h1 className="min-w-0 truncate font-semibold">{name}</h1>
        <State state={allocation.state} />
      </header>
      <main className="min-h-0 grow">
        {allocation.state === 'active' ? (
          <Suspense fallback={<p className="p-4 text-faint">{text.loading}</p>}>
            <Panel
              {...panelOf(allocation)}
              isTall
              onEmpty={() => void navigate({ to: '/o/$org/allocations/$project/$allocation', params })}
            />
          </Suspense>
        ) : (
          <Empty icon="terminal" title={text.title} lead={text.later} />
        )}
      </main>
    </div>
  );
}
