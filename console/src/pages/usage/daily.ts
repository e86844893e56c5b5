/** What each day cost, with days in which nothing was used. */

interface Line {
  key: string;
  amount_micros: number;
  currency: string;
}

const DAY_S = 86_400;

export function dailyTotals(lines: readonly Line[], from: string, days: number, currency: string) {
  const first = Math.floor(Date.parse(from) / 1000);
  const times = Array.from({ length: days }, (_, index) => first + index * DAY_S);
  const amounts = times.map(() => 0);
  for (const line of lines) {
    if (line.currency !== currency) continue;
    const at = Math.round((Date.parse(`${line.key.slice(0, 10)}T00:00:00Z`) / 1000 - first) / DAY_S);
    if (at >= 0 && at < days) amounts[at] = (amounts[at] ?? 0) + line.amount_micros / 1e6;
  }
  // Half a day on either side, so that the first and last bars are whole.
  const span: [number, number] = [first - DAY_S / 2, first + (days - 0.5) * DAY_S];
  return { times, amounts, span };
}
