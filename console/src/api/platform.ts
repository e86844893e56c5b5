/** Queries of operators. */

import { queryOptions } from '@tanstack/react-query';
import { all, api, ask, type Schemas } from './client';
import { paged } from './lists';

export type Node = Schemas['Node'];

export const nodeQuery = (node: string) =>
  queryOptions({
    queryKey: ['node', 'one', node],
    queryFn: () => ask(api.GET('/v1/platform/nodes/{node_id}', { params: { path: { node_id: node } } })),
  });

export const nodeTelemetryQuery = (node: string, atMs: () => number) =>
  queryOptions({
    queryKey: ['telemetry', node],
    queryFn: () => {
      const since = new Date(atMs() - 3_600_000).toISOString();
      const query = { since, resolution: 'raw' as const };
      return ask(
        api.GET('/v1/platform/nodes/{node_id}/telemetry', { params: { path: { node_id: node }, query } }),
      );
    },
  });

export const poolsQuery = () =>
  queryOptions({
    queryKey: ['pool'],
    queryFn: async () =>
      (await ask(api.GET('/v1/platform/pools', { params: { query: { limit: 200 } } }))).items,
  });

export const enrollmentTokensQuery = () =>
  paged<Schemas['EnrollmentToken']>(['enrollment_token'], (cursor) =>
    ask(api.GET('/v1/platform/enrollment-tokens', { params: { query: { limit: 50, cursor } } })),
  );

export const allOrganizationsQuery = (name?: string) =>
  paged<Schemas['Organization']>(['organization', 'all', name ?? ''], (cursor) =>
    ask(api.GET('/v1/platform/organizations', { params: { query: { limit: 50, cursor, name } } })),
  );

export const anyBalanceQuery = (organization: string) =>
  queryOptions({
    queryKey: ['balance', 'any', organization],
    queryFn: () =>
      ask(
        api.GET('/v1/platform/organizations/{organization_id}/balance', {
          params: { path: { organization_id: organization } },
        }),
      ),
  });

export const anyJournalsQuery = (organization: string) =>
  paged<Schemas['Journal']>(['journal', 'any', organization], (cursor) =>
    ask(
      api.GET('/v1/platform/organizations/{organization_id}/journals', {
        params: { path: { organization_id: organization }, query: { limit: 20, cursor } },
      }),
    ),
  );

export const anyQuotasQuery = (organization: string) =>
  queryOptions({
    queryKey: ['quota', 'any', organization],
    queryFn: () =>
      all<Schemas['Quota']>((cursor) =>
        ask(
          api.GET('/v1/platform/organizations/{organization_id}/quotas', {
            params: { path: { organization_id: organization }, query: { limit: 100, cursor } },
          }),
        ),
      ),
  });

export const allocationsOfQuery = (organization: string) =>
  paged<Schemas['Allocation']>(['allocation', 'any', organization], (cursor) =>
    ask(
      api.GET('/v1/platform/allocations', {
        params: { query: { limit: 20, cursor, organization_id: organization } },
      }),
    ),
  );

/** What a suspension of the organization would stop. */
export const runningOfQuery = (organization: string) =>
  queryOptions({
    queryKey: ['allocation', 'any', organization, 'running'],
    queryFn: async () => {
      const running: readonly string[] = ['provisioning', 'active', 'starting'];
      const items: Schemas['Allocation'][] = [];
      let cursor: string | undefined;
      do {
        const page = await ask(
          api.GET('/v1/platform/allocations', {
            params: { query: { limit: 100, cursor, organization_id: organization } },
          }),
        );
        items.push(...page.items.filter((it) => running.includes(it.state)));
        cursor = page.next_cursor ?? undefined;
      } while (cursor && items.length < 2_000);
      return items;
    },
    gcTime: 0,
  });

export const platformPoliciesQuery = () =>
  queryOptions({
    queryKey: ['policy', 'platform'],
    queryFn: async () => {
      const items: Schemas['Policy'][] = [];
      let cursor: string | undefined;
      do {
        const page = await ask(
          api.GET('/v1/platform/policies', { params: { query: { limit: 200, cursor } } }),
        );
        items.push(...page.items);
        cursor = page.next_cursor ?? undefined;
      } while (cursor && items.length < 2_000);
      return items;
    },
  });

export const deadLettersQuery = () =>
  paged<Schemas['DeadLetter']>(['dead_letter'], (cursor) =>
    ask(api.GET('/v1/platform/dead-letters', { params: { query: { limit: 50, cursor } } })),
  );

export const workQuery = (onlyStuck: boolean) =>
  paged<Schemas['WorkItem']>(['work', onlyStuck], (cursor) =>
    ask(
      api.GET('/v1/platform/work', {
        params: { query: { limit: 50, cursor, ...(onlyStuck ? { needs_attention: true } : {}) } },
      }),
    ),
  );

export const platformEventsQuery = (filter: { subject?: string; resource?: string }) =>
  paged<Schemas['RecordedEvent']>(['event', 'platform', filter], (cursor) =>
    ask(api.GET('/v1/platform/events', { params: { query: { limit: 50, cursor, ...filter } } })),
  );

export const machinesQuery = (state?: Schemas['MachineStateChoice']) =>
  paged<Schemas['Machine']>(['machine', state ?? ''], (cursor) =>
    ask(api.GET('/v1/platform/machines', { params: { query: { limit: 50, cursor, state } } })),
  );

export const providersQuery = () =>
  queryOptions({
    queryKey: ['provider'],
    queryFn: async () =>
      (await ask(api.GET('/v1/platform/providers', { params: { query: { limit: 200 } } }))).items,
  });

export const mailsQuery = (state?: Schemas['MailStateChoice']) =>
  paged<Schemas['Mail']>(['mail', state ?? ''], (cursor) =>
    ask(api.GET('/v1/platform/mails', { params: { query: { limit: 50, cursor, state } } })),
  );

export const allPaymentsQuery = (state?: Schemas['PaymentStateChoice']) =>
  paged<Schemas['Payment']>(['payment', 'all', state ?? ''], (cursor) =>
    ask(api.GET('/v1/platform/payments', { params: { query: { limit: 50, cursor, state } } })),
  );

export const paymentDriftQuery = (resolved: boolean) =>
  paged<Schemas['PaymentDrift']>(['payment_drift', resolved], (cursor) =>
    ask(api.GET('/v1/platform/payment-drift', { params: { query: { limit: 50, cursor, resolved } } })),
  );

export const paymentEventsQuery = () =>
  paged<Schemas['PaymentEvent']>(['payment_event'], (cursor) =>
    ask(api.GET('/v1/platform/payment-events', { params: { query: { limit: 20, cursor } } })),
  );

export const allInvoicesQuery = (organization?: string) =>
  paged<Schemas['InvoiceSummary']>(['invoice', 'all', organization ?? ''], (cursor) =>
    ask(
      api.GET('/v1/platform/invoices', {
        params: { query: { limit: 50, cursor, organization_id: organization } },
      }),
    ),
  );

export const anyInvoiceQuery = (invoice: string) =>
  queryOptions({
    queryKey: ['invoice', 'any', invoice],
    queryFn: () =>
      ask(api.GET('/v1/platform/invoices/{invoice_id}', { params: { path: { invoice_id: invoice } } })),
  });

export const agentsQuery = () =>
  queryOptions({
    queryKey: ['agent_update', 'agents'],
    queryFn: async () => (await ask(api.GET('/v1/platform/agents', {}))).items,
  });

export const revenueQuery = (since: string) =>
  queryOptions({
    queryKey: ['revenue', since],
    queryFn: () => ask(api.GET('/v1/platform/revenue', { params: { query: { since } } })),
  });

export const utilizationQuery = (since: string) =>
  queryOptions({
    queryKey: ['usage', 'utilization', since],
    queryFn: () => ask(api.GET('/v1/platform/utilization', { params: { query: { since } } })),
  });

/** The ids that pages name organizations by, with their names. */
export const organizationNamesQuery = () =>
  queryOptions({
    queryKey: ['organization', 'names'],
    queryFn: async () => {
      const page = await ask(api.GET('/v1/platform/organizations', { params: { query: { limit: 200 } } }));
      return new Map(page.items.map((it) => [it.id, it.name]));
    },
  });

export const gatewaysQuery = () =>
  paged<Schemas['Gateway']>(['gateway'], (cursor) =>
    ask(api.GET('/v1/platform/gateways', { params: { query: { limit: 50, cursor } } })),
  );

export const sellerProfileQuery = () =>
  queryOptions({
    queryKey: ['billing_profile', 'seller'],
    queryFn: () => ask(api.GET('/v1/platform/billing-profile')),
  });

export const anyBillingProfileQuery = (organization: string) =>
  queryOptions({
    queryKey: ['billing_profile', 'any', organization],
    queryFn: () =>
      ask(
        api.GET('/v1/platform/organizations/{organization_id}/billing-profile', {
          params: { path: { organization_id: organization } },
        }),
      ),
  });

export const anyUsageQuery = (organization: string, by: Schemas['UsageByChoice'], since: string) =>
  queryOptions({
    queryKey: ['usage', 'any', organization, by, since],
    queryFn: () =>
      ask(
        api.GET('/v1/platform/organizations/{organization_id}/usage', {
          params: { path: { organization_id: organization }, query: { by, since } },
        }),
      ),
  });

export const refundsQuery = (payment: string) =>
  paged<Schemas['Refund']>(['refund', payment], (cursor) =>
    ask(
      api.GET('/v1/platform/payments/{payment_id}/refunds', {
        params: { path: { payment_id: payment }, query: { limit: 20, cursor } },
      }),
    ),
  );
