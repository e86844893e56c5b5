/** What members do besides launching: keys and the palette, webhooks, budgets, what they are told, what things cost. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, open, signIn, violations, Watch } from './browser';
import { Server } from './server';
import { money } from '../src/format/money';

let server: Server;
let browser: Browser;
let page: Page;
let watch: Watch;
let org: string;
let token: string;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  page = await (await open(browser, server.base)).newPage();
  page.setDefaultTimeout(20_000);
  watch = new Watch(page, server.base);
  org = server.setting('GPUAAS_ORGANIZATION');
  const session = (await server.call('POST', '/v1/sessions', {
    email: 'owner@demo.localhost',
    password: server.setting('GPUAAS_OWNER_PASSWORD'),
  })) as { access_token: string };
  token = session.access_token;
  await page.goto('/');
  await signIn(page, 'owner@demo.localhost', server.setting('GPUAAS_OWNER_PASSWORD'));
  await page.getByRole('heading', { name: 'Demo', level: 1 }).waitFor();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();

test('shortcuts open pages, and the help dialog lists them', async () => {
  await page.keyboard.press('?');
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await sheet.getByText('Allocations').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await page.keyboard.press('g');
  await page.keyboard.press('u');
  await heading('Usage');
  await page.keyboard.press('c');
  await heading('Launch');
  // What is typed into a field leads nowhere.
  await page.getByLabel('Name').fill('');
  await page.getByLabel('Name').pressSequentially('gu?/');
  expect(await page.getByLabel('Name').inputValue()).toBe('gu?/');
  await heading('Launch');
});

test('palette starts the actions that a member may perform', async () => {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Command palette' }).fill('new webh');
  await page.keyboard.press('Enter');
  const form = page.getByRole('dialog', { name: 'New webhook' });
  await form.getByLabel('URL').fill('https://example.com/first');
  expect(new URL(page.url()).search).toBe('?open=new');
  await form.getByRole('button', { name: 'Create' }).click();
  const secret = page.getByRole('dialog', { name: 'Signing secret' });
  await secret
    .getByText(/^whsec_|^gp/)
    .first()
    .waitFor();
  await secret.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByRole('link', { name: 'https://example.com/first' }).click();
  await heading('https://example.com/first');
});

test('webhook is edited, disabled, enabled and tested', async () => {
  await page.getByRole('button', { name: 'Edit' }).click();
  const form = page.getByRole('dialog', { name: 'Edit webhook' });
  await form.getByLabel('URL').fill('https://example.com/second');
  await form.getByLabel('Events').fill('project.*');
  await form.getByRole('button', { name: 'Save' }).click();
  await heading('https://example.com/second');
  await page.getByText('project.*').waitFor();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('Disabled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByText('Active', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Send test' }).click();
  await page.getByRole('button', { name: /webhook\.tested/ }).click();
  await page.getByRole('dialog', { name: 'webhook.tested' }).getByText('Attempts').waitFor();
  await page.keyboard.press('Escape');
});

test('budget is created and edited', async () => {
  await page.goto(`/o/${org}/limits?open=new`);
  const form = page.getByRole('dialog', { name: 'New budget' });
  await form.getByLabel('Amount').fill('120');
  await form.getByRole('button', { name: 'Create' }).click();
  const row = page.getByRole('row', { name: /first-project/ });
  await row.getByText('$120.00 USD').waitFor();
  await row.getByRole('button', { name: 'Edit' }).click();
  const change = page.getByRole('dialog', { name: 'Edit budget' });
  await change.getByLabel('Amount').fill('200.50');
  await change.getByLabel('Notify at').fill('half');
  expect(await change.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  await change.getByLabel('Notify at').fill('60, 90');
  await change.getByRole('button', { name: 'Save' }).click();
  await row.getByText('$200.50 USD').waitFor();
  await row.getByText('60%, 90%').waitFor();
});

test('notification badge appears without a reload and links to its allocation', async () => {
  const project = server.setting('GPUAAS_PROJECT');
  const body = { sku: 'h200-slice', gpus: 1, name: 'taken', tags: { team: 'vision' } };
  const made = (await server.call('POST', `/v1/projects/${project}/allocations`, body, token)) as {
    id: string;
  };
  await page.goto(`/o/${org}/allocations/${project}/${made.id}`);
  await page.locator('[aria-current=step]', { hasText: 'Active' }).waitFor();
  await page.getByText('Live', { exact: true }).first().waitFor();
  const operator = server.setting('GPUAAS_OPERATOR_TOKEN');
  const why = { reason: 'the host is needed' };
  await server.call('POST', `/v1/platform/allocations/${made.id}/force-release`, why, operator);
  // Nothing is clicked and nothing is asked for again and again.
  await page.getByRole('link', { name: /Notifications.*1 unread/ }).click();
  await page.getByRole('link', { name: /taken/ }).click();
  await heading('taken');
  await page.locator('[aria-current=step]', { hasText: 'Released' }).waitFor();
});

test('allocation cost equals the ledger', async () => {
  const project = server.setting('GPUAAS_PROJECT');
  const id = new URL(page.url()).pathname.split('/').pop();
  await page.getByText('Total cost', { exact: true }).waitFor();
  const path = `/v1/projects/${project}/allocations/${id}/cost`;
  const cost = (await server.call('GET', path, undefined, token)) as { amount_micros: number };
  expect(cost.amount_micros).toBeGreaterThan(0);
  await page
    .getByText(money(cost.amount_micros, 'USD', 'en'), { exact: true })
    .first()
    .waitFor();
  await page.getByText(/posted through/).waitFor();
  await page.getByText('All states').click();
  await page.getByRole('img', { name: /Current state: Released/ }).waitFor();
  expect(await violations(page)).toEqual([]);
});

test('launch form is prefilled from an allocation', async () => {
  await page.getByRole('link', { name: 'Launch another' }).click();
  await heading('Launch');
  expect(await page.getByLabel('Tags').inputValue()).toBe('team=vision');
  expect(await page.getByRole('radio', { name: /h200-slice/ }).getAttribute('aria-checked')).toBe('true');
});

test('pages violate no content security policy', () => {
  expect(watch.complaints).toEqual([]);
});
