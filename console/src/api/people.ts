/** Queries about people, programs and what they did. */

import { queryOptions } from '@tanstack/react-query';
import { all, api, ask, type Schemas } from './client';
import { paged } from './lists';

const at = (organization: string) => ({ organization_id: organization });

export type Organization = Schemas['Organization'];
export type Whoami = Schemas['Whoami'];
export const ROLES: readonly Schemas['RoleChoice'][] = ['owner', 'admin', 'billing', 'member', 'viewer'];

export const whoamiQuery = () =>
  queryOptions({ queryKey: ['user', 'me'], queryFn: () => ask(api.GET('/v1/whoami')), staleTime: 60_000 });

export const organizationsQuery = () =>
  queryOptions({
    queryKey: ['organization'],
    queryFn: () =>
      all<Organization>((cursor) =>
        ask(api.GET('/v1/organizations', { params: { query: { limit: 100, cursor } } })),
      ),
    staleTime: 60_000,
  });

export const membersQuery = (organization: string) =>
  paged<Schemas['Member']>(['member', organization], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/members', {
        params: { path: at(organization), query: { limit: 100, cursor } },
      }),
    ),
  );

export const invitationsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['invitation', organization],
    queryFn: () =>
      all<Schemas['Invitation']>((cursor) =>
        ask(
          api.GET('/v1/organizations/{organization_id}/invitations', {
            params: { path: at(organization), query: { limit: 100, cursor, state: 'pending' } },
          }),
        ),
      ),
  });

export const serviceAccountsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['service_account', organization],
    queryFn: () =>
      all<Schemas['ServiceAccount']>((cursor) =>
        ask(
          api.GET('/v1/organizations/{organization_id}/service-accounts', {
            params: { path: at(organization), query: { limit: 100, cursor } },
          }),
        ),
      ),
  });

export const serviceAccountKeysQuery = (organization: string, account: string) =>
  queryOptions({
    queryKey: ['key', organization, account],
    queryFn: () =>
      all<Schemas['Key']>((cursor) =>
        ask(
          api.GET('/v1/organizations/{organization_id}/service-accounts/{service_account_id}/keys', {
            params: {
              path: { ...at(organization), service_account_id: account },
              query: { limit: 100, cursor },
            },
          }),
        ),
      ),
  });

export const personalKeysQuery = () =>
  queryOptions({
    queryKey: ['key', 'me'],
    queryFn: () =>
      all<Schemas['Key']>((cursor) =>
        ask(api.GET('/v1/me/keys', { params: { query: { limit: 100, cursor } } })),
      ),
  });

export const mfaQuery = () =>
  queryOptions({ queryKey: ['mfa_factor'], queryFn: () => ask(api.GET('/v1/me/mfa')) });

export const sshKeysQuery = () =>
  queryOptions({
    queryKey: ['ssh_key'],
    queryFn: () =>
      all<Schemas['SshKey']>((cursor) =>
        ask(api.GET('/v1/me/ssh-keys', { params: { query: { limit: 100, cursor } } })),
      ),
  });

export const sessionsQuery = () =>
  queryOptions({
    queryKey: ['session'],
    queryFn: () =>
      all<Schemas['Session']>((cursor) =>
        ask(api.GET('/v1/sessions', { params: { query: { limit: 100, cursor } } })),
      ),
  });

export const webhooksQuery = (organization: string) =>
  queryOptions({
    queryKey: ['webhook', organization],
    queryFn: () =>
      all<Schemas['Webhook']>((cursor) =>
        ask(
          api.GET('/v1/organizations/{organization_id}/webhooks', {
            params: { path: at(organization), query: { limit: 100, cursor } },
          }),
        ),
      ),
  });

export const deliveriesQuery = (organization: string, webhook: string) =>
  paged<Schemas['WebhookDelivery']>(['webhook_delivery', organization, webhook], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/webhooks/{webhook_id}/deliveries', {
        params: { path: { ...at(organization), webhook_id: webhook }, query: { limit: 50, cursor } },
      }),
    ),
  );

export interface AuditFilter {
  action?: string | undefined;
  actor?: string | undefined;
  resource?: string | undefined;
  correlation_id?: string | undefined;
}

export const auditQuery = (organization: string, filter: AuditFilter) =>
  paged<Schemas['AuditEntry']>(['audit', organization, filter], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/audit', {
        params: { path: at(organization), query: { limit: 50, cursor, ...filter } },
      }),
    ),
  );

export const notificationsQuery = () =>
  paged<Schemas['Notification']>(['notification', 'list'], (cursor) =>
    ask(api.GET('/v1/me/notifications', { params: { query: { limit: 30, cursor } } })),
  );

export const unreadQuery = () =>
  queryOptions({
    queryKey: ['notification', 'unread'],
    queryFn: () => ask(api.GET('/v1/me/notifications/unread')),
  });

export const preferencesQuery = () =>
  queryOptions({
    queryKey: ['notification_preference'],
    queryFn: () => ask(api.GET('/v1/me/notification-preferences')),
  });

export interface Settings {
  oidc: boolean;
  self_service: boolean;
  /** Whether the platform sends mail. */
  mail: boolean;
  version: string;
}

export const settingsQuery = () =>
  queryOptions({
    queryKey: ['settings'],
    queryFn: async (): Promise<Settings> => {
      const response = await fetch('/console/settings');
      if (!response.ok) throw new Error('settings');
      return (await response.json()) as Settings;
    },
    staleTime: Infinity,
  });
