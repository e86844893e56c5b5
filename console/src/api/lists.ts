/** Lists that are read a page at a time. */

import { infiniteQueryOptions, type InfiniteData } from '@tanstack/react-query';
import type { Page } from './client';

export function paged<T>(key: readonly unknown[], read: (cursor: string | undefined) => Promise<Page<T>>) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Page<T>) => last.next_cursor ?? undefined,
  });
}

export function flat<T>(data: InfiniteData<Page<T>> | undefined): T[] | undefined {
  return data?.pages.flatMap((page) => page.items);
}
