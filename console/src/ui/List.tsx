/** A list in its card: its rows, and what is said while it waits, when there are none, and when it failed. */

import type { InfiniteData } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Page } from '@/api/client';
import { flat } from '@/api/lists';
import { Card } from './Card';
import { Answer, Empty, type EmptyProps, Failure } from './Feedback';
import { More, type Paged, Table, type TableProps } from './Table';

/** A query for all of a list, or for a page of it at a time. */
interface Asked<T> extends Partial<Paged> {
  data: readonly T[] | InfiniteData<Page<T>> | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}

interface Common<T> {
  query: Asked<T>;
  /** What to do next when there is nothing; a sentence where nothing can be done. */
  empty: EmptyProps | string;
  title?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  /** How something failed that was done to a row. */
  error?: unknown;
  lines?: number;
  /** Below the rows. */
  after?: ReactNode;
}

interface InTable<T> extends Omit<TableProps<T>, 'items'> {
  rows?: undefined;
}

/** Rows that are no table. */
interface InRows<T> {
  rows: (items: readonly T[]) => ReactNode;
}

function itemsOf<T>(data: Asked<T>['data']): readonly T[] | undefined {
  return data && 'pages' in data ? flat(data) : data;
}

export function List<T>(props: Common<T> & (InTable<T> | InRows<T>)) {
  const { query, empty, title, lead, actions, error, lines, after } = props;
  const { hasNextPage = false, isFetchingNextPage = false, fetchNextPage } = query;
  return (
    <Card title={title} lead={lead} actions={actions} flush>
      {error !== undefined && (
        <div className="p-4">
          <Failure error={error} />
        </div>
      )}
      <Answer query={{ ...query, data: itemsOf(query.data) }} lines={lines}>
        {(items) =>
          items.length === 0 ? (
            <Nothing empty={empty} />
          ) : (
            <>
              {props.rows ? (
                props.rows(items)
              ) : (
                <Table
                  label={props.label}
                  items={items}
                  keyOf={props.keyOf}
                  columns={props.columns}
                  rowActions={props.rowActions}
                />
              )}
              {fetchNextPage && <More query={{ hasNextPage, isFetchingNextPage, fetchNextPage }} />}
              {after}
            </>
          )
        }
      </Answer>
    </Card>
  );
}

function Nothing({ empty }: { empty: EmptyProps | string }) {
  return typeof empty === 'string' ? <p className="p-4 text-faint">{empty}</p> : <Empty {...empty} />;
}
