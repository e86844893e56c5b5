import { expect, test } from 'vitest';
import { csv } from '@/format/csv';
import { COLUMNS, focusRows } from './focus';

const PART = {
  organization_id: 'org-1',
  organization: 'Acme',
  period_start: '2026-11-01T00:00:00Z',
  period_end: '2026-12-01T00:00:00Z',
  posted_to: '2026-12-01T00:00:00Z',
  charges: [
    {
      subject_kind: 'allocation',
      subject_id: 'alloc-1',
      meter: 'gpu_time',
      interval: 3,
      number: 3,
      project_id: 'proj-1',
      project: '=cmd',
      sku_id: 'sku-1',
      sku: 'slice',
      unit: 'gpu_hour',
      price_kind: 'on_demand',
      quantity: 2,
      from: '2026-11-30T23:00:00.9Z',
      to: '2026-11-30T23:59:59.000001Z',
      consumed: 7_200_000_000,
      currency: 'USD',
      price_micros: 2_490_000,
      per_units: 1,
      amount_micros: 4_980_000,
      tags: { team: 'x' },
    },
  ],
  other_charges: [
    {
      journal_id: 'journal-1',
      kind: 'credit',
      is_correction: true,
      reason: '',
      from: '2026-11-02T00:00:00Z',
      to: '2026-11-03T00:00:00Z',
      currency: 'USD',
      amount_micros: -1,
    },
  ],
};

test('rows have every column that the CLI writes', () => {
  const rows = focusRows(PART).map((row) => row.map((cell) => csv([[cell]]).trimEnd()));
  expect(rows.map((it) => it.length)).toEqual([COLUMNS.length, COLUMNS.length]);
  const cell = (row: number, name: (typeof COLUMNS)[number]) => rows[row]?.[COLUMNS.indexOf(name)];
  expect(cell(0, 'BilledCost')).toBe('4.980000');
  expect(cell(0, 'PricingQuantity')).toBe('2.000000000000');
  expect(cell(0, 'ChargePeriodStart')).toBe('2026-11-30T23:00:00Z');
  expect(cell(0, 'ChargePeriodEnd')).toBe('2026-12-01T00:00:00Z');
  expect(cell(0, 'ListUnitPrice')).toBe('2.490000');
  expect(cell(0, 'ProviderName')).toBe('gpuaas');
  expect(cell(0, 'SkuPriceId')).toBe('sku-1');
  expect(cell(0, 'SubAccountName')).toBe("'=cmd");
  expect(cell(0, 'Tags')).toBe('"{""team"":""x""}"');
  expect(cell(1, 'BilledCost')).toBe('-0.000001');
  expect(cell(1, 'ChargeCategory')).toBe('Credit');
  expect(cell(1, 'ChargeClass')).toBe('Correction');
  expect(cell(1, 'ChargeDescription')).toBe('Credit');
  expect(cell(1, 'ChargePeriodEnd')).toBe('2026-11-03T00:00:00Z');
});
