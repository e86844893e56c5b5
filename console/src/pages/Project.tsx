import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { api, ask } from '@/api/client';
import { projectPoliciesQuery, projectPolicyQuery, projectsQuery } from '@/api/compute';
import { useMay, useOrg } from '@/shell/organization';
import { platform, project as text, projects } from '@/strings';
import { buttonLook } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer, Empty, Failure } from '@/ui/Feedback';
import { Page } from '@/ui/Page';
import { Id } from '@/ui/Values';
import { type Level, PolicyTable } from './PolicyTable';

export function ProjectPage() {
  const org = useOrg();
  const { project = '' } = useParams({ strict: false }) as { project?: string };
  const name = useQuery(projectsQuery(org)).data?.find((it) => it.id === project)?.name;
  return (
    <Page
      title={name ?? project}
      lead={
        <span className="inline-flex flex-wrap items-center gap-2">
          {text.lead} <Id id={project} />
        </span>
      }
      above={
        <Link to="/o/$org/projects" params={{ org }} className="hover:underline">
          {projects.title}
        </Link>
      }
      actions={
        <Link
          to="/o/$org/allocations"
          params={{ org }}
          search={{ project } as never}
          className={buttonLook('plain')}
        >
          {text.allocations}
        </Link>
      }
    >
      <Policies key={project} project={project} name={name ?? project} />
    </Page>
  );
}

interface Filters {
  find?: string | undefined;
  key?: string | undefined;
  here?: boolean | undefined;
}

function Policies({ project, name }: { project: string; name: string }) {
  const may = useMay('administer');
  const navigate = useNavigate();
  const { find = '', key, here = false } = useSearch({ strict: false }) as Filters;
  const set = (change: Filters) =>
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, ...change })) as never,
      replace: true,
    });
  const query = useQuery(projectPoliciesQuery(project));
  const opened = useQuery({ ...projectPolicyQuery(project, key ?? ''), enabled: Boolean(key) });
  const level: Level = {
    name: 'project',
    set: (key, value) =>
      ask(
        api.PUT('/v1/projects/{project_id}/policies/{key}', {
          params: { path: { project_id: project, key } },
          body: { value },
        }),
      ),
    unset: (key) =>
      ask(
        api.DELETE('/v1/projects/{project_id}/policies/{key}', {
          params: { path: { project_id: project, key } },
        }),
      ),
  };
  return (
    <Card
      title={text.policies}
      lead={text.policiesLead}
      flush
      actions={
        <>
          <label className="flex items-center gap-2 text-sm">
            <input
              type="checkbox"
              checked={here}
              onChange={(event) => set({ here: event.target.checked || undefined })}
              className="size-4 accent-accent"
            />
            {text.setHere}
          </label>
          <input
            type="search"
            aria-label={platform.policies.search}
            placeholder={platform.policies.search}
            className="field h-8! w-48!"
            value={find}
            onChange={(event) => set({ find: event.target.value || undefined })}
          />
        </>
      }
    >
      {key && opened.error && (
        <div className="p-4">
          <Failure error={opened.error} onRetry={() => void opened.refetch()} />
        </div>
      )}
      <Answer query={query} lines={8}>
        {(items) => {
          // Those that a project can set; the others are of the levels above.
          const ours = items.filter((it) => it.lowest_level === 'project');
          const isHere = (it: (typeof ours)[number]) =>
            it.levels.some((setting) => setting.level === 'project' && setting.value !== null);
          const shown = (here ? ours.filter(isHere) : ours).map((it) =>
            it.key === opened.data?.key ? opened.data : it,
          );
          return here && shown.length === 0 ? (
            <Empty icon="policy" title={text.none} lead={text.noneLead} command={text.command(name)} />
          ) : (
            <PolicyTable
              items={shown}
              typed={String(find)}
              level={may ? level : undefined}
              // When it was read anew, so that what is changed is what applies.
              opened={opened.data?.key === key ? key : undefined}
              onOpen={(next) => set({ key: next })}
            />
          );
        }}
      </Answer>
    </Card>
  );
}
