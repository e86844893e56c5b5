/** Where one can go, for the navigation and the palette alike. */

import { shell } from '@/strings';
import type { IconName } from '@/ui/Icon';

export interface Place {
  name: string;
  icon: IconName;
  /** The address; `$org` stands for the organization. */
  to: string;
  group: keyof typeof shell.groups;
}

/** Groups that only platform staff see. */
const STAFF: readonly Place['group'][] = ['hardware', 'business', 'running'];

export function mayGo(group: Place['group'], isStaff: boolean): boolean {
  return isStaff || !STAFF.includes(group);
}

const names = shell.pages;

export const PLACES: readonly Place[] = [
  { name: names.overview, icon: 'overview', to: '/o/$org', group: 'work' },
  { name: names.launch, icon: 'plus', to: '/o/$org/launch', group: 'work' },
  { name: names.allocations, icon: 'allocations', to: '/o/$org/allocations', group: 'work' },
  { name: names.projects, icon: 'project', to: '/o/$org/projects', group: 'work' },
  { name: names.events, icon: 'events', to: '/o/$org/events', group: 'work' },
  { name: names.accessSessions, icon: 'terminal', to: '/o/$org/sessions', group: 'work' },
  { name: names.recordings, icon: 'record', to: '/o/$org/recordings', group: 'work' },
  { name: names.usage, icon: 'usage', to: '/o/$org/usage', group: 'money' },
  { name: names.billing, icon: 'billing', to: '/o/$org/billing', group: 'money' },
  { name: names.invoices, icon: 'invoice', to: '/o/$org/invoices', group: 'money' },
  { name: names.limits, icon: 'limits', to: '/o/$org/limits', group: 'money' },
  { name: names.members, icon: 'members', to: '/o/$org/members', group: 'people' },
  { name: names.serviceAccounts, icon: 'robot', to: '/o/$org/service-accounts', group: 'people' },
  { name: names.webhooks, icon: 'webhook', to: '/o/$org/webhooks', group: 'people' },
  { name: names.audit, icon: 'audit', to: '/o/$org/audit', group: 'people' },
  { name: names.settings, icon: 'policy', to: '/o/$org/settings', group: 'people' },
  { name: names.fleet, icon: 'fleet', to: '/platform/fleet', group: 'hardware' },
  { name: names.machines, icon: 'allocations', to: '/platform/machines', group: 'hardware' },
  { name: names.agents, icon: 'robot', to: '/platform/agents', group: 'hardware' },
  { name: names.enroll, icon: 'enroll', to: '/platform/enrollment', group: 'hardware' },
  { name: names.maintenance, icon: 'work', to: '/platform/maintenance', group: 'hardware' },
  { name: names.pools, icon: 'project', to: '/platform/pools', group: 'hardware' },
  { name: names.gateways, icon: 'out', to: '/platform/gateways', group: 'hardware' },
  { name: names.organizations, icon: 'building', to: '/platform/organizations', group: 'business' },
  { name: names.users, icon: 'members', to: '/platform/users', group: 'business' },
  { name: names.skus, icon: 'tag', to: '/platform/skus', group: 'business' },
  { name: names.revenue, icon: 'usage', to: '/platform/revenue', group: 'business' },
  { name: names.money, icon: 'billing', to: '/platform/ledger', group: 'business' },
  { name: names.payments, icon: 'billing', to: '/platform/payments', group: 'business' },
  { name: names.allInvoices, icon: 'invoice', to: '/platform/invoices', group: 'business' },
  { name: names.liveSessions, icon: 'terminal', to: '/platform/sessions', group: 'running' },
  { name: names.allRecordings, icon: 'record', to: '/platform/recordings', group: 'running' },
  { name: names.policies, icon: 'policy', to: '/platform/policies', group: 'running' },
  { name: names.work, icon: 'work', to: '/platform/work', group: 'running' },
  { name: names.deadLetters, icon: 'letter', to: '/platform/dead-letters', group: 'running' },
  { name: names.mails, icon: 'letter', to: '/platform/mails', group: 'running' },
  { name: names.platformEvents, icon: 'events', to: '/platform/events', group: 'running' },
  { name: names.platformAudit, icon: 'audit', to: '/platform/audit', group: 'running' },
  { name: names.sshKeys, icon: 'key', to: '/account/ssh-keys', group: 'you' },
  { name: names.notifications, icon: 'bell', to: '/account/notifications', group: 'you' },
  { name: names.account, icon: 'person', to: '/account', group: 'you' },
];

export function addressOf(place: Place, organization: string | undefined): string {
  return place.to.replace('$org', organization ?? '');
}
