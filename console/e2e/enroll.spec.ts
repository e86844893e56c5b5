/** A host joins by the line that the page shows, serves, is emptied and leaves. */

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, type Watch } from './browser';
import { credit, seen, tenant, visit } from './people';
import { program, Server } from './server';

const POOL = 'hall-e2e';
const folder = mkdtempSync(join(tmpdir(), 'gpuaas-e2e-host-'));
const state = join(folder, 'state');
let server: Server;
let browser: Browser;
let page: Page;
let watch: Watch;
let agent: ChildProcess | undefined;
let line = '';

/** The environment of a host on which the agent is installed. */
function host(): NodeJS.ProcessEnv {
  const path = `${dirname(program('gpuaas-node'))}:${process.env.PATH}`;
  return { PATH: path, GPUAAS_NODE_DATA_DIR: state, GPUAAS_NODE_LOG: 'warn' };
}

async function move(name: string, reason: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(reason);
  const deadline = dialog.getByLabel(/^Deadline/);
  if (await deadline.isVisible()) await deadline.fill('0');
  const typed = dialog.getByLabel(/^Type/);
  if (await typed.isVisible()) {
    expect(await dialog.getByRole('button', { name, exact: true }).isDisabled()).toBe(true);
    await typed.fill(hostname());
  }
  await dialog.getByRole('button', { name, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

beforeAll(async () => {
  mkdirSync(state);
  // This machine may have no GPUs; the agent pretends two.
  writeFileSync(join(state, 'agent.toml'), 'simulated_gpus = 2\n');
  server = Server.shared();
  browser = await launch();
  const regions = (await server.call('GET', '/v1/regions')) as { items: { id: string }[] };
  await server.asOperator('POST', '/v1/platform/pools', {
    name: POOL,
    region_id: regions.items[0]?.id,
    provider: 'enrolled',
    isolation: 'user_revoke',
  });
  ({ page, watch } = await visit(browser, server, 'operator'));
});

afterAll(async () => {
  agent?.kill('SIGKILL');
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('host enrolls with exactly the shown command', async () => {
  await page.getByRole('link', { name: 'Enrollment' }).click();
  await page.getByRole('button', { name: 'New token' }).first().click();
  await page.getByRole('dialog').getByLabel('Pool').selectOption(POOL);
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  line = (await page.getByText(/^GPUAAS_NODE_TOKEN=/).textContent()) ?? '';
  const said = execFileSync('sh', ['-c', line], { env: host(), encoding: 'utf8' });
  expect(said).toMatch(/^Enrolled as node-/);
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await seen(page, page.getByRole('row', { name: POOL }).getByText('Used', { exact: true }));
});

test('enrollment command works once', () => {
  const again = spawnSync('sh', ['-c', `${line} --again`], { env: host(), encoding: 'utf8' });
  expect(again.status).not.toBe(0);
  expect(again.stderr).toMatch(/token/);
});

test('host appears in the fleet and becomes ready live', async () => {
  await page.getByRole('link', { name: 'Fleet' }).click();
  await seen(page, page.getByRole('link', { name: hostname(), exact: true }));
  await page.getByRole('link', { name: hostname(), exact: true }).click();
  await page.getByRole('heading', { name: hostname() }).waitFor();
  await page.getByText('Enrolling', { exact: true }).waitFor();
  agent = spawn('gpuaas-node', ['run', '--heartbeat-ms', '300'], { env: host(), stdio: 'ignore' });
  await seen(page, page.getByText('Ready', { exact: true }));
  await seen(page, page.getByRole('row', { name: /^GPU 1/ }));
});

test('host is cordoned and uncordoned', async () => {
  await move('Cordon', 'a fan is loud');
  await seen(page, page.getByText('Cordoned', { exact: true }));
  await move('Uncordon', 'it was dust');
  await seen(page, page.getByText('Ready', { exact: true }));
});

test('node is drained of an allocation and returned to service', async () => {
  const { org, call } = await tenant(server, 'Drained');
  await credit(server, org, 100);
  const project = await call('POST', `/v1/organizations/${org}/projects`, { name: 'work' });
  const at = `/v1/projects/${project.id}/allocations`;
  const { id } = await call('POST', at, { sku: 'h200-slice', gpus: 1, name: 'in-the-way' });
  interface Shown {
    state: string;
    parts: { node_id: string }[];
  }
  const read = () => call<Shown>('GET', `${at}/${id}`);
  await expect.poll(async () => (await read()).state, { timeout: 30_000 }).toBe('active');
  const node = (await read()).parts[0]?.node_id ?? '';
  await page.goto(`/platform/nodes/${node}`);
  await page.getByText('Ready', { exact: true }).first().waitFor();
  await move('Drain', 'a board is replaced');
  await seen(page, page.getByRole('button', { name: 'Return to service' }));
  expect((await read()).state).toBe('released');
  await move('Return to service', 'the board is new');
  await seen(page, page.getByText('Ready', { exact: true }));
});

test('host is retired after its name is typed', async () => {
  await page.goto('/platform/fleet');
  await page.getByRole('link', { name: hostname(), exact: true }).click();
  await move('Drain', 'it is old');
  await seen(page, page.getByRole('button', { name: 'Retire', exact: true }));
  await move('Retire', 'it was sold');
  await seen(page, page.getByText('Retired', { exact: true }));
  await page.goto('/platform/fleet');
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
});

test('pages violate no content security policy', () => {
  expect(watch.complaints).toEqual([]);
});
