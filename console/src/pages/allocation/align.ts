/** Puts series that were measured at their own times on one line of time. */

export interface Aligned {
  /** Seconds since 1970. */
  times: number[];
  values: (number | null)[][];
}

export function align(series: readonly (readonly (readonly [number, number])[])[]): Aligned {
  const at = [...new Set(series.flatMap((points) => points.map(([ms]) => Math.round(ms / 1000))))].sort(
    (a, b) => a - b,
  );
  const place = new Map(at.map((seconds, index) => [seconds, index]));
  const values = series.map((points) => {
    const row: (number | null)[] = at.map(() => null);
    for (const [ms, value] of points) {
      const index = place.get(Math.round(ms / 1000));
      if (index !== undefined) row[index] = value;
    }
    return row;
  });
  return { times: at, values };
}
