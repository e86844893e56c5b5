/** Queries about money. */

import { queryOptions } from '@tanstack/react-query';
import { all, api, ask, type Schemas } from './client';
import { paged } from './lists';

const at = (organization: string) => ({ organization_id: organization });

export const balanceQuery = (organization: string) =>
  queryOptions({
    queryKey: ['balance', organization],
    queryFn: () =>
      ask(api.GET('/v1/organizations/{organization_id}/balance', { params: { path: at(organization) } })),
  });

/** Under usage: it changes when something is posted, and when the allocation moves. */
export const allocationCostQuery = (project: string, allocation: string) =>
  queryOptions({
    queryKey: ['usage', 'of', allocation],
    queryFn: () =>
      ask(
        api.GET('/v1/projects/{project_id}/allocations/{allocation_id}/cost', {
          params: { path: { project_id: project, allocation_id: allocation } },
        }),
      ),
  });

export type UsageBy = Schemas['UsageByChoice'];

export interface UsageAsked {
  by: UsageBy;
  since: string;
  until?: string | undefined;
  project_id?: string | undefined;
  tag?: string | undefined;
}

export const usageQuery = (organization: string, asked: UsageAsked) =>
  queryOptions({
    queryKey: ['usage', organization, asked],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/usage', {
          params: { path: at(organization), query: { ...asked } },
        }),
      ),
  });

export const invoicesQuery = (organization: string) =>
  paged<Schemas['InvoiceSummary']>(['invoice', organization], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/invoices', {
        params: { path: at(organization), query: { limit: 50, cursor } },
      }),
    ),
  );

export const invoiceQuery = (organization: string, invoice: string) =>
  queryOptions({
    queryKey: ['invoice', organization, invoice],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/invoices/{invoice_id}', {
          params: { path: { ...at(organization), invoice_id: invoice } },
        }),
      ),
  });

export const paymentsQuery = (organization: string) =>
  paged<Schemas['Payment']>(['payment', organization], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/payments', {
        params: { path: at(organization), query: { limit: 20, cursor } },
      }),
    ),
  );

export const journalsQuery = (organization: string) =>
  paged<Schemas['Journal']>(['journal', organization], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/journals', {
        params: { path: at(organization), query: { limit: 20, cursor } },
      }),
    ),
  );

export const quotasQuery = (organization: string) =>
  queryOptions({
    queryKey: ['quota', organization],
    queryFn: () =>
      all<Schemas['Quota']>((cursor) =>
        ask(
          api.GET('/v1/organizations/{organization_id}/quotas', {
            params: { path: at(organization), query: { limit: 100, cursor } },
          }),
        ),
      ),
  });

export const budgetsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['budget', organization],
    queryFn: () =>
      all<Schemas['Budget']>((cursor) =>
        ask(
          api.GET('/v1/organizations/{organization_id}/budgets', {
            params: { path: at(organization), query: { limit: 100, cursor } },
          }),
        ),
      ),
  });

export const policyQuery = (organization: string, key: string) =>
  queryOptions({
    queryKey: ['policy', organization, key],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/policies/{key}', {
          params: { path: { ...at(organization), key } },
        }),
      ),
  });

/** Where a project stands with a budget, and what is refused because of it. */
export const budgetWhyQuery = (organization: string, budget: string) =>
  queryOptions({
    queryKey: ['budget', organization, 'why', budget],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/budgets/{budget_id}/why', {
          params: { path: { ...at(organization), budget_id: budget } },
        }),
      ),
  });

/** A part of a month's charges, as they were posted. */
export const askCharges = (organization: string, month: string, after: string | undefined) =>
  ask(
    api.GET('/v1/organizations/{organization_id}/usage/charges', {
      params: { path: at(organization), query: { month, after } },
    }),
  );

/** A part of the proof of an organization's books; the reading is recorded. */
export const askProof = (organization: string, month: string | undefined, after: string | undefined) =>
  ask(
    api.GET('/v1/organizations/{organization_id}/proof', {
      params: { path: at(organization), query: { month, after } },
    }),
  );
