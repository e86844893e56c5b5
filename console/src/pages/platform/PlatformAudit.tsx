import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask, type Schemas } from '@/api/client';
import { paged } from '@/api/lists';
import type { AuditFilter } from '@/api/people';
import { audit, platform } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { AuditFilters } from '../AuditFilters';
import { AuditTable } from '../AuditTable';

const text = platform.audit;

const entriesQuery = (filter: AuditFilter) =>
  paged<Schemas['AuditEntry']>(['audit', 'platform', filter], (cursor) =>
    ask(api.GET('/v1/platform/audit', { params: { query: { limit: 50, cursor, ...filter } } })),
  );

interface Verified {
  seals: number;
  entries: number;
  findings: Schemas['SealFinding'][];
}

// bound: parts of the chain that are asked for at a click
const MOST_PARTS = 2_000;

async function verify(): Promise<Verified> {
  const verified: Verified = { seals: 0, entries: 0, findings: [] };
  let after: number | undefined;
  for (let part = 0; part < MOST_PARTS; part += 1) {
    const answer = await ask(api.GET('/v1/platform/audit/verify', { params: { query: { after } } }));
    verified.seals += answer.seals_checked;
    verified.entries += answer.entries_checked;
    verified.findings.push(...answer.findings);
    if (answer.next_after === null || answer.next_after === undefined) break;
    after = answer.next_after;
  }
  return verified;
}

export function PlatformAudit() {
  const navigate = useNavigate();
  const filter = useSearch({ strict: false }) as AuditFilter;
  const query = useInfiniteQuery(entriesQuery(filter));
  const [verified, setVerified] = useState<Verified>();
  const { busy, error, act } = useAct();
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        <Button busy={busy} onClick={() => void act(async () => setVerified(await verify()))}>
          {text.verify}
        </Button>
      }
    >
      {error !== undefined && <Failure error={error} />}
      <div role="status">
        {verified &&
          (verified.findings.length === 0 ? (
            <p className="rounded-lg bg-ok-soft px-4 py-3 text-ok">
              {text.verified(verified.seals, verified.entries)}
            </p>
          ) : (
            <div className="rounded-lg bg-bad-soft px-4 py-3 text-bad">
              <p className="font-semibold">{text.broken(verified.findings.length)}</p>
              <ul className="list-inside list-disc">
                {verified.findings.slice(0, 20).map((it) => (
                  <li key={`${it.seal} ${it.entry} ${it.what}`}>
                    {it.what} {it.entry}
                  </li>
                ))}
              </ul>
            </div>
          ))}
      </div>
      <AuditFilters
        key={JSON.stringify(filter)}
        filter={filter}
        onApply={(next) => void navigate({ to: '/platform/audit', search: next as never, replace: true })}
      />
      <List query={query} lines={8} empty={audit.empty} rows={(items) => <AuditTable items={items} />} />
    </Page>
  );
}
