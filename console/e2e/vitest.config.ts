import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ['*.spec.ts'],
    globalSetup: ['shared.ts'],
    setupFiles: ['story.ts'],
    // One line for each thing that was proven.
    reporters: ['verbose'],
    // One browser at a time; the tests of a file tell one story, in order.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
