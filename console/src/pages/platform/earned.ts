/** What was earned and sold, cut for charts. */

import { dailyTotals } from '../usage/daily';

interface Earned {
  day: string;
  sku: string;
  currency: string;
  amount_micros: number;
}

interface Hours {
  day: string;
  sold_gpu_seconds: number;
  there_gpu_seconds: number;
}

/** The currency in which most lines are comes first. */
export function currencies(lines: readonly Earned[]): string[] {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line.currency, (counts.get(line.currency) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([currency]) => currency);
}

/** The largest first. */
export function bySku(lines: readonly Earned[], currency: string) {
  const totals = new Map<string, number>();
  for (const line of lines) {
    if (line.currency === currency) totals.set(line.sku, (totals.get(line.sku) ?? 0) + line.amount_micros);
  }
  return [...totals]
    .map(([sku, amount_micros]) => ({ sku, amount_micros }))
    .sort((a, b) => b.amount_micros - a.amount_micros);
}

/** GPU hours of each day. */
export function hours(lines: readonly Hours[], from: string, days: number) {
  const of = (read: (line: Hours) => number) =>
    dailyTotals(
      lines.map((it) => ({ key: it.day, currency: '', amount_micros: (read(it) / 3600) * 1e6 })),
      from,
      days,
      '',
    );
  const sold = of((it) => it.sold_gpu_seconds);
  return {
    times: sold.times,
    span: sold.span,
    sold: sold.amounts,
    there: of((it) => it.there_gpu_seconds).amounts,
  };
}

export function share(part: number, whole: number): string {
  return whole > 0 ? `${((part / whole) * 100).toFixed(1)}%` : '–';
}
