/** What staff set up and put right: a door at the edge, quotas, profiles, refunds, journals, proofs and exports. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch } from './browser';
import { credit, tenant, type Tenant, visit } from './people';
import { freePort, program, Server } from './server';
import { pay } from './stripe';

const NAME = 'Looked after';
let server: Server;
let browser: Browser;
let theirs: Tenant;
let project: string;
let operator: Page;
let member: Page;
let gateway: ChildProcess | undefined;
/** Where the gateway keeps its certificate. */
let folder: string;
const complaints: string[][] = [];

async function come(who: 'owner' | 'operator'): Promise<Page> {
  const { page, watch } = await visit(browser, server, who);
  complaints.push(watch.complaints);
  return page;
}

beforeAll(async () => {
  server = Server.shared();
  folder = mkdtempSync(join(tmpdir(), 'gpuaas-e2e-gateway-'));
  browser = await launch();
  theirs = await tenant(server, NAME);
  ({ id: project } = await theirs.call('POST', `/v1/organizations/${theirs.org}/projects`, {
    name: 'vision',
  }));
  await credit(server, theirs.org, 100);
  [operator, member] = [await come('operator'), await come('owner')];
});

afterAll(async () => {
  gateway?.kill('SIGKILL');
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const card = (page: Page, title: string): Locator =>
  page.locator('section', { has: page.getByRole('heading', { name: title, exact: true }) });

const theirPage = async () => {
  await operator.goto(`/platform/organizations/${theirs.org}`);
  await operator.getByRole('heading', { name: NAME }).waitFor();
};

test('gateway is created, started with the shown environment, and removed', async () => {
  await operator.goto('/platform/gateways');
  await operator.getByRole('button', { name: 'New gateway' }).first().click();
  const dialog = operator.getByRole('dialog');
  const [hosts, people] = [await freePort(), await freePort()];
  await dialog.getByLabel('Name').fill('edge-1');
  await dialog.getByLabel('Agent URL').fill(`https://127.0.0.1:${hosts}`);
  await dialog.getByLabel('Public URL').fill(`ws://127.0.0.1:${people}`);
  await dialog.getByLabel('Web domain').fill('edge.localhost');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const lines = (await operator.getByText(/^GPUAAS_GATEWAY_JOIN_TOKEN=/).textContent()) ?? '';
  await operator.getByRole('button', { name: 'I have saved it' }).click();
  const settings = Object.fromEntries(
    lines.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const row = operator.getByRole('row', { name: /edge-1/ });
  await row.waitFor();
  expect(await operator.getByText(settings.GPUAAS_GATEWAY_JOIN_TOKEN ?? '').count()).toBe(0);
  gateway = spawn(program('gpuaasd'), ['serve', '--roles', 'gateway'], {
    cwd: folder,
    stdio: 'ignore',
    env: { PATH: process.env.PATH, RUST_LOG: 'warn', ...settings },
  });
  await row.getByText('Live').waitFor();
  const ended = new Promise((resolve) => gateway?.once('exit', resolve));
  gateway.kill('SIGINT');
  await ended;
  await row.getByRole('button', { name: 'Remove' }).click();
  await operator.getByRole('dialog').getByLabel(/Type/).fill('edge-1');
  await operator.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await row.waitFor({ state: 'detached' });
});

test('quota rejects requests until it is removed', async () => {
  const ask = () =>
    theirs.call('POST', `/v1/projects/${project}/allocations`, { sku: 'h200-slice', gpus: 2, name: 'two' });
  await theirPage();
  const quotas = card(operator, 'Quotas');
  const row = quotas.getByRole('row', { name: /h200-slice/ });
  await row.getByRole('button', { name: 'Set quota' }).click();
  await operator.getByRole('dialog').getByLabel('Maximum GPUs').fill('1');
  await operator.getByRole('dialog').getByRole('button', { name: 'Set quota' }).click();
  await row.getByText('0 of 1').waitFor();
  await member.goto(`/o/${theirs.org}/limits`);
  await member
    .getByRole('row', { name: /h200-slice/ })
    .getByText('0 of 1')
    .waitFor();
  await expect(ask()).rejects.toThrow(/quota/);
  await row.getByRole('button', { name: 'Remove' }).click();
  await operator.getByRole('dialog').getByLabel(/Type/).fill('h200-slice');
  await operator.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await row.getByText('No quota').waitFor();
  const { id } = (await ask()) as { id: string };
  await theirs.call('POST', `/v1/projects/${project}/allocations/${id}/release`);
});

test('billing profiles of seller and buyer are saved, and members see their own', async () => {
  await operator.goto('/platform/invoices');
  const seller = card(operator, 'Seller');
  await seller.getByLabel('Legal name').fill('GPU Cloud Ltd');
  await seller.getByLabel('Address').fill('1 Main St\nReykjavik');
  await seller.getByLabel(/^Tax name ?optional/).fill('VAT');
  await seller.getByLabel('Percentage').fill('24');
  await seller.getByRole('button', { name: 'Save' }).click();
  await seller.getByText(/^Set/).waitFor();
  await theirPage();
  const buyer = card(operator, 'Billing profile');
  await buyer.getByLabel('Legal name').fill('Looked After AG');
  await buyer.getByLabel('Address').fill('Hauptstrasse 1');
  await buyer.getByLabel('Percentage').fill('8.1');
  // A tax has a name.
  expect(await buyer.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  await buyer.getByLabel(/^Tax name ?optional/).fill('MWST');
  await buyer.getByRole('button', { name: 'Save' }).click();
  await buyer.getByText(/^Set/).waitFor();
  await member.goto(`/o/${theirs.org}/settings`);
  await expect
    .poll(() => member.getByLabel('Legal name').inputValue(), { timeout: 10_000 })
    .toBe('Looked After AG');
});

test('payment is partly refunded, and the wallet is debited', async () => {
  const payments = `/v1/organizations/${theirs.org}/payments`;
  const { id } = await theirs.call('POST', payments, {
    amount_micros: 50_000_000,
    currency: 'USD',
  });
  // The provider is told of it first.
  await expect
    .poll(async () => (await theirs.call<{ state: string }>('GET', `${payments}/${id}`)).state, {
      timeout: 20_000,
    })
    .toBe('pending');
  await pay(id, server.base);
  await member.goto(`/o/${theirs.org}/billing`);
  await member.getByRole('region', { name: 'Payments' }).getByText('Succeeded').waitFor();
  await operator.goto('/platform/payments');
  const row = operator.getByRole('row', { name: new RegExp(id.slice(-6)) });
  await row.getByRole('button', { name: 'Refund', exact: true }).click();
  const dialog = operator.getByRole('dialog');
  await dialog.getByLabel('Amount (USD)').fill('20');
  await dialog.getByLabel('Reason').fill('charged twice');
  await dialog.getByRole('button', { name: 'Refund' }).click();
  await dialog.waitFor({ state: 'detached' });
  await row.getByRole('button', { name: 'Refunds' }).click();
  const refund = operator.getByRole('dialog').getByRole('row', { name: /charged twice/ });
  await refund.getByText('$20.00 USD').waitFor();
  await operator.keyboard.press('Escape');
  // Nobody clicks anything at the member's page.
  const statement = member.getByRole('region', { name: 'Statement' });
  await statement.getByRole('row', { name: /-\$20\.00 USD/ }).waitFor();
});

test('journal is reversed once, after its name is typed', async () => {
  await credit(server, theirs.org, 40);
  await theirPage();
  const statement = card(operator, 'Statement');
  const credits = statement.getByRole('row', { name: /Credit.*\$40\.00 USD/ });
  await credits.first().getByRole('button', { name: 'Reverse' }).click();
  const dialog = operator.getByRole('dialog');
  const confirm = dialog.getByRole('button', { name: 'Reverse' });
  await dialog.getByLabel('Reason').fill('entered twice');
  expect(await confirm.isDisabled()).toBe(true);
  const word = /“(.+)”/.exec((await dialog.getByText(/^Type “/).textContent()) ?? '')?.[1] ?? '';
  await dialog.getByLabel(/^Type/).fill(word);
  await confirm.click();
  await operator.getByText(/^Journal \d+ was reversed\.$/).waitFor();
  await statement.getByRole('row', { name: /-\$40\.00 USD/ }).waitFor();
  await expect.poll(() => credits.first().getByRole('button').count(), { timeout: 10_000 }).toBe(0);
});

test('ledger proof of a month succeeds', async () => {
  await operator.goto('/platform/ledger');
  await operator.getByRole('button', { name: 'Run proof' }).click();
  await operator.getByText('Verified: the ledger matches.').waitFor();
  await member.goto(`/o/${theirs.org}/billing`);
  await member.getByRole('button', { name: 'Run proof' }).click();
  await member.getByText('Verified: every journal matches usage and prices.').waitFor();
});

test('charges of a month are exported in FOCUS columns', async () => {
  await theirPage();
  const categories = async (): Promise<string[]> => {
    await operator.getByRole('button', { name: 'Export month' }).click();
    const dialog = operator.getByRole('dialog');
    const [file] = await Promise.all([
      operator.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    await dialog.waitFor({ state: 'detached' });
    expect(file.suggestedFilename()).toMatch(/^usage-Looked-after-\d{4}-\d\d\.csv$/);
    const [head = '', ...rows] = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\r\n');
    const at = (name: string) => head.split(',').indexOf(name);
    for (const name of ['BilledCost', 'BillingCurrency', 'ChargePeriodStart'])
      expect(at(name), name).toBeGreaterThanOrEqual(0);
    return rows.map((it) => it.split(',')[at('ChargeCategory')] ?? '');
  };
  // What was given is in it as soon as the books are posted so far.
  await expect.poll(categories, { timeout: 45_000, interval: 3_000 }).toContain('Credit');
});

test('platform audit log is filtered by an id copied from it', async () => {
  await operator.goto('/platform/audit');
  const who =
    (await operator
      .getByTitle(/^user:user-/)
      .first()
      .getAttribute('title')) ?? '';
  await operator.getByLabel('Actor').fill(who.replace('user:', ''));
  await operator.getByLabel('Action').fill('platform.audit.list');
  await operator.getByRole('button', { name: 'Filter' }).click();
  await operator.waitForURL(/actor=user/);
  await operator.getByRole('button', { name: 'Details: platform.audit.list' }).first().click();
  await operator.getByRole('dialog').getByTitle(who).waitFor();
  await operator.keyboard.press('Escape');
  expect(await operator.getByRole('button', { name: /^Details: (?!platform\.audit\.list)/ }).count()).toBe(0);
});

test('pages violate no content security policy', () => {
  expect(complaints.flat()).toEqual([]);
});
