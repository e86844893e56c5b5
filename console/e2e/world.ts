/** Something on every page: what the demo organization has after a busy morning. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from './server';

/** A key of the real program, and the signature by which it is somebody's. */
function madeKey(user: string): { public_key: string; proof: string } {
  const folder = mkdtempSync(join(tmpdir(), 'gpuaas-e2e-'));
  try {
    const file = join(folder, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ada@laptop', '-f', file]);
    const sign = ['-q', '-Y', 'sign', '-n', 'gpuaas-ssh-key', '-f', file];
    const proof = execFileSync('ssh-keygen', sign, { input: user, encoding: 'utf8' });
    return { public_key: readFileSync(`${file}.pub`, 'utf8').trim(), proof: proof.trim() };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Made {
  id: string;
}

export interface Places {
  [name: string]: string;
}

/** Fills the organization and says where each page is. */
export async function fill(server: Server): Promise<{ members: Places; operators: Places }> {
  const org = server.setting('GPUAAS_ORGANIZATION');
  const project = server.setting('GPUAAS_PROJECT');
  const session = (await server.call('POST', '/v1/sessions', {
    email: 'owner@demo.localhost',
    password: server.setting('GPUAAS_OWNER_PASSWORD'),
  })) as { access_token: string; user_id: string };
  const asOwner = (method: string, path: string, body?: unknown) =>
    server.call(method, path, body, session.access_token) as Promise<Made & Record<string, unknown>>;
  const at = `/v1/organizations/${org}`;

  await asOwner('POST', '/v1/me/ssh-keys', { name: 'laptop', ...madeKey(session.user_id) });
  const second = await asOwner('POST', `${at}/projects`, { name: 'nightly-training' });
  const launch = (where: string, body: object) => asOwner('POST', `/v1/projects/${where}/allocations`, body);
  const notebook = await launch(project, {
    sku: 'h200-slice',
    gpus: 2,
    name: 'notebook',
    lease_minutes: 240,
    tags: { team: 'vision' },
  });
  await launch(project, {
    sku: 'h200-slice',
    gpus: 4,
    name: 'fine-tune-7b',
    tags: { team: '<b>language</b> 🚀' },
  });
  await launch(second.id, { sku: 'h200-node', gpus: 8, name: 'pretrain', lease_minutes: 1440 });
  const waiting = await launch(second.id, { sku: 'h200-node', gpus: 8, nodes: 4, name: 'needs-four-nodes' });
  await asOwner('POST', `${at}/budgets`, {
    project_id: project,
    amount_micros: 500_000_000,
    currency: 'USD',
    period: 'month',
    mode: 'notify',
  });
  await asOwner('POST', `${at}/invitations`, { email: 'ada@example.com', role: 'member' });
  const account = await asOwner('POST', `${at}/service-accounts`, { name: 'ci', role: 'member' });
  await asOwner('POST', `${at}/service-accounts/${account.id}/keys`, {
    name: 'deploy',
    scopes: ['projects:read', 'allocations:write'],
  });
  const hook = (await asOwner('POST', `${at}/webhooks`, {
    url: 'https://example.com/hook',
    events: ['allocation.*'],
    description: 'to the chat',
  })) as unknown as { webhook: Made };
  const nodes = (await server.call(
    'GET',
    '/v1/platform/nodes',
    undefined,
    server.setting('GPUAAS_OPERATOR_TOKEN'),
  )) as {
    items: Made[];
  };
  await server.asOperator('PUT', '/v1/platform/policies/access.recording', { value: 'on' });
  const o = `/o/${org}`;
  const members = {
    overview: o,
    launch: `${o}/launch`,
    allocations: `${o}/allocations`,
    allocation: `${o}/allocations/${project}/${notebook.id}`,
    waiting: `${o}/allocations/${second.id}/${waiting.id}`,
    sessions: `${o}/sessions`,
    recordings: `${o}/recordings`,
    projects: `${o}/projects`,
    project: `${o}/projects/${project}`,
    events: `${o}/events`,
    usage: `${o}/usage`,
    'usage-tag': `${o}/usage?by=tag&tag=team&days=7`,
    billing: `${o}/billing`,
    'top-up': `${o}/billing?open=top-up`,
    invoices: `${o}/invoices`,
    limits: `${o}/limits`,
    'budget-form': `${o}/limits?open=new`,
    members: `${o}/members`,
    'service-accounts': `${o}/service-accounts`,
    'service-account': `${o}/service-accounts/${account.id}`,
    webhooks: `${o}/webhooks`,
    webhook: `${o}/webhooks/${hook.webhook.id}`,
    'webhook-form': `${o}/webhooks/${hook.webhook.id}?open=change`,
    audit: `${o}/audit`,
    settings: `${o}/settings`,
    'ssh-keys': '/account/ssh-keys',
    notifications: '/account/notifications',
    account: '/account',
    welcome: '/welcome',
    'not-found': '/nowhere',
  };
  const operators = {
    fleet: '/platform/fleet',
    node: `/platform/nodes/${nodes.items[0]?.id}`,
    enrollment: '/platform/enrollment',
    maintenance: '/platform/maintenance',
    skus: '/platform/skus',
    pools: '/platform/pools',
    users: '/platform/users',
    ledger: '/platform/ledger',
    'platform-audit': '/platform/audit',
    organizations: '/platform/organizations',
    organization: `/platform/organizations/${org}`,
    policies: '/platform/policies',
    policy: '/platform/policies?key=projects.max',
    'live-sessions': '/platform/sessions',
    'all-recordings': '/platform/recordings',
    'break-glass': `/platform/allocations/${notebook.id}/terminal`,
    'dead-letters': '/platform/dead-letters',
    work: '/platform/work',
    revenue: '/platform/revenue?days=7',
    machines: '/platform/machines',
    agents: '/platform/agents',
    payments: '/platform/payments',
    'all-invoices': '/platform/invoices',
    mails: '/platform/mails',
    'platform-events': '/platform/events',
    runbook: '/platform/runbooks/work-stuck',
    gateways: '/platform/gateways',
    'gateway-form': '/platform/gateways?open=new',
  };
  return { members, operators };
}
