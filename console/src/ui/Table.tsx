/** Tables: all columns where there is room; on a phone the ones that matter, and buttons below each row. */

import { Fragment, type ReactNode } from 'react';
import { common } from '@/strings';
import { Button } from './Button';
import { classes } from './classes';
import { useIsNarrow } from './narrow';

export interface Column<T> {
  name: string;
  cell: (item: T) => ReactNode;
  /** Numbers stand to the right. */
  end?: boolean;
  /** Left out where there is little room. */
  wide?: boolean;
  /** For screen readers only, as over buttons. */
  quiet?: boolean;
}

/** What a wide column says, below the first one where there is little room. */
export function Below({ children }: { children: ReactNode }) {
  return <span className="block text-sm font-normal text-faint md:hidden">{children}</span>;
}

export interface TableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  items: readonly T[];
  keyOf: (item: T) => string;
  /** Buttons at a row's end. */
  rowActions?: (item: T) => ReactNode;
}

export function Table<T>({ label, columns: given, items, keyOf, rowActions }: TableProps<T>) {
  const isNarrow = useIsNarrow();
  const acts = rowActions && { name: common.actions, quiet: true, end: true, cell: rowActions };
  const all: readonly Column<T>[] = acts ? [...given, acts] : given;
  const columns = isNarrow ? all.filter((it) => !it.wide && !it.quiet) : all;
  const below = isNarrow ? all.filter((it) => it.quiet) : [];
  return (
    <div className="relative overflow-x-auto" role="region" aria-label={label} tabIndex={0}>
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b">
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={classes(
                  'px-4 py-2.5 text-xs font-medium whitespace-nowrap text-faint',
                  column.end && 'text-right',
                )}
              >
                {column.quiet ? <span className="sr-only">{column.name}</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => {
            const buttons = below.flatMap((it) => {
              const found = it.cell(item);
              return found ? [<Fragment key={it.name}>{found}</Fragment>] : [];
            });
            return (
              <Fragment key={keyOf(item)}>
                <tr
                  className={classes('hover:bg-hover/60', buttons.length === 0 && 'border-b last:border-b-0')}
                >
                  {columns.map((column) => (
                    <td
                      key={column.name}
                      className={classes('px-4 py-2.5 align-middle', column.end && 'numbers text-right')}
                    >
                      {column.cell(item)}
                    </td>
                  ))}
                </tr>
                {buttons.length > 0 && (
                  <tr className="border-b last:border-b-0">
                    <td colSpan={columns.length} className="px-4 pb-2.5">
                      <span className="flex flex-wrap justify-end gap-2">{buttons}</span>
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

export interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

export function More({ query }: { query: Paged }) {
  if (!query.hasNextPage) return null;
  return (
    <div className="border-t p-3 text-center">
      <Button small busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {common.more}
      </Button>
    </div>
  );
}
