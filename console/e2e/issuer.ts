/** A real OpenID provider, the one of the other tests, that sends people back to the console. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort, program } from './server';

const SOURCE = join(import.meta.dirname, '../../crates/testkit/tools/oidc');
const FILES = ['package.json', 'package-lock.json', 'server.mjs'];
// bound: how long it may take to answer
const START_MS = 30_000;

export class Issuer {
  private constructor(
    readonly url: string,
    private readonly process: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(callback: string): Promise<Issuer> {
    const tool = install();
    const folder = mkdtempSync(join(tmpdir(), 'gpuaas-e2e-issuer-'));
    const port = await freePort();
    const script = join(tool, 'server.mjs');
    const child = spawn('node', [script, String(port), join(folder, 'keys.json'), callback], {
      stdio: 'ignore',
    });
    const url = `http://127.0.0.1:${port}`;
    const until = Date.now() + START_MS;
    const isThere = () =>
      fetch(`${url}/.well-known/openid-configuration`)
        .then((it) => it.ok)
        .catch(() => false);
    while (!(await isThere())) {
      if (Date.now() > until) throw new Error('the OpenID provider did not answer in time');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return new Issuer(url, child, folder);
  }

  /** The settings of a server that trusts it. */
  get settings(): Record<string, string> {
    return {
      GPUAAS_OIDC_ISSUER: this.url,
      GPUAAS_OIDC_CLIENT_ID: 'gpuaas-public',
      GPUAAS_OIDC_REDIRECT_URIS: 'http://127.0.0.1',
    };
  }

  stop(): void {
    this.process.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Installs it beside the build, where the other tests look for it too. */
function install(): string {
  const folder = join(dirname(program('gpuaasd')), '../test-tools/oidc');
  mkdirSync(folder, { recursive: true });
  const texts = FILES.map((it) => readFileSync(join(SOURCE, it), 'utf8'));
  const installed = join(folder, 'installed');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === texts.join('')) return folder;
  FILES.forEach((it, place) => writeFileSync(join(folder, it), texts[place] ?? ''));
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('flock', [`${folder}.lock`, 'npm', 'ci', ...quietly], { cwd: folder });
  writeFileSync(installed, texts.join(''));
  return folder;
}
