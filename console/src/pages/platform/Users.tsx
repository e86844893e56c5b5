import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, type Schemas } from '@/api/client';
import { paged } from '@/api/lists';
import { whoamiQuery } from '@/api/people';
import { words } from '@/format/size';
import { common, platform } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Confirm } from '@/ui/Dialog';
import { Failure } from '@/ui/Feedback';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Time } from '@/ui/Values';

const text = platform.users;
type User = Schemas['User'];
const ROLES: readonly Schemas['PlatformRoleChoice'][] = ['operator', 'support', 'auditor'];

const usersQuery = () =>
  paged<User>(['user', 'all'], (cursor) =>
    ask(api.GET('/v1/platform/users', { params: { query: { limit: 50, cursor } } })),
  );

export function Users() {
  const queries = useQueryClient();
  const me = useQuery(whoamiQuery());
  const query = useInfiniteQuery(usersQuery());
  const { error, act } = useAct();
  const [erasing, setErasing] = useState<User>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['user', 'all'] });
  const setRole = (user: User, role: string) =>
    act(async () => {
      const body = role ? { role: role as Schemas['PlatformRoleChoice'] } : {};
      await ask(
        api.PUT('/v1/platform/users/{user_id}/role', { params: { path: { user_id: user.id } }, body }),
      );
      await refresh();
    });
  const isMe = (user: User) => user.id === me.data?.user?.id;
  return (
    <Page title={text.title} lead={text.lead}>
      {error !== undefined && <Failure error={error} />}
      <List
        query={query}
        empty={text.none}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          {
            name: common.name,
            cell: (it) => (
              <span>
                <span className="font-medium">{it.name}</span>
                <span className="block text-sm text-faint">{it.email}</span>
              </span>
            ),
          },
          {
            name: text.role,
            cell: (it) =>
              isMe(it) ? (
                words(it.platform_role ?? text.noRole)
              ) : (
                <select
                  aria-label={text.roleOf(it.name)}
                  className="field h-8! w-auto!"
                  value={it.platform_role ?? ''}
                  onChange={(event) => void setRole(it, event.target.value)}
                >
                  <option value="">{text.noRole}</option>
                  {ROLES.map((role) => (
                    <option key={role} value={role}>
                      {words(role)}
                    </option>
                  ))}
                </select>
              ),
          },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
        rowActions={(it) =>
          !isMe(it) && (
            <Button small kind="quiet" onClick={() => setErasing(it)}>
              {text.erase}
            </Button>
          )
        }
      />
      {erasing && (
        <Confirm
          title={text.eraseTitle}
          lead={text.eraseLead}
          name={erasing.email}
          action={text.erase}
          onClose={() => setErasing(undefined)}
          onConfirm={async () => {
            await ask(
              api.DELETE('/v1/platform/users/{user_id}', { params: { path: { user_id: erasing.id } } }),
            );
            await refresh();
          }}
        />
      )}
    </Page>
  );
}
