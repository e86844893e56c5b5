/** Sessions that end, a server that goes away and comes back, and the bill of a month that is over. */

import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch } from './browser';
import { visit } from './people';
import { Server } from './server';

let server: Server;
let browser: Browser;
let page: Page;
let org = '';
const complaints: string[][] = [];

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  org = server.setting('GPUAAS_ORGANIZATION');
  const { page: opened, watch } = await visit(browser, server, 'owner');
  page = opened;
  complaints.push(watch.complaints);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

async function endSessions(): Promise<void> {
  const signedIn = (await server.call('POST', '/v1/sessions', {
    email: 'owner@demo.localhost',
    password: server.setting('GPUAAS_OWNER_PASSWORD'),
  })) as { access_token: string };
  await server.call('DELETE', '/v1/sessions', undefined, signedIn.access_token);
}

test('dialog input survives an expired session', async () => {
  await page.goto(`/o/${org}/webhooks`);
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  const form = page.getByRole('dialog', { name: 'New webhook' });
  await form.getByLabel('URL').fill('https://example.com/typed');
  await form.getByLabel('Events').fill('allocation.*, project.*');
  await form.getByLabel('Description').fill('typed before the end');
  await endSessions();
  await form.getByRole('button', { name: 'Create' }).click();
  const ended = page.getByRole('dialog', { name: 'Your session has expired' });
  await ended.getByLabel('Password').fill(server.setting('GPUAAS_OWNER_PASSWORD'));
  await ended.getByRole('button', { name: 'Sign in' }).click();
  await ended.waitFor({ state: 'detached' });
  expect(await form.getByLabel('URL').inputValue()).toBe('https://example.com/typed');
  expect(await form.getByLabel('Events').inputValue()).toBe('allocation.*, project.*');
  expect(await form.getByLabel('Description').inputValue()).toBe('typed before the end');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByRole('row', { name: /typed before the end/ }).waitFor();
});

test('page reports an unreachable server and recovers automatically', async () => {
  await page.goto(`/o/${org}/projects`);
  await page.getByRole('row', { name: /first-project/ }).waitFor();
  await page.getByText('Live', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'New project' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('typed-while-away');
  await server.halt();
  await page.getByText('Offline. Reconnecting…').first().waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('dialog').getByRole('alert').getByText('Check your connection').waitFor();
  expect(await page.getByRole('dialog').getByLabel('Name').inputValue()).toBe('typed-while-away');
  const banner = page.getByText('Cannot reach the server. Data on this page may be out of date.');
  await banner.waitFor();
  // What was read before is still there.
  expect(await page.getByRole('row', { name: /first-project/, includeHidden: true }).count()).toBe(1);
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
  await banner.waitFor();
  // A page that was never opened before cannot be loaded; that is said, and nothing is blank.
  await page.getByRole('navigation').getByRole('link', { name: 'Invoices' }).click();
  await page.getByRole('main').getByText('Check your connection').waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).waitFor();
  await server.comeBack();
  // Nobody clicks anything.
  await page.getByText('No invoices yet').waitFor({ timeout: 45_000 });
  await page.getByText('Live', { exact: true }).first().waitFor();
  expect(await banner.count()).toBe(0);
});

test('invoice of a past month downloads as PDF and CSV', async () => {
  const project = server.setting('GPUAAS_PROJECT');
  const at = `/v1/projects/${project}/allocations`;
  const made = (await server.call('POST', at, { sku: 'h200-slice', gpus: 8, name: 'billed' })) as {
    id: string;
  };
  const state = async () => ((await server.call('GET', `${at}/${made.id}`)) as { state: string }).state;
  await expect.poll(state, { timeout: 30_000 }).toBe('active');
  await page.goto(`/o/${org}`);
  // A cent, the least that an invoice shows: 8 GPUs cost it in little more than a second.
  const cost = async () =>
    ((await server.call('GET', `${at}/${made.id}/cost`)) as { amount_micros: number }).amount_micros;
  await expect.poll(cost, { timeout: 30_000 }).toBeGreaterThan(20_000);
  await server.call('POST', `${at}/${made.id}/release`);
  await expect.poll(state, { timeout: 30_000 }).toBe('released');
  await server.asOperator('PUT', '/v1/platform/billing-profile', {
    legal_name: 'Rechenwerk Süd GmbH',
    address: ['Königsallee 1', '40212 Düsseldorf', 'Germany'],
  });
  await server.asOperator('PUT', '/v1/platform/policies/work.sweep_seconds', { value: '5' });
  // The server wakes up forty days later.
  server.sql(`ALTER DATABASE gpuaas SET app.clock_offset = '40 days'`);
  await server.halt();
  await server.comeBack();
  const later = await visit(browser, server, 'owner');
  complaints.push(later.watch.complaints);
  await later.page.goto(`/o/${org}/invoices`);
  await later.page.getByRole('button', { name: 'PDF' }).waitFor({ timeout: 40_000 });
  const [pdf] = await Promise.all([
    later.page.waitForEvent('download'),
    later.page.getByRole('button', { name: 'PDF' }).click(),
  ]);
  expect(pdf.suggestedFilename()).toMatch(/\.pdf$/);
  expect(
    readFileSync(await pdf.path())
      .subarray(0, 5)
      .toString(),
  ).toBe('%PDF-');
  await later.page.getByRole('main').getByRole('row').nth(1).getByRole('link').click();
  await later.page.getByText('Rechenwerk Süd GmbH').waitFor();
  const [csv] = await Promise.all([
    later.page.waitForEvent('download'),
    later.page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  expect(readFileSync(await csv.path(), 'utf8')).toContain('first-project');
});

test('pages violate no content security policy', () => {
  // What a browser says of a server that is gone is no complaint about the page.
  expect(complaints.flat().filter((it) => !/WebSocket|Failed to fetch|unreachable/.test(it))).toEqual([]);
});
