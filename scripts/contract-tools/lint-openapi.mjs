// Fails on anything that the OpenAPI specification forbids or its usual rules advise against.
import { createConfig, lint } from '@redocly/openapi-core';

const config = await createConfig({
  extends: ['recommended'],
  // A tag is a resource of the API; its operations describe it.
  rules: { 'tag-description': 'off' },
});
const problems = await lint({ ref: process.argv[2], config });
for (const { severity, ruleId, location, message } of problems) {
  console.error(`${severity} ${ruleId} ${location[0]?.pointer ?? ''}: ${message}`);
}
process.exit(problems.length === 0 ? 0 : 1);
