/** Adds compressed forms of what was built, and fails when the first load grows too large. */

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

// bound: what a first visit may load, compressed, before anything is opened
const FIRST_LOAD_BYTES = 350_000;

const site = process.argv[2] ?? 'dist/site';

function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

const sizes = new Map();
for (const file of files(site)) {
  const content = readFileSync(file);
  if (!/\.(html|js|css|svg|json)$/.test(file)) {
    sizes.set(file, statSync(file).size);
    continue;
  }
  const gzip = gzipSync(content, { level: 9 });
  writeFileSync(`${file}.gz`, gzip);
  writeFileSync(
    `${file}.br`,
    brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  );
  sizes.set(file, gzip.length);
}

const index = readFileSync(join(site, 'index.html'), 'utf8');
const named = [...index.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((match) => join(site, match[1]));
const fonts = [...sizes.keys()].filter((file) => file.endsWith('.woff2'));
const first = [join(site, 'index.html'), ...named, ...fonts];
const total = first.reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0);
console.log(`console: first load ${Math.round(total / 1000)} kB compressed, fonts included`);
if (total > FIRST_LOAD_BYTES) {
  console.error(
    `console: at most ${FIRST_LOAD_BYTES / 1000} kB; load what is not needed at first with import()`,
  );
  process.exit(1);
}
