/** Debian's chromium, driven by Playwright, and what every page is held to. */

import axe from 'axe-core';
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launch(): Promise<Browser> {
  const known = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const executablePath = process.env.CHROMIUM ?? known.find((it) => existsSync(it));
  if (!executablePath) throw new Error('chromium is missing; run scripts/bootstrap.sh --test');
  return chromium.launch({ executablePath, args: FLAGS });
}

/** Collects what a page must never do: fail, break its policy, ask elsewhere. */
export class Watch {
  constructor(
    page: Page,
    base: string,
    readonly complaints: string[] = [],
  ) {
    page.on('pageerror', (error) => this.complaints.push(`failed: ${error.message}`));
    page.on('console', (message) => {
      const text = message.text();
      // A refused request is part of some tests; the browser logs its status.
      if (message.type() === 'error' && !text.startsWith('Failed to load resource'))
        this.complaints.push(text);
    });
    page.on('request', (request) => {
      const address = new URL(request.url());
      const isOurs = address.host === new URL(base).host || ['blob:', 'data:'].includes(address.protocol);
      if (!isOurs) this.complaints.push(`asked elsewhere: ${request.url()}`);
    });
  }
}

interface Violation {
  id: string;
  impact: string | null;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What axe finds on the page as it is. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const tool = (window as unknown as { axe: { run: (o: object) => Promise<{ violations: Violation[] }> } })
      .axe;
    return (await tool.run({ resultTypes: ['violations'] })).violations;
  });
  return found.map(
    (it) =>
      `${it.impact ?? '?'} ${it.id}: ${it.help}\n    ${it.nodes[0]?.html}\n    ${it.nodes[0]?.failureSummary}`,
  );
}

interface Look {
  size?: { width: number; height: number };
  theme?: 'light' | 'dark';
}

/** Those of this file. */
export const opened: BrowserContext[] = [];

export async function open(browser: Browser, base: string, look: Look = {}): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL: base,
    viewport: look.size ?? { width: 1280, height: 860 },
    colorScheme: look.theme ?? 'light',
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'Europe/Berlin',
  });
  opened.push(context);
  return context;
}

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page
    .getByRole('navigation')
    .or(page.getByRole('button', { name: 'Menu' }))
    .first()
    .waitFor();
}
