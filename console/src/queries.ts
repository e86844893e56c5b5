/** One memory of answers for the whole console. Events say when they are old. */

import { QueryClient } from '@tanstack/react-query';
import { mayPass } from './api/problem';

// bound: a read is tried this often before its failure is shown
const TRIES = 3;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      retry: (count, error) => count < TRIES && mayPass(error),
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false },
  },
});
