import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { api, ask } from '@/api/client';
import { platformPoliciesQuery } from '@/api/platform';
import { platform } from '@/strings';
import { Card } from '@/ui/Card';
import { Answer } from '@/ui/Feedback';
import { Page } from '@/ui/Page';
import { type Level, PolicyTable } from '../PolicyTable';

const text = platform.policies;

const LEVEL: Level = {
  name: 'platform',
  set: (key, value) =>
    ask(api.PUT('/v1/platform/policies/{key}', { params: { path: { key } }, body: { value } })),
  unset: (key) => ask(api.DELETE('/v1/platform/policies/{key}', { params: { path: { key } } })),
};

export function Policies() {
  const query = useQuery(platformPoliciesQuery());
  const navigate = useNavigate();
  const { q = '', key } = useSearch({ strict: false }) as { q?: string; key?: string };
  const set = (search: { q?: string | undefined; key?: string | undefined }) =>
    void navigate({
      to: '/platform/policies',
      search: Object.fromEntries(Object.entries(search).filter(([, value]) => value)) as never,
      replace: true,
    });
  return (
    <Page title={text.title} lead={text.lead}>
      <input
        type="search"
        aria-label={text.search}
        placeholder={text.search}
        className="field max-w-80"
        value={q}
        onChange={(event) => set({ q: event.target.value })}
      />
      <Card flush>
        <Answer query={query} lines={10}>
          {(items) => (
            <PolicyTable
              items={items}
              typed={q}
              level={LEVEL}
              opened={key}
              onOpen={(next) => set({ q, key: next })}
            />
          )}
        </Answer>
      </Card>
    </Page>
  );
}
