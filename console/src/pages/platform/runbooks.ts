/** The runbooks of docs/runbooks, which the console carries along, and which one an error needs. */

const files = import.meta.glob<string>('../../../../docs/runbooks/*.md', {
  query: '?raw',
  import: 'default',
});

export function readRunbook(name: string): Promise<string> | undefined {
  return files[`../../../../docs/runbooks/${name}.md`]?.();
}

/** Kinds of work whose errors have a runbook of their own. */
const OF_KIND: Readonly<Record<string, string>> = {
  dead_letter: 'dead-letters',
  node: 'node-failed',
  machine: 'maas-machine-failed',
  provider: 'maas-machine-failed',
  allocation: 'release-failed',
  payment: 'payments-differ',
  refund: 'payments-differ',
  recording: 'recordings-backlog',
};

export function runbookOf(kind: string): string {
  return OF_KIND[kind] ?? 'work-stuck';
}
