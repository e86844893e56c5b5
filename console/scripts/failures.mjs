/**
 * Reads what vitest wrote of a run: `failures.mjs files REPORT` prints the files that
 * failed, a line each; `failures.mjs words REPORT` the first failure of each.
 */

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

// bound: a failure is named, not told
const MOST_LINES = 12;

const [, , what, path] = process.argv;
const { testResults } = JSON.parse(readFileSync(path, 'utf8'));
for (const file of testResults.filter((it) => it.status === 'failed')) {
  const name = basename(file.name);
  if (what === 'files') {
    console.log(name);
    continue;
  }
  const first = file.assertionResults.find((it) => it.status === 'failed');
  const words = first ? (first.failureMessages[0] ?? '') : (file.message ?? '');
  console.log(`${name}: ${first?.title ?? 'before its first test'}`);
  const lines = words.split('\n').filter((it) => !it.includes('node_modules') && !it.includes('<anonymous>'));
  for (const line of lines.slice(0, MOST_LINES)) console.log(`    ${line}`);
}
