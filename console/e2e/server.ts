/** A `gpuaasd dev` for the browser's tests, with its demo people. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';

// bound: a start makes a database cluster; it takes seconds
const START_MS = 60_000;
const STOP_MS = 20_000;

/** Where a server is: enough to use one that another process started. */
export interface Place {
  base: string;
  folder: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    server: Place;
  }
}

/** A program that was built beside `gpuaasd`. */
export function program(name: string): string {
  const gpuaasd = process.env.GPUAAS_GPUAASD;
  if (!gpuaasd) throw new Error('GPUAAS_GPUAASD must name gpuaasd; run scripts/console.sh e2e');
  return join(dirname(gpuaasd), name);
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** Those of this file. */
export const started: Server[] = [];

// bound: what is kept of a server's words
const MOST_WORDS = 64 * 1024;

export class Server {
  private readonly settings: Map<string, string>;
  private process: ChildProcess | undefined;
  private words = '';

  private constructor(
    private readonly place: Place,
    private readonly environment: Record<string, string>,
  ) {
    const lines = readFileSync(join(place.folder, 'dev.env'), 'utf8').split('\n');
    this.settings = new Map<string, string>();
    for (const line of lines) {
      const [name, ...value] = line.replace(/^export /, '').split('=');
      if (name) this.settings.set(name, value.join('='));
    }
  }

  /** One of its own, on a port that stays the same. */
  static async start(environment: Record<string, string> = {}, port?: number): Promise<Server> {
    const folder = mkdtempSync(join(tmpdir(), 'gpuaas-e2e-'));
    // Root lends PostgreSQL to another account, which must get at its folder.
    chmodSync(folder, 0o711);
    const place = { folder, base: `http://127.0.0.1:${port ?? (await freePort())}` };
    const child = await run(place, environment);
    const server = new Server(place, environment);
    server.follow(child);
    started.push(server);
    return server;
  }

  private follow(child: ChildProcess): void {
    this.process = child;
    const hear = (chunk: Buffer) => {
      this.words = (this.words + chunk.toString()).slice(-MOST_WORDS);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
  }

  /** What it said since it was ready. */
  warnings(): string {
    return this.words;
  }

  /** The one that spec files share; each makes its own organizations there. */
  static shared(): Server {
    return new Server(inject('server'), {});
  }

  get base(): string {
    return this.place.base;
  }

  get where(): Place {
    return this.place;
  }

  setting(name: string): string {
    const value = this.settings.get(name);
    if (value === undefined) throw new Error(`dev.env has no ${name}`);
    return value;
  }

  /** The API, as somebody with a key. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    token = this.setting('GPUAAS_TOKEN'),
  ): Promise<unknown> {
    const response = await fetch(this.base + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** The API, as platform staff. */
  asOperator(method: string, path: string, body?: unknown): Promise<unknown> {
    return this.call(method, path, body, this.setting('GPUAAS_OPERATOR_TOKEN'));
  }

  /** Statements in its database, as the cluster's superuser; what they answer. */
  sql(statements: string): string {
    const postgres = join(this.place.folder, 'postgres');
    const home = existsSync(join(postgres, 'cluster')) ? join(postgres, 'cluster') : postgres;
    const socket = readFileSync(join(home, 'data', 'postmaster.pid'), 'utf8').split('\n')[4] ?? '';
    const options = ['-h', socket, '-U', 'postgres', '-d', 'gpuaas', '-v', 'ON_ERROR_STOP=1', '-qAtX'];
    return execFileSync('psql', options, {
      input: `SET client_min_messages = warning;\n${statements}`,
      encoding: 'utf8',
    }).trim();
  }

  /** Ends it; what it has stays. */
  async halt(): Promise<void> {
    const process = this.process;
    if (!process) return;
    const ended = new Promise((resolve) => process.once('exit', resolve));
    process.kill('SIGINT');
    const late = setTimeout(() => process.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
    this.process = undefined;
  }

  /** Starts it where it was. */
  async comeBack(): Promise<void> {
    this.follow(await run(this.place, this.environment));
  }

  async stop(): Promise<void> {
    await this.halt();
    rmSync(this.place.folder, { recursive: true, force: true });
  }
}

/** Runs `gpuaasd dev` there, and waits until it is ready. */
function run({ base, folder }: Place, environment: Record<string, string>): Promise<ChildProcess> {
  const child = spawn(program('gpuaasd'), ['dev', '--data-dir', folder, '--listen', new URL(base).host], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, RUST_LOG: 'warn', ...environment },
  });
  let said = '';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`gpuaasd did not start:\n${said}`)), START_MS);
    const hear = (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('Ctrl-C')) {
        clearTimeout(timer);
        resolve(child);
      }
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('exit', (code) => reject(new Error(`gpuaasd ended with ${code}:\n${said}`)));
  });
}
