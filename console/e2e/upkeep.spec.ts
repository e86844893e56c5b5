/** What holds people back and what gets lost: a guardrail, and a dead letter that is replayed. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch } from './browser';
import { seen, tenant, type Tenant, visit } from './people';
import { Server } from './server';

let server: Server;
let browser: Browser;
let theirs: Tenant;
const complaints: string[][] = [];

async function come(who: 'owner' | 'operator'): Promise<Page> {
  const { page, watch } = await visit(browser, server, who);
  complaints.push(watch.complaints);
  return page;
}

beforeAll(async () => {
  server = Server.shared();
  browser = await launch();
  theirs = await tenant(server, 'Held back');
});

afterAll(async () => {
  server?.sql('DROP FUNCTION IF EXISTS full_disk CASCADE');
  await server?.asOperator('DELETE', '/v1/platform/policies/delivery.attempts');
  await browser?.close();
});

test('guardrail cannot be loosened, and the error has advice and a correlation id', async () => {
  const page = await come('owner');
  await page.goto(`/o/${theirs.org}/settings`);
  await page.getByLabel('Search policies').fill('projects.max');
  await page.getByRole('button', { name: /projects\.max/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Lower levels can only tighten it.').waitFor();
  await dialog.getByLabel('Value').fill('100000');
  const answer = page.waitForResponse((it) => it.url().endsWith('/policies/projects.max'));
  await dialog.getByRole('button', { name: 'Set', exact: true }).click();
  const problem = (await (await answer).json()) as Record<'detail' | 'advice' | 'correlation_id', string>;
  const alert = dialog.getByRole('alert');
  expect(problem.detail).toContain('may only be lowered at this level');
  expect(problem.advice).not.toBe('');
  for (const text of [problem.detail, problem.advice, problem.correlation_id])
    await alert.getByText(text).waitFor();
  expect(await dialog.getByLabel('Value').inputValue()).toBe('100000');
  await dialog.getByLabel('Value').fill('5');
  await dialog.getByRole('button', { name: 'Set', exact: true }).click();
  await page
    .getByRole('row', { name: /projects\.max/ })
    .getByText('Organization')
    .waitFor();
});

test('dead letter is listed, replayed and gone', async () => {
  const page = await come('operator');
  // What webhooks are to be told cannot be written down for a while.
  await server.asOperator('PUT', '/v1/platform/policies/delivery.attempts', { value: '1' });
  const uuid = server.sql(`SELECT id FROM organizations WHERE name = 'Held back'`);
  server.sql(`
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON webhook_deliveries FOR EACH ROW
      WHEN (NEW.organization_id = '${uuid}') EXECUTE FUNCTION full_disk();`);
  const at = `/v1/organizations/${theirs.org}`;
  const hook = { url: 'https://example.com/hook', events: ['project.created'], description: 'to the chat' };
  await theirs.call('POST', `${at}/webhooks`, hook);
  await theirs.call('POST', `${at}/projects`, { name: 'unheard' });
  await expect
    .poll(() => server.sql(`SELECT count(*) FROM dead_letters WHERE organization_id = '${uuid}'`), {
      timeout: 30_000,
    })
    .toBe('1');
  await page.goto('/platform/dead-letters');
  const row = page.getByRole('row', { name: /project\.created/ });
  await row.getByText('No space left on device').waitFor();
  await row.getByText('webhooks.fan_out').waitFor();
  server.sql('DROP FUNCTION full_disk CASCADE');
  await row.getByRole('button', { name: 'Replay' }).click();
  await expect
    .poll(() => server.sql(`SELECT state FROM dead_letters WHERE organization_id = '${uuid}'`), {
      timeout: 15_000,
    })
    .toBe('delivered');
  await seen(page, page.getByText('Delivered', { exact: true }).or(page.getByText('No dead letters')));
  expect(await page.getByRole('button', { name: 'Replay' }).count()).toBe(0);
});

test('pages violate no content security policy', () => {
  expect(complaints.flat()).toEqual([]);
});
