/** Inside an allocation: a shell in the page, its recording, and an operator who looks after it. */

import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, open, signIn, violations, Watch } from './browser';
import { Server } from './server';
import { connected, screen, showsLine, typeLine } from './shells';

let server: Server;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let watch: Watch;
let home: string;
let allocation: string;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  context = await open(browser, server.base);
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.base });
  // So that a test can break a line; the page's own policy still applies to each.
  await context.addInitScript(() => {
    const sockets: WebSocket[] = [];
    const Real = window.WebSocket;
    window.WebSocket = class extends Real {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols);
        sockets.push(this);
      }
    };
    Object.assign(window, { sockets });
  });
  page = await context.newPage();
  watch = new Watch(page, server.base);
  page.setDefaultTimeout(20_000);
  const org = server.setting('GPUAAS_ORGANIZATION');
  const project = server.setting('GPUAAS_PROJECT');
  // The tests open more shells in a minute than people do.
  const policies = { 'access.recording': 'on', 'rate_limit.terminal_ticket_per_minute': '1000' };
  for (const [key, value] of Object.entries(policies)) {
    await server.asOperator('PUT', `/v1/platform/policies/${key}`, { value });
  }
  const made = (await server.call('POST', `/v1/projects/${project}/allocations`, {
    sku: 'h200-slice',
    gpus: 1,
    name: 'shellbox',
  })) as { id: string };
  allocation = made.id;
  home = `/o/${org}/allocations/${project}/${made.id}`;
  await page.goto(home);
  await signIn(page, 'owner@demo.localhost', server.setting('GPUAAS_OWNER_PASSWORD'));
  await page.locator('[aria-current=step]', { hasText: 'Active' }).waitFor();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test('terminal code is loaded only when a terminal is opened', async () => {
  const loaded = await page.evaluate(() => performance.getEntriesByType('resource').map((it) => it.name));
  expect(loaded.filter((it) => /Panel|xterm/.test(it))).toEqual([]);
});

test('shell opens in the page and runs what is typed', async () => {
  await page.getByRole('button', { name: 'Open terminal' }).click();
  await connected(page);
  await typeLine(page, 'mark=kept-$((40+2)); echo "<$mark>"');
  await showsLine(page, '<kept-42>');
});

test('ticket is in no URL and does not stay in the page', async () => {
  const kept = await page.evaluate(() =>
    JSON.stringify([
      location.href,
      { ...localStorage },
      { ...sessionStorage },
      performance.getEntries().map((it) => it.name),
    ]),
  );
  expect(kept).toContain('access-');
  expect(kept).not.toMatch(/gpt_|gpuaas\.ticket/);
});

test('colors are shown under the content security policy', async () => {
  await typeLine(page, `printf '\\033[38;2;1;119;110mtrue-color\\033[0m\\n'`);
  await showsLine(page, 'true-color');
  const color = await screen(page)
    .locator('span')
    .filter({ hasText: /^true-color/ })
    .first()
    .evaluate((it) => getComputedStyle(it).color);
  expect(color).toBe('rgb(1, 119, 110)');
});

test('window has the size that the shell reports', async () => {
  await page.setViewportSize({ width: 1000, height: 860 });
  await typeLine(page, 'echo "size $(stty size | tr " " x)"');
  await screen(page)
    .getByText(/^size \d+x\d+/)
    .first()
    .waitFor();
  const said = await screen(page)
    .getByText(/^size \d+x\d+/)
    .last()
    .textContent();
  const rows = await screen(page).locator('> div').count();
  expect(Number(/size (\d+)x/.exec(said ?? '')?.[1])).toBe(rows);
  await page.setViewportSize({ width: 1280, height: 860 });
});

test('keyboard input goes to the shell, and one shortcut leaves it', async () => {
  await page.keyboard.type('echo tabbed');
  await page.keyboard.press('Control+k');
  expect(await page.getByRole('combobox', { name: 'Command palette' }).count()).toBe(0);
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.className)).toContain('xterm-helper-textarea');
  await page.keyboard.press('Control+Shift+X');
  expect(await page.evaluate(() => document.activeElement?.getAttribute('role'))).toBe('tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.className)).toContain('xterm-helper-textarea');
  await page.keyboard.press('Enter');
  await showsLine(page, 'tabbed');
});

test('selection is copied, and the clipboard is pasted', async () => {
  // As the browser tells of it, whatever key or menu somebody used.
  await page.locator('[role=tabpanel]:not(.invisible) .xterm-helper-textarea').evaluate((it) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', 'echo pasted-$((1+1))');
    it.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    (it as HTMLElement).focus();
  });
  await page.keyboard.press('Enter');
  await showsLine(page, 'pasted-2');
  await screen(page)
    .getByText(/^pasted-2/)
    .first()
    .dblclick({ force: true });
  await page.keyboard.press('Control+Shift+C');
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain('pasted');
});

test('second shell opens in its own tab', async () => {
  await page.getByRole('button', { name: 'New shell' }).click();
  await page.getByRole('tab', { name: 'Shell 2', selected: true }).waitFor();
  await connected(page);
  await typeLine(page, 'echo "second:$mark:"');
  await showsLine(page, 'second::');
  await page.getByRole('tab', { name: 'Shell 1' }).click();
  await typeLine(page, 'echo "first:$mark:"');
  await showsLine(page, 'first:kept-42:');
});

test('shells survive a reload', async () => {
  await page.reload();
  await page.getByRole('tab', { name: 'Shell 2' }).waitFor();
  await page.getByRole('tab', { name: 'Shell 1' }).click();
  await connected(page);
  await typeLine(page, 'echo "again:$mark:"');
  await showsLine(page, 'again:kept-42:');
});

test('full screen shows the same shell at its own URL', async () => {
  await page.getByRole('link', { name: 'Full screen' }).click();
  await page.waitForURL(`**${home}/terminal`);
  await page.getByRole('heading', { name: 'shellbox' }).waitFor();
  await typeLine(page, 'echo "full:$mark:"');
  await showsLine(page, 'full:kept-42:');
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await page.getByRole('tab', { name: 'Shell 1' }).click();
  await typeLine(page, 'echo "deep:$mark:"');
  await showsLine(page, 'deep:kept-42:');
});

test('shell opened in another window says so and can be taken over', async () => {
  const other = await context.newPage();
  const state = await page.evaluate(() => ({ ...sessionStorage }));
  await other.addInitScript((kept) => {
    for (const [name, value] of Object.entries(kept)) sessionStorage.setItem(name, value);
  }, state);
  await other.goto(`${home}/terminal`);
  await other.getByRole('tab', { name: 'Shell 1' }).click();
  await connected(other);
  await page.getByText('This shell was opened in another window.').waitFor();
  await page.getByRole('button', { name: 'Use it here' }).click();
  await connected(page);
  await other.getByText('This shell was opened in another window.').waitFor();
  await typeLine(page, 'echo "back:$mark:"');
  await showsLine(page, 'back:kept-42:');
  await other.close();
  await page.getByRole('tab', { name: 'Shell 2' }).click();
  await page.getByRole('button', { name: 'Use it here' }).click();
  await connected(page);
  await page.getByRole('tab', { name: 'Shell 1' }).click();
});

test('connection that breaks resumes where it stopped', async () => {
  await typeLine(page, 'clear; for i in 1 2 3 4 5 6 7 8; do echo "count-$i"; sleep 0.4; done');
  await showsLine(page, 'count-2');
  const broken = await page.evaluate(() => {
    const all = (window as unknown as { sockets: WebSocket[] }).sockets;
    const open = all.filter((it) => it.url.endsWith('/v1/terminal') && it.readyState === WebSocket.OPEN);
    open.forEach((it) => it.close(4999));
    return open.length;
  });
  expect(broken).toBeGreaterThan(0);
  await page.getByText('Connection lost. Reconnecting…').waitFor();
  await showsLine(page, 'count-8');
  const lines = await screen(page)
    .locator('> div', { hasText: /^count-/ })
    .allTextContents();
  expect(lines.map((it) => it.trim())).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((it) => `count-${it}`));
});

test('shell exit is shown with its code', async () => {
  await page.getByRole('tab', { name: 'Shell 2' }).click();
  await typeLine(page, 'exit 3');
  await page.getByText('The shell exited with code 3.').waitFor();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.getByRole('link', { name: 'Back to allocation' }).click();
  await page.waitForURL(`**${home}`);
});

test('web service of the allocation opens at its own origin, without a ticket in its URL', async () => {
  await typeLine(
    page,
    `mkdir -p /tmp/w && cd /tmp/w && echo hello-from-inside > index.html && (python3 -m http.server 8123 >/dev/null 2>&1 &) ; sleep 1; echo served`,
  );
  await showsLine(page, 'served');
  await page.getByLabel('Port', { exact: true }).fill('8123');
  const [service] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('button', { name: 'Open in new tab' }).click(),
  ]);
  await service.getByText('hello-from-inside').waitFor();
  expect(service.url()).toMatch(new RegExp(`^http://8123--${allocation}\\.web\\.localhost:\\d+/$`));
  await service.close();
});

test('operator ends a session and breaks glass with a reason that the owner sees', async () => {
  const theirs = await open(browser, server.base);
  const operator = await theirs.newPage();
  operator.setDefaultTimeout(20_000);
  await operator.goto('/platform/sessions');
  await signIn(operator, 'operator@demo.localhost', server.setting('GPUAAS_OPERATOR_PASSWORD'));
  await operator.getByRole('heading', { name: 'Live sessions' }).waitFor();
  const rows = operator.getByRole('row', { name: /Terminal/ });
  const row = rows.first();
  await row.waitFor();
  await row.getByRole('button', { name: 'End' }).click();
  const dialog = operator.getByRole('dialog');
  const confirm = dialog.getByRole('button', { name: 'End session' });
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByLabel('Reason').fill('the host is needed');
  const word = /“(.+)”/.exec((await dialog.getByText(/^Type “/).textContent()) ?? '')?.[1] ?? '';
  await dialog.getByLabel(/^Type/).fill(word);
  await confirm.click();
  await page.getByText('The session was ended.').waitFor();
  // Who comes and goes is told here: nothing is clicked.
  await operator.getByText('Live', { exact: true }).first().waitFor();
  await dialog.waitFor({ state: 'detached' });
  const left = await rows.count();
  await page.getByRole('button', { name: 'New shell' }).first().click();
  await typeLine(page, 'echo back-$((1+1))');
  await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(left + 1);
  await typeLine(page, 'exit');
  await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(left);

  await operator.goto(`/platform/allocations/${allocation}/terminal`);
  await operator.getByLabel('Reason').fill('checking a stuck driver');
  await operator.getByRole('button', { name: 'Open session' }).click();
  await operator.getByText('Break-glass session. Reason: checking a stuck driver').waitFor();
  await typeLine(operator, 'echo glass-$((1+1))');
  await showsLine(operator, 'glass-2');
  expect(await violations(operator)).toEqual([]);
  // The owner sees who is inside.
  await page.getByRole('row', { name: /Operator/ }).waitFor();
  await operator.getByRole('link', { name: 'Leave session' }).click();
  await theirs.close();
});

test('recording plays the terminal output and verifies', async () => {
  await page.getByRole('link', { name: 'Recordings' }).first().click();
  await page
    .getByRole('row', { name: /Sealed/ })
    .first()
    .waitFor();
  const rows = page.getByRole('row', { name: /You/ });
  await rows.last().getByRole('link').click();
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
  await page.getByRole('slider', { name: 'Position' }).focus();
  await page.keyboard.press('End');
  await page
    .locator('.xterm-rows')
    .getByText(/kept-42/)
    .first()
    .waitFor();
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.getByText(/^Intact: /).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/^recording-.+\.cast$/);
  expect(await violations(page)).toEqual([]);
});

test('pages violate no content security policy', () => {
  expect(watch.complaints).toEqual([]);
});
