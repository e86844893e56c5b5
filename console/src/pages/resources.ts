/** Where a thing is shown, by its id: the kind is its beginning. */

const PAGES: Readonly<Record<string, (org: string, id: string) => string>> = {
  alloc: (org, id) => `/o/${org}/allocations/${id}`,
  proj: (org, id) => `/o/${org}/allocations?project=${id}`,
  webhook: (org, id) => `/o/${org}/webhooks/${id}`,
  invoice: (org, id) => `/o/${org}/invoices/${id}`,
  sa: (org, id) => `/o/${org}/service-accounts/${id}`,
  budget: (org) => `/o/${org}/limits`,
  wallet: (org) => `/o/${org}/billing`,
  payment: (org) => `/o/${org}/billing`,
  journal: (org) => `/o/${org}/billing`,
  inv: (org) => `/o/${org}/members`,
  ssh: () => '/account/ssh-keys',
};

export function pageOf(org: string, id: string | null | undefined): string | undefined {
  const kind = id?.split('-')[0] ?? '';
  return id ? PAGES[kind]?.(org, id) : undefined;
}
