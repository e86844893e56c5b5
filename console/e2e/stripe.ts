/** The scripted Stripe of the other tests, as a process, and the payers who use it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import { program } from './server';

declare module 'vitest' {
  interface ProvidedContext {
    stripe: string;
  }
}

// bound: how long it may take to say where it is
const START_MS = 20_000;

export class Stripe {
  private constructor(
    readonly settings: Record<string, string>,
    /** Where payers go. */
    readonly place: string,
    private readonly process: ChildProcess,
  ) {}

  static async start(): Promise<Stripe> {
    const child = spawn(program('scripted-stripe'), { stdio: ['pipe', 'pipe', 'inherit'] });
    const settings: Record<string, string> = {};
    const late = setTimeout(() => child.kill('SIGKILL'), START_MS);
    for await (const line of createInterface({ input: child.stdout })) {
      if (line === '') break;
      const [name = '', ...value] = line.split('=');
      settings[name] = value.join('=');
    }
    clearTimeout(late);
    const { SCRIPTED_STRIPE_PAYERS: place, ...others } = settings;
    if (!place) throw new Error('scripted-stripe did not start; run `cargo build --workspace`');
    return new Stripe(others, place, child);
  }

  stop(): void {
    // It ends when nobody holds the other end any more.
    this.process.stdin?.end();
  }
}

/** Somebody pays the page of a payment, and Stripe tells the server. */
export async function pay(payment: string, server: string): Promise<void> {
  const body = JSON.stringify({ payment, server });
  const answer = await fetch(inject('stripe'), { method: 'POST', body });
  if (!answer.ok) throw new Error(`the payment was not told: ${answer.status} ${await answer.text()}`);
}
