/** Four charts of the same GPUs: use, memory, power, temperature. */

import { useMemo } from 'react';
import type { Schemas } from '@/api/client';
import { allocations as text } from '@/strings';
import { Chart } from '@/ui/Chart';
import { align } from './align';

type GpuSeries = Schemas['GpuSeries'];
type GpuPoint = Schemas['GpuPoint'];

const METRICS: readonly [keyof typeof text.metrics, (point: GpuPoint) => number, number?][] = [
  ['utilization', (point) => point.utilization_percent_avg, 100],
  ['memory', (point) => point.memory_used_bytes_avg / 2 ** 30],
  ['power', (point) => point.power_mw_avg / 1000],
  ['temperature', (point) => point.temperature_c_avg],
];

interface Props {
  gpus: readonly GpuSeries[];
  since: string;
  until: string;
}

export function GpuCharts({ gpus, since, until }: Props) {
  const charts = useMemo(
    () =>
      METRICS.map(([metric, read, most]) => {
        const { times, values } = align(
          gpus.map((gpu) => gpu.points.map((it) => [Date.parse(it.at), read(it)] as const)),
        );
        const series = gpus.map((gpu, index) => ({
          name: text.gpu(Number(gpu.index)),
          values: values[index] ?? [],
        }));
        return { metric, times, series, most };
      }),
    [gpus],
  );
  if (gpus.every((it) => it.points.length === 0)) return <p className="text-faint">{text.telemetryEmpty}</p>;
  return (
    <div className="grid gap-x-6 gap-y-4 lg:grid-cols-2">
      {charts.map(({ metric, times, series, most }) => (
        <figure key={metric}>
          <figcaption className="text-sm font-medium">{text.metrics[metric]}</figcaption>
          <Chart
            label={text.metrics[metric]}
            times={times}
            span={[Date.parse(since) / 1000, Date.parse(until) / 1000]}
            series={series}
            format={(value) => String(Math.round(value * 100) / 100)}
            {...(most ? { most } : {})}
          />
        </figure>
      ))}
    </div>
  );
}
