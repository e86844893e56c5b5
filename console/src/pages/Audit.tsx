import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type AuditFilter, auditQuery } from '@/api/people';
import { useOrg } from '@/shell/organization';
import { audit as text } from '@/strings';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { useWho } from './access/names';
import { AuditFilters } from './AuditFilters';
import { AuditTable } from './AuditTable';

export function Audit() {
  const org = useOrg();
  const navigate = useNavigate();
  const filter = useSearch({ strict: false }) as AuditFilter;
  const who = useWho(org);
  const query = useInfiniteQuery(auditQuery(org, filter));
  return (
    <Page title={text.title} lead={text.lead}>
      <AuditFilters
        key={JSON.stringify(filter)}
        filter={filter}
        onApply={(next) =>
          void navigate({ to: '/o/$org/audit', params: { org }, search: next as never, replace: true })
        }
      />
      <List
        query={query}
        lines={8}
        empty={{ icon: 'audit', title: text.empty, lead: text.emptyLead, command: text.command }}
        rows={(items) => (
          <AuditTable
            items={items}
            who={(actor) => who({ opened_by: actor, user_id: actor.slice(actor.indexOf(':') + 1) })}
          />
        )}
      />
    </Page>
  );
}
