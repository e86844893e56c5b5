// Fails on anything that the AsyncAPI specification forbids or advises against.
import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';

// The version is chosen for the tools that read it, not for being the newest.
const accepted = ['asyncapi-latest-version'];
const { diagnostics } = await new Parser().parse(readFileSync(process.argv[2], 'utf8'));
const findings = diagnostics.filter(({ code }) => !accepted.includes(code));
for (const { code, path, message } of findings) {
  console.error(`${code} ${path.join('/')}: ${message}`);
}
process.exit(findings.length === 0 ? 0 : 1);
