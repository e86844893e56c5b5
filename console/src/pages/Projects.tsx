import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, once } from '@/api/client';
import { type Project, projectsQuery } from '@/api/compute';
import { useOpened } from '@/shell/opened';
import { useMay, useOrg } from '@/shell/organization';
import { common, project, projects as text } from '@/strings';
import { Button, buttonLook, NewButton } from '@/ui/Button';
import { Confirm } from '@/ui/Dialog';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Id, Time } from '@/ui/Values';
import { Ends } from './Ends';

type Asking = { rename: Project } | { remove: Project };

export function Projects() {
  const org = useOrg();
  const may = useMay('use');
  const queries = useQueryClient();
  const query = useQuery(projectsQuery(org));
  const making = useOpened('new');
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const refresh = () => queries.invalidateQueries({ queryKey: ['project'] });
  const button = may && <NewButton onClick={making.open}>{text.create}</NewButton>;
  return (
    <Page title={text.title} lead={text.lead} actions={button}>
      <List
        query={query}
        empty={{
          icon: 'project',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          {
            name: text.name,
            cell: (it) => (
              <Link
                to="/o/$org/allocations"
                params={{ org }}
                search={{ project: it.id } as never}
                className="font-medium hover:text-accent-ink hover:underline"
              >
                {it.name}
              </Link>
            ),
          },
          { name: common.id, wide: true, cell: (it) => <Id id={it.id} /> },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
        rowActions={(it) => (
          <span className="inline-flex flex-wrap gap-1">
            <Link
              to="/o/$org/projects/$project"
              params={{ org, project: it.id }}
              className={buttonLook('quiet', true)}
            >
              {project.policies}
            </Link>
            {may && (
              <>
                <Button small kind="quiet" onClick={() => setAsking({ rename: it })}>
                  {text.rename}
                </Button>
                <Button small kind="quiet" onClick={() => setAsking({ remove: it })}>
                  {common.delete}
                </Button>
              </>
            )}
          </span>
        )}
      />
      {making.isOpen && (
        <NameDialog
          title={text.create}
          action={common.create}
          name=""
          onClose={making.close}
          onSave={async (name) => {
            await ask(
              api.POST('/v1/organizations/{organization_id}/projects', {
                params: { path: { organization_id: org }, header: once() },
                body: { name },
              }),
            );
            await refresh();
          }}
        />
      )}
      {asking && 'rename' in asking && (
        <NameDialog
          title={text.rename}
          action={common.save}
          name={asking.rename.name}
          onClose={close}
          onSave={async (name) => {
            await ask(
              api.PATCH('/v1/projects/{project_id}', {
                params: { path: { project_id: asking.rename.id }, header: once() },
                body: { name },
              }),
            );
            await refresh();
          }}
        />
      )}
      {asking && 'remove' in asking && (
        <Confirm
          title={text.deleteTitle}
          lead={
            <Ends
              lead={text.deleteLead}
              id={asking.remove.id}
              load={() =>
                ask(
                  api.GET('/v1/projects/{project_id}/deletion-preview', {
                    params: { path: { project_id: asking.remove.id } },
                  }),
                )
              }
            />
          }
          name={asking.remove.name}
          action={common.delete}
          onClose={close}
          onConfirm={async () => {
            await ask(
              api.DELETE('/v1/projects/{project_id}', { params: { path: { project_id: asking.remove.id } } }),
            );
            await refresh();
          }}
        />
      )}
    </Page>
  );
}

interface NameProps {
  title: string;
  action: string;
  name: string;
  onSave: (name: string) => Promise<unknown>;
  onClose: () => void;
}

function NameDialog({ title, action, name: before, onSave, onClose }: NameProps) {
  const [name, setName] = useState(before);
  return (
    <FormDialog title={title} action={action} onSubmit={() => onSave(name)} onClose={onClose}>
      <Input label={text.name} required value={name} onChange={(event) => setName(event.target.value)} />
    </FormDialog>
  );
}
