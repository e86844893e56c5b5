import { useQueries, useQuery } from '@tanstack/react-query';
import { capacityQuery, pricesQuery, type Sku } from '@/api/compute';
import { priceAfter, priceAt } from '@/api/prices';
import { money } from '@/format/money';
import { words } from '@/format/size';
import { day } from '@/format/time';
import { now } from '@/session/clock';
import { launch as text } from '@/strings';
import { Badge } from '@/ui/Badge';
import { classes } from '@/ui/classes';

interface Props {
  skus: readonly Sku[];
  region: string;
  currency: string;
  value: string;
  onChange: (sku: Sku) => void;
}

export function SkuChoice({ skus, region, currency, value, onChange }: Props) {
  const capacity = useQuery(capacityQuery());
  const prices = useQueries({ queries: skus.map((it) => pricesQuery(it.id)) });
  return (
    <div role="radiogroup" aria-label={text.sku} className="grid gap-2.5 sm:grid-cols-2">
      {skus.map((sku, index) => {
        const lines = (capacity.data ?? []).filter(
          (it) => it.sku_id === sku.id && (!region || it.region === region),
        );
        const free = lines.reduce((sum, it) => sum + it.free, 0);
        const known = prices[index]?.data;
        const price = known && priceAt(known, currency, now());
        const next = known && priceAfter(known, currency, now());
        const isChosen = sku.name === value;
        return (
          <button
            key={sku.id}
            type="button"
            role="radio"
            aria-checked={isChosen}
            onClick={() => onChange(sku)}
            className={classes(
              'rounded-xl border p-3.5 text-left transition-colors',
              isChosen
                ? 'border-accent bg-accent-soft/50 ring-1 ring-accent'
                : 'bg-surface hover:border-line-strong',
            )}
          >
            <span className="flex items-start justify-between gap-2">
              <span className="font-semibold">{sku.name}</span>
              <span className="numbers font-semibold whitespace-nowrap">
                {price ? money(price.price_micros, currency) : text.noPrice}
              </span>
            </span>
            <span className="mt-0.5 flex items-start justify-between gap-2 text-sm text-faint">
              <span>
                {sku.gpu_model ?? ''} · {text.shapes[sku.shape] ?? words(sku.shape)}
              </span>
              <span className="whitespace-nowrap">{text.perGpuHour}</span>
            </span>
            <span className="mt-2.5 flex flex-wrap items-center gap-2">
              <Badge tone={free > 0 ? 'ok' : 'warn'}>
                {free > 0 ? text.free(free, lines[0]?.unit ?? 'gpu') : text.noneFree}
              </Badge>
              {next && (
                <span className="text-xs text-faint">
                  {text.priceNext(money(next.price_micros, currency), day(next.effective_at))}
                </span>
              )}
            </span>
          </button>
        );
      })}
    </div>
  );
}
