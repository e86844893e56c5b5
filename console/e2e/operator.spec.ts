/** An operator's morning: a token for a host, a node out of service, a price, a policy that is refused. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, open, signIn, Watch } from './browser';
import { Server } from './server';

let server: Server;
let browser: Browser;
let page: Page;
let watch: Watch;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  page = await (await open(browser, server.base)).newPage();
  page.setDefaultTimeout(15_000);
  watch = new Watch(page, server.base);
  await page.goto('/');
  await signIn(page, 'operator@demo.localhost', server.setting('GPUAAS_OPERATOR_PASSWORD'));
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test('operator without an organization lands on the fleet page', async () => {
  await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  await page.getByRole('group', { name: /Map of 4 nodes/ }).waitFor();
});

test('node is cordoned and uncordoned with a reason', async () => {
  await page.getByRole('link', { name: 'sim-0001' }).click();
  await page.getByRole('button', { name: 'Cordon' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('a fan is loud');
  await page.getByRole('dialog').getByRole('button', { name: 'Cordon' }).click();
  await page.getByText('Cordoned').waitFor();
  await page.getByRole('button', { name: 'Uncordon' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('it was dust');
  await page.getByRole('dialog').getByRole('button', { name: 'Uncordon' }).click();
  await page.getByText('Ready').first().waitFor();
});

test('enrollment command is shown once', async () => {
  await page.getByRole('link', { name: 'Enrollment' }).click();
  await page.getByRole('button', { name: 'New token' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  const line = await page.getByText(/^GPUAAS_NODE_TOKEN=/).textContent();
  expect(line).toMatch(/^GPUAAS_NODE_TOKEN=\S+ gpuaas-node enroll --url https:\S+ --ca-fingerprint \S+$/);
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByText('Unused').waitFor();
});

test('price is set, and its history is shown', async () => {
  await page.getByRole('link', { name: 'SKUs & prices' }).click();
  await page
    .getByRole('row', { name: /h200-slice/ })
    .first()
    .getByRole('button', { name: 'Set price' })
    .click();
  await page.getByLabel('Price per GPU hour').fill('3.25');
  await page.getByRole('dialog').getByRole('button', { name: 'Set price' }).click();
  await page.getByRole('region', { name: 'Prices: h200-slice' }).getByText('$3.25 USD').waitFor();
});

test('policy value out of bounds is rejected with advice', async () => {
  await page.getByRole('link', { name: 'Policies' }).click();
  await page.getByLabel('Search policies').fill('projects.max');
  await page.getByRole('button', { name: /projects\.max/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Value').fill('-5');
  await dialog.getByRole('button', { name: 'Set', exact: true }).click();
  await dialog.getByRole('alert').getByText('Correlation ID').waitFor();
  await dialog.getByLabel('Value').fill('77');
  await dialog.getByRole('button', { name: 'Set', exact: true }).click();
  await page
    .getByRole('row', { name: /projects\.max/ })
    .getByText('77')
    .waitFor();
});

test('node changed elsewhere updates on its page and on the map', async () => {
  const operator = server.setting('GPUAAS_OPERATOR_TOKEN');
  const nodes = (await server.call('GET', '/v1/platform/nodes', undefined, operator)) as {
    items: { id: string; name: string }[];
  };
  const node = nodes.items.find((it) => it.name === 'sim-0002');
  await page.goto('/platform/fleet');
  await page.getByText('Live', { exact: true }).first().waitFor();
  const row = page.getByRole('row', { name: /sim-0002/ });
  await row.getByText('Ready').waitFor();
  await server.call('POST', `/v1/platform/nodes/${node?.id}/cordon`, { reason: 'elsewhere' }, operator);
  // Nothing is clicked: the map and the list are told.
  await row.getByText('Cordoned').waitFor();
  await page.getByRole('link', { name: 'sim-0002' }).click();
  await page.getByRole('heading', { name: 'sim-0002' }).waitFor();
  const events = page.getByRole('region', { name: 'Events' });
  await events.getByText('Node cordoned').waitFor();
  await server.call('POST', `/v1/platform/nodes/${node?.id}/uncordon`, { reason: 'elsewhere' }, operator);
  await events.getByText('Node uncordoned').waitFor();
});

test('work queue links stuck work to its runbook', async () => {
  await page.getByRole('link', { name: 'Work queue' }).click();
  await page.getByRole('link', { name: 'Runbook' }).first().click();
  await page.getByRole('heading', { name: 'Work is stuck' }).waitFor();
});

test('credit is granted to an organization', async () => {
  await page.getByRole('link', { name: 'Organizations' }).click();
  await page.getByRole('link', { name: 'Demo' }).click();
  await page.getByRole('button', { name: 'Grant credit' }).click();
  await page.getByRole('dialog').getByLabel('Amount').fill('250');
  await page.getByRole('dialog').getByLabel('Reason').fill('welcome');
  await page.getByRole('dialog').getByRole('button', { name: 'Grant credit' }).click();
  await page.getByText('$1,250.00 USD').first().waitFor();
});

test('quotas of an organization are shown, set and removed', async () => {
  const org = server.setting('GPUAAS_ORGANIZATION');
  const address = `/v1/platform/organizations/${org}/quotas`;
  const skus = (await server.asOperator('GET', '/v1/skus')) as { items: { id: string; name: string }[] };
  const slice = skus.items.find((it) => it.name === 'h200-slice');
  await server.asOperator('PUT', `${address}/${slice?.id}`, { gpus: 6 });
  // What somebody else set is shown without a reload.
  const row = page.getByRole('region', { name: 'Quotas' }).getByRole('row', { name: /h200-slice/ });
  await row.getByText('0 of 6').waitFor();
  await row.getByRole('button', { name: 'Set quota' }).click();
  const form = page.getByRole('dialog', { name: 'Set quota: h200-slice' });
  expect(await form.getByLabel('Maximum GPUs').inputValue()).toBe('6');
  await form.getByLabel('Maximum GPUs').fill('9');
  await form.getByRole('button', { name: 'Set quota' }).click();
  await row.getByText('0 of 9').waitFor();
  await row.getByRole('button', { name: 'Remove' }).click();
  const confirm = page.getByRole('dialog');
  await confirm.getByLabel(/Type/).fill('h200-slice');
  await confirm.getByRole('button', { name: 'Remove' }).click();
  await row.getByText('No quota').waitFor();
});

test('pages violate no content security policy', () => {
  expect(watch.complaints).toEqual([]);
});
