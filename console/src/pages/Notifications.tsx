import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, ask, type Schemas } from '@/api/client';
import { flat } from '@/api/lists';
import { notificationsQuery, preferencesQuery } from '@/api/people';
import { words } from '@/format/size';
import { account as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Answer, Failure } from '@/ui/Feedback';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Toggle } from '@/ui/Toggle';
import { Table } from '@/ui/Table';
import { Time } from '@/ui/Values';
import { pageOf } from './resources';

export function Notifications() {
  const queries = useQueryClient();
  const query = useInfiniteQuery(notificationsQuery());
  const { error, act } = useAct();
  const refresh = () => queries.invalidateQueries({ queryKey: ['notification'] });
  const items = flat(query.data);
  const markAll = () =>
    act(async () => {
      await ask(api.PUT('/v1/me/notifications/read', { body: {} }));
      await refresh();
    });
  const mark = (id: string) =>
    act(async () => {
      const path = { notification_id: id };
      await ask(api.PUT('/v1/me/notifications/{notification_id}/read', { params: { path } }));
      await refresh();
    });
  return (
    <Page
      title={text.notifications}
      lead={text.notificationsLead}
      actions={
        items?.some((it) => !it.is_read) && <Button onClick={() => void markAll()}>{text.markAll}</Button>
      }
    >
      {error !== undefined && <Failure error={error} />}
      <List
        query={query}
        empty={{ icon: 'bell', title: text.noneTitle, lead: text.noneLead, command: text.noneCommand }}
        rows={(found) => (
          <ul className="divide-y">
            {found.map((it) => (
              <li key={it.id} className="flex items-start gap-3 px-4 py-3">
                <span
                  aria-hidden
                  className={classes('mt-2 size-2 shrink-0 rounded-full', !it.is_read && 'bg-accent')}
                />
                <div className="min-w-0 grow">
                  <p className={it.is_read ? '' : 'font-semibold'}>
                    <Title notification={it} />
                  </p>
                  <p className="text-soft">{it.body}</p>
                  <p className="mt-0.5 text-sm text-faint">
                    <Time at={it.created_at} />
                  </p>
                </div>
                {!it.is_read && (
                  <Button small kind="quiet" onClick={() => void mark(it.id)}>
                    {text.markOne}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      />
      <Preferences />
    </Page>
  );
}

/** The title leads to what it is about. */
function Title({ notification: it }: { notification: Schemas['Notification'] }) {
  const page = it.organization_id && pageOf(it.organization_id, it.resource);
  if (!page) return it.title;
  return (
    <Link to={page as '/'} className="hover:text-accent-ink hover:underline">
      {it.title}
    </Link>
  );
}

type Preference = Schemas['NotificationPreference'];

const nameOf = ({ kind }: Preference) => text.kinds[kind] ?? words(kind);

function Preferences() {
  const queries = useQueryClient();
  const query = useQuery(preferencesQuery());
  const { error, act } = useAct();
  const refresh = () => queries.invalidateQueries({ queryKey: ['notification_preference'] });
  const set = (kind: Preference, change: Schemas['NotificationPreferenceSpec']) =>
    act(async () => {
      const path = { notification_kind: kind.kind as Schemas['NotificationKindChoice'] };
      await ask(
        api.PUT('/v1/me/notification-preferences/{notification_kind}', { params: { path }, body: change }),
      );
      await refresh();
    });
  const resume = () =>
    act(async () => {
      await ask(api.DELETE('/v1/me/mail-refusal'));
      await refresh();
    });
  const mail = query.data?.mail;
  return (
    <Card
      title={text.preferences}
      lead={mail && (mail.is_configured ? text.mailTo(mail.email) : text.mailOff)}
      flush
    >
      {mail?.refusal && (
        <p
          role="alert"
          className="m-4 flex flex-wrap items-center gap-3 rounded-lg bg-warn-soft px-4 py-3 text-warn"
        >
          <span className="grow">{text.mailRefused(mail.refusal.code)}</span>
          <Button small onClick={() => void resume()}>
            {text.resume}
          </Button>
        </p>
      )}
      {error !== undefined && (
        <div className="p-4">
          <Failure error={error} />
        </div>
      )}
      <Answer query={query}>
        {(data) => (
          <Table
            label={text.preferences}
            items={data.kinds}
            keyOf={(it) => it.kind}
            columns={[
              {
                name: text.notifications,
                cell: (it) => (
                  <span>
                    <span className="font-medium">{nameOf(it)}</span>
                    <span className="block text-sm text-faint">
                      {it.about} {it.is_mandatory && text.mandatory}
                    </span>
                  </span>
                ),
              },
              {
                name: text.inApp,
                end: true,
                cell: (it) => (
                  <Toggle
                    label={`${nameOf(it)}: ${text.inApp}`}
                    isOn={it.in_app}
                    isFixed={it.is_mandatory}
                    onChange={(in_app) => void set(it, { in_app })}
                  />
                ),
              },
              {
                name: text.byMail,
                end: true,
                cell: (it) => (
                  <Toggle
                    label={`${nameOf(it)}: ${text.byMail}`}
                    isOn={it.email}
                    isFixed={it.is_mandatory}
                    onChange={(email) => void set(it, { email })}
                  />
                ),
              },
            ]}
          />
        )}
      </Answer>
    </Card>
  );
}
